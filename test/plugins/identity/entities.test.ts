import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import { invalidTokenText } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { aLoginMount, type LoginMount, verdict } from './login-mount.ts'

const nobody = '00000000-0000-4000-8000-000000000000'
const unsupported = '405 1 error occurred:\n\t* unsupported operation\n\n'
const unknownPath = '404 1 error occurred:\n\t* unsupported path\n\n'

let server: TestServer
let people: LoginMount
let made = 0
const fresh = (what: string) => `${what}${++made}`

beforeAll(async () => {
  server = await startTestServer()
  people = await aLoginMount(server, 'people')
})
afterAll(() => server[Symbol.asyncDispose]())

async function anEntity(fields: object = {}): Promise<{ id: string; name: string }> {
  const name = fresh('entity')
  const { body } = await server.root.write('identity/entity', { name, ...fields })
  return { id: String(body.data?.id), name }
}

const read = async (id: string) => (await server.root.read(`identity/entity/id/${id}`)).body.data

test('an entity is created once, then updated', async () => {
  const name = fresh('bob')

  const first = await server.root.write('identity/entity', { name })
  const second = await server.root.write('identity/entity', { name, policies: ['p'] })

  expect(first.body.data).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), name, aliases: null })
  expect(second.status).toBe(204)
  expect(await read(String(first.body.data?.id))).toEqual({
    id: first.body.data?.id,
    name,
    metadata: null,
    policies: ['p'],
    disabled: false,
    namespace_id: 'root',
    creation_time: expect.stringMatching(/Z$/),
    last_update_time: expect.stringMatching(/Z$/),
    merged_entity_ids: null,
    aliases: [],
    group_ids: [],
    direct_group_ids: [],
    inherited_group_ids: [],
  })
})

test('without a name, or with an empty one, a name is generated', async () => {
  for (const body of [{}, { name: '', id: '' }, { name: ' \t' }]) {
    const { body: answer } = await server.root.write('identity/entity', body)
    expect(answer.data?.name).toMatch(/^entity_[0-9a-f]{8}$/)
  }
})

describe('refusals of entities', () => {
  test.each<[string, object, string]>([
    ['an unknown id', { id: nobody }, '400 entity not found from id'],
    ['an id of no form', { id: '../x' }, '400 entity not found from id'],
    ...['root', 'Root ', 'ROOT', 'ｒｏｏｔ', 'ro\u00adot', 'ℝoot'].map((name): [string, object, string] => [
      `policy ${JSON.stringify(name)}`,
      { policies: ['a', name] },
      '400 policies cannot contain root',
    ]),
    [
      'a key with a blank',
      { metadata: { 'a b': '1' } },
      '400 invalid entity metadata: failed to load metadata pair ("a b", "1"): key contains invalid characters',
    ],
    [
      'a blank key',
      { metadata: { '': '1' } },
      '400 invalid entity metadata: failed to load metadata pair ("", "1"): key cannot be blank',
    ],
    [
      'a reserved key',
      { metadata: { 'vault-x': '1' } },
      '400 invalid entity metadata: failed to load metadata pair ("vault-x", "1"): key prefix "vault-" is reserved for internal use',
    ],
    [
      'a long value',
      { metadata: { k: 'v'.repeat(513) } },
      `400 invalid entity metadata: failed to load metadata pair ("k", "${'v'.repeat(513)}"): value is too long (limit: 512 characters)`,
    ],
    [
      'too many pairs',
      { metadata: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`k${at}`, 'v'])) },
      '400 invalid entity metadata: metadata cannot contain more than 64 key/value pairs',
    ],
  ])('%s', async (_what, body, expected) => {
    const before = (await server.root.list('identity/entity/id')).body?.data?.keys

    expect(verdict(await server.root.write('identity/entity', body))).toBe(expected)

    expect((await server.root.list('identity/entity/id')).body?.data?.keys).toEqual(before)
  })
})

test('a name takes its new spelling, and belongs to only one entity', async () => {
  const { id, name } = await anEntity()
  const other = await anEntity()
  const spelt = name.toUpperCase()

  expect((await server.root.write(`identity/entity/name/${spelt}`, { policies: ['x'] })).status).toBe(204)
  expect(await read(id)).toMatchObject({ name: spelt, policies: ['x'] })
  expect(
    verdict(await server.root.write(`identity/entity/id/${other.id}`, { name: name.toUpperCase() })),
  ).toBe('400 entity name is already in use')
  expect(verdict(await server.root.write('identity/entity', { id, name: other.name }))).toBe(
    '400 entity name is already in use',
  )
  expect((await read(other.id))?.name).toBe(other.name)
})

test('the old name of a renamed entity is free again', async () => {
  const { id, name } = await anEntity()
  const next = fresh('renamed')

  expect((await server.root.write(`identity/entity/id/${id}`, { name: next })).status).toBe(204)

  expect((await server.root.read(`identity/entity/name/${name}`)).status).toBe(404)
  expect((await server.root.read(`identity/entity/name/${next}`)).body.data?.id).toBe(id)
  expect((await server.root.write('identity/entity', { name })).body.data?.id).not.toBe(id)
})

test('a path by name changes the entity of that name only, whatever the body says', async () => {
  const { id, name } = await anEntity()
  const other = await anEntity()

  expect(
    (
      await server.root.write(`identity/entity/name/${name}`, {
        id: other.id,
        name: other.name,
        policies: ['q'],
      })
    ).status,
  ).toBe(204)

  expect(await read(id)).toMatchObject({ name, policies: ['q'] })
  expect(await read(other.id)).toMatchObject({ name: other.name, policies: [] })
})

test('a caller who may write one entity by its name reaches no other one', async () => {
  const { name } = await anEntity()
  const other = await anEntity()
  const policy = fresh('narrow')
  await server.root.write(`sys/policies/acl/${policy}`, {
    policy: `path "identity/entity/name/${name}" { capabilities = ["update"] }`,
  })
  const { body } = await server.root.write('auth/token/create', { policies: [policy] })
  const narrow = server.as(String(body.auth?.client_token))

  expect((await narrow.write(`identity/entity/name/${name}`, { metadata: { a: 'b' } })).status).toBe(204)
  expect(
    (await narrow.write(`identity/entity/name/${name}`, { id: other.id, policies: ['stolen'] })).status,
  ).toBe(204)
  expect((await narrow.write(`identity/entity/id/${other.id}`, { policies: ['stolen'] })).status).toBe(403)

  expect(await read(other.id)).toMatchObject({ policies: [] })
})

test.each<[object, object]>([
  [{ metadata: ['a=1', 'b=x=y'] }, { metadata: { a: '1', b: 'x=y' } }],
  [
    { metadata: { n: 5, t: true, f: false, d: 1.5, x: null } },
    { metadata: { n: '5', t: '1', f: '0', d: '1.5', x: '' } },
  ],
  [{ metadata: JSON.parse('{"__proto__":"p"}') }, { metadata: JSON.parse('{"__proto__":"p"}') }],
  [
    { metadata: null, policies: null },
    { metadata: null, policies: [] },
  ],
  [{ policies: ' B , a,, b' }, { policies: ['a', 'b'] }],
  [{ disabled: 'true' }, { disabled: true }],
])('fields take the forms clients send: %j', async (sent, stored) => {
  const { id } = await anEntity()

  expect((await server.root.write(`identity/entity/id/${id}`, sent)).status).toBe(204)

  expect(await read(id)).toMatchObject(stored)
})

test('lists are sorted and paged by after and limit, and lists by name have no key_info', async () => {
  await using other = await borrowServer()
  const mount = await aLoginMount(other, 'people')
  expect((await other.root.list('identity/entity/id')).status).toBe(404)
  expect((await other.root.list('identity/entity/name')).status).toBe(404)
  await mount.login('carl')
  for (const name of ['zed', 'Ann', 'mia', 'bob']) await other.root.write('identity/entity', { name })

  const all = (await other.root.list('identity/entity/id')).body.data
  const keys = Object.values(all?.keys ?? {}).map(String)

  expect(keys).toEqual([...keys].sort())
  expect(keys).toHaveLength(5)
  expect(Object.keys(all?.key_info ?? {})).toEqual(keys)
  const infos = Object.values(all?.key_info ?? {})
  expect(infos).toContainEqual({ name: 'zed' })
  expect(infos.find((info) => info.aliases !== undefined)?.aliases).toEqual([
    {
      id: expect.any(String),
      name: 'carl',
      mount_accessor: mount.accessor,
      mount_type: 'jwt',
      mount_path: 'auth/people/',
    },
  ])
  const part = (await other.root.list(`identity/entity/id?after=${keys[1]}&limit=2`)).body.data
  expect(part?.keys).toEqual(keys.slice(2, 4))
  expect(Object.keys(part?.key_info ?? {})).toEqual(keys.slice(2, 4))
  const names = (await other.root.list('identity/entity/name')).body.data
  expect(Object.keys(names ?? {})).toEqual(['keys'])
  expect((await other.root.list('identity/entity/name?limit=2')).body.data?.keys).toEqual(['Ann', 'bob'])
  expect((await other.root.list('identity/entity/name?after=bob')).body.data?.keys).toHaveLength(3)
  expect((await other.root.list('identity/entity/name?limit=x')).status).toBe(400)
})

test.each<[string, string, string]>([
  ['GET', 'identity/entity', unsupported],
  ['LIST', 'identity/entity', unknownPath],
  ['DELETE', 'identity/entity', unsupported],
  ['GET', 'identity/entity/id', unsupported],
  ['GET', 'identity/entity/merge', unsupported],
  ['GET', 'identity/entity/batch-delete', unsupported],
  ['GET', 'identity/lookup/entity', unsupported],
  ['GET', 'identity/entity-alias', unsupported],
  ['DELETE', 'identity/entity-alias', unsupported],
  ['GET', 'identity/entity-alias/id', unsupported],
  ['LIST', 'identity/entity-alias', unknownPath],
  ['LIST', `identity/entity-alias/id/${nobody}`, unknownPath],
  ['GET', `identity/entity-alias/id/${nobody}`, '404 '],
  ['DELETE', `identity/entity-alias/id/${nobody}`, '204'],
  ['GET', 'identity/group', unsupported],
  ['DELETE', 'identity/group', unsupported],
  ['LIST', 'identity/group', unknownPath],
  ['GET', 'identity/group/name', unsupported],
  ['LIST', `identity/group/id/${nobody}`, unknownPath],
  ['GET', 'identity/group-alias', unsupported],
  ['LIST', 'identity/group-alias', unknownPath],
  ['GET', 'identity/group-alias/id', unsupported],
  ['GET', `identity/group-alias/id/${nobody}`, '404 '],
  ['DELETE', `identity/group-alias/id/${nobody}`, '204'],
  ['GET', 'identity/lookup/group', unsupported],
  ['LIST', 'identity/lookup/group', unknownPath],
  ['GET', 'identity/lookup', unknownPath],
  ['GET', 'identity/tidy', unsupported],
  ['GET', `identity/entity/id/${nobody}/revoke-tokens`, unsupported],
  ['GET', 'identity/none', unknownPath],
  ['POST', 'identity/none', unknownPath],
  ['LIST', `identity/entity/id/${nobody}`, unknownPath],
  ['GET', `identity/entity/id/${nobody}`, '404 '],
  ['GET', 'identity/entity/name/nobody', '404 '],
  ['DELETE', `identity/entity/id/${nobody}`, '204'],
  ['DELETE', 'identity/entity/name/nobody', '204'],
])('%s %s: %s', async (method, path, expected) => {
  expect(verdict(await server.root.call(method, path))).toBe(expected)
})

describe('effects on tokens', () => {
  const lookUp = async (token: string) => verdict(await server.as(token).read('auth/token/lookup-self'))

  test('policies of an entity take effect on the next request of an existing token', async () => {
    await server.root.write('sys/policies/acl/secret-a', {
      policy: 'path "sys/mounts" { capabilities = ["read"] }',
    })
    const { client, entityId } = await people.login(fresh('eve'))
    expect((await client.read('sys/mounts')).status).toBe(403)

    await server.root.write(`identity/entity/id/${entityId}`, { policies: ['secret-a'] })
    expect((await client.read('sys/mounts')).status).toBe(200)
    const { body } = await client.read('auth/token/lookup-self')
    expect(body.data).toMatchObject({ policies: ['default'], identity_policies: ['secret-a'] })

    await server.root.write(`identity/entity/id/${entityId}`, { policies: [] })
    expect((await client.read('sys/mounts')).status).toBe(403)
  })

  test('tokens and logins of a disabled entity are refused until it is enabled again', async () => {
    const sub = fresh('dis')
    const { token, entityId } = await people.login(sub)

    await server.root.write(`identity/entity/id/${entityId}`, { disabled: true })
    expect(await lookUp(token)).toBe('403 permission denied')
    expect(verdict((await people.login(sub)).answer)).toBe('403 permission denied')
    expect((await server.root.write('auth/token/lookup', { token })).status).toBe(200)

    await server.root.write(`identity/entity/id/${entityId}`, { disabled: false })
    expect(await lookUp(token)).toBe('200')
    expect((await people.login(sub)).entityId).toBe(entityId)
  })

  test.each(['by id', 'by name', 'in a batch'])(
    'tokens of an entity deleted %s are refused, and the next login creates another entity',
    async (how) => {
      const sub = fresh('del')
      const { token, entityId } = await people.login(sub)
      const entity = await read(entityId)
      const [alias] = Object.values(entity?.aliases ?? {})

      const gone =
        how === 'by id'
          ? await server.root.delete(`identity/entity/id/${entityId}`)
          : how === 'by name'
            ? await server.root.delete(`identity/entity/name/${String(entity?.name)}`)
            : await server.root.write('identity/entity/batch-delete', {
                entity_ids: [nobody, entityId, entityId],
              })

      expect(gone.status).toBe(204)
      expect(await lookUp(token)).toBe(`403 ${invalidTokenText}`)
      expect((await server.root.read(`identity/entity-alias/id/${String(alias?.id)}`)).status).toBe(404)
      const again = await people.login(sub)
      expect(again.entityId).not.toBe(entityId)
      expect(await lookUp(again.token)).toBe('200')
      expect(await lookUp(token)).toBe(`403 ${invalidTokenText}`)
    },
  )

  test('batch-delete requires ids', async () => {
    expect(verdict(await server.root.write('identity/entity/batch-delete', { entity_ids: [] }))).toBe(
      '400 missing entity ids to delete',
    )
  })
})

test('an alias of a disabled mount remains, without its path', async () => {
  const gone = await aLoginMount(server, 'gone')
  const { token, entityId } = await gone.login('ida')

  await server.root.delete('sys/auth/gone')

  expect(verdict(await server.as(token).read('auth/token/lookup-self'))).toBe(`403 ${invalidTokenText}`)
  const [alias] = Object.values((await read(entityId))?.aliases ?? {})
  expect(alias).toMatchObject({ name: 'ida', mount_accessor: gone.accessor })
  expect(alias).not.toHaveProperty('mount_path')
  expect(alias).not.toHaveProperty('mount_type')
})

test.each([
  { path: 'identity/entity', fields: { name: 'x'.repeat(1_048_576) } },
  {
    path: 'identity/entity/name/huge',
    fields: { policies: Array.from({ length: 40 }, (_, at) => `${at}${'x'.repeat(30_000)}`) },
  },
  { path: 'identity/group', fields: { name: 'x'.repeat(1_048_576) } },
  { path: 'identity/entity-alias', fields: { name: 'x'.repeat(1_048_576), mount_accessor: 'a' } },
  { path: 'identity/group-alias', fields: { name: 'x'.repeat(1_048_576), mount_accessor: 'a' } },
])('$path accepts no names of more than 1 MiB', async ({ path, fields }) => {
  await using server = await borrowServer()

  const answer = await server.root.write(path, fields)

  expect(answer.status).toBe(400)
  expect(answer.text).toMatch(
    /^\{"errors":\["put failed due to value being too large; got \d{7} bytes, max: 1048576 bytes"\]\}/,
  )
})
