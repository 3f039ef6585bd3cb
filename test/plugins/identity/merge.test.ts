import { afterAll, beforeAll, expect, test } from 'vitest'
import { invalidTokenText } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { aLoginMount, type LoginMount, verdict } from './login-mount.ts'

const nobody = '00000000-0000-4000-8000-000000000000'
const clashText =
  'toEntity and at least one fromEntity have aliases with the same mount accessor, repeat the merge request specifying exactly one fromEntity, clashes: '

let server: TestServer
let here: LoginMount
let there: LoginMount
let made = 0
const fresh = (what: string) => `${what}${++made}`

beforeAll(async () => {
  server = await startTestServer()
  here = await aLoginMount(server, 'here')
  there = await aLoginMount(server, 'there')
})
afterAll(() => server[Symbol.asyncDispose]())

const merge = (fields: object) => server.root.write('identity/entity/merge', fields)
const read = async (id: string) => (await server.root.read(`identity/entity/id/${id}`)).body.data
const aliasOf = async (id: string) => Object.values((await read(id))?.aliases ?? {})[0]

async function anEntity(name = fresh('entity')) {
  return { id: String((await server.root.write('identity/entity', { name })).body.data?.id), name }
}

async function withAlias() {
  const { id, name } = await anEntity()
  const alias = fresh('alias')
  const { body } = await server.root.write('identity/entity-alias', {
    name: alias,
    mount_accessor: here.accessor,
    canonical_id: id,
  })
  return { id, name, alias, aliasId: String(body.data?.id) }
}

test('tokens of a merged entity act as the target; its aliases and groups move, its policies and metadata do not', async () => {
  await server.root.write('sys/policies/acl/of-a', {
    policy: 'path "sys/mounts" { capabilities = ["read"] }',
  })
  await server.root.write('sys/policies/acl/of-b', { policy: 'path "sys/auth" { capabilities = ["read"] }' })
  const a = await here.login(fresh('ann'))
  const sub = fresh('bob')
  const b = await there.login(sub)
  await server.root.write(`identity/entity/id/${a.entityId}`, { policies: ['of-a'], metadata: { of: 'a' } })
  await server.root.write(`identity/entity/id/${b.entityId}`, { policies: ['of-b'], metadata: { of: 'b' } })
  const group = String(
    (await server.root.write('identity/group', { name: fresh('group'), member_entity_ids: [b.entityId] }))
      .body.data?.id,
  )
  expect((await b.client.read('sys/auth')).status).toBe(200)

  expect((await merge({ to_entity_id: a.entityId, from_entity_ids: [b.entityId] })).status).toBe(204)

  expect((await b.client.read('sys/auth')).status).toBe(403)
  expect((await b.client.read('sys/mounts')).status).toBe(200)
  expect((await b.client.read('auth/token/lookup-self')).body.data).toMatchObject({
    entity_id: b.entityId,
    identity_policies: ['of-a'],
  })
  expect(await read(a.entityId)).toMatchObject({
    policies: ['of-a'],
    metadata: { of: 'a' },
    merged_entity_ids: [b.entityId],
    group_ids: [group],
  })
  const moved = Object.values((await read(a.entityId))?.aliases ?? {}).find(
    ({ name }) => String(name) === sub,
  )
  expect(moved).toMatchObject({ canonical_id: a.entityId, merged_from_canonical_ids: [b.entityId] })
  expect((await server.root.read(`identity/entity-alias/id/${String(moved?.id)}`)).body.data).toMatchObject({
    canonical_id: a.entityId,
  })
  expect((await server.root.read(`identity/group/id/${group}`)).body.data?.member_entity_ids).toEqual([
    a.entityId,
  ])
  expect((await server.root.read(`identity/entity/id/${b.entityId}`)).status).toBe(404)
  expect((await there.login(sub)).entityId).toBe(a.entityId)
})

test('after merging A into B and B into C all tokens belong to C, until C is deleted', async () => {
  const subs = [fresh('a'), fresh('b'), fresh('c')]
  const c = await anEntity()
  const a = await here.login(subs[0] ?? '')
  const b = await there.login(subs[1] ?? '')

  expect((await merge({ to_entity_id: b.entityId, from_entity_ids: [a.entityId] })).status).toBe(204)
  expect((await a.client.read('auth/token/lookup-self')).status).toBe(200)
  expect((await merge({ to_entity_id: c.id, from_entity_ids: [b.entityId] })).status).toBe(204)
  await server.root.write(`identity/entity/id/${c.id}`, { policies: ['only-c'] })

  for (const { client } of [a, b])
    expect((await client.read('auth/token/lookup-self')).body.data?.identity_policies).toEqual(['only-c'])
  expect(
    Object.values((await read(c.id))?.merged_entity_ids ?? {})
      .map(String)
      .sort(),
  ).toEqual([a.entityId, b.entityId].sort())

  await server.root.write(`identity/entity/id/${c.id}`, { disabled: true })
  for (const { client } of [a, b])
    expect(verdict(await client.read('auth/token/lookup-self'))).toBe('403 permission denied')
  await server.root.delete(`identity/entity/id/${c.id}`)
  for (const { client } of [a, b])
    expect(verdict(await client.read('auth/token/lookup-self'))).toBe(`403 ${invalidTokenText}`)
})

test('merged names are free again', async () => {
  const [a, b] = [await anEntity(), await anEntity()]

  await merge({ to_entity_id: a.id, from_entity_ids: [b.id] })

  expect((await server.root.write('identity/entity', { name: b.name })).body.data?.id).not.toBe(b.id)
})

test.each<[string, (a: string, b: string) => object, string]>([
  ['nothing', () => ({}), '400 missing entity id to merge to'],
  ['no target', (_a, b) => ({ from_entity_ids: [b] }), '400 missing entity id to merge to'],
  ['no source', (a) => ({ to_entity_id: a }), '400 missing entity ids to merge from'],
  [
    'an unknown target',
    (_a, b) => ({ to_entity_id: nobody, from_entity_ids: [b] }),
    '400 entity id to merge to is invalid',
  ],
  [
    'an unknown source',
    (a, b) => ({ to_entity_id: a, from_entity_ids: [b, nobody] }),
    '400 entity id to merge from is invalid',
  ],
  [
    'into itself',
    (a, b) => ({ to_entity_id: a, from_entity_ids: [b, a] }),
    '400 to_entity_id should not be present in from_entity_ids',
  ],
  [
    'force that is not a bool',
    (a, b) => ({ to_entity_id: a, from_entity_ids: [b], force: 'maybe' }),
    `400 Field validation failed: error converting input for field "force": '' cannot parse value as 'bool': strconv.ParseBool: invalid syntax`,
  ],
  [
    'several of which two aliases are kept',
    (a, b) => ({ to_entity_id: a, from_entity_ids: [b, nobody], conflicting_alias_ids_to_keep: ['x', 'y'] }),
    '400 aliases conflicts cannot be resolved with multiple from entity ids - merge one entity at a time',
  ],
  [
    'too many',
    (a) => ({ to_entity_id: a, from_entity_ids: Array.from({ length: 1001 }, (_, at) => `${at}`).join() }),
    '400 too many entity ids to merge from: at most 1000 at a time',
  ],
])('a merge is refused: %s', async (_what, fields, expected) => {
  const [a, b] = [await anEntity(), await anEntity()]

  expect(verdict(await merge(fields(a.id, b.id)))).toBe(expected)

  expect(await read(a.id)).toMatchObject({ merged_entity_ids: null })
  expect(await read(b.id)).toMatchObject({ id: b.id })
})

test.each([{}, { force: true }])(
  'two aliases on one mount are reported, with the records: %j',
  async (fields) => {
    const [a, b] = [await withAlias(), await withAlias()]

    const { status, body } = await merge({ to_entity_id: a.id, from_entity_ids: [b.id], ...fields })

    expect(status).toBe(400)
    const clash = `mountAccessor: ${here.accessor}, toEntity ID: ${a.id}, fromEntity ID: ${b.id}, conflicting toEntity alias ID: ${a.aliasId}, conflicting fromEntity alias ID: ${b.aliasId}`
    expect(body).toEqual({
      errors: [`2 errors occurred:\n\t* ${clashText}\n\t* ${clash}\n\n`],
      data: [a, b].map(({ id, name, alias }) => ({
        alias,
        entity: name,
        entity_id: id,
        mount: 'jwt',
        mount_path: 'auth/here/',
      })),
    })
    expect(await read(b.id)).toMatchObject({ id: b.id })
  },
)

test('two sources that clash with each other are reported too', async () => {
  const to = await anEntity()
  const [b, c] = [await withAlias(), await withAlias()]

  const { status, body } = await merge({ to_entity_id: to.id, from_entity_ids: [b.id, c.id] })

  expect(status).toBe(400)
  expect(body.data).toMatchObject([{ entity_id: b.id }, { entity_id: c.id }])
  expect(await read(to.id)).toMatchObject({ aliases: [] })
})

test.each([
  ['of the source', true],
  ['of the target', false],
])('of two aliases the named one is kept: that %s', async (_which, keepsSource) => {
  const [a, b] = [await withAlias(), await withAlias()]
  const [kept, lost] = keepsSource ? [b, a] : [a, b]

  const unnamed = await merge({
    to_entity_id: a.id,
    from_entity_ids: [b.id],
    conflicting_alias_ids_to_keep: ['zz'],
  })
  expect(verdict(unnamed)).toBe(
    `400 conflicting mount accessors in following alias IDs and neither were present in conflicting_alias_ids_to_keep: ${b.aliasId}, ${a.aliasId}`,
  )
  expect(
    (
      await merge({
        to_entity_id: a.id,
        from_entity_ids: [b.id],
        conflicting_alias_ids_to_keep: [kept.aliasId],
      })
    ).status,
  ).toBe(204)

  const merged = keepsSource ? [b.id] : null
  expect(await aliasOf(a.id)).toMatchObject({
    id: kept.aliasId,
    name: kept.alias,
    canonical_id: a.id,
    merged_from_canonical_ids: merged,
  })
  expect((await server.root.read(`identity/entity-alias/id/${kept.aliasId}`)).status).toBe(200)
  expect((await server.root.read(`identity/entity-alias/id/${lost.aliasId}`)).status).toBe(404)
  expect((await here.login(kept.alias)).entityId).toBe(a.id)
  expect((await here.login(lost.alias)).entityId).not.toBe(a.id)
})
