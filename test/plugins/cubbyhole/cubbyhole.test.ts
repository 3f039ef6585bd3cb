import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSqlite } from '../../../src/storage/sqlite/sqlite.ts'
import type { Client } from '../../support/client.ts'
import { caused, errors, invalidToken } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let server: TestServer
let made = 0
const fresh = () => `cubbyhole/c${++made}`

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

async function newToken(by: Client, fields: object = {}): Promise<{ token: string; client: Client }> {
  const created = await by.write('auth/token/create', { policies: ['default'], ...fields })
  const token = String(created.body.auth?.client_token)
  return { token, client: server.as(token) }
}

describe('the cubbyhole', () => {
  test('an entry can be written, read, replaced as a whole and deleted', async () => {
    const path = fresh()

    expect(await server.root.write(path, { a: 1, b: 2 })).toMatchObject({ status: 204, text: '' })
    expect((await server.root.call('PUT', path, { c: [1, { d: null }] })).status).toBe(204)
    const { status, body } = await server.root.read(path)
    expect(status).toBe(200)
    expect(body.data).toEqual({ c: [1, { d: null }] })
    expect(body).toMatchObject({ lease_id: '', lease_duration: 0, renewable: false, mount_type: 'cubbyhole' })
    expect(await server.root.delete(path)).toMatchObject({ status: 204, text: '' })
    expect(await server.root.read(path)).toMatchObject({ status: 404, body: errors() })
    expect((await server.root.delete(path)).status).toBe(204)
  })

  test.each([
    '{"path":"x","ttl":"1h","lease":"2h","rest":"y","name":"z","list":true,"after":"q","limit":1}',
    '{"__proto__":{"a":1},"constructor":"b","toString":null}',
    '{"big":123456789012345678901234567890,"exact":1.10,"power":1e3,"minus":-0}',
    '{"text":"\\u0000\\ud83d\\ude00 <>&","":"empty name"}',
  ])('keeps %s unchanged', async (raw) => {
    const path = fresh()

    expect((await server.root.write(path, undefined, { raw })).status).toBe(204)
    const { text, body } = await server.root.read(path)

    expect(body.warnings).toBeNull()
    expect(JSON.parse(text).data).toEqual(JSON.parse(raw))
    for (const number of raw.match(/(?<=:)-?\d[\d.e]*/g) ?? []) expect(text).toContain(`:${number}`)
  })

  test.each([
    { name: 'an empty object', path: 'cubbyhole/a', raw: '{}', text: 'missing data fields' },
    { name: 'no body', path: 'cubbyhole/a', raw: '', text: 'missing data fields' },
    { name: 'no path', path: 'cubbyhole', raw: '{"a":1}', text: 'missing path' },
  ])('$name is refused', async ({ path, raw, text }) => {
    expect(await server.root.write(path, undefined, { raw })).toMatchObject({
      status: 400,
      body: errors(text),
    })
  })

  test('an entry may have 1 MiB, and no more', async () => {
    const path = fresh()
    const most = 1_048_576
    const around = '{"a":""}'.length

    expect((await server.root.write(path, { a: 'x'.repeat(most - around) })).status).toBe(204)
    const answer = await server.root.write(path, { a: 'x'.repeat(most - around + 1) })

    expect(answer).toMatchObject({
      status: 400,
      body: errors(`put failed due to value being too large; got ${most + 1} bytes, max: ${most} bytes`),
    })
    expect(String((await server.root.read(path)).body.data?.['a'])).toHaveLength(most - around)
  })

  test("an entry's path may have 1,024 bytes, and no more", async () => {
    const longest = 'é'.repeat(512)
    const path = (rest: string) => `cubbyhole/${encodeURIComponent(rest)}`

    expect((await server.root.write(path(longest), { a: 1 })).status).toBe(204)
    expect(await server.root.write(path(`${longest}x`), { a: 1 })).toMatchObject({
      status: 400,
      body: errors('put failed due to key being too large; got 1025 bytes, max: 1024 bytes'),
    })
  })

  test('PATCH is not offered', async () => {
    const headers = { 'Content-Type': 'application/merge-patch+json' }

    expect(await server.root.call('PATCH', 'cubbyhole/a', { a: 1 }, { headers })).toMatchObject({
      status: 405,
      body: errors(caused('unsupported operation')),
    })
  })

  test('a list is sorted and includes folders, and an empty one is 404', async () => {
    const path = fresh()
    expect(await server.root.call('LIST', path)).toMatchObject({ status: 404, body: errors() })
    for (const name of ['b', 'a/x', 'a/y/z', 'a', 'B', 'a-b'])
      await server.root.write(`${path}/${name}`, { v: 1 })

    expect((await server.root.call('LIST', path)).body.data).toEqual({ keys: ['B', 'a', 'a-b', 'a/', 'b'] })
    expect((await server.root.list(`${path}/`)).body.data).toEqual({ keys: ['B', 'a', 'a-b', 'a/', 'b'] })
    expect((await server.root.list(`${path}/a`)).body.data).toEqual({ keys: ['x', 'y/'] })
    expect((await server.root.list(`${path}/b`)).status).toBe(404)
    expect((await server.root.list(`${path}?after=a&limit=2`)).body.data).toEqual({ keys: ['a-b', 'a/'] })
  })

  test('paths are case-sensitive and decoded once', async () => {
    const path = fresh()
    const nameByTarget = {
      a: 'a',
      A: 'A',
      'a%20b': 'a b',
      'a+b': 'a+b',
      'a%2520b': 'a%20b',
      'a%2Bb%3Fc': 'a+b?c',
      '%C3%A4': 'ä',
      '%C3%A4%2Fx': 'ä/',
      '%F0%9F%98%80': '😀',
      'a;b': 'a;b',
      'a%23': 'a#',
      '...': '...',
      '..a': '..a',
    }
    for (const target of Object.keys(nameByTarget))
      expect((await server.root.write(`${path}/${target}`, { target })).status).toBe(204)
    expect((await server.root.write(`${path}/%ff%fe`, { x: 1 })).status).toBe(400)

    const { body } = await server.root.list(path)

    expect(new Set(body.data?.keys as unknown as string[])).toEqual(new Set(Object.values(nameByTarget)))
    for (const target of Object.keys(nameByTarget))
      expect((await server.root.read(`${path}/${target}`)).body.data).toEqual({ target })
  })

  test('any printable name leads back to what was written under it', async () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
      .map((text) => text.toWellFormed().replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} /]/gu, '_'))
      .filter(
        (text) =>
          !text.startsWith('/') &&
          !text.endsWith('/') &&
          text.split('/').every((segment) => !['', '.', '..'].includes(segment)),
      )
    await fc.assert(
      fc.asyncProperty(name, fc.string(), async (path, value) => {
        const target = `cubbyhole/fuzz/${encodeURIComponent(path)}`
        expect((await server.root.write(target, { value: value.toWellFormed() })).status).toBe(204)
        expect((await server.root.read(target)).body.data).toEqual({ value: value.toWellFormed() })
      }),
      { numRuns: 100 },
    )
  })

  test('a token sees neither the entries of another token nor those of its parent', async () => {
    const parent = await newToken(server.root, { policies: ['default', 'root'].slice(0, 1) })
    const other = await newToken(server.root)
    await parent.client.write('cubbyhole/secret', { mine: true })

    expect((await other.client.read('cubbyhole/secret')).status).toBe(404)
    expect((await server.root.read('cubbyhole/secret')).status).toBe(404)
    expect((await other.client.list('cubbyhole/')).status).not.toBe(200)
    await other.client.delete('cubbyhole/secret')
    expect((await parent.client.read('cubbyhole/secret')).body.data).toEqual({ mine: true })
  })

  test('a child begins with its own empty store', async () => {
    const policy = 'path "auth/token/create" { capabilities = ["update"] }'
    await server.root.write('sys/policies/acl/creates', { policy })
    const parent = await newToken(server.root, { policies: ['default', 'creates'] })
    const child = await newToken(parent.client)
    await parent.client.write('cubbyhole/a', { parent: true })

    expect((await child.client.read('cubbyhole/a')).status).toBe(404)
  })

  test('it ends with its token, and a new token with the same id starts empty', async () => {
    const first = await newToken(server.root, { id: 'again' })
    await first.client.write('cubbyhole/a', { old: true })
    await server.root.write('auth/token/revoke', { token: first.token })
    expect((await first.client.read('cubbyhole/a')).body).toEqual(invalidToken)

    const second = await newToken(server.root, { id: 'again' })

    expect(second.token).toBe('again')
    expect((await second.client.read('cubbyhole/a')).status).toBe(404)
  })

  test('it survives a restart', async () => {
    await using folder = await temporaryFolder()
    const settings = {
      STORAGE: `sqlite:${folder.file('gatehouse.db')}`,
      SEAL_KEY_FILE: folder.file('seal.key'),
    }
    {
      await using before = await startTestServer({ settings })
      await before.root.write('cubbyhole/kept', { a: 'b' })
    }
    await using after = await startTestServer({ settings })

    expect((await after.root.read('cubbyhole/kept')).body.data).toEqual({ a: 'b' })
  })

  test('the default policy covers everything below it, but not the path itself', async () => {
    const { client } = await newToken(server.root)

    expect((await client.write('cubbyhole/a', { a: 1 })).status).toBe(204)
    expect((await client.write('cubbyhole', { a: 1 })).status).toBe(403)
    expect((await client.list('cubbyhole/a')).status).toBe(404)
  })

  test('create and update are distinguished', async () => {
    await server.root.write('sys/policies/acl/once', {
      policy: 'path "cubbyhole/once/*" { capabilities = ["create", "read"] }',
    })
    const { client } = await newToken(server.root, { policies: ['once'], no_default_policy: true })

    expect((await client.write('cubbyhole/once/a', { a: 1 })).status).toBe(204)
    expect((await client.write('cubbyhole/once/a', { a: 2 })).status).toBe(403)
    expect((await client.read('cubbyhole/once/a')).body.data).toEqual({ a: 1 })
  })

  test('a batch token has none', async () => {
    const { client } = await newToken(server.root, { type: 'batch', ttl: '1h' })
    const none = errors("cubbyhole operations are only supported by 'service' type tokens")

    expect(await client.read('cubbyhole/a')).toMatchObject({ status: 400, body: none })
    expect(await client.write('cubbyhole/a', { a: 1 })).toMatchObject({ status: 400, body: none })
    expect(await client.list('cubbyhole/')).toMatchObject({ status: 400, body: none })
    expect(await client.delete('cubbyhole/a')).toMatchObject({ status: 400, body: none })
  })

  test('each namespace has its own, even for the same token', async () => {
    await server.root.write('sys/namespaces/own')
    const inside = { headers: { 'X-Vault-Namespace': 'own' } }
    await server.root.write('cubbyhole/place', { where: 'root' })

    expect((await server.root.read('cubbyhole/place', inside)).status).toBe(404)
    await server.root.write('cubbyhole/place', { where: 'own' }, inside)
    expect((await server.root.read('own/cubbyhole/place')).body.data).toEqual({ where: 'own' })
    expect((await server.root.read('cubbyhole/place')).body.data).toEqual({ where: 'root' })
    const created = await server.root.write('auth/token/create', { policies: ['default'] }, inside)
    const native = server.as(String(created.body.auth?.client_token))
    expect((await native.read('own/cubbyhole/place')).status).toBe(404)
    expect((await native.write('own/cubbyhole/place', { mine: true })).status).toBe(204)
    expect((await native.read('cubbyhole/place')).status).toBe(403)
  })

  test('a write with the last use of a token leaves nothing', async () => {
    const { client } = await newToken(server.root, { num_uses: 1 })

    expect((await client.write('cubbyhole/a', { a: 1 })).status).toBe(204)
    expect((await client.read('cubbyhole/a')).body).toEqual(invalidToken)
  })

  test('nothing remains, whatever its token does while it ends', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')
    {
      await using busy = await startTestServer({
        settings: { STORAGE: `sqlite:${path}`, SEAL_KEY_FILE: folder.file('seal.key'), DEFAULT_MOUNTS: '' },
      })
      await busy.root.write('sys/namespaces/ns')
      await busy.root.write('sys/policies/acl/both', {
        policy: 'path "+/cubbyhole/*" { capabilities = ["create", "update"] }',
      })
      await Promise.all(
        Array.from({ length: 60 }, async (_, at) => {
          const { client } = await newToken(busy.root, {
            policies: ['default', 'both'],
            num_uses: at % 4 === 0 ? 3 : 0,
          })
          await Promise.all([
            client.write('cubbyhole/a', { a: 1 }),
            client.write('ns/cubbyhole/b', { a: 1 }),
            client.write('auth/token/revoke-self'),
            client.write('cubbyhole/c/d', { a: 1 }),
            client.write('cubbyhole/a', { a: 2 }),
          ])
          await client.write('auth/token/revoke-self')
        }),
      )
    }
    await using storage = await openSqlite({ path })

    expect(await storage.listKeys('mount/')).toEqual([])
  })
})
