import { describe, expect, test } from 'vitest'
import { type GroupFixture, type Login, openGroupFixture } from './group-fixture.ts'

/** An external group with an alias at a mount. */
async function external(
  fixture: GroupFixture,
  accessor: string,
  alias: string,
  body: object = {},
): Promise<string> {
  const id = await fixture.make('group', {
    name: `group of ${alias} at ${accessor}`,
    type: 'external',
    ...body,
  })
  await fixture.make('group-alias', { name: alias, mount_accessor: accessor, canonical_id: id })
  return id
}

const groupsOf = async (fixture: GroupFixture, { entity }: Login) =>
  (await fixture.read('entity', entity)).direct_group_ids
const renew = (fixture: GroupFixture, { token }: Login) => fixture.root.write('auth/token/renew', { token })
const identityPolicies = async ({ client }: Login) =>
  (await client.read('auth/token/lookup-self')).body.data?.identity_policies

describe('logins and renewals refresh external groups', () => {
  test('a group name in a login adds the member, its absence removes the member, and rights change at once', async () => {
    await using fixture = await openGroupFixture()
    const accessor = await fixture.mount('jwt')
    const eng = await external(fixture, accessor, 'Eng', { policies: 'web' })

    const first = await fixture.login(['other', ' eNG ', 'eng'])
    const during = [await groupsOf(fixture, first), await identityPolicies(first)]
    const second = await fixture.login([])

    expect(first.auth.identity_policies).toEqual(['web'])
    expect(first.auth.policies).toEqual(['default', 'web'])
    expect(during).toEqual([[eng], ['web']])
    expect(second.auth.identity_policies).toBeUndefined()
    expect(await groupsOf(fixture, first)).toEqual([])
    expect(await identityPolicies(first)).toBeUndefined()
  })

  test('an alias created after a login applies at the next login, not at a renewal', async () => {
    await using fixture = await openGroupFixture()
    const accessor = await fixture.mount('jwt')
    const login = await fixture.login(['late'])
    const late = await external(fixture, accessor, 'late')

    await renew(fixture, login)
    const renewed = await groupsOf(fixture, login)
    await fixture.login(['late'])

    expect(renewed).toEqual([])
    expect(await groupsOf(fixture, login)).toEqual([late])
  })

  test('a renewal restores the groups of its own login', async () => {
    await using fixture = await openGroupFixture()
    const accessor = await fixture.mount('jwt')
    const [a, b] = [
      await external(fixture, accessor, 'a', { policies: 'pa' }),
      await external(fixture, accessor, 'b', { policies: 'pb' }),
    ]
    const withA = await fixture.login(['a'])
    const withB = await fixture.login(['b'])

    const renewed = await renew(fixture, withA)
    const afterA = await groupsOf(fixture, withA)
    await renew(fixture, withB)

    expect(renewed.body.auth?.identity_policies).toEqual(['pa'])
    expect(afterA).toEqual([a])
    expect(await groupsOf(fixture, withB)).toEqual([b])
  })

  test('a renewal ends membership once the alias is deleted', async () => {
    await using fixture = await openGroupFixture()
    const accessor = await fixture.mount('jwt')
    const eng = await external(fixture, accessor, 'eng')
    const login = await fixture.login(['eng'])
    await fixture.root.delete(
      `identity/group-alias/id/${String((await fixture.read('group', eng)).alias?.id)}`,
    )
    const before = await groupsOf(fixture, login)

    await renew(fixture, login)

    expect(before).toEqual([eng])
    expect(await groupsOf(fixture, login)).toEqual([])
  })

  test('groups of other mounts and internal groups do not change', async () => {
    await using fixture = await openGroupFixture()
    const [here, there] = [await fixture.mount('jwt'), await fixture.mount('jwt2')]
    const [g, h] = [await external(fixture, here, 'eng'), await external(fixture, there, 'eng')]
    const login = await fixture.login(['eng'])
    await fixture.root.write('identity/entity-alias', {
      name: 'alice',
      mount_accessor: there,
      canonical_id: login.entity,
    })
    const internal = await fixture.make('group', { name: 'int', member_entity_ids: login.entity })

    await fixture.login(['eng'], { mount: 'jwt2' })
    const both = await groupsOf(fixture, login)
    await fixture.login([], { mount: 'jwt2' })

    expect(both).toEqual([g, h, internal].sort())
    expect(await groupsOf(fixture, login)).toEqual([g, internal].sort())
  })

  test('each join and each leave counts as one change, and a login without a change counts as none', async () => {
    await using fixture = await openGroupFixture()
    const accessor = await fixture.mount('jwt')
    const eng = await external(fixture, accessor, 'eng')
    const index = async () => (await fixture.read('group', eng)).modify_index
    const start = Number(await index())

    await fixture.login(['eng'])
    await fixture.login(['eng'])
    const joined = await index()
    await fixture.login([])
    await fixture.login([])

    expect([joined, await index()]).toEqual([start + 1, start + 2])
  })

  test('concurrent logins of many people all join the group and are all counted', async () => {
    await using fixture = await openGroupFixture()
    const accessor = await fixture.mount('jwt')
    const eng = await external(fixture, accessor, 'eng')
    const start = Number((await fixture.read('group', eng)).modify_index)

    const logins = await Promise.all(
      Array.from({ length: 60 }, (_, index) => fixture.login(['eng'], { sub: `p${index}` })),
    )

    const group = await fixture.read('group', eng)
    expect(group.member_entity_ids).toEqual(logins.map(({ entity }) => entity).sort())
    expect(group.modify_index).toBe(start + 60)
  })

  test('concurrent logins of one person with different groups end with the groups of one', async () => {
    await using fixture = await openGroupFixture()
    const accessor = await fixture.mount('jwt')
    const [a, b] = [await external(fixture, accessor, 'a'), await external(fixture, accessor, 'b')]
    const first = await fixture.login([])

    await Promise.all(Array.from({ length: 24 }, (_, index) => fixture.login([index % 2 === 0 ? 'a' : 'b'])))

    const groups = await groupsOf(fixture, first)
    expect([[a], [b]]).toContainEqual(groups)
    expect(
      [(await fixture.read('group', a)).member_entity_ids, (await fixture.read('group', b)).member_entity_ids]
        .flat()
        .filter((id) => id !== null),
    ).toEqual([first.entity])
  })

  test('a mount that is created again has another accessor, so its old aliases no longer match', async () => {
    await using fixture = await openGroupFixture()
    const accessor = await fixture.mount('jwt')
    const eng = await external(fixture, accessor, 'eng')
    await fixture.root.delete('sys/auth/jwt')
    await fixture.mount('jwt')

    const login = await fixture.login(['eng'])

    expect(await groupsOf(fixture, login)).toEqual([])
    expect((await fixture.read('group', eng)).alias).not.toHaveProperty('mount_path')
  })

  test('tens of thousands of unknown names delay no other request', async () => {
    await using fixture = await openGroupFixture({ settings: { MAX_JSON_STRINGS: '100000' } })
    const accessor = await fixture.mount('jwt')
    const eng = await external(fixture, accessor, 'eng')

    const login = await fixture.login([
      ...Array.from({ length: 20_000 }, (_, index) => `nobody-${index}`),
      'eng',
    ])

    expect(await groupsOf(fixture, login)).toEqual([eng])
  })
})

describe('policies of groups', () => {
  test('templates see exactly the groups that an entity is in, including inherited ones', async () => {
    await using fixture = await openGroupFixture()
    await fixture.mount('jwt')
    const login = await fixture.login([])
    const child = await fixture.make('group', { name: 'child', metadata: { team: 'blue', odd: 'a/b' } })
    const parent = await fixture.make('group', { name: 'parent', member_group_ids: child })
    const paths = [
      'cubbyhole/{{identity.groups.names.child.id}}',
      'cubbyhole/{{identity.groups.ids.PARENT.name}}',
      'cubbyhole/{{identity.groups.names.child.metadata.team}}',
      'cubbyhole/x{{identity.groups.names.child.metadata.odd}}',
      'cubbyhole/y{{identity.groups.names.child.metadata.none}}',
    ].map((path) => path.replace('PARENT', parent))
    const stanzas = ['cubbyhole/plain', ...paths].map((path) => `path "${path}" { capabilities = ["read"] }`)
    await fixture.root.write('sys/policies/acl/templated', { policy: stanzas.join('\n') })
    await fixture.root.write(`identity/entity/id/${login.entity}`, { policies: 'templated' })
    await fixture.root.write('sys/policies/acl/default', {
      policy: 'path "none" { capabilities = ["deny"] }',
    })
    const status = async (path: string) => (await login.client.read(`cubbyhole/${path}`)).status
    const places = ['plain', child, 'parent', 'blue', 'xa/b', 'y']

    const before = await Promise.all(places.map(status))
    await fixture.root.write(`identity/group/id/${child}`, { member_entity_ids: login.entity })
    const after = await Promise.all(places.map(status))
    await fixture.root.write(`identity/group/id/${child}`, { metadata: { team: 'red' } })

    expect(before).toEqual([404, 403, 403, 403, 403, 403])
    expect(after).toEqual([404, 404, 404, 404, 403, 403])
    expect([await status('blue'), await status('red')]).toEqual([403, 404])
  })

  test('a group with a policy that does not exist grants nothing, and root is never granted', async () => {
    await using fixture = await openGroupFixture()
    await fixture.mount('jwt')
    const login = await fixture.login([])
    await fixture.make('group', { name: 'g', policies: 'none,Root-like', member_entity_ids: login.entity })

    expect(await identityPolicies(login)).toEqual(['none', 'root-like'])
    expect((await login.client.read('sys/mounts')).status).toBe(403)
  })
})

describe('groups and namespaces', () => {
  const inside = { headers: { 'X-Vault-Namespace': 'ns1' } }

  test('a group may have members of its own namespace and of those above, and no others', async () => {
    await using fixture = await openGroupFixture()
    await fixture.root.write('sys/namespaces/ns1')
    await fixture.root.write('sys/namespaces/ns2')
    const above = await fixture.make('entity', { name: 'above' })
    const groupAbove = await fixture.make('group', { name: 'above' })
    const own = String((await fixture.root.write('identity/entity', { name: 'own' }, inside)).body.data?.id)
    const beside = String(
      (
        await fixture.root.write(
          'identity/entity',
          { name: 'x' },
          { headers: { 'X-Vault-Namespace': 'ns2' } },
        )
      ).body.data?.id,
    )

    const made = await fixture.root.write(
      'identity/group',
      { name: 'g', member_entity_ids: [above, own], member_group_ids: groupAbove },
      inside,
    )
    const sideways = await fixture.root.write(
      'identity/group',
      { name: 'h', member_entity_ids: [beside] },
      inside,
    )
    const upwards = await fixture.root.write('identity/group', { name: 'h', member_entity_ids: [own] })
    const groupUpwards = await fixture.root.write('identity/group', {
      name: 'h',
      member_group_ids: String(made.body.data?.id),
    })

    expect(made.status).toBe(200)
    expect(sideways.body.errors?.[0]).toBe(`invalid entity ID "${beside}"`)
    expect(upwards.body.errors?.[0]).toBe(`invalid entity ID "${own}"`)
    expect(groupUpwards.body.errors?.[0]).toBe(`invalid member group ID "${String(made.body.data?.id)}"`)
  })

  test('ids, names and accessors of another namespace are unknown', async () => {
    await using fixture = await openGroupFixture()
    await fixture.root.write('sys/namespaces/ns1')
    const mount_accessor = await fixture.mount('jwt')
    const g = await external(fixture, mount_accessor, 'eng')
    const alias = String((await fixture.read('group', g)).alias?.id)
    const of = (path: string) => fixture.root.read(`identity/${path}`, inside)
    const post = async (path: string, body: object) => {
      const answer = await fixture.root.write(`identity/${path}`, body, inside)
      return answer.body?.errors?.[0] ?? answer.status
    }

    expect((await of(`group/id/${g}`)).status).toBe(404)
    expect((await of(`group-alias/id/${alias}`)).status).toBe(404)
    expect((await fixture.root.list('identity/group/id', inside)).status).toBe(404)
    expect((await fixture.root.list('identity/group-alias/id', inside)).status).toBe(404)
    expect(await post('group', { id: g, policies: 'p' })).toBe('invalid group ID')
    expect(await post('group-alias', { name: 'x', mount_accessor })).toBe(
      `invalid mount accessor "${String(mount_accessor)}"`,
    )
    expect(await post('group-alias', { id: alias, name: 'x', mount_accessor })).toBe('invalid group alias ID')
    expect(await post('lookup/group', { id: g })).toBe(204)
    expect(await post('lookup/group', { alias_id: alias })).toBe(204)
    expect(await post('lookup/group', { alias_name: 'eng', alias_mount_accessor: mount_accessor })).toBe(204)
    await fixture.root.delete(`identity/group/id/${g}`, inside)
    await fixture.root.delete(`identity/group-alias/id/${alias}`, inside)
    expect((await fixture.read('group', g)).alias?.id).toBe(alias)
  })

  test('policies of a group in a child namespace apply only there, and lookup shows them separately', async () => {
    await using fixture = await openGroupFixture()
    const { body } = await fixture.root.write('sys/namespaces/ns1')
    const namespace = String(body.data?.id)
    await fixture.mount('jwt')
    const login = await fixture.login([])
    const policy = 'path "sys/mounts" { capabilities = ["read"] }'
    await fixture.root.write('sys/policies/acl/see', { policy }, inside)
    const before = await login.client.read('ns1/sys/mounts')

    await fixture.root.write(
      'identity/group',
      { name: 'g', policies: 'see', member_entity_ids: login.entity },
      inside,
    )

    expect(before.status).toBe(403)
    expect((await login.client.read('ns1/sys/mounts')).status).toBe(200)
    expect((await login.client.read('sys/mounts')).status).toBe(403)
    expect((await login.client.read('auth/token/lookup-self')).body.data).toMatchObject({
      identity_policies: [],
      external_namespace_policies: { [namespace]: ['see'] },
    })
  })
})
