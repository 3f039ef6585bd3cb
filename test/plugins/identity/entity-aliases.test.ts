import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { aLoginMount, type LoginMount, verdict } from './login-mount.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

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

const anEntity = async () =>
  String((await server.root.write('identity/entity', { name: fresh('entity') })).body.data?.id)
const put = (fields: object) => server.root.write('identity/entity-alias', fields)
const read = async (id: string) => (await server.root.read(`identity/entity-alias/id/${id}`)).body?.data
const namesOf = async (entityId: string) =>
  Object.values((await server.root.read(`identity/entity/id/${entityId}`)).body.data?.aliases ?? {}).map(
    ({ name }) => String(name),
  )

async function anAlias(entityId = '', name = fresh('alias'), mount = here) {
  const { body } = await put({ name, mount_accessor: mount.accessor, canonical_id: entityId })
  return { id: String(body.data?.id), name, entityId: String(body.data?.canonical_id) }
}

test('an alias is read with its mount', async () => {
  const entity = await anEntity()
  const { id, name } = await anAlias(entity)

  expect(await read(id)).toEqual({
    id,
    canonical_id: entity,
    mount_accessor: here.accessor,
    mount_type: 'jwt',
    mount_path: 'auth/here/',
    metadata: null,
    custom_metadata: null,
    name,
    merged_from_canonical_ids: null,
    namespace_id: 'root',
    local: false,
    creation_time: expect.stringMatching(/Z$/),
    last_update_time: expect.stringMatching(/Z$/),
  })
})

test('a login finds the entity of an alias that was created beforehand', async () => {
  const entity = await anEntity()
  const { name } = await anAlias(entity)

  expect((await here.login(name)).entityId).toBe(entity)
  expect((await there.login(name)).entityId).not.toBe(entity)
})

test('an alias without an entity gets a new one, and entity_id is the old name of canonical_id', async () => {
  const alone = await anAlias()
  expect(await namesOf(alone.entityId)).toEqual([alone.name])
  expect(alone.id).not.toBe(alone.entityId)

  const entity = await anEntity()
  const { body } = await put({ name: fresh('old'), mount_accessor: here.accessor, entity_id: entity })
  expect(body.data?.canonical_id).toBe(entity)
})

test('the alias of a login can be found and changed by its id', async () => {
  const { entityId } = await here.login(fresh('lena'), { team: 'blue' })
  const [alias] = Object.values(
    (await server.root.read(`identity/entity/id/${entityId}`)).body.data?.aliases ?? {},
  )
  const id = String(alias?.id)

  expect(await read(id)).toMatchObject({ canonical_id: entityId, metadata: { role: 'r', team: 'blue' } })
  expect(
    (await server.root.write(`identity/entity-alias/id/${id}`, { custom_metadata: { site: 'x' } })).status,
  ).toBe(200)

  expect(await read(id)).toMatchObject({
    metadata: { role: 'r', team: 'blue' },
    custom_metadata: { site: 'x' },
  })
})

describe('refusals', () => {
  let alias: Awaited<ReturnType<typeof anAlias>>
  let other: Awaited<ReturnType<typeof anAlias>>
  let second: Awaited<ReturnType<typeof anAlias>>
  beforeAll(async () => {
    alias = await anAlias(await anEntity())
    other = await anAlias(await anEntity())
    second = await anAlias(alias.entityId, fresh('second'), there)
  })

  test.each<[string, () => object, string]>([
    ['nothing', () => ({}), "400 'id' or 'mount_accessor' and 'name' must be provided"],
    ['no accessor', () => ({ name: 'x' }), "400 'id' or 'mount_accessor' and 'name' must be provided"],
    [
      'no name',
      () => ({ mount_accessor: here.accessor }),
      "400 'id' or 'mount_accessor' and 'name' must be provided",
    ],
    [
      'a name of blanks',
      () => ({ name: ' \t', mount_accessor: here.accessor }),
      "400 'id' or 'mount_accessor' and 'name' must be provided",
    ],
    [
      'an unknown accessor',
      () => ({ name: 'x', mount_accessor: 'auth_none_0' }),
      '400 invalid mount accessor "auth_none_0"',
    ],
    [
      'an unknown id',
      () => ({ id: nobody, name: 'x', mount_accessor: here.accessor }),
      '400 invalid alias ID provided',
    ],
    ['an id of no form', () => ({ id: 'x/../y' }), '400 invalid alias ID provided'],
    [
      'an alias in the way, before the entity is looked for',
      () => ({ id: alias.id, name: other.name, canonical_id: nobody }),
      '400 alias with combination of mount accessor and name already exists',
    ],
    [
      'custom metadata, before an alias is looked for',
      () => ({ id: nobody, custom_metadata: { k: '' } }),
      '400 custom_metadata validation failed: length of value for key "k" is 0 but must be 0 < len(value) <= 512',
    ],
    [
      'an unknown entity',
      () => ({ name: 'new', mount_accessor: here.accessor, canonical_id: nobody }),
      '400 invalid canonical ID',
    ],
    [
      'a second alias at the mount',
      () => ({ name: 'new', mount_accessor: here.accessor, canonical_id: alias.entityId }),
      '400 Alias already exists for requested entity and mount accessor',
    ],
    [
      'move to nobody',
      () => ({ id: alias.id, canonical_id: nobody }),
      "400 given 'canonical_id' is not associated with an entity",
    ],
    [
      'move to nobody, by name',
      () => ({ name: alias.name, mount_accessor: here.accessor, canonical_id: nobody }),
      "400 given 'canonical_id' is not associated with an entity",
    ],
    [
      'move to who has one there',
      () => ({ id: alias.id, canonical_id: other.entityId }),
      '400 Alias cannot be updated as the given entity already has an alias for this mount ',
    ],
    [
      'to a mount it has one at',
      () => ({ id: alias.id, mount_accessor: there.accessor }),
      "400 Alias cannot be updated as the entity already has an alias for the given 'mount_accessor' ",
    ],
    [
      'to an unknown mount',
      () => ({ id: alias.id, mount_accessor: 'auth_none_0' }),
      '400 invalid mount accessor "auth_none_0"',
    ],
    [
      'to a name that is taken',
      () => ({ id: alias.id, name: other.name }),
      '400 alias with combination of mount accessor and name already exists',
    ],
    [
      'to a name that is taken in another spelling',
      () => ({ id: alias.id, name: other.name.toUpperCase() }),
      '400 alias with combination of mount accessor and name already exists',
    ],
    [
      '65 keys',
      () => ({
        id: alias.id,
        custom_metadata: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`k${at}`, 'v'])),
      }),
      '400 custom_metadata validation failed: payload must contain at most 64 keys, provided 65',
    ],
    [
      'a long key',
      () => ({ id: alias.id, custom_metadata: { ['k'.repeat(129)]: 'v' } }),
      `400 custom_metadata validation failed: length of key "${'k'.repeat(129)}" is 129 but must be 0 < len(key) <= 128`,
    ],
    [
      'an empty value',
      () => ({ id: alias.id, custom_metadata: { k: '' } }),
      '400 custom_metadata validation failed: length of value for key "k" is 0 but must be 0 < len(value) <= 512',
    ],
    [
      'an unprintable key',
      () => ({ id: alias.id, custom_metadata: { 'k\n': 'v' } }),
      '400 custom_metadata validation failed: key "k\\n" (k\n) contains unprintable characters',
    ],
    [
      'two faults',
      () => ({ id: alias.id, custom_metadata: { a: '', b: '' } }),
      '400 2 errors occurred:\n\t* custom_metadata validation failed: length of value for key "a" is 0 but must be 0 < len(value) <= 512\n\t* custom_metadata validation failed: length of value for key "b" is 0 but must be 0 < len(value) <= 512\n\n',
    ],
  ])('%s', async (_what, fields, expected) => {
    expect(verdict(await put(fields()))).toBe(expected)

    expect(await read(alias.id)).toMatchObject({
      name: alias.name,
      canonical_id: alias.entityId,
      mount_accessor: here.accessor,
    })
    expect(await read(second.id)).toMatchObject({ canonical_id: alias.entityId })
  })
})

test('a write that changes nothing is 204, one that changes the spelling 200', async () => {
  const { id, name, entityId } = await anAlias(await anEntity())

  expect((await put({ name, mount_accessor: here.accessor, canonical_id: entityId })).status).toBe(204)
  expect((await server.root.write(`identity/entity-alias/id/${id}`, {})).status).toBe(204)
  expect((await put({ name: name.toUpperCase(), mount_accessor: here.accessor })).body.data).toEqual({
    id,
    canonical_id: entityId,
  })

  expect(await read(id)).toMatchObject({ name: name.toUpperCase() })
  expect((await here.login(name)).entityId).toBe(entityId)
})

test('when an alias moves to another entity, old tokens stay with the old one and logins go to the new one', async () => {
  const sub = fresh('mov')
  const first = await here.login(sub)
  const [own] = Object.values(
    (await server.root.read(`identity/entity/id/${first.entityId}`)).body.data?.aliases ?? {},
  )
  const target = await anEntity()
  const move = (to: string) =>
    server.root.write(`identity/entity-alias/id/${String(own?.id)}`, { canonical_id: to })

  expect((await move(target)).body.data).toEqual({ id: own?.id, canonical_id: target })
  expect((await here.login(sub)).entityId).toBe(target)
  expect((await first.client.read('auth/token/lookup-self')).body.data?.entity_id).toBe(first.entityId)
  expect(await read(String(own?.id))).toMatchObject({ canonical_id: target, merged_from_canonical_ids: null })
  expect(await namesOf(first.entityId)).toEqual([])

  expect((await move(first.entityId)).status).toBe(200)
  expect((await here.login(sub)).entityId).toBe(first.entityId)
  expect(await read(String(own?.id))).toMatchObject({ canonical_id: first.entityId })
  expect(await namesOf(target)).toEqual([])
})

test('a renamed alias is no longer found by its old name, and belongs to its new mount', async () => {
  const { id, name, entityId } = await anAlias(await anEntity())
  const next = fresh('next')

  expect(
    (
      await server.root.write(`identity/entity-alias/id/${id}`, {
        name: next,
        mount_accessor: there.accessor,
      })
    ).status,
  ).toBe(200)

  expect((await there.login(next)).entityId).toBe(entityId)
  expect((await here.login(name)).entityId).not.toBe(entityId)
})

test('deleting an alias keeps entity and tokens, and the next login creates another entity', async () => {
  const sub = fresh('ali')
  const { entityId, client } = await here.login(sub)
  const [own] = Object.values(
    (await server.root.read(`identity/entity/id/${entityId}`)).body.data?.aliases ?? {},
  )

  expect((await server.root.delete(`identity/entity-alias/id/${String(own?.id)}`)).status).toBe(204)
  expect((await server.root.delete(`identity/entity-alias/id/${String(own?.id)}`)).status).toBe(204)

  expect((await client.read('auth/token/lookup-self')).body.data?.entity_id).toBe(entityId)
  expect(await namesOf(entityId)).toEqual([])
  expect((await here.login(sub)).entityId).not.toBe(entityId)
})

test('the list has all aliases in order: those of logins, those of operators, and moved ones', async () => {
  await using other = await borrowServer()
  const a = await aLoginMount(other, 'a')
  const b = await aLoginMount(other, 'b')
  expect((await other.root.list('identity/entity-alias/id')).status).toBe(404)
  const ids: string[] = []
  for (let at = 0; at < 5; at += 1) {
    const { entityId } = await a.login(`login${at}`)
    const { body } = await other.root.write('identity/entity-alias', {
      name: `hand${at}`,
      mount_accessor: b.accessor,
      canonical_id: entityId,
    })
    const [own] = Object.values(
      (await other.root.read(`identity/entity/id/${entityId}`)).body.data?.aliases ?? {},
    )
    ids.push(String(body.data?.id), String(own?.id))
  }
  const target = (await other.root.write('identity/entity', {})).body.data?.id
  await other.root.write(`identity/entity-alias/id/${ids[1]}`, { canonical_id: target })
  ids.sort()

  const { body } = await other.root.list('identity/entity-alias/id')

  expect(body.data?.keys).toEqual(ids)
  expect(Object.keys(body.data?.key_info ?? {})).toEqual(ids)
  expect(body.data?.key_info?.[String(ids[0])]).toMatchObject({
    local: false,
    mount_type: 'jwt',
    canonical_id: expect.any(String),
    custom_metadata: null,
  })
  const walked: string[] = []
  for (let after = ''; walked.length < ids.length; ) {
    const { keys } =
      (await other.root.list(`identity/entity-alias/id?limit=3&after=${after}`)).body.data ?? {}
    walked.push(...Object.values(keys ?? {}).map(String))
    after = walked.at(-1) ?? ''
  }
  expect(walked).toEqual(ids)
})

describe('lookup/entity', () => {
  const lookUp = (fields: object) => server.root.write('identity/lookup/entity', fields)

  test('finds an entity by id, name, alias id, and mount with alias name in any case', async () => {
    const { entityId } = await here.login(fresh('Look'))
    const { name, aliases } = (await server.root.read(`identity/entity/id/${entityId}`)).body.data ?? {}
    const [alias] = Object.values(aliases ?? {})

    for (const fields of [
      { id: entityId },
      { name: String(name).toUpperCase() },
      { alias_id: alias?.id },
      { alias_name: String(alias?.name).toUpperCase(), alias_mount_accessor: here.accessor },
    ]) {
      expect((await lookUp(fields)).body.data).toMatchObject({
        id: entityId,
        name,
        aliases: [{ id: alias?.id }],
        group_ids: [],
      })
    }
  })

  const conflict = '400 query parameter conflict; please supply distinct set of query parameters'
  test.each<[string, object, string]>([
    ['nothing', {}, '400 query parameter not supplied'],
    ['two', { id: nobody, name: 'x' }, conflict],
    ['an empty selector beside another', { id: '', name: 'x' }, conflict],
    ['two empty selectors', { id: '', name: '' }, conflict],
    ['a null beside a selector', { id: null, name: 'x' }, conflict],
    ['a pair of which one is empty', { alias_name: '', alias_mount_accessor: 'auth_jwt_0' }, conflict],
    ['one empty selector', { name: '' }, '204'],
    ['an empty half of the pair', { alias_name: '' }, '204'],
    [
      'half of the pair',
      { alias_name: 'x' },
      "400 both 'alias_name' and 'alias_mount_accessor' needs to be set",
    ],
    [
      'the other half',
      { alias_mount_accessor: 'x' },
      "400 both 'alias_name' and 'alias_mount_accessor' needs to be set",
    ],
    ['an unknown alias', { alias_name: 'nobody', alias_mount_accessor: 'auth_jwt_0' }, '204'],
    ['an unknown id', { id: nobody }, '204'],
    ['an id of no form', { id: '../entity' }, '204'],
    ['an unknown name', { name: 'nobody at all' }, '204'],
    ['an unknown alias id', { alias_id: nobody }, '204'],
  ])('%s', async (_what, fields, expected) => {
    expect(verdict(await lookUp(fields))).toBe(expected)
  })
})

test('an alias of a disabled mount can only be changed with a mount, except for a move to another entity', async () => {
  const gone = await aLoginMount(server, fresh('gone'))
  const { id, name } = await anAlias(await anEntity(), fresh('alias'), gone)
  const path = `identity/entity-alias/id/${id}`
  const target = await anEntity()
  const { body } = await server.root.read('sys/auth')
  const mount = Object.keys(body.data ?? {}).find(
    (key) => String(body.data?.[key]?.accessor) === gone.accessor,
  )
  await server.root.delete(`sys/auth/${String(mount)}`)

  expect(verdict(await server.root.write(path, { name: fresh('other') }))).toBe(
    `400 invalid mount accessor "${gone.accessor}"`,
  )
  expect(verdict(await server.root.write(path, { custom_metadata: { a: 'b' } }))).toBe(
    `400 invalid mount accessor "${gone.accessor}"`,
  )
  expect(verdict(await server.root.write(path, { name, mount_accessor: gone.accessor }))).toBe('204')
  expect((await server.root.write(path, { canonical_id: target })).status).toBe(200)
  expect(await read(id)).toMatchObject({ canonical_id: target, name, custom_metadata: null })
  expect(await read(id)).not.toHaveProperty('mount_path')
})
