import { expect, test } from 'vitest'
import { inside } from '../../support/client.ts'
import { openGroupFixture } from './group-fixture.ts'
import { aLoginMount } from './login-mount.ts'
import { saidBy } from './person.ts'

test('members from above leave the groups below when they are deleted or merged, and keep no groups of a deleted namespace', async () => {
  await using fixture = await openGroupFixture()
  const { root } = fixture
  for (const path of ['sys/namespaces/a', 'a/sys/namespaces/b']) await root.write(path, {})
  await fixture.mount('jwt')
  const [one, two] = await Promise.all([fixture.make('entity', {}), fixture.login([])])
  const three = await fixture.make('entity', {})
  const middle = String((await root.write('identity/entity', { name: 'middle' }, inside('a'))).body.data?.id)
  const team = await fixture.make('group', { name: 'team', member_entity_ids: one })
  const body = {
    name: 'g',
    policies: 'p',
    member_entity_ids: [one, two.entity, middle],
    member_group_ids: team,
  }
  const low = String((await root.write('identity/group', body, inside('a/b'))).body.data?.id)
  const members = async () =>
    (await root.read(`identity/group/id/${low}`, inside('a/b'))).body.data?.member_entity_ids

  await root.write('identity/entity/merge', { to_entity_id: three, from_entity_ids: two.entity })
  expect(await members()).toEqual([one, three, middle].sort())
  await root.delete(`identity/entity/id/${middle}`, inside('a'))
  expect(await members()).toEqual([one, three].sort())
  await root.write('identity/entity/batch-delete', { entity_ids: [one] })
  expect(await members()).toEqual([three])
  expect(
    Object.values(
      (await two.client.read('auth/token/lookup-self')).body.data?.external_namespace_policies ?? {},
    ),
  ).toEqual([['p']])
  expect(await fixture.read('group', team)).toMatchObject({ parent_group_ids: [low], member_entity_ids: [] })

  for (const path of ['a/sys/namespaces/b', 'sys/namespaces/a']) {
    await root.delete(path)
    await expect.poll(async () => (await root.read(path)).status).toBe(404)
  }
  expect(await fixture.read('entity', three)).toMatchObject({ group_ids: [] })
  expect(await fixture.read('group', team)).toMatchObject({ parent_group_ids: null })
  expect(
    (await two.client.read('auth/token/lookup-self')).body.data?.external_namespace_policies,
  ).toBeUndefined()
})

test('a member ten groups deep has the policies of all ten, across three namespaces, until one of them is deleted', async () => {
  await using fixture = await openGroupFixture()
  const { root } = fixture
  for (const path of ['sys/namespaces/a', 'a/sys/namespaces/b']) await root.write(path, {})
  await fixture.mount('jwt')
  const { entity, client } = await fixture.login([])
  const places = ['', '', '', '', 'a', 'a', 'a', 'a/b', 'a/b', 'a/b']
  const ids: string[] = []
  for (const [depth, place] of places.entries()) {
    const members = depth === 0 ? { member_entity_ids: entity } : { member_group_ids: ids[depth - 1] }
    ids.push(
      String(
        (
          await root.write(
            'identity/group',
            { name: `g${depth}`, policies: `p${depth}`, ...members },
            inside(place),
          )
        ).body.data?.id,
      ),
    )
  }
  const policies = async () => {
    const { data } = (await client.read('auth/token/lookup-self')).body
    return [data?.identity_policies, ...Object.values(data?.external_namespace_policies ?? {})]
      .flat()
      .map(String)
      .sort()
  }

  expect(await policies()).toEqual(places.map((_, depth) => `p${depth}`))
  expect(await fixture.read('entity', entity)).toMatchObject({
    direct_group_ids: [ids[0]],
    inherited_group_ids: ids.slice(1).sort(),
  })
  await root.delete(`identity/group/id/${ids[5]}`, inside('a'))
  expect(await policies()).toEqual(['p0', 'p1', 'p2', 'p3', 'p4'])
  expect((await root.write(`identity/group/id/${ids[0]}`, { member_group_ids: ids[4] })).status).toBe(400)
  expect((await root.write(`identity/group/id/${ids[0]}`, { member_group_ids: ids[3] })).body.errors).toEqual(
    [`cyclic relationship detected for member group ID "${ids[3]}"`],
  )
})

test('a template of a namespace names a group of that namespace by its id, which has a dot', async () => {
  await using fixture = await openGroupFixture()
  const { root, server } = fixture
  await root.write('sys/namespaces/a', {})
  const mount = await aLoginMount(server, 'people', { policies: 'default' })
  const { client, entityId } = await mount.login('bob')
  const group = { name: 'shop', policies: 'shops', metadata: { floor: '3' }, member_entity_ids: entityId }
  const id = String((await root.write('identity/group', group, inside('a'))).body.data?.id)
  const labels = [`{{identity.groups.ids.${id}.name}}`, `{{identity.groups.ids.${id}.metadata.floor}}`]
  const policy = labels.map((label) => `path "cubbyhole/${label}" { capabilities = ["read"] }`).join('\n')
  await root.write('sys/policies/acl/shops', { policy }, inside('a'))
  const capabilities = async (path: string) =>
    (await client.write('sys/capabilities-self', { path: `a/cubbyhole/${path}` })).body.data?.capabilities

  expect(id).toContain('.')
  expect(await Promise.all(['shop', '3', 'other'].map(capabilities))).toEqual([['read'], ['read'], ['deny']])
})

test("an issuer's tokens name only groups of its own namespace", async () => {
  await using fixture = await openGroupFixture()
  const { root, server } = fixture
  await root.write('sys/namespaces/a', {})
  await root.write('sys/policies/acl/tokens', {
    policy:
      'path "+/identity/oidc/token/*" { capabilities = ["read"] } path "identity/oidc/token/*" { capabilities = ["read"] }',
  })
  const mount = await aLoginMount(server, 'people', { policies: 'tokens' })
  const { client, entityId } = await mount.login('bob')
  // an admin of the parent is not one of the child
  await fixture.make('group', { name: 'admins', member_entity_ids: entityId })
  await root.write('identity/group', { name: 'guests', member_entity_ids: entityId }, inside('a'))
  for (const options of [inside(''), inside('a')]) {
    await root.write(
      'identity/oidc/role/r',
      { key: 'default', template: '{"groups": {{identity.entity.groups.names}} }' },
      options,
    )
  }
  const groupsOf = async (path: string) =>
    saidBy(String((await client.read(path)).body.data?.token)).claims['groups']

  expect(await groupsOf('identity/oidc/token/r')).toEqual(['admins'])
  expect(await groupsOf('a/identity/oidc/token/r')).toEqual(['guests'])
})
