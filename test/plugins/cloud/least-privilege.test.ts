import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CloudHouse, guids, startCloudHouse } from './cloud-house.ts'
import { aCredential, aRole, cleared, kindsOf, living, reader, revoke, works } from './credential-steps.ts'

let house: CloudHouse

beforeEach(async () => {
  house = await startCloudHouse()
})
afterEach(() => house[Symbol.asyncDispose]())

const [own, every, members] = ['Application.ReadWrite.OwnedBy', 'Application.ReadWrite.All', 'GroupMember.ReadWrite.All']
const roleManagement = 'RoleManagement.ReadWrite.Directory'
/** From the next token on; the check signs in anew. */
async function grant(...directoryPermissions: string[]): Promise<void> {
  house.directory.change({ directoryPermissions: [...directoryPermissions, 'Organization.Read.All'] })
  await check('sign_in')
}
const check = async (name: string) => {
  const { checks } = (await house.root.read('cloud/config/check')).body.data as unknown as { checks: { name: string; ok: boolean; detail: string }[] }
  return checks.find((one) => one.name === name)
}
const refusal = async (answer: ReturnType<typeof house.root.read>) => {
  const { status, body } = await answer
  return [status, String(body['errors']?.[0])]
}
const ownsItself = () => house.directory.hand.addOwner(house.directory.rootApplicationId, house.directory.rootServicePrincipalId)

test('without any permission the check names each that is lacking', async () => {
  const { id } = house.directory.hand.addApplication({ displayName: 'theirs' })
  await aRole(house, 'theirs', { application_object_id: id })
  await aRole(house, 'ci', { cloud_groups: '[{"group_name":"foo"}]' })
  house.directory.change({ directoryPermissions: [] })

  expect((await check('directory_permissions'))?.detail).toBe(
    [
      'has none',
      `lacks ${own} (for service principals)`,
      `lacks ${every} (for passwords of applications that roles name), or ${own} as an owner of application ${id}`,
      `lacks ${members} (for group memberships)`,
      `lacks ${every} (for group memberships)`,
    ].join('; '),
  )
  expect((await check('root_secret'))?.detail).toContain(`missing permission: ${own}`)
  expect((await check('object_quota'))?.detail).toContain('missing permission: Organization.Read.All')
})

test('Directory.ReadWrite.All is enough for all but role-assignable groups, and the check says so', async () => {
  await grant('Directory.ReadWrite.All')
  const { id } = house.directory.hand.addApplication({ displayName: 'theirs' })
  await aRole(house, 'theirs', { application_object_id: id })
  await aRole(house, 'ci', { cloud_groups: '[{"group_name":"foo"}]' })

  const made = [await aCredential(house, 'ci'), await aCredential(house, 'theirs')]

  expect(await Promise.all(made.map((credential) => works(house, credential)))).toEqual([true, true])
  expect(await check('directory_permissions')).toMatchObject({ ok: true })
})

describe('Application.ReadWrite.OwnedBy alone', () => {
  test('makes and removes service principals, kept applications and their passwords', async () => {
    await grant(own)
    ownsItself()
    await aRole(house, 'ci')
    await aRole(house, 'kept', { persist_app: true })

    const made = [await aCredential(house, 'ci'), await aCredential(house, 'kept')]

    expect(await Promise.all(made.map((credential) => works(house, credential)))).toEqual([true, true])
    expect(await check('directory_permissions')).toMatchObject({ ok: true })
    for (const { lease } of made) expect((await revoke(house, lease)).status).toBe(204)
    expect((await house.root.delete('cloud/roles/kept')).status).toBe(204)
    expect(living(house)).toEqual([])
  })

  test('adds and removes passwords of an application the root owns, and of no other; check and refusal agree', async () => {
    const [mine, theirs] = [
      house.directory.hand.addApplication({ displayName: 'mine' }),
      house.directory.hand.addApplication({ displayName: 'theirs' }),
    ]
    house.directory.hand.addOwner(mine.id, house.directory.rootServicePrincipalId)
    ownsItself()
    await aRole(house, 'mine', { application_object_id: mine.id })
    await grant(own)

    const credential = await aCredential(house, 'mine')
    expect(await check('directory_permissions')).toMatchObject({ ok: true })
    expect((await revoke(house, credential.lease)).status).toBe(204)
    expect(kindsOf(house, mine.appId)).toEqual([])

    await aRole(house, 'theirs', { application_object_id: theirs.id })
    expect(await refusal(house.root.read('cloud/creds/theirs'))).toEqual([
      400,
      expect.stringMatching(
        /; missing permission: Application\.ReadWrite\.All; or make the service principal of the root an owner of that application/,
      ),
    ])
    expect(await check('directory_permissions')).toMatchObject({
      ok: false,
      detail: expect.stringContaining(
        `lacks ${every} (for passwords of applications that roles name), or ${own} as an owner of application ${theirs.id}`,
      ),
    })
  })

  test('rotates the root secret once the root owns its own application', async () => {
    await grant(own)
    expect(await refusal(house.root.write('cloud/rotate-root'))).toEqual([400, expect.stringContaining(`missing permission: ${every}`)])
    expect(await check('directory_permissions')).toMatchObject({
      ok: false,
      detail: expect.stringContaining(`lacks ${every} (for rotate-root), or ${own} as an owner of application ${house.directory.rootApplicationId}`),
    })

    ownsItself()

    expect((await house.root.write('cloud/rotate-root')).status).toBe(204)
    expect(await check('directory_permissions')).toMatchObject({ ok: true })
  })
})

describe('groups', () => {
  const inGroup = (name: string) => ({ cloud_groups: JSON.stringify([{ group_name: name }]) })
  beforeEach(() => ownsItself())

  test.each([
    { granted: [own], missing: [members, every] },
    { granted: [own, members], missing: [every] },
    { granted: [every], missing: [members] },
  ])('with $granted a membership lacks $missing, as the check says', async ({ granted, missing }) => {
    await aRole(house, 'foo', inGroup('foo'))
    await grant(...granted)

    const [status, text] = await refusal(house.root.read('cloud/creds/foo'))

    expect([status, text]).toEqual([400, expect.stringMatching(new RegExp(`; missing permission: ${missing.join(' and ')}$`))])
    const { detail = '' } = { ...(await check('directory_permissions')) }
    for (const permission of missing) expect(detail).toContain(`lacks ${permission}`)
    expect(detail.match(/lacks /g)).toHaveLength(missing.length)
    await cleared(house)
    expect(living(house)).toEqual([])
  })

  test('with both a membership is given and taken', async () => {
    await aRole(house, 'foo', inGroup('foo'))
    await grant(every, members)

    const { lease, clientId } = await aCredential(house, 'foo')
    expect(kindsOf(house, clientId)).toContain('group-member')
    expect(await check('directory_permissions')).toMatchObject({ ok: true })
    expect((await revoke(house, lease)).status).toBe(204)
    expect(living(house)).toEqual([])
  })

  test('a role-assignable group needs RoleManagement.ReadWrite.Directory too', async () => {
    house.directory.hand.addGroup('admins', 'role-assignable')
    await aRole(house, 'admins', inGroup('admins'))
    await grant(every, members)

    expect(await refusal(house.root.read('cloud/creds/admins'))).toEqual([400, expect.stringMatching(`; missing permission: ${roleManagement}$`)])
    expect(await check('directory_permissions')).toMatchObject({
      ok: false,
      detail: expect.stringContaining(`lacks ${roleManagement} (for members of role-assignable groups)`),
    })

    await grant(every, members, roleManagement)
    expect((await house.root.read('cloud/creds/admins')).status).toBe(200)
    expect(await check('directory_permissions')).toMatchObject({ ok: true })
  })

  test.each([
    { kind: 'dynamic' as const, advice: 'a rule decides who is a member of this group' },
    { kind: 'on-premises' as const, advice: 'this group is synchronized from on-premises' },
  ])('a $kind group is refused when a role is written, by name and by id', async ({ kind, advice }) => {
    const { id } = house.directory.hand.addGroup('theirs', kind)

    for (const group of [{ group_name: 'theirs' }, { object_id: id }]) {
      expect(await refusal(house.root.write('cloud/roles/r', { cloud_groups: JSON.stringify([group]) }))).toEqual([
        400,
        expect.stringContaining(`group 'theirs' cannot be used: ${advice}`),
      ])
    }
    expect((await house.root.read('cloud/roles/r')).status).toBe(404)
  })

  test.each([
    { kind: 'dynamic' as const, advice: 'a rule decides who is a member of this group' },
    { kind: 'on-premises' as const, advice: 'this group is synchronized from on-premises' },
  ])('a group that became $kind since is refused with the reason, and leaves nothing', async ({ kind, advice }) => {
    await aRole(house, 'changed', inGroup('foo'))
    house.directory.hand.changeGroup(house.directory.groupIds['foo'] ?? '', kind)

    expect(await refusal(house.root.read('cloud/creds/changed'))).toEqual([400, expect.stringContaining(`; ${advice}`)])

    await cleared(house)
    expect(living(house)).toEqual([])
  })
})

describe('rights on one resource group only', () => {
  beforeEach(() => {
    house.directory.change({ rootResourceGroups: ['web'] })
  })

  test.each([
    { by: 'name', role: { role_name: 'Reader' } },
    { by: 'id', role: { role_id: '' } },
  ])('a role is looked up by $by where its scope is, issued and taken back', async ({ by, role }) => {
    const named = by === 'id' ? { role_id: house.definition(guids.reader) } : role
    await aRole(house, 'ci', { cloud_roles: JSON.stringify([{ ...named, scope: house.scope('web') }]) })

    expect((await house.root.read('cloud/roles/ci')).body.data?.['cloud_roles']).toEqual([
      { role_name: 'Reader', role_id: house.definition(guids.reader), scope: house.scope('web') },
    ])
    const { lease } = await aCredential(house, 'ci')
    expect((await revoke(house, lease)).status).toBe(204)
    expect(living(house)).toEqual([])
  })

  test('a scope elsewhere is refused, with the action and the place', async () => {
    expect(await refusal(house.root.write('cloud/roles/r', { cloud_roles: reader(house, 'data') }))).toEqual([
      400,
      expect.stringMatching(/over scope '[^']*\/resourceGroups\/data'.*missing permission: Microsoft\.Authorization\/roleDefinitions\/read$/),
    ])
  })

  test('the check looks at the scopes of the roles', async () => {
    expect(await check('resource_manager_permissions')).toMatchObject({ ok: false, detail: expect.stringContaining('in the subscription') })
    await aRole(house, 'ci', { cloud_roles: reader(house, 'web') })
    expect(await check('resource_manager_permissions')).toMatchObject({ ok: true })

    house.directory.change({ rootResourceGroups: ['web', 'data'] })
    await aRole(house, 'both', { cloud_roles: reader(house, 'web', 'data') })
    house.directory.change({ rootResourceGroups: ['web'] })

    expect(await check('resource_manager_permissions')).toEqual({
      name: 'resource_manager_permissions',
      ok: false,
      detail: expect.stringMatching(/^lacks Microsoft\.Authorization\/roleDefinitions\/read, .* in \S+\/resourceGroups\/data$/),
    })
  })
})
