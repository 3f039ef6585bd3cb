import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

const polled = 'sys/internal/ui/unauthenticated-messages'

/** Different kinds of clients: what the server knows of its callers, and which proxies it trusts. */
const houses: readonly { name: string; settings: Record<string, string>; cors: boolean }[] = [
  { name: 'plain', settings: {}, cors: false },
  { name: 'for pages of other origins', settings: {}, cors: true },
  {
    name: 'behind a proxy',
    settings: { TRUSTED_PROXIES: '127.0.0.0/8', TRUSTED_PROXY_REQUIRED: 'true' },
    cors: false,
  },
  { name: 'behind a proxy that may say nothing', settings: { TRUSTED_PROXIES: '127.0.0.0/8' }, cors: false },
]
const servers = new Map<string, TestServer>()
let tags: string[] = []

beforeAll(async () => {
  for (const { name, settings, cors } of houses) {
    const server = await startTestServer({ settings, clock: new FakeClock(Date.UTC(2026, 0, 2, 12)) })
    servers.set(name, server)
    const headers = { 'X-Forwarded-For': '192.0.2.1' }
    const write = async (path: string, body: object = {}) => {
      const { status, text } = await server.root.write(path, body, { headers })
      if (status >= 400) throw new Error(text)
    }
    for (const namespace of ['a', 'a/b', 'locked']) {
      const cut = namespace.lastIndexOf('/') + 1
      await write(`${namespace.slice(0, cut)}sys/namespaces/${namespace.slice(cut)}`)
    }
    for (const [namespace, title] of [
      ['', 'é “x” \u2028 😀'],
      ['a/', 'of a'],
    ]) {
      const message = {
        title,
        message: 'w6k=',
        start_time: 0,
        end_time: '2999-01-01T00:00:00Z',
        authenticated: false,
        options: { n: 1.5 },
      }
      await write(`${namespace}sys/config/ui/custom-messages`, message)
    }
    await write('sys/namespaces/api-lock/lock/locked')
    if (cors) await write('sys/config/cors', { allowed_origins: 'https://app.example.com' })
    for (const namespace of ['', 'a']) {
      const { headers: told } = await server.anonymous.read(polled, {
        headers: { ...headers, 'X-Vault-Namespace': namespace },
      })
      tags = [...tags, String(told['etag'])]
    }
  }
}, 60_000)
afterAll(async () => {
  for (const server of servers.values()) await server[Symbol.asyncDispose]()
})

const aTarget = fc.constantFrom(
  ...[
    `/v1/${polled}`,
    `/v1/${polled}`,
    `/v1/${polled}`,
    `/${polled}`,
    `/v1/${polled}?`,
    `/v1/${polled}?help=1`,
    `/v1/${polled}?x=1`,
    `/v1/${polled}?wait=0`,
  ],
  ...[
    `/v1/a/${polled}`,
    `/v1/${polled}/`,
    `http://x/v1/${polled}`,
    `/v1/${polled.replace('ui', '%75i')}`,
    `/v1//${polled}`,
    `/V1/${polled}`,
  ],
)
const aMethod = fc.constantFrom('GET', 'GET', 'GET', 'GET', 'HEAD', 'LIST', 'OPTIONS', 'PUT', 'get')
const aNamespace = fc.constantFrom(
  '',
  'a',
  'a/',
  '/a',
  '/a/',
  'a/b',
  'A',
  'root',
  'root/',
  '/',
  'nowhere',
  'locked',
  'locked/',
  'a,b',
  'a%2Fb',
  '\u00e9',
  ' a ',
  '..',
)
const aTag = fc.oneof(
  fc.constantFrom('*', '"x"', 'W/"x"', '', ',', '"', 'x', '"a", "b"', '""', '*, "x"'),
  fc
    .tuple(
      fc.nat(),
      fc.constantFrom('', 'W/', '"x", ', ' ,\t', 'x, ', 'w/'),
      fc.constantFrom('', ', "y"', 'x', ';q=1'),
    )
    .map(([place, before, behind]) => `${before}${tags[place % tags.length]}${behind}`),
)
const aHeader: fc.Arbitrary<readonly [string, string]> = fc.oneof(
  fc.tuple(fc.constantFrom('X-Vault-Namespace', 'x-vault-namespace'), aNamespace),
  fc.tuple(fc.constant('If-None-Match'), aTag),
  fc.tuple(fc.constant('X-Vault-Token'), fc.constantFrom('root', 'none', '')),
  fc.tuple(fc.constant('Authorization'), fc.constantFrom('Bearer root', 'Basic x', '')),
  fc.tuple(fc.constant('Connection'), fc.constantFrom('close', 'keep-alive', 'Close', 'upgrade', 'x')),
  fc.tuple(
    fc.constant('Origin'),
    fc.constantFrom('https://app.example.com', 'null', '', 'https://other.example.com'),
  ),
  fc.tuple(
    fc.constant('X-Forwarded-For'),
    fc.constantFrom('192.0.2.1', '192.0.2.1, 192.0.2.2', '', 'x', '2001:db8::1', '192.0.2.1,'),
  ),
  fc.constantFrom<readonly [string, string]>(
    ['X-Vault-Wrap-TTL', '60'],
    ['X-Vault-Wrap-TTL', ''],
    ['X-Vault-Wrap-TTL', 'x'],
    ['X-Vault-MFA', 'x'],
    ['X-Vault-Request', 'true'],
    ['Accept', 'text/html'],
    ['Accept-Encoding', 'gzip'],
    ['Content-Type', 'text/plain'],
    ['Expect', '100-continue'],
    ['If-Modified-Since', 'Sat, 21 Nov 2026 00:00:00 GMT'],
    ['If-Match', '"x"'],
    ['Range', 'bytes=0-1'],
    ['TE', 'trailers'],
    ['Upgrade', 'h2c'],
    ['X-Request-Id', 'mine'],
    ['X-Gatehouse-Request-Id', 'mine'],
    ['X-Http-Method-Override', 'DELETE'],
    ['Access-Control-Request-Method', 'GET'],
  ),
)

/** Everything received over one connection, except what differs each time, and the order of headers. */
async function heard(server: TestServer, sent: string): Promise<string> {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  socket.write(sent, 'latin1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(socket, 'close')
  const text = Buffer.concat(chunks).toString('latin1')
  return text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id')
    .replace(/"(token|accessor)":"[\w.:-]+"/g, '"$1":""')
    .replace(/^Date: .*\r$/gm, 'Date: now\r')
    .replace(/(?:^[\w-]+: .*\r\n)+/gm, (headers) => headers.split('\r\n').sort().join('\r\n'))
}

test.each(houses)(
  'for any request, a prepared response equals the usual one byte for byte: $name',
  async ({ name }) => {
    const server = servers.get(name)
    if (server === undefined) throw new Error('not started')
    const aRequest = fc.record({
      method: aMethod,
      target: aTarget,
      version: fc.constantFrom('1.1', '1.1', '1.0'),
      headers: fc.array(aHeader, { maxLength: 4 }),
    })

    await fc.assert(
      fc.asyncProperty(aRequest, async ({ method, target, version, headers }) => {
        const written = (more: string) =>
          [
            `${method} ${target} HTTP/${version}`,
            'Host: x',
            ...headers.map(([header, value]) => `${header}: ${value}`),
            `${more}\r\n`,
          ].join('\r\n')
        const last =
          'GET /v1/sys/internal/ui/authenticated-messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

        // a request with an invalid length takes the usual way
        const [ready, usual] = await Promise.all([
          heard(server, written('') + last),
          heard(server, written('Content-Length: 0\r\n') + last),
        ])

        expect(ready).toBe(usual)
      }),
      { numRuns: 150 },
    )
  },
)
