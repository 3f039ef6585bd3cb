import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebUi } from '../../src/http/document/web-ui.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

let server: TestServer
let without: TestServer

beforeAll(async () => {
  server = await startTestServer({ settings: { METRICS_LISTEN: '127.0.0.1:0' } })
  without = await startTestServer({ settings: { UI: 'false' } })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await without[Symbol.asyncDispose]()
})

type Got = { status: number; headers: Record<string, string | string[] | undefined>; body: Buffer }

/** As the bytes are: `fetch` would decompress them and follow redirects. */
const get = (path: string, headers: Record<string, string> = {}, method = 'GET', url = server.url) =>
  new Promise<Got>((resolve, reject) => {
    send(new URL(path, url), { method, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      )
    })
      .on('error', reject)
      .end()
  })

const filesOf = (page: Got) =>
  [...page.body.toString().matchAll(/="((?:\.\/|\.\.\/)[^"]+)"/g)].map(([, url]) => url ?? '')

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

test('the page is revalidated, and a client that has it gets 304', async () => {
  const page = await get('/ui/')

  expect(page.status).toBe(200)
  expect(page.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    etag: expect.stringMatching(/^"[\w-]{22}"$/),
  })
  const again = await get('/ui/', { 'If-None-Match': String(page.headers['etag']) })
  expect([again.status, again.body.length]).toEqual([304, 0])
})

test.each([
  ['br', brotliDecompressSync],
  ['gzip', gunzipSync],
])('the page exists compressed by %s, with a tag of its own', async (encoding, decompressed) => {
  const plain = await get('/ui/')
  const { headers, body } = await get('/ui/', { 'Accept-Encoding': encoding })

  expect(headers).toMatchObject({ 'content-encoding': encoding, vary: 'Accept-Encoding' })
  expect(decompressed(body).equals(plain.body)).toBe(true)
  expect(headers['etag']).not.toBe(plain.headers['etag'])
  const again = await get('/ui/', { 'Accept-Encoding': encoding, 'If-None-Match': String(headers['etag']) })
  expect(again.status).toBe(304)
})

test('the permissions policy grants nothing', async () => {
  const { headers } = await get('/ui/')

  const granted = String(headers['permissions-policy'])
    .split(', ')
    .filter((part) => !/^[a-z-]+=\(\)$/.test(part))
  expect(granted).toEqual([])
})

test('files have hashed names, never change, and exist compressed', async () => {
  const files = filesOf(await get('/ui/'))

  expect(files.filter((file) => file.endsWith('.js')).length).toBeGreaterThan(0)
  for (const file of files) {
    expect(file).toMatch(/^\.\/assets\/[\w.-]+-[\w-]{8}\.(?:js|css|svg)$/)
    const [plain, brotli, gzip] = await Promise.all([
      get(`/ui/${file}`),
      get(`/ui/${file}`, { 'Accept-Encoding': 'gzip, br' }),
      get(`/ui/${file}`, { 'Accept-Encoding': 'gzip;q=1, br;q=0' }),
    ])
    expect(plain.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    })
    expect(plain.headers['content-encoding']).toBeUndefined()
    expect(brotli.headers['content-encoding']).toBe('br')
    expect(gzip.headers['content-encoding']).toBe('gzip')
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true)
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true)
  }
})

test('the page for a person who comes back from a provider names the same files', async () => {
  const [home, callback] = await Promise.all([
    get('/ui/'),
    get('/ui/vault/auth/team/oidc/oidc/callback?state=a&code=b'),
  ])

  expect(callback.status).toBe(200)
  const base = new URL('/ui/', server.url)
  const absolute = (files: string[], from: string) =>
    files.map((file) => new URL(file, new URL(from, base)).pathname)
  expect(absolute(filesOf(callback), 'vault/auth/team/oidc/oidc/callback')).toEqual(
    absolute(filesOf(home), './'),
  )
})

test.each([
  ['/', { Accept: 'text/html,*/*' }, '/ui/'],
  ['/?namespace=team%2Fa', { Accept: 'text/html' }, '/ui/?namespace=team%2Fa'],
  ['/ui', {}, '/ui/'],
  ['/ui?namespace=team%2Fa', {}, '/ui/?namespace=team%2Fa'],
])('%s leads a browser to the page, in its namespace', async (path, headers, location) => {
  const answer = await get(path, headers)

  expect([answer.status, answer.headers['location']]).toEqual([307, location])
})

test('the root of the server answers other clients as before', async () => {
  expect((await get('/')).status).toBe(404)
  expect((await get('/', { Accept: 'application/json' })).status).toBe(404)
})

test.each([
  '/ui/nothing',
  '/ui/index.html',
  '/ui/files.json',
  '/ui/sources.json',
  '/ui/assets/',
  '/ui/assets/%2e%2e/files.json',
  '/ui/constructor',
  '/ui/vaulted',
  '/v1/ui/',
])('%s is 404', async (path) => {
  expect((await get(path)).status).toBe(404)
})

test('HEAD has the headers of GET, and other verbs are refused', async () => {
  const head = await get('/ui/', {}, 'HEAD')

  expect([head.status, head.body.length, head.headers['content-security-policy']]).toEqual([200, 0, policy])
  expect((await get('/ui/', {}, 'POST')).status).toBe(405)
})

test('a request for the page needs no token, and one that is wrong changes nothing', async () => {
  expect((await get('/ui/', { 'X-Vault-Token': 'none' })).status).toBe(200)
})

test.each(['/ui', '/ui/', '/ui/vault/auth/oidc/oidc/callback'])(
  'with GATEHOUSE_UI=false, %s is an unknown path',
  async (path) => {
    expect((await get(path, {}, 'GET', without.url)).status).toBe(404)
    expect((await get('/', { Accept: 'text/html' }, 'GET', without.url)).status).toBe(404)
  },
)

test('the listener for metrics does not serve it', async () => {
  expect((await get('/ui/', {}, 'GET', `http://127.0.0.1:${server.server.metricsPort}`)).status).toBe(404)
})

describe('below the prefix of a proxy', () => {
  test('everything that the page names is found', async () => {
    const proxy = createServer((request, response) => {
      const url = request.url ?? ''
      if (!url.startsWith('/tools/gatehouse/')) return void response.writeHead(404).end()
      void get(url.slice('/tools/gatehouse'.length)).then(({ status, headers, body }) => {
        response.writeHead(status, headers).end(body)
      })
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const address = proxy.address()
    const port = typeof address === 'object' ? address?.port : 0
    const page = `http://127.0.0.1:${port}/tools/gatehouse/ui/vault/auth/oidc/oidc/callback`

    for (const file of filesOf(await get(page)))
      expect({ file, status: (await get(new URL(file, page).href)).status }).toEqual({ file, status: 200 })

    proxy.closeAllConnections()
    await new Promise((resolve) => proxy.close(resolve))
  })
})

test('a sealed server serves it', async () => {
  await using sealed = await startTestServer()
  expect((await sealed.root.write('sys/seal')).status).toBe(204)

  expect((await get('/ui/', {}, 'GET', sealed.url)).status).toBe(200)
})

test('what the first page loads is at most 130 KiB', async () => {
  const page = await get('/ui/', { 'Accept-Encoding': 'br' })
  const files = await Promise.all(
    filesOf(page).map((file) => get(`/ui/${file}`, { 'Accept-Encoding': 'br' })),
  )

  const bytes = [page, ...files].reduce((sum, { body }) => sum + body.length, 0)
  expect(bytes).toBeLessThanOrEqual(130 * 1024)
})

describe('a build that is replaced while the server runs', () => {
  /** As release/ui.ts does it. */
  function build(folder: string, name: string): void {
    const fresh = `${folder}.fresh`
    mkdirSync(`${fresh}/assets`, { recursive: true })
    const files = { 'index.html': `<script src="./assets/${name}.js">`, [`assets/${name}.js`]: name }
    for (const [file, text] of Object.entries(files)) writeFileSync(`${fresh}/${file}`, text)
    const list = Object.keys(files).map((file) => [file, { type: 'text/x', encodings: [], hash: name }])
    writeFileSync(`${fresh}/files.json`, JSON.stringify(Object.fromEntries(list)))
    rmSync(folder, { recursive: true, force: true })
    renameSync(fresh, folder)
  }

  async function served(folder: string) {
    const ui = new WebUi(pathToFileURL(`${folder}/`))
    const listener = createServer((request, response) => {
      const { method: verb = '', url: path = '', headers } = request
      void ui
        .answer({ verb, path, query: '', header: (name) => headers[name]?.toString(), added: {} })
        .then(({ status, body }) => response.writeHead(status).end(body))
    })
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
    // a listening TCP server has an AddressInfo
    const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
    return {
      read: async (path: string) => {
        const { status, body } = await get(path, {}, 'GET', url)
        return status === 200 ? body.toString() : status
      },
      [Symbol.asyncDispose]: () => new Promise<void>((resolve) => listener.close(() => resolve())),
    }
  }

  test('is served with its own files, and pages of the one before keep theirs', async () => {
    await using temporary = await temporaryFolder()
    const folder = temporary.file('ui')
    build(folder, 'one')
    await using server = await served(folder)
    await using other = await served(folder)
    expect(await server.read('/ui/')).toContain('one.js')
    expect(await other.read('/ui/')).toContain('one.js')

    build(folder, 'two')

    expect(await server.read('/ui/')).toContain('two.js')
    expect(await server.read('/ui/assets/two.js')).toBe('two')
    expect(await server.read('/ui/assets/one.js')).toBe('one')
    // the process that did not serve the page
    expect(await other.read('/ui/assets/two.js')).toBe('two')
    expect(await other.read('/ui/assets/one.js')).toBe('one')
    expect(await other.read('/ui/assets/three.js')).toBe(404)
  })

  test('is another one only if its files differ', async () => {
    await using temporary = await temporaryFolder()
    const folder = temporary.file('ui')
    build(folder, 'one')
    await using server = await served(folder)
    await server.read('/ui/')
    build(folder, 'two')
    await server.read('/ui/')

    build(folder, 'two')

    expect(await server.read('/ui/')).toContain('two.js')
    expect(await server.read('/ui/assets/one.js')).toBe('one')
  })

  test('stays as it was until the new one is complete', async () => {
    await using temporary = await temporaryFolder()
    const folder = temporary.file('ui')
    build(folder, 'one')
    await using server = await served(folder)
    await server.read('/ui/')

    build(folder, 'two')
    rmSync(`${folder}/assets/two.js`)

    expect(await server.read('/ui/')).toContain('one.js')
    expect(await server.read('/ui/assets/one.js')).toBe('one')
  })
})

test('a view of Vault may be deep, but not without end: the page would grow with it', async () => {
  const deep = await get(`/ui/vault/${'a/'.repeat(31)}`)
  const tooDeep = await get(`/ui/vault/${'a/'.repeat(32)}`)

  expect([deep.status, tooDeep.status]).toEqual([200, 404])
})
