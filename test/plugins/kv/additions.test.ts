import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors, errorText, notAllowed } from '../../support/error-bodies.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { holder, newMount, patch, put } from './kv-fixture.ts'

const clock = new FakeClock()
let server: TestServer
let mount: string
beforeAll(async () => {
  server = await startTestServer({ clock, settings: { MESSAGE_WAITERS: '3' } })
  mount = await newMount(server, 2)
})
afterAll(() => server[Symbol.asyncDispose]())

let made = 0
const fresh = () => `f${++made}`
const at = (path: string, key: string) => `${mount}/${path}/${key}`
const dataOf = async (key: string) => (await server.root.read(at('data', key))).body.data?.['data']
const tagOf = async (key: string) => String((await server.root.read(at('data', key))).headers['etag'])

describe('restore', () => {
  test('an earlier version becomes a new one', async () => {
    const key = fresh()
    await server.root.write(at('data', key), undefined, { raw: '{"data":{"n":1e3}}' })
    await put(server.root, at('data', key), { x: 2 })

    const restored = await server.root.write(at('restore', key), { version: 1, options: { cas: 2 } })

    expect(restored.body.data).toMatchObject({ version: 3 })
    expect((await server.root.read(at('data', key))).text).toContain('"data":{"n":1e3}')
    const again = await server.root.write(at('restore', key), { version: 1, options: { cas: 2 } })
    expect(again.status).toBe(400)
    await server.root.write(at('destroy', key), { versions: [1] })
    expect(await server.root.write(at('restore', key), { version: 1 })).toMatchObject({
      status: 404,
      body: { data: { data: null, metadata: { version: 1, destroyed: true } } },
    })
    expect(await server.root.write(at('restore', key), { version: 9 })).toMatchObject({
      status: 404,
      body: errors(),
    })
    expect((await server.root.write(at('restore', key), {})).status).toBe(400)
    expect((await server.root.write(at('restore', fresh()), { version: 1 })).status).toBe(404)
  })
})

describe('copy and move', () => {
  test('a copy has the current data, or all versions', async () => {
    const [from, one, all] = [fresh(), `${fresh()}/deep`, fresh()]
    await put(server.root, at('data', from), { x: 1 }, { x: 2 }, { x: 3 })
    await server.root.write(at('metadata', from), { custom_metadata: { a: 'b' } })
    await server.root.write(at('delete', from), { versions: [2] })

    expect((await server.root.write(at('copy', one), { from })).body.data).toMatchObject({ version: 1 })
    const whole = await server.root.write(at('copy', all), { from, versions: 'all' })

    expect(whole.body.data).toMatchObject({ version: 3, custom_metadata: { a: 'b' } })
    expect(await dataOf(one)).toEqual({ x: 3 })
    const source = await server.root.read(at('metadata', from))
    expect((await server.root.read(at('metadata', all))).body.data).toEqual(source.body.data)
    expect((await server.root.read(`${at('data', all)}?version=1`)).body.data?.['data']).toEqual({ x: 1 })
    await server.root.write(at('destroy', from), { versions: [1] })
    expect((await server.root.read(`${at('data', all)}?version=1`)).status).toBe(200)
    expect((await server.root.write(at('copy', all), { from })).body).toEqual(errors('target exists'))
    expect((await server.root.write(at('copy', fresh()), { from, versions: 'x' })).status).toBe(400)
    expect((await server.root.write(at('copy', fresh()), { from: 'none' })).status).toBe(404)
    expect((await server.root.write(at('copy', fresh()), { from: 'a//b' })).status).toBe(404)
  })

  test('a move takes everything along, and the lists know', async () => {
    const own = await newMount(server, 2)
    await put(server.root, `${own}/data/old/a`, { x: 1 }, { x: 2 })
    await server.root.list(`${own}/metadata`)

    const moved = await server.root.write(`${own}/move/new/a`, { from: 'old/a' })

    expect(moved.body.data).toMatchObject({ version: 2 })
    expect((await server.root.read(`${own}/data/old/a`)).status).toBe(404)
    expect((await server.root.read(`${own}/data/new/a?version=1`)).body.data?.['data']).toEqual({ x: 1 })
    expect((await server.root.list(`${own}/metadata`)).body.data?.['keys']).toEqual(['new/'])
    await put(server.root, `${own}/data/old/a`, { y: 1 })
    expect((await server.root.read(`${own}/data/old/a?version=2`)).status).toBe(404)
  })

  test('what one call may read is limited, however many versions there are', async () => {
    const own = await newMount(server, 2, { max_versions: 100 })
    await put(server.root, `${own}/data/a`, { x: 'x'.repeat(1_000_000) })
    const all = Array.from({ length: 69 }, (_, index) => index + 1)
    for (const _ of all)
      expect((await server.root.write(`${own}/restore/a`, { version: 1 })).status).toBe(200)
    const refused = { status: 400, body: errors('the data of the versions is too large for one call') }

    expect(await server.root.write(`${own}/copy/b`, { from: 'a', versions: 'all' })).toMatchObject(refused)
    const one = await server.root.write(`${own}/copy/b`, { from: 'a' })
    const deleted = await server.root.write(`${own}/delete/a`, { versions: all })

    // what does not read their data is not limited by it
    expect([one.status, deleted.status]).toEqual([200, 204])
    const { body } = await server.root.read(`${own}/metadata/a`)
    const versions: unknown[] = Object.values(Object(body.data?.['versions']))
    expect(versions.filter((version) => Object(version).deletion_time === '')).toHaveLength(1)
  })

  test('they need rights to the source', async () => {
    const own = await newMount(server, 2)
    await put(server.root, `${own}/data/a`, { x: 1 })
    const copier = await holder(server, { [`${own}/copy/*`]: 'update', [`${own}/move/*`]: 'update' })
    const reader = await holder(server, {
      [`${own}/copy/*`]: 'update',
      [`${own}/move/*`]: 'update',
      [`${own}/data/a`]: 'read',
      [`${own}/data/b`]: 'create',
    })

    expect((await copier.write(`${own}/copy/b`, { from: 'a' })).body).toEqual(notAllowed)
    expect((await copier.write(`${own}/copy/b`, { from: 'none' })).body).toEqual(notAllowed)
    expect((await reader.write(`${own}/move/b`, { from: 'a' })).body).toEqual(notAllowed)
    expect((await reader.write(`${own}/copy/b`, { from: 'a' })).status).toBe(200)
    expect((await server.root.read(`${own}/data/a`)).status).toBe(200)
  })

  test('a copy carries no version that its caller may not read at the source', async () => {
    const own = await newMount(server, 2)
    await put(server.root, `${own}/data/a`, { x: 'one' }, { x: 'two' }, { x: 'three' })
    await server.root.write(`${own}/delete/a`, { versions: [2] })
    const policy = `
      path "${own}/data/a" { capabilities = ["read", "update"] denied_parameters = { "version" = ["1"] } }
      path "${own}/metadata/a" { capabilities = ["read", "delete"] }
      path "${own}/+/mine" { capabilities = ["create", "read", "update"] }
      path "${own}/restore/a" { capabilities = ["update"] }`
    await server.root.write('sys/policies/acl/no-first', { policy })
    const made = await server.root.write('auth/token/create', { policies: ['no-first'] })
    const caller = server.as(String(made.body.auth?.client_token))

    expect((await caller.write(`${own}/restore/a`, { version: 1 })).body).toEqual(notAllowed)
    expect((await caller.write(`${own}/move/mine`, { from: 'a' })).body).toEqual(notAllowed)
    expect((await caller.write(`${own}/copy/mine`, { from: 'a', versions: 'all' })).status).toBe(200)
    await server.root.write(`${own}/undelete/mine`, { versions: [1, 2] })

    const statuses = [1, 2, 3].map(
      async (version) => (await server.root.read(`${own}/data/mine?version=${version}`)).status,
    )
    expect(await Promise.all(statuses)).toEqual([404, 404, 200])
    expect((await server.root.read(`${own}/data/a?version=1`)).status).toBe(200)
  })

  test('a policy that denies the paths of other servers denies these calls', async () => {
    const own = await newMount(server, 2)
    await put(server.root, `${own}/data/prod/db`, { x: 1 }, { x: 2 })
    await put(server.root, `${own}/data/a`, { x: 1 })
    await server.root.write(`${own}/metadata/prod/db`, { custom_metadata: { owner: 'hidden' } })
    const everything = 'create read update patch delete list scan'
    const caller = await holder(server, {
      [`${own}/*`]: everything,
      [`${own}/data/prod/*`]: 'deny',
      [`${own}/metadata/prod/*`]: 'deny',
    })

    const refused = await Promise.all([
      ...['copy', 'move'].map((call) => caller.write(`${own}/${call}/prod/new`, { from: 'a' })),
      caller.write(`${own}/restore/prod/db`, { version: 1 }),
      caller.list(`${own}/detailed-metadata/prod/`),
      caller.call('SCAN', `${own}/detailed-metadata/prod/`),
    ])
    for (const { body } of refused) expect(body).toEqual(notAllowed)
    expect((await caller.call('SCAN', `${own}/detailed-metadata/`)).text).not.toContain('hidden')
    expect((await server.root.read(`${own}/data/prod/new`)).status).toBe(404)
    expect((await server.root.read(`${own}/data/prod/db`)).body.data?.['data']).toEqual({ x: 2 })
  })

  test('settings come along only for those who may read and set them', async () => {
    const own = await newMount(server, 2)
    await put(server.root, `${own}/data/a`, { x: 1 })
    await server.root.write(`${own}/metadata/a`, { custom_metadata: { owner: 'x' } })
    const rights = { [`${own}/copy/b`]: 'update', [`${own}/data/b`]: 'create', [`${own}/data/a`]: 'read' }
    const blind = await holder(server, rights)
    const reader = await holder(server, { ...rights, [`${own}/metadata/a`]: 'read' })
    const setter = await holder(server, {
      ...rights,
      [`${own}/metadata/a`]: 'read',
      [`${own}/metadata/b`]: 'create',
    })

    const body = { from: 'a', versions: 'all' }
    expect((await blind.write(`${own}/copy/b`, body)).body).toEqual(notAllowed)
    expect((await reader.write(`${own}/copy/b`, body)).body).toEqual(notAllowed)
    expect((await setter.write(`${own}/copy/b`, body)).status).toBe(200)
  })

  test('who may only write cannot test guesses with kept values', async () => {
    const own = await newMount(server, 2)
    await put(server.root, `${own}/data/a`, { pin: '1', password: 'kept' })
    const writer = await holder(server, { [`${own}/data/a`]: 'create update' })
    const options = { generate: { password: { length: 8, keep: true } } }

    const right = await writer.write(`${own}/data/a`, { data: { pin: '1' }, options })
    const wrong = await writer.write(`${own}/data/a`, { data: { pin: '2' }, options })
    expect([right.body.data?.['version'], wrong.body.data?.['version']]).toEqual([2, 3])
    expect(right.body.data?.['generated']).toEqual(['password'])
  })

  test('a rule that covers both paths opens no subkeys and no scanned folder that a narrower one closes', async () => {
    const own = await newMount(server, 2)
    await put(server.root, `${own}/data/prod/db`, { password: 1 })
    await put(server.root, `${own}/data/a`, { x: 1 })
    const narrowed = { [`${own}/data/prod/*`]: 'deny', [`${own}/metadata/prod/*`]: 'read' }
    const broad = await holder(server, { [`${own}/*`]: 'read list scan', ...narrowed })
    const meant = await holder(server, {
      [`${own}/subkeys/*`]: 'read',
      [`${own}/metadata/`]: 'scan',
      [`${own}/detailed-metadata/*`]: 'list',
    })

    expect((await broad.read(`${own}/subkeys/prod/db`)).body).toEqual(notAllowed)
    expect((await broad.read(`${own}/subkeys/a`)).status).toBe(200)
    expect((await broad.call('SCAN', `${own}/metadata/`)).body.data).toEqual({ keys: ['a'] })
    expect((await broad.call('SCAN', `${own}/detailed-metadata/`)).text).not.toContain('prod/db')
    expect((await meant.read(`${own}/subkeys/prod/db`)).status).toBe(200)
    expect((await meant.call('SCAN', `${own}/metadata/`)).body.data).toEqual({ keys: ['a', 'prod/db'] })
    expect((await meant.list(`${own}/detailed-metadata/`)).text).toContain('created_time')
  })

  test('a scan of version 1 leaves out folders that may not be listed', async () => {
    const own = await newMount(server, 1)
    for (const path of ['a', 'prod/db', 'prod/x/y']) await server.root.write(`${own}/${path}`, { x: 1 })
    const caller = await holder(server, { [`${own}/*`]: 'list scan', [`${own}/prod/*`]: 'deny' })

    expect((await caller.call('SCAN', `${own}/`)).body.data).toEqual({ keys: ['a'] })
    expect((await server.root.call('SCAN', `${own}/?limit=2`)).body.data).toEqual({ keys: ['a', 'prod/db'] })
  })

  test('a caller who may name no version copies the current one', async () => {
    const own = await newMount(server, 2)
    await put(server.root, `${own}/data/a`, { x: 1 }, { x: 2 })
    const policy = `
      path "${own}/data/a" { capabilities = ["read"] denied_parameters = { "version" = [] } }
      path "${own}/metadata/a" { capabilities = ["read"] }
      path "${own}/+/mine" { capabilities = ["create", "read", "update"] }`
    await server.root.write('sys/policies/acl/no-version', { policy })
    const made = await server.root.write('auth/token/create', { policies: ['no-version'] })
    const caller = server.as(String(made.body.auth?.client_token))

    expect((await caller.write(`${own}/copy/mine`, { from: 'a', versions: 'all' })).status).toBe(200)

    expect((await caller.read(`${own}/data/mine`)).body.data?.['data']).toEqual({ x: 2 })
    expect((await caller.read(`${own}/data/mine?version=1`)).status).toBe(404)
  })

  test('a restore obeys rules about options', async () => {
    const own = await newMount(server, 2)
    await put(server.root, `${own}/data/a`, { x: 1 }, { x: 2 })
    const rules = { [`${own}/data/a`]: 'read update', [`${own}/restore/a`]: 'update' }
    const policy = Object.keys(rules).map((path) => `path "${path}" { capabilities = ["read", "update"]`)
    await server.root.write('sys/policies/acl/no-options', {
      policy: `${policy[0]} denied_parameters = { "options" = [] } }\n${policy[1]} }`,
    })
    const made = await server.root.write('auth/token/create', { policies: ['no-options'] })
    const restorer = server.as(String(made.body.auth?.client_token))

    const body = { version: 1, options: { cas: 2 } }
    expect((await restorer.write(`${own}/restore/a`, body)).body).toEqual(notAllowed)
    expect((await restorer.write(`${own}/restore/a`, { version: 1 })).status).toBe(200)
  })

  test('of many moves of one secret, one succeeds', async () => {
    const own = await newMount(server, 2)
    await put(server.root, `${own}/data/a`, { x: 1 })

    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, number) => server.root.write(`${own}/move/b${number}`, { from: 'a' })),
    )

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(404)])
    expect((await server.root.list(`${own}/metadata`)).body.data?.['keys']).toHaveLength(1)
  })
})

describe('metrics', () => {
  testOfOneServer('operations, secrets and versions are counted by mount, without names', async () => {
    await using measured = await startTestServer({ settings: { METRICS: 'open' } })
    const [first, second] = [await newMount(measured, 1), await newMount(measured, 2)]
    await measured.root.write(`${first}/secret-name`, { x: 1 })
    await measured.root.read(`${first}/none`)
    await put(measured.root, `${second}/data/secret-name`, { x: 1 }, { x: 2 })
    for (const key of ['bare', 'filled', 'removed', 'moved'])
      await measured.root.write(`${second}/metadata/${key}`, { max_versions: 3 })
    await measured.root.delete(`${second}/metadata/removed`)
    await measured.root.write(`${second}/copy/twin`, { from: 'bare', versions: 'all' })
    await measured.root.write(`${second}/move/elsewhere`, { from: 'moved' })
    await put(measured.root, `${second}/data/filled`, { x: 1 })
    await measured.root.write(`${second}/data/secret-name`, { data: {}, options: { cas: 9 } })
    await measured.root.delete(`${second}/data/secret-name`)
    await measured.root.read(`${second}/data/secret-name`)
    await measured.root.list(`${second}/metadata`)
    await measured.root.write(`${second}/undelete/secret-name`, { versions: [2] })

    const { text } = await measured.anonymous.read('/metrics')

    const done = (mount: string, operation: string, result: string) =>
      `gatehouse_kv_operations_total{mount="${mount}/",operation="${operation}",result="${result}"}`
    for (const line of [
      `${done(first, 'write', 'ok')} 1`,
      `${done(first, 'read', 'missing')} 1`,
      `${done(second, 'write', 'ok')} 3`,
      `${done(second, 'write', 'refused')} 1`,
      `${done(second, 'delete', 'ok')} 1`,
      `${done(second, 'read', 'missing')} 1`,
      `${done(second, 'metadata-list', 'ok')} 1`,
      `${done(second, 'versions-undelete', 'ok')} 1`,
      `gatehouse_kv_secrets{mount="${first}/"} 1`,
      `gatehouse_kv_secrets{mount="${second}/"} 5`,
      `gatehouse_kv_versions{mount="${second}/"} 3`,
    ])
      expect(text).toContain(line)
    expect(text).not.toContain('secret-name')
  })
})

describe('generated values', () => {
  test('follow a password policy that the caller may generate by, in the namespace of the mount', async () => {
    const { root } = server
    const policy = 'length = 9 rule "charset" { charset = "xyz" }'
    expect((await root.write('sys/namespaces/pw', {})).status).toBe(200)
    await root.write('pw/sys/mounts/vault', { type: 'kv-v2' })
    await root.write('pw/sys/policies/password/strong', { policy })
    const allowed = 'path "pw/vault/data/*" { capabilities = ["create", "update"] }\n'
    const generating = 'path "pw/sys/policies/password/strong/generate" { capabilities = ["read"] }'
    await root.write('sys/policies/acl/pw-writer', { policy: allowed })
    await root.write('sys/policies/acl/pw-generator', { policy: allowed + generating })
    const holderOf = async (name: string) => {
      const { body } = await root.write('auth/token/create', { policies: [name] })
      return server.as(String(body.auth?.client_token))
    }
    const options = { generate: { password: { policy: 'strong' } } }

    const made = await (await holderOf('pw-generator')).write('pw/vault/data/a', { options })
    const refused = await (await holderOf('pw-writer')).write('pw/vault/data/b', { options })
    const absent = await root.write('pw/vault/data/b', { options: { generate: { a: { policy: 'none' } } } })

    expect([made.status, refused.status]).toEqual([200, 403])
    expect([absent.status, errorText(absent.body)]).toEqual([
      400,
      'policy of a generated field does not exist',
    ])
    expect((await root.read('pw/vault/data/b')).status).toBe(404)
    const { data } = (await root.read('pw/vault/data/a')).body.data ?? {}
    expect(data).toEqual({ password: expect.stringMatching(/^[xyz]{9}$/) })
  })

  test.each([
    ['alnum', /^[a-zA-Z0-9]{32}$/],
    ['hex', /^[0-9a-f]{32}$/],
    ['base64url', /^[\w-]{32}$/],
    ['digits', /^\d{32}$/],
    ['ascii', /^[!-~]{32}$/],
  ])('of %s are made by the server, and not in the answer', async (charset, form) => {
    const key = fresh()

    const written = await server.root.write(at('data', key), {
      data: { user: 'shop' },
      options: { generate: { password: { charset } } },
    })

    expect(written.body.data).toMatchObject({ version: 1, generated: ['password'] })
    const data = await dataOf(key)
    expect(data).toEqual({ user: 'shop', password: expect.stringMatching(form) })
    expect(written.text).not.toContain(String(data?.['password']))
  })

  test('a value can be kept, and then nothing new is written', async () => {
    const key = fresh()
    const wish = { options: { generate: { a: { length: 8, keep: true } } } }

    await server.root.write(at('data', key), wish)
    const first = await dataOf(key)
    const again = await server.root.write(at('data', key), wish)
    const more = await server.root.write(at('data', key), { ...wish, data: { b: 1 } })
    const merged = await patch(server.root, at('data', key), {
      options: { generate: { a: { keep: true }, c: {} } },
    })

    expect(again.body.data).toMatchObject({ version: 1, generated: [] })
    expect(more.body.data).toMatchObject({ version: 2, generated: [] })
    expect(merged.body.data).toMatchObject({ version: 3, generated: ['c'] })
    expect(await dataOf(key)).toEqual({ ...Object(first), b: 1, c: expect.stringMatching(/^\w{32}$/) })
    await server.root.write(at('data', key), { options: { generate: { a: {} } } })
    expect((await dataOf(key))?.['a']).not.toEqual(Object(first)['a'])
    await put(server.root, at('data', key), { a: null })
    const none = await server.root.write(at('data', key), wish)
    expect(none.body.data).toMatchObject({ version: 5, generated: [] })
    expect(await dataOf(key)).toEqual({ a: null })
  })

  test.each([
    [{ data: { x: 1 }, options: { generate: { x: {} } } }, 'field "x" is both given and generated'],
    [{ options: { generate: { x: { length: 7 } } } }, /^length of a generated field/],
    [{ options: { generate: { x: { length: 1025 } } } }, /^length of a generated field/],
    [{ options: { generate: { x: { charset: 'emoji' } } } }, /^charset of a generated field/],
    [{ options: { generate: { x: { keep: 'yes' } } } }, /^keep of a generated field/],
    [{ options: { generate: { x: { policy: 7 } } } }, /^policy of a generated field/],
    [{ options: { generate: { x: { policy: 'p', length: 9 } } } }, /^a generated field has a policy, or/],
    [{ options: { generate: 'x' } }, '"generate" must be an object'],
    [{ options: { generate: {} } }, 'no data provided'],
  ])('%j is refused', async (body, text) => {
    const answer = await server.root.write(at('data', fresh()), body)

    expect(answer).toMatchObject({
      status: 400,
      body: errors(typeof text === 'string' ? text : expect.stringMatching(text)),
    })
  })
})

describe('conditional calls', () => {
  const knowing = (tag: string) => ({ headers: { 'If-None-Match': tag } })
  const only = (tag: string) => ({ headers: { 'If-Match': tag } })

  test('a known state is a 304, until it changes', async () => {
    const key = fresh()
    await put(server.root, at('data', key), { x: 1 })
    const tag = await tagOf(key)

    const known = await server.root.read(at('data', key), knowing(`"other", ${tag}`))
    await server.root.write(at('metadata', key), { custom_metadata: { a: 'b' } })
    const changed = await server.root.read(at('data', key), knowing(tag))

    expect(known).toMatchObject({
      status: 304,
      text: '',
      headers: { etag: tag, 'cache-control': 'no-store' },
    })
    expect(changed.status).toBe(200)
    const wrapped = { ...knowing(await tagOf(key)).headers, 'X-Vault-Wrap-TTL': '60' }
    const secret = await server.root.read(at('data', key), { headers: wrapped })
    expect(secret).toMatchObject({ status: 200, body: { wrap_info: {} } })
    expect(secret.headers['etag']).toBeUndefined()
    await server.root.delete(at('data', key))
    expect((await server.root.read(at('data', key), knowing('*'))).status).toBe(404)
    const stranger = await holder(server, { 'elsewhere/*': 'read' })
    expect((await stranger.read(at('data', key), knowing(tag))).status).toBe(403)
  })

  test('a held read ends with a write, a deletion, the time of deletion, and a lost right', async () => {
    const own = await newMount(server, 2)
    await put(server.root, `${own}/data/a`, { x: 1 })
    const tag = async () => String((await server.root.read(`${own}/data/a`)).headers['etag'])
    const held = (known: string, client = server.root) =>
      client.read(`${own}/data/a?wait=60s`, knowing(known))

    const written = held(await tag())
    await put(server.root, `${own}/data/b`, { x: 1 })
    await put(server.root, `${own}/data/a`, { x: 2 })
    expect((await written).body.data?.['data']).toEqual({ x: 2 })

    const deleted = held(await tag())
    await server.root.delete(`${own}/data/a`)
    expect((await deleted).status).toBe(404)

    await server.root.write(`${own}/metadata/a`, { delete_version_after: '90s' })
    await put(server.root, `${own}/data/a`, { x: 3 })
    const expired = held(await tag())
    clock.advance(90)
    expect((await expired).status).toBe(404)

    await put(server.root, `${own}/data/a`, { x: 4 })
    const token = await server.root.write('auth/token/create', { policies: ['root'] })
    const other = held(await tag(), server.as(String(token.body.auth?.client_token)))
    await server.root.write('auth/token/revoke', { token: token.body.auth?.client_token })
    expect((await other).status).toBe(403)
  })

  testOfOneServer('a wait that is over is a 304, and one address holds few of them', async () => {
    const key = fresh()
    await put(server.root, at('data', key), { x: 1 })
    const tag = await tagOf(key)

    expect((await server.root.read(`${at('data', key)}?wait=10ms`, knowing(tag))).status).toBe(304)
    expect((await server.root.read(`${at('data', key)}?wait=soon`, knowing(tag))).status).toBe(400)
    const held = Array.from({ length: 4 }, () =>
      server.root.read(`${at('data', key)}?wait=60s`, knowing(tag)),
    )
    expect(
      await Promise.any(held.map(async (one) => ((await one).status === 429 ? 429 : Promise.reject()))),
    ).toBe(429)
    await put(server.root, at('data', key), { x: 2 })
    expect((await Promise.all(held)).map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 429])
  })

  test('a write, a merge or a deletion of another state is refused', async () => {
    const key = fresh()
    const refused = { status: 412, body: errors('precondition failed') }
    expect(await server.root.write(at('data', key), { data: {} }, only('*'))).toMatchObject(refused)
    for (const path of [at('data', key), at('metadata', key)]) {
      const headers = { 'Content-Type': 'application/merge-patch+json', ...only('*').headers }
      const body = { data: {}, max_versions: 3 }
      expect(await server.root.call('PATCH', path, body, { headers })).toMatchObject(refused)
      expect(await server.root.delete(`${path}/`, only('*'))).toMatchObject(refused)
    }
    await put(server.root, at('data', key), { x: 1 }, { x: 2 })
    const stale = await tagOf(key)
    await put(server.root, at('data', key), { x: 3 })
    const current = await tagOf(key)
    const merge = { 'Content-Type': 'application/merge-patch+json' }

    for (const tag of [stale, `W/${current}`, '"x"']) {
      expect(await server.root.write(at('data', key), { data: {} }, only(tag))).toMatchObject(refused)
      expect(await server.root.delete(at('data', key), only(tag))).toMatchObject(refused)
      expect(await server.root.delete(at('metadata', key), only(tag))).toMatchObject(refused)
      expect(await server.root.write(at('metadata', key), { max_versions: 3 }, only(tag))).toMatchObject(
        refused,
      )
      expect(await server.root.write(at('destroy', key), { versions: [1] }, only(tag))).toMatchObject(refused)
      expect(await server.root.write(at('delete', key), { versions: [1] }, only(tag))).toMatchObject(refused)
      const headers = { ...merge, 'If-Match': tag }
      expect(await server.root.call('PATCH', at('data', key), { data: {} }, { headers })).toMatchObject(
        refused,
      )
    }
    expect((await server.root.write(at('data', key), { data: {} }, only(current))).status).toBe(200)
    expect((await server.root.write(at('metadata', key), { max_versions: 3 }, only('*'))).status).toBe(204)
    expect((await server.root.delete(at('metadata', key), only(await tagOf(key)))).status).toBe(204)
  })
})
