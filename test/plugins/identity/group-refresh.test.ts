import { describe, expect, test } from 'vitest'
import { type GroupHouse, type Login, openGroupHouse } from './group-house.ts'

/** An external group with an alias at a mount. */
async function external(house: GroupHouse, accessor: string, alias: string, body: object = {}): Promise<string> {
  const id = await house.make('group', { name: `group of ${alias} at ${accessor}`, type: 'external', ...body })
  await house.make('group-alias', { name: alias, mount_accessor: accessor, canonical_id: id })
  return id
}

const groupsOf = async (house: GroupHouse, { entity }: Login) => (await house.read('entity', entity)).direct_group_ids
const renew = (house: GroupHouse, { token }: Login) => house.root.write('auth/token/renew', { token })
const identityPolicies = async ({ client }: Login) => (await client.read('auth/token/lookup-self')).body.data?.identity_policies

describe('logins and renewals refresh external groups', () => {
  test('a group name in a login adds the member, its absence removes it, and rights follow at once', async () => {
    await using house = await openGroupHouse()
    const accessor = await house.mount('jwt')
    const eng = await external(house, accessor, 'Eng', { policies: 'web' })

    const first = await house.login(['other', ' eNG ', 'eng'])
    const during = [await groupsOf(house, first), await identityPolicies(first)]
    const second = await house.login([])

    expect(first.auth.identity_policies).toEqual(['web'])
    expect(first.auth.policies).toEqual(['default', 'web'])
    expect(during).toEqual([[eng], ['web']])
    expect(second.auth.identity_policies).toBeUndefined()
    expect(await groupsOf(house, first)).toEqual([])
    expect(await identityPolicies(first)).toBeUndefined()
  })

  test('an alias made after the login counts at the next login, not at a renewal', async () => {
    await using house = await openGroupHouse()
    const accessor = await house.mount('jwt')
    const login = await house.login(['late'])
    const late = await external(house, accessor, 'late')

    await renew(house, login)
    const renewed = await groupsOf(house, login)
    await house.login(['late'])

    expect(renewed).toEqual([])
    expect(await groupsOf(house, login)).toEqual([late])
  })

  test('a renewal puts back what its own login had', async () => {
    await using house = await openGroupHouse()
    const accessor = await house.mount('jwt')
    const [a, b] = [await external(house, accessor, 'a', { policies: 'pa' }), await external(house, accessor, 'b', { policies: 'pb' })]
    const withA = await house.login(['a'])
    const withB = await house.login(['b'])

    const renewed = await renew(house, withA)
    const afterA = await groupsOf(house, withA)
    await renew(house, withB)

    expect(renewed.body.auth?.identity_policies).toEqual(['pa'])
    expect(afterA).toEqual([a])
    expect(await groupsOf(house, withB)).toEqual([b])
  })

  test('a renewal ends membership once the alias is deleted', async () => {
    await using house = await openGroupHouse()
    const accessor = await house.mount('jwt')
    const eng = await external(house, accessor, 'eng')
    const login = await house.login(['eng'])
    await house.root.delete(`identity/group-alias/id/${String((await house.read('group', eng)).alias?.id)}`)
    const before = await groupsOf(house, login)

    await renew(house, login)

    expect(before).toEqual([eng])
    expect(await groupsOf(house, login)).toEqual([])
  })

  test('groups of other mounts and internal groups do not change', async () => {
    await using house = await openGroupHouse()
    const [here, there] = [await house.mount('jwt'), await house.mount('jwt2')]
    const [g, h] = [await external(house, here, 'eng'), await external(house, there, 'eng')]
    const login = await house.login(['eng'])
    await house.root.write('identity/entity-alias', { name: 'alice', mount_accessor: there, canonical_id: login.entity })
    const internal = await house.make('group', { name: 'int', member_entity_ids: login.entity })

    await house.login(['eng'], { mount: 'jwt2' })
    const both = await groupsOf(house, login)
    await house.login([], { mount: 'jwt2' })

    expect(both).toEqual([g, h, internal].sort())
    expect(await groupsOf(house, login)).toEqual([g, internal].sort())
  })

  test('each join and each leave counts once; a login without a change counts nothing', async () => {
    await using house = await openGroupHouse()
    const accessor = await house.mount('jwt')
    const eng = await external(house, accessor, 'eng')
    const index = async () => (await house.read('group', eng)).modify_index
    const start = Number(await index())

    await house.login(['eng'])
    await house.login(['eng'])
    const joined = await index()
    await house.login([])
    await house.login([])

    expect([joined, await index()]).toEqual([start + 1, start + 2])
  })

  test('concurrent logins of many people all join and are all counted', async () => {
    await using house = await openGroupHouse()
    const accessor = await house.mount('jwt')
    const eng = await external(house, accessor, 'eng')
    const start = Number((await house.read('group', eng)).modify_index)

    const logins = await Promise.all(Array.from({ length: 60 }, (_, index) => house.login(['eng'], { sub: `p${index}` })))

    const group = await house.read('group', eng)
    expect(group.member_entity_ids).toEqual(logins.map(({ entity }) => entity).sort())
    expect(group.modify_index).toBe(start + 60)
  })

  test('concurrent logins of one person with different groups end with the groups of one', async () => {
    await using house = await openGroupHouse()
    const accessor = await house.mount('jwt')
    const [a, b] = [await external(house, accessor, 'a'), await external(house, accessor, 'b')]
    const first = await house.login([])

    await Promise.all(Array.from({ length: 24 }, (_, index) => house.login([index % 2 === 0 ? 'a' : 'b'])))

    const groups = await groupsOf(house, first)
    expect([[a], [b]]).toContainEqual(groups)
    expect(
      [(await house.read('group', a)).member_entity_ids, (await house.read('group', b)).member_entity_ids].flat().filter((id) => id !== null),
    ).toEqual([first.entity])
  })

  test('a mount that comes again has another accessor: its old aliases match no more', async () => {
    await using house = await openGroupHouse()
    const accessor = await house.mount('jwt')
    const eng = await external(house, accessor, 'eng')
    await house.root.delete('sys/auth/jwt')
    await house.mount('jwt')

    const login = await house.login(['eng'])

    expect(await groupsOf(house, login)).toEqual([])
    expect((await house.read('group', eng)).alias).not.toHaveProperty('mount_path')
  })

  test('tens of thousands of unknown names delay nobody', async () => {
    await using house = await openGroupHouse({ settings: { MAX_JSON_STRINGS: '100000' } })
    const accessor = await house.mount('jwt')
    const eng = await external(house, accessor, 'eng')

    const login = await house.login([...Array.from({ length: 20_000 }, (_, index) => `nobody-${index}`), 'eng'])

    expect(await groupsOf(house, login)).toEqual([eng])
  })
})

describe('policies of groups', () => {
  test('templates see the groups an entity is in, inherited ones too, and only those', async () => {
    await using house = await openGroupHouse()
    await house.mount('jwt')
    const login = await house.login([])
    const child = await house.make('group', { name: 'child', metadata: { team: 'blue', odd: 'a/b' } })
    const parent = await house.make('group', { name: 'parent', member_group_ids: child })
    const paths = [
      'cubbyhole/{{identity.groups.names.child.id}}',
      'cubbyhole/{{identity.groups.ids.PARENT.name}}',
      'cubbyhole/{{identity.groups.names.child.metadata.team}}',
      'cubbyhole/x{{identity.groups.names.child.metadata.odd}}',
      'cubbyhole/y{{identity.groups.names.child.metadata.none}}',
    ].map((path) => path.replace('PARENT', parent))
    const stanzas = ['cubbyhole/plain', ...paths].map((path) => `path "${path}" { capabilities = ["read"] }`)
    await house.root.write('sys/policies/acl/templated', { policy: stanzas.join('\n') })
    await house.root.write(`identity/entity/id/${login.entity}`, { policies: 'templated' })
    await house.root.write('sys/policies/acl/default', { policy: 'path "none" { capabilities = ["deny"] }' })
    const status = async (path: string) => (await login.client.read(`cubbyhole/${path}`)).status
    const places = ['plain', child, 'parent', 'blue', 'xa/b', 'y']

    const before = await Promise.all(places.map(status))
    await house.root.write(`identity/group/id/${child}`, { member_entity_ids: login.entity })
    const after = await Promise.all(places.map(status))
    await house.root.write(`identity/group/id/${child}`, { metadata: { team: 'red' } })

    expect(before).toEqual([404, 403, 403, 403, 403, 403])
    expect(after).toEqual([404, 404, 404, 404, 403, 403])
    expect([await status('blue'), await status('red')]).toEqual([403, 404])
  })

  test('a group with the policy of a role that is not there grants nothing, and root is never given', async () => {
    await using house = await openGroupHouse()
    await house.mount('jwt')
    const login = await house.login([])
    await house.make('group', { name: 'g', policies: 'none,Root-like', member_entity_ids: login.entity })

    expect(await identityPolicies(login)).toEqual(['none', 'root-like'])
    expect((await login.client.read('sys/mounts')).status).toBe(403)
  })
})

describe('groups and namespaces', () => {
  const inside = { headers: { 'X-Vault-Namespace': 'ns1' } }

  test('a group may have members of its own namespace and of those above, and no others', async () => {
    await using house = await openGroupHouse()
    await house.root.write('sys/namespaces/ns1')
    await house.root.write('sys/namespaces/ns2')
    const above = await house.make('entity', { name: 'above' })
    const groupAbove = await house.make('group', { name: 'above' })
    const own = String((await house.root.write('identity/entity', { name: 'own' }, inside)).body.data?.id)
    const beside = String((await house.root.write('identity/entity', { name: 'x' }, { headers: { 'X-Vault-Namespace': 'ns2' } })).body.data?.id)

    const made = await house.root.write('identity/group', { name: 'g', member_entity_ids: [above, own], member_group_ids: groupAbove }, inside)
    const sideways = await house.root.write('identity/group', { name: 'h', member_entity_ids: [beside] }, inside)
    const upwards = await house.root.write('identity/group', { name: 'h', member_entity_ids: [own] })
    const groupUpwards = await house.root.write('identity/group', { name: 'h', member_group_ids: String(made.body.data?.id) })

    expect(made.status).toBe(200)
    expect(sideways.body.errors?.[0]).toBe(`invalid entity ID "${beside}"`)
    expect(upwards.body.errors?.[0]).toBe(`invalid entity ID "${own}"`)
    expect(groupUpwards.body.errors?.[0]).toBe(`invalid member group ID "${String(made.body.data?.id)}"`)
  })

  test('ids, names and accessors of another namespace are unknown', async () => {
    await using house = await openGroupHouse()
    await house.root.write('sys/namespaces/ns1')
    const mount_accessor = await house.mount('jwt')
    const g = await external(house, mount_accessor, 'eng')
    const alias = String((await house.read('group', g)).alias?.id)
    const of = (path: string) => house.root.read(`identity/${path}`, inside)
    const post = async (path: string, body: object) => {
      const answer = await house.root.write(`identity/${path}`, body, inside)
      return answer.body?.errors?.[0] ?? answer.status
    }

    expect((await of(`group/id/${g}`)).status).toBe(404)
    expect((await of(`group-alias/id/${alias}`)).status).toBe(404)
    expect((await house.root.list('identity/group/id', inside)).status).toBe(404)
    expect((await house.root.list('identity/group-alias/id', inside)).status).toBe(404)
    expect(await post('group', { id: g, policies: 'p' })).toBe('invalid group ID')
    expect(await post('group-alias', { name: 'x', mount_accessor })).toBe(`invalid mount accessor "${String(mount_accessor)}"`)
    expect(await post('group-alias', { id: alias, name: 'x', mount_accessor })).toBe('invalid group alias ID')
    expect(await post('lookup/group', { id: g })).toBe(204)
    expect(await post('lookup/group', { alias_id: alias })).toBe(204)
    expect(await post('lookup/group', { alias_name: 'eng', alias_mount_accessor: mount_accessor })).toBe(204)
    await house.root.delete(`identity/group/id/${g}`, inside)
    await house.root.delete(`identity/group-alias/id/${alias}`, inside)
    expect((await house.read('group', g)).alias?.id).toBe(alias)
  })

  test('policies of a group below count there only, and lookup tells them apart', async () => {
    await using house = await openGroupHouse()
    const { body } = await house.root.write('sys/namespaces/ns1')
    const namespace = String(body.data?.id)
    await house.mount('jwt')
    const login = await house.login([])
    const policy = 'path "sys/mounts" { capabilities = ["read"] }'
    await house.root.write('sys/policies/acl/see', { policy }, inside)
    const before = await login.client.read('ns1/sys/mounts')

    await house.root.write('identity/group', { name: 'g', policies: 'see', member_entity_ids: login.entity }, inside)

    expect(before.status).toBe(403)
    expect((await login.client.read('ns1/sys/mounts')).status).toBe(200)
    expect((await login.client.read('sys/mounts')).status).toBe(403)
    expect((await login.client.read('auth/token/lookup-self')).body.data).toMatchObject({
      identity_policies: [],
      external_namespace_policies: { [namespace]: ['see'] },
    })
  })
})
