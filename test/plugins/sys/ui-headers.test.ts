import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors, errorText } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

const path = 'sys/config/ui/headers'
let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const page = (of = server, at = '/ui/', headers: Record<string, string> = {}) =>
  fetch(new URL(at, of.url), { headers })
const put = (name: string, values: unknown, of = server) => of.root.write(`${path}/${name}`, { values })

test('a header is written, read, listed and removed, whatever the case of its name', async () => {
  expect(await put('x-mine', ['a', 'b'])).toMatchObject({ status: 200, body: { data: null, warnings: null } })

  expect((await server.root.read(`${path}/X-MINE`)).body.data).toEqual({ value: 'a' })
  expect((await server.root.read(`${path}/X-Mine?multivalue=true`)).body.data).toEqual({ values: ['a', 'b'] })
  expect((await server.root.list(path)).body.data).toEqual({ keys: ['X-Mine'] })
  expect((await page()).headers.get('x-mine')).toBe('a, b')
  expect((await server.root.delete(`${path}/X-mine`)).status).toBe(204)
  expect(await server.root.read(`${path}/X-Mine`)).toMatchObject({ status: 404, body: errors() })
  expect((await server.root.list(path)).status).toBe(404)
  expect((await page()).headers.get('x-mine')).toBeNull()
})

test('every response below /ui has it, and no other response', async () => {
  await put('X-Everywhere', 'yes')

  for (const at of ['/ui/', '/ui/vault/', '/ui/none.js'])
    expect((await page(server, at)).headers.get('x-everywhere')).toBe('yes')
  for (const at of ['/v1/sys/health', '/docs/', '/'])
    expect((await page(server, at)).headers.get('x-everywhere')).toBeNull()
  await server.root.delete(`${path}/X-Everywhere`)
})

test('a write that overrides a header that protects the pages warns, and a page that a browser has is sent anew', async () => {
  const before = await page()
  const tag = before.headers.get('etag') ?? ''

  const { body } = await put('Content-Security-Policy', "default-src 'self'")

  expect(body.warnings).toEqual([
    'overriding default Content-Security-Policy which is secure by default, proceed with caution',
  ])
  const after = await page(server, '/ui/', { 'If-None-Match': tag })
  expect([after.status, after.headers.get('content-security-policy')]).toEqual([200, "default-src 'self'"])
  await server.root.delete(`${path}/content-security-policy`)
  const again = await page(server, '/ui/', { 'If-None-Match': tag })
  expect([again.status, again.headers.get('content-security-policy')]).toEqual([
    304,
    before.headers.get('content-security-policy'),
  ])
})

describe('what cannot be a header', () => {
  test.each([
    { name: 'X-Vault-Token', values: ['a'], text: 'X-Vault headers cannot be set' },
    { name: 'x-vault-', values: ['a'], text: 'unsupported path' },
    { name: 'Content-Length', values: ['0'], text: 'the server sets Content-Length itself' },
    { name: 'transfer-encoding', values: ['chunked'], text: 'the server sets transfer-encoding itself' },
    { name: 'Proxy-Connection', values: ['close'], text: 'the server sets Proxy-Connection itself' },
    { name: 'Set-Cookie', values: ['a=b'], text: 'the server sets Set-Cookie itself' },
    { name: 'ETag', values: ['"a"'], text: 'the server sets ETag itself' },
    { name: 'X-Split', values: ['a\r\nSet-Cookie: b=c'], text: 'X-Split is not a valid header' },
    { name: 'X-Split', values: ['fine', 'a\nb'], text: 'X-Split is not a valid header' },
    { name: 'X-Split', values: ['a\u0000b'], text: 'X-Split is not a valid header' },
    { name: 'X-Wide', values: ['\u010d\u010a'], text: 'X-Wide has a character beyond ASCII' },
    { name: 'X-None', values: [], text: 'header and values must be specified' },
    { name: 'X-Many', values: Array(51).fill('a'), text: 'values: more than 50' },
    { name: 'X-Long', values: ['a'.repeat(8200)], text: 'the headers have more than 8192 bytes' },
    { name: 'n'.repeat(129), values: ['a'], text: 'the name has more than 128 characters' },
  ])('$name with $values.length values: $text', async ({ name, values, text }) => {
    const answer = await put(name, values)

    expect(answer.status).toBe(text === 'unsupported path' ? 404 : 400)
    expect(errorText(answer.body)).toContain(text)
    expect((await server.root.list(path)).status).toBe(404)
  })

  test('an encoded line break in the name reaches no header', async () => {
    expect((await put('X-A%0d%0aSet-Cookie', ['a'])).status).toBe(400)
    expect((await server.root.list(path)).status).toBe(404)
  })

  test('a 51st header', async () => {
    for (let index = 0; index < 50; index += 1) expect((await put(`X-${index}`, 'a')).status).toBe(200)

    expect(await put('X-50', 'a')).toMatchObject({ status: 400, body: errors('more than 50 headers') })

    for (let index = 0; index < 50; index += 1) await server.root.delete(`${path}/X-${index}`)
  })
})

test('it needs sudo, and the root namespace', async () => {
  await server.root.write('sys/policies/acl/headers', {
    policy: `path "${path}/*" { capabilities = ["create", "read", "update", "delete", "list"] }`,
  })
  await server.root.write('sys/namespaces/child', {})
  const { body } = await server.root.write('auth/token/create', { policies: ['headers'] })
  const client = server.as(String(body.auth?.client_token))

  const answers = [
    await client.write(`${path}/X-A`, { values: 'a' }),
    await client.read(`${path}/X-A`),
    await client.delete(`${path}/X-A`),
    await client.list(`${path}/`),
  ]

  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403])
  expect((await server.root.write(`child/${path}/X-A`, { values: 'a' })).body).toEqual(
    errors('operation only available in root namespace'),
  )
})

test('writes at the same time lose no header', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `X-${index}`)

  await Promise.all(names.map((name) => put(name, name)))

  expect((await server.root.list(path)).body.data).toEqual({ keys: names })
  for (const name of names) await server.root.delete(`${path}/${name}`)
})

test('a sealed server goes on with the headers', async () => {
  await using sealed = await startTestServer()
  await put('X-Frame-Options', 'DENY', sealed)
  expect((await sealed.root.write('sys/seal')).status).toBe(204)

  expect((await page(sealed)).headers.get('x-frame-options')).toBe('DENY')
})
