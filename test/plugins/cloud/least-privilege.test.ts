import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CloudFixture, guids, startCloudFixture } from './cloud-fixture.ts'
import { aCredential, aRole, cleared, kindsOf, living, reader, revoke, works } from './credential-steps.ts'

let fixture: CloudFixture

beforeEach(async () => {
  fixture = await startCloudFixture()
})
afterEach(() => fixture[Symbol.asyncDispose]())

const [own, every, members] = [
  'Application.ReadWrite.OwnedBy',
  'Application.ReadWrite.All',
  'GroupMember.ReadWrite.All',
]
const roleManagement = 'RoleManagement.ReadWrite.Directory'
/** Takes effect with the next token; the check requests a new one. */
async function grant(...directoryPermissions: string[]): Promise<void> {
  fixture.directory.change({ directoryPermissions: [...directoryPermissions, 'Organization.Read.All'] })
  await check('sign_in')
}
const check = async (name: string) => {
  const { checks } = (await fixture.root.read('cloud/config/check')).body.data as unknown as {
    checks: { name: string; ok: boolean; detail: string }[]
  }
  return checks.find((one) => one.name === name)
}
const refusal = async (answer: ReturnType<typeof fixture.root.read>) => {
  const { status, body } = await answer
  return [status, String(body['errors']?.[0])]
}
const ownsItself = () =>
  fixture.directory.admin.addOwner(
    fixture.directory.rootApplicationId,
    fixture.directory.rootServicePrincipalId,
  )

test('the check names every missing permission of a root without any', async () => {
  const { id } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
  await aRole(fixture, 'theirs', { application_object_id: id })
  await aRole(fixture, 'ci', { cloud_groups: '[{"group_name":"foo"}]' })
  fixture.directory.change({ directoryPermissions: [] })

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

test('a static role needs to own its application, or Application.ReadWrite.All, and the check says so', async () => {
  const { id } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
  await grant(own)
  ownsItself()
  const write = () => fixture.root.write('cloud/static-roles/billing', { application_object_id: id })
  expect(await refusal(write())).toEqual([400, expect.stringContaining(`missing permission: ${every}`)])
  await grant(every)
  expect((await write()).status).toBe(204)
  await grant(own)

  expect((await check('directory_permissions'))?.detail).toContain(
    `lacks ${every} (for passwords of applications that roles name), or ${own} as an owner of application ${id}`,
  )
  fixture.directory.admin.addOwner(id, fixture.directory.rootServicePrincipalId)
  expect(await check('directory_permissions')).toMatchObject({ ok: true })
  expect((await fixture.root.write('cloud/rotate-role/billing', {})).status).toBe(204)
})

test('Directory.ReadWrite.All suffices except for role-assignable groups, and the check says so', async () => {
  await grant('Directory.ReadWrite.All')
  const { id } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
  await aRole(fixture, 'theirs', { application_object_id: id })
  await aRole(fixture, 'ci', { cloud_groups: '[{"group_name":"foo"}]' })

  const made = [await aCredential(fixture, 'ci'), await aCredential(fixture, 'theirs')]

  expect(await Promise.all(made.map((credential) => works(fixture, credential)))).toEqual([true, true])
  expect(await check('directory_permissions')).toMatchObject({ ok: true })
})

describe('Application.ReadWrite.OwnedBy alone', () => {
  test('suffices for service principals, persisted applications and their passwords', async () => {
    await grant(own)
    ownsItself()
    await aRole(fixture, 'ci')
    await aRole(fixture, 'kept', { persist_app: true })

    const made = [await aCredential(fixture, 'ci'), await aCredential(fixture, 'kept')]

    expect(await Promise.all(made.map((credential) => works(fixture, credential)))).toEqual([true, true])
    expect(await check('directory_permissions')).toMatchObject({ ok: true })
    for (const { lease } of made) expect((await revoke(fixture, lease)).status).toBe(204)
    expect((await fixture.root.delete('cloud/roles/kept')).status).toBe(204)
    expect(living(fixture)).toEqual([])
  })

  test('suffices for passwords on applications that the root owns only, as the check and the refusal say', async () => {
    const [mine, theirs] = [
      fixture.directory.admin.addApplication({ displayName: 'mine' }),
      fixture.directory.admin.addApplication({ displayName: 'theirs' }),
    ]
    fixture.directory.admin.addOwner(mine.id, fixture.directory.rootServicePrincipalId)
    ownsItself()
    await aRole(fixture, 'mine', { application_object_id: mine.id })
    await grant(own)

    const credential = await aCredential(fixture, 'mine')
    expect(await check('directory_permissions')).toMatchObject({ ok: true })
    expect((await revoke(fixture, credential.lease)).status).toBe(204)
    expect(kindsOf(fixture, mine.appId)).toEqual([])

    await aRole(fixture, 'theirs', { application_object_id: theirs.id })
    expect(await refusal(fixture.root.read('cloud/creds/theirs'))).toEqual([
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

  test('suffices for a rotation once the root owns its own application', async () => {
    await grant(own)
    expect(await refusal(fixture.root.write('cloud/rotate-root'))).toEqual([
      400,
      expect.stringContaining(`missing permission: ${every}`),
    ])
    expect(await check('directory_permissions')).toMatchObject({
      ok: false,
      detail: expect.stringContaining(
        `lacks ${every} (for rotate-root), or ${own} as an owner of application ${fixture.directory.rootApplicationId}`,
      ),
    })

    ownsItself()

    expect((await fixture.root.write('cloud/rotate-root')).status).toBe(204)
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
  ])(
    'with $granted, the check and the refusal of a membership name $missing',
    async ({ granted, missing }) => {
      await aRole(fixture, 'foo', inGroup('foo'))
      await grant(...granted)

      const [status, text] = await refusal(fixture.root.read('cloud/creds/foo'))

      expect([status, text]).toEqual([
        400,
        expect.stringMatching(new RegExp(`; missing permission: ${missing.join(' and ')}$`)),
      ])
      const { detail = '' } = { ...(await check('directory_permissions')) }
      for (const permission of missing) expect(detail).toContain(`lacks ${permission}`)
      expect(detail.match(/lacks /g)).toHaveLength(missing.length)
      await cleared(fixture)
      expect(living(fixture)).toEqual([])
    },
  )

  test('with both permissions, members can be added and removed', async () => {
    await aRole(fixture, 'foo', inGroup('foo'))
    await grant(every, members)

    const { lease, clientId } = await aCredential(fixture, 'foo')
    expect(kindsOf(fixture, clientId)).toContain('group-member')
    expect(await check('directory_permissions')).toMatchObject({ ok: true })
    expect((await revoke(fixture, lease)).status).toBe(204)
    expect(living(fixture)).toEqual([])
  })

  test('a role-assignable group needs RoleManagement.ReadWrite.Directory too', async () => {
    fixture.directory.admin.addGroup('admins', 'role-assignable')
    await aRole(fixture, 'admins', inGroup('admins'))
    await grant(every, members)

    expect(await refusal(fixture.root.read('cloud/creds/admins'))).toEqual([
      400,
      expect.stringMatching(`; missing permission: ${roleManagement}$`),
    ])
    expect(await check('directory_permissions')).toMatchObject({
      ok: false,
      detail: expect.stringContaining(`lacks ${roleManagement} (for members of role-assignable groups)`),
    })

    await grant(every, members, roleManagement)
    expect((await fixture.root.read('cloud/creds/admins')).status).toBe(200)
    expect(await check('directory_permissions')).toMatchObject({ ok: true })
  })

  test.each([
    { kind: 'dynamic' as const, advice: 'a rule decides who is a member of this group' },
    { kind: 'on-premises' as const, advice: 'this group is synchronized from on-premises' },
  ])('a $kind group is refused in a role, by name and by id', async ({ kind, advice }) => {
    const { id } = fixture.directory.admin.addGroup('theirs', kind)

    for (const group of [{ group_name: 'theirs' }, { object_id: id }]) {
      expect(
        await refusal(fixture.root.write('cloud/roles/r', { cloud_groups: JSON.stringify([group]) })),
      ).toEqual([400, expect.stringContaining(`group 'theirs' cannot be used: ${advice}`)])
    }
    expect((await fixture.root.read('cloud/roles/r')).status).toBe(404)
  })

  test.each([
    { kind: 'dynamic' as const, advice: 'a rule decides who is a member of this group' },
    { kind: 'on-premises' as const, advice: 'this group is synchronized from on-premises' },
  ])(
    'a group that became $kind later is refused with the reason, and nothing is left upstream',
    async ({ kind, advice }) => {
      await aRole(fixture, 'changed', inGroup('foo'))
      fixture.directory.admin.changeGroup(fixture.directory.groupIds['foo'] ?? '', kind)

      expect(await refusal(fixture.root.read('cloud/creds/changed'))).toEqual([
        400,
        expect.stringContaining(`; ${advice}`),
      ])

      await cleared(fixture)
      expect(living(fixture)).toEqual([])
    },
  )
})

describe('rights on one resource group only', () => {
  beforeEach(() => {
    fixture.directory.change({ rootResourceGroups: ['web'] })
  })

  test.each([
    { by: 'name', role: { role_name: 'Reader' } },
    { by: 'id', role: { role_id: '' } },
  ])(
    'a role is looked up by $by at its scope, and its credential issued and revoked',
    async ({ by, role }) => {
      const named = by === 'id' ? { role_id: fixture.definition(guids.reader) } : role
      await aRole(fixture, 'ci', { cloud_roles: JSON.stringify([{ ...named, scope: fixture.scope('web') }]) })

      expect((await fixture.root.read('cloud/roles/ci')).body.data?.['cloud_roles']).toEqual([
        { role_name: 'Reader', role_id: fixture.definition(guids.reader), scope: fixture.scope('web') },
      ])
      const { lease } = await aCredential(fixture, 'ci')
      expect((await revoke(fixture, lease)).status).toBe(204)
      expect(living(fixture)).toEqual([])
    },
  )

  test('a scope outside is refused, with the missing action and the scope', async () => {
    expect(
      await refusal(fixture.root.write('cloud/roles/r', { cloud_roles: reader(fixture, 'data') })),
    ).toEqual([
      400,
      expect.stringMatching(
        /over scope '[^']*\/resourceGroups\/data'.*missing permission: Microsoft\.Authorization\/roleDefinitions\/read$/,
      ),
    ])
  })

  test('the check tests the scopes of the roles', async () => {
    expect(await check('resource_manager_permissions')).toMatchObject({
      ok: false,
      detail: expect.stringContaining('in the subscription'),
    })
    await aRole(fixture, 'ci', { cloud_roles: reader(fixture, 'web') })
    expect(await check('resource_manager_permissions')).toMatchObject({ ok: true })

    fixture.directory.change({ rootResourceGroups: ['web', 'data'] })
    await aRole(fixture, 'both', { cloud_roles: reader(fixture, 'web', 'data') })
    fixture.directory.change({ rootResourceGroups: ['web'] })

    expect(await check('resource_manager_permissions')).toEqual({
      name: 'resource_manager_permissions',
      ok: false,
      detail: expect.stringMatching(
        /^lacks Microsoft\.Authorization\/roleDefinitions\/read, .* in \S+\/resourceGroups\/data$/,
      ),
      fix: expect.stringContaining('az role assignment create'),
    })
  })
})
