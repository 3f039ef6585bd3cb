import { setImmediate as nextTurn } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer, type TestServerOptions } from '../support/start-server.ts'
import { Gate, oddType } from './odd-type.ts'
import { type Answer, head, openWire } from './wire.ts'

const root = 'X-Vault-Token: root'

type Line = Readonly<Record<string, unknown>>

/** A server with the odd engine at `odd/`, and the lines of its log. */
async function oddServer({ settings = {}, ...parts }: TestServerOptions = {}) {
  const gate = new Gate()
  const lines: Line[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const server = await startTestServer({
    settings: { ACCESS_LOG: 'true', METRICS: 'open', ...settings },
    ...parts,
    log,
    plugins: [oddType(gate)],
  })
  await server.root.write('sys/mounts/odd', { type: 'odd' })
  return { ...server, gate, lines }
}
type OddServer = Awaited<ReturnType<typeof oddServer>>

/** The lines of the access log, once there are this many. */
async function linesOf({ lines }: OddServer, found: (line: Line) => boolean, count = 1): Promise<Line[]> {
  for (;;) {
    const requests = lines.filter((line) => line['msg'] === 'request' && found(line))
    if (requests.length >= count) return requests
    await nextTurn()
  }
}

async function inFlight({ anonymous }: TestServer): Promise<number> {
  return Number(
    /^gatehouse_http_in_flight_requests (\d+)$/m.exec((await anonymous.read('/metrics')).text)?.[1],
  )
}

/** Resolves when this many responses are not complete, besides that of the one that asks. */
async function arePending({ root }: TestServer, count: number): Promise<void> {
  const inProgress = async () => Object.keys(Object((await root.read('sys/in-flight-req')).body)).length
  await expect.poll(inProgress).toBe(count + 1)
}

/** Resolves when this many requests have a place. */
async function becomesUnderWay(server: TestServer, count: number): Promise<void> {
  while ((await inFlight(server)) !== count) await nextTurn()
}

describe('a request is answered, and logged once', () => {
  let server: OddServer
  beforeAll(async () => {
    server = await oddServer()
    await server.root.write('sys/namespaces/a', {})
    await server.root.write('sys/namespaces/locked', {})
    await server.root.write('sys/namespaces/api-lock/lock/locked', {})
  })
  afterAll(() => server[Symbol.asyncDispose]())

  /** The response, and the content of its one line in the log. */
  async function asked(request: string): Promise<{ answer: Answer; line: Line | undefined }> {
    using wire = await openWire(server.url)
    wire.send(request)
    let answer = await wire.answer()
    if (answer?.status === 100) answer = await wire.answer()
    if (answer === undefined) throw new Error('no answer')
    const id = answer.headers['x-gatehouse-request-id']
    const lines = await linesOf(server, ({ request_id }) => request_id === id)
    expect(lines).toHaveLength(1)
    return { answer, line: lines[0] }
  }

  const get = (target: string, status: number, headers: string[] = [root]) => ({
    name: `GET ${target.slice(0, 60)}`,
    target,
    status,
    headers,
  })
  const self = '/v1/auth/token/lookup-self'
  const plain = '/v1/odd/plain'

  test.each<{ name: string; method?: string; target: string; status: number; headers: string[] }>([
    get(self, 200),
    get('/auth/token/lookup-self', 200),
    get('http://gate/v1/auth/token/lookup-self', 200),
    get(`${self}/`, 404),
    get(`${self}?x=1&y`, 200),
    get(self, 403, []),
    get(self, 403, ['X-Vault-Token: none']),
    get(self, 200, ['Authorization: Bearer root']),
    get(self, 403, ['Authorization: Basic cm9vdA==']),
    get('/v1/sys/mounts', 200),
    get('/v1/sys/internal/ui/mounts', 200, []),
    get('/v1/sys/internal/ui/unauthenticated-messages', 200, []),
    get('/v1/sys/internal/ui/unauthenticated-messages?wait=x', 400, []),
    get('/v1/identity/oidc/.well-known/openid-configuration', 200, []),
    get('/v1/sys/internal/specs/openapi?x', 200),
    get('/v1/auth/jwt/oidc/callback', 400, []),
    get('/v1/auth/jwt/login', 405, []),
    get('/v1/auth/jwt/role?list=true', 404),
    get('/v1/sys/policies/acl?list=true', 200),
    get('/v1/sys/policies/acl?list=true&limit=1&after=default', 200),
    get('/v1/sys/policies/acl?list=true&limit=x', 400),
    get('/v1/sys/policies/acl?list=true&other=1', 200),
    get('/v1/sys/policies/acl?list=perhaps', 400),
    get('/v1/sys/policies/acl?list=1&scan=1', 400),
    get('/v1/sys/policies/acl/?list=false', 405),
    get('/v1/sys/policies/acl?help=1', 200),
    get('/v1/nothing/here', 404),
    get('/v1/nothing/here', 403, []),
    get('/v1/auth/token/nothing', 404),
    get('/v1/sys/health', 200, []),
    get('/v1/sys/seal-status', 200, []),
    get('/docs/', 200, []),
    get('/docs/openapi.json', 404, []),
    get('/health/ready', 200, []),
    get('/robots.txt', 200, []),
    get('/v1/sys/../sys/mounts', 307),
    get('//v1/sys/mounts', 404),
    get('/v1/odd//plain', 307),
    get('/v1/odd', 404),
    get('/v1/odd/', 404),
    get('/v1/ODD/plain', 404),
    get('/v1/odd/Plain', 404),
    get('/v1/odd/pl%61in', 200),
    get('/v1/odd/plain/', 404),
    get('/v1/odd/plain?', 200),
    get('/v1/odd/plain;x=1', 404),
    get('/v1/odd/plain%3Fx', 404),
    get('/v1/odd/plain%23x', 404),
    get('/v1/odd/plain#x', 404),
    get('/v1/odd/name/a', 200),
    get('/v1/odd/name/a?name=b', 200),
    get('/v1/odd/name/fixed', 200),
    get('/v1/odd/name/fixed.x', 200),
    get('/v1/odd/name/', 404),
    get('/v1/odd/name', 404),
    get('/v1/odd/name/a%2Fb', 404),
    get('/v1/odd/name/a%252Fb', 404),
    get('/v1/odd/name/a;b', 404),
    get('/v1/odd/name/a.b-c_d', 200),
    get('/v1/odd/name/%C3%A9', 404),
    get(`/v1/odd/name/${'x'.repeat(30_000)}`, 200),
    get(`/v1/odd/name/${'x'.repeat(30_000)}.`, 404),
    get('/v1/odd/rest/', 200),
    get('/v1/odd/rest', 404),
    get('/v1/odd/rest/a/b/', 200),
    get('/v1/odd/rest/a%2Fb', 200),
    get('/v1/odd/rest/a%252Fb', 200),
    get('/v1/odd/rest/a%25b', 200),
    get('/v1/odd/rest/a%3Fb%23c', 200),
    get('/v1/odd/rest/a;b=c,d@e:f+g&h$i', 200),
    get('/v1/odd/rest/%F0%9F%98%80', 200),
    get(`/v1/odd/rest/${'%25'.repeat(10_000)}`, 200),
    get('/v1/odd/rest/%ff', 400),
    get('/v1/odd/rest/%00', 400),
    get('/v1/odd/nothing', 404),
    get('/v1/odd/nothing/?list=true', 404),
    get('/v1/odd/nothing/?list=true&x=1', 200),
    get('/v1/odd/bug', 500),
    get('/v1/odd/bug-of-nothing', 500),
    get('/v1/odd/refused', 429),
    get('/v1/odd/large', 200),
    get('/v1/odd/headers', 200),
    get('/v1/odd/not-modified', 304, [root, 'Connection: close']),
    get('/v1/odd/document', 203),
    get('/v1/odd/empty-document', 200),
    { name: 'LIST', method: 'LIST', target: '/v1/odd/rest/x', status: 200, headers: [root] },
    {
      name: 'LIST with a slash',
      method: 'LIST',
      target: '/v1/odd/rest/x/?limit=1',
      status: 200,
      headers: [root],
    },
    { name: 'LIST of what only reads', method: 'LIST', target: plain, status: 404, headers: [root] },
    { name: 'SCAN', method: 'SCAN', target: '/v1/odd/rest/x?after=c', status: 200, headers: [root] },
    { name: 'HELP', method: 'HELP', target: plain, status: 200, headers: [root] },
    { name: 'a verb nobody offers', method: 'FOO', target: plain, status: 405, headers: [root] },
    { name: 'a carrier as a verb', method: 'SEARCH', target: plain, status: 405, headers: [root] },
    { name: 'get in small letters', method: 'get', target: plain, status: 405, headers: [root] },
    { name: 'OPTIONS', method: 'OPTIONS', target: plain, status: 400, headers: [root] },
    ...[
      { name: 'of a namespace', status: 404, headers: [root, 'X-Vault-Namespace: a'] },
      {
        name: 'of a namespace that is not there',
        status: 404,
        headers: [root, 'X-Vault-Namespace: nowhere'],
      },
      { name: 'of a locked namespace', status: 503, headers: [root, 'X-Vault-Namespace: locked'] },
      { name: 'of the root by name', status: 200, headers: [root, 'X-Vault-Namespace: root'] },
      { name: 'of an empty namespace', status: 200, headers: [root, 'X-Vault-Namespace:'] },
      {
        name: 'of a namespace with odd bytes',
        status: 404,
        headers: [root, 'X-Vault-Namespace: \xe9\t\xff'],
      },
      {
        name: 'of two namespaces',
        status: 404,
        headers: [root, 'X-Vault-Namespace: a', 'X-Vault-Namespace: root'],
      },
      { name: 'with two tokens', status: 200, headers: [root, 'X-Vault-Token: none'] },
      { name: 'wrapped', status: 200, headers: [root, 'X-Vault-Wrap-TTL: 60'] },
      { name: 'wrapped for less than no time', status: 400, headers: [root, 'X-Vault-Wrap-TTL: -1'] },
      { name: 'wrapped for nonsense', status: 400, headers: [root, 'X-Vault-Wrap-TTL: x'] },
      { name: 'with a factor', status: 200, headers: [root, 'X-Vault-MFA: x'] },
      { name: 'with half a factor', status: 400, headers: [root, 'X-Vault-MFA: x:'] },
      { name: 'of some type', status: 200, headers: [root, 'Content-Type: text/nonsense; ;'] },
      { name: 'of another origin', status: 200, headers: [root, 'Origin: https://a.example'] },
      { name: 'that is the last', status: 200, headers: [root, 'Connection: close'] },
      { name: 'that goes on', status: 200, headers: [root, 'Connection: keep-alive'] },
      {
        name: 'that wants another protocol',
        status: 200,
        headers: [root, 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: x'],
      },
      { name: 'that wants to be asked', status: 200, headers: [root, 'Expect: 100-continue'] },
      { name: 'with a trailer announced', status: 200, headers: [root, 'TE: trailers', 'Trailer: x'] },
    ].map((row) => ({ ...row, name: `a read ${row.name}`, target: plain })),
    { name: 'a namespace in the path', target: '/v1/a/sys/mounts', status: 200, headers: [root] },
    {
      name: 'a list of nothing, wrapped',
      method: 'LIST',
      target: '/v1/odd/nothing',
      status: 404,
      headers: [root, 'X-Vault-Wrap-TTL: 60'],
    },
    { name: 'a bug, wrapped', target: '/v1/odd/bug', status: 500, headers: [root, 'X-Vault-Wrap-TTL: 60'] },
    {
      name: 'headers, wrapped',
      target: '/v1/odd/headers',
      status: 200,
      headers: [root, 'X-Vault-Wrap-TTL: 60'],
    },
  ])('$name is $status', async ({ method = 'GET', target, status, headers }) => {
    const { answer, line } = await asked(head(method, target, headers))

    expect([answer.status, line?.['status']]).toEqual([status, status])
    if (status !== 304) expect(Number(answer.headers['content-length'])).toBe(answer.body.length)
  })

  test.each([
    { name: 'HTTP/1.0', lines: ['GET /v1/odd/plain HTTP/1.0', root] },
    { name: 'HTTP/1.0 that goes on', lines: ['GET /v1/odd/plain HTTP/1.0', root, 'Connection: keep-alive'] },
  ])('$name', async ({ lines }) => {
    const { answer } = await asked(`${lines.join('\r\n')}\r\n\r\n`)

    expect(answer.status).toBe(200)
  })

  test('a mount on its way out', async () => {
    await server.root.write('sys/mounts/leaving', { type: 'odd' })
    const waiting = server.root.read('leaving/wait')
    await server.gate.holds(1)
    const gone = server.root.delete('sys/mounts/leaving')
    const request = head('GET', '/v1/leaving/plain', [root])
    let { answer } = await asked(request)
    while (answer.status === 200) ({ answer } = await asked(request))
    server.gate.open()

    expect((await waiting).status).toBe(200)
    expect((await gone).status).toBe(204)
    expect(answer.body).toContain('is tainted')
  })

  test('a sealed server', async () => {
    await using sealed = await oddServer()
    await sealed.root.call('PUT', 'sys/seal')

    for (const path of ['odd/plain', 'nothing', 'sys/mounts', 'sys/internal/ui/unauthenticated-messages']) {
      const { status, body } = await sealed.root.read(path)
      expect([status, body]).toEqual([503, { errors: ['Vault is sealed'] }])
    }
  })
})

describe('the pipeline', () => {
  const read = (path: string, headers: string[] = [root]) => head('GET', `/v1/odd/${path}`, headers)

  test('each request is counted once', async () => {
    await using server = await oddServer()
    using wire = await openWire(server.url)
    const paths = ['plain', 'plain', 'name/a', 'bug', 'nope']
    for (const path of paths) wire.send(read(path))
    await wire.answers(paths.length)
    await linesOf(server, ({ route }) => String(route).startsWith('/odd/'), paths.length)

    const { text } = await server.anonymous.read('/metrics')

    const counts = [...text.matchAll(/^gatehouse_http_requests_total\{([^}]*odd[^}]*)\} (\d+)$/gm)].map(
      ([, labels, count]) => [labels, count],
    )
    const labels = (route: string, code: number) =>
      expect.stringMatching(new RegExp(`(?=.*code="${code}")(?=.*method="GET")(?=.*route="${route}")`))
    expect(new Map(counts.map(([label = '', count]) => [label, count])).size).toBe(4)
    expect(counts).toEqual(
      expect.arrayContaining([
        [labels('/odd/plain', 200), '2'],
        [labels('/odd/name/:name', 200), '1'],
        [labels('/odd/bug', 500), '1'],
        [labels('/odd/\\*', 404), '1'],
      ]),
    )
  })

  test.each([
    { name: 'leaves', path: 'wait', status: 200 },
    { name: 'leaves before a bug', path: 'bug-later', status: 500 },
  ])(
    'a client that $name holds its place until the work is done, and is logged once',
    async ({ path, status }) => {
      await using server = await oddServer()
      const wire = await openWire(server.url)
      wire.send(read(path))
      await server.gate.holds(1)
      wire.close()
      await wire.untilClosed()

      expect(await inFlight(server)).toBe(1)
      expect(server.lines.filter(({ route }) => route === `/odd/${path}`)).toEqual([])
      server.gate.open()
      await becomesUnderWay(server, 0)

      expect(server.lines.filter(({ route }) => route === `/odd/${path}`)).toMatchObject([
        { status, method: 'GET', mount: 'odd/' },
      ])
      expect((await server.root.read('odd/plain')).status).toBe(200)
    },
  )

  test('a client that ends its side holds its place until it has its answer, and is logged once', async () => {
    await using server = await oddServer()
    const wire = await openWire(server.url)
    wire.send(read('wait'))
    await server.gate.holds(1)
    wire.end()

    expect(await inFlight(server)).toBe(1)
    server.gate.open()

    expect((await wire.untilClosed()).at(-1)).toMatchObject({
      status: 200,
      body: expect.stringContaining('"name":"a"'),
    })
    await becomesUnderWay(server, 0)
    expect(server.lines.filter(({ route }) => route === '/odd/wait')).toMatchObject([
      { status: 200, method: 'GET', mount: 'odd/' },
    ])
  })

  test('a request that waits for a message takes no place, also after its client left', async () => {
    await using server = await oddServer({ settings: { MAX_IN_FLIGHT: '1', IN_FLIGHT_WAIT: '1ms' } })
    const path = '/v1/sys/internal/ui/unauthenticated-messages'
    const tag = (await server.anonymous.read(path)).headers['etag']
    const route = '/system/internal/ui/unauthenticated-messages'
    for (let round = 0; round < 3; round++) {
      const wire = await openWire(server.url)
      wire.send(head('GET', `${path}?wait=60s`, [`If-None-Match: ${tag}`]))
      for (let other = 0; other < 5; other++) await server.anonymous.read('/health/live')
      await becomesUnderWay(server, 0)
      expect((await server.root.read('odd/plain')).status).toBe(200)
      wire.close()
      // the first one fetched the tag
      const told = await linesOf(server, (line) => line['route'] === route, round + 2)
      expect(told.at(-1)).toMatchObject({ status: 304 })
      await becomesUnderWay(server, 0)
    }
  })

  test('a client that leaves several requests behind', async () => {
    await using server = await oddServer()
    const wire = await openWire(server.url)
    wire.send(read('wait') + read('plain') + read('wait') + read('bug-later') + read('large'))
    await server.gate.holds(3)
    wire.close()
    await becomesUnderWay(server, 3)
    server.gate.open()
    await becomesUnderWay(server, 0)

    const told = await linesOf(server, ({ mount }) => mount === 'odd/', 5)
    expect(told.map(({ route, status }) => `${route} ${status}`).toSorted()).toEqual([
      '/odd/bug-later 500',
      '/odd/large 200',
      '/odd/plain 200',
      '/odd/wait 200',
      '/odd/wait 200',
    ])
  })

  test('MAX_IN_FLIGHT applies, and each place is given back', async () => {
    await using server = await oddServer({ settings: { MAX_IN_FLIGHT: '1', IN_FLIGHT_WAIT: '1ms' } })
    for (const path of ['wait', 'bug-later']) {
      using wire = await openWire(server.url)
      wire.send(read(path))
      await server.gate.holds(1)
      using other = await openWire(server.url)
      other.send(read('plain'))
      expect((await other.answer())?.status).toBe(503)
      server.gate.open()
      await wire.answer()
      await becomesUnderWay(server, 0)
      other.send(read('plain'))
      expect((await other.answer())?.status).toBe(200)
      await becomesUnderWay(server, 0)
    }
  })

  test('a read whose body is still arriving takes no place', async () => {
    await using server = await oddServer({ settings: { MAX_IN_FLIGHT: '1', IN_FLIGHT_WAIT: '1ms' } })
    using wire = await openWire(server.url)
    const unfinished = `${read('plain', [root, 'Connection: close', 'Content-Length: 2'])}a`
    // once the first is answered, the server has met the second
    wire.send(head('GET', '/health/live') + unfinished)
    await wire.answer()

    expect((await server.root.read('odd/plain')).status).toBe(200)
    wire.send('b')
    expect((await wire.untilClosed()).map(({ status }) => status)).toEqual([200])
  })

  test('MAX_BUFFERED holds large answers until their clients have them', async () => {
    await using server = await oddServer({ settings: { MAX_BUFFERED: '3MiB' } })
    using first = await openWire(server.url)
    using second = await openWire(server.url)
    // both wait behind a response that is not ready yet
    for (const wire of [first, second]) wire.send(read('wait') + read('large'))
    await server.gate.holds(2)
    await arePending(server, 4)

    expect((await server.root.read('odd/large')).status).toBe(503)
    server.gate.open()
    expect((await first.answers(2)).map(({ status }) => status)).toEqual([200, 200])
    second.close()
    await arePending(server, 0)
    expect((await server.root.read('odd/large')).status).toBe(200)
  })

  test('a single-use token ends with its use, whether its client waits for the answer or not', async () => {
    await using server = await oddServer()
    const token = async () =>
      String((await server.root.write('auth/token/create', { num_uses: 1 })).body['auth']?.['client_token'])
    const live = async () =>
      (await server.root.list('auth/token/accessors')).body['data']?.['keys'] as unknown as string[]
    const before = (await live()).length
    const [one, other] = [await token(), await token()]
    using wire = await openWire(server.url)
    const self = (id: string) => head('GET', '/v1/auth/token/lookup-self', [`X-Vault-Token: ${id}`])
    wire.send(self(one) + self(one))

    expect((await wire.answers(2)).map(({ status }) => status)).toEqual([200, 403])
    const gone = await openWire(server.url)
    gone.send(self(other))
    await linesOf(server, ({ route }) => route === '/token/lookup-self', 3)
    gone.close()
    while ((await live()).length > before) await nextTurn()
  })

  test('requests under way when the server stops are answered, and are the last on their connection', async () => {
    const server = await oddServer()
    using wire = await openWire(server.url)
    wire.send(read('wait'))
    await server.gate.holds(1)
    const stopped = server[Symbol.asyncDispose]()
    await nextTurn()
    server.gate.open()

    expect(await wire.untilClosed()).toMatchObject([{ status: 200, headers: { connection: 'close' } }])
    await stopped
  })
})

test('pipelined requests are answered in order', async () => {
  await using server = await oddServer()
  using wire = await openWire(server.url)
  const read = (path: string, more: string[] = []) => head('GET', `/v1/odd/${path}`, [root, ...more])
  wire.send(
    read('wait') +
      read('name/b') +
      read('name/c') +
      head('GET', '/health/live') +
      read('name/d') +
      head('LIST', '/v1/odd/rest/e', [root]),
  )
  wire.send(
    head('POST', '/v1/cubbyhole/x', [root], '{"a":"b"}') +
      read('name/f', ['Connection: close']) +
      read('name/never'),
  )
  await server.gate.holds(1)
  await arePending(server, 6)
  server.gate.open()

  const bodies = (await wire.untilClosed()).map(
    ({ body }) => /"name":"(\w)"|"keys":\["a","b","e\/?"\]|"live"|^$/.exec(body)?.[0],
  )
  expect(bodies).toEqual([
    '"name":"a"',
    '"name":"b"',
    '"name":"c"',
    '"live"',
    '"name":"d"',
    '"keys":["a","b","e/"]',
    '',
    '"name":"f"',
  ])
})

test('an answer that cannot be serialized is a 500 and nothing else', async () => {
  await using server = await oddServer()
  using wire = await openWire(server.url)
  wire.send(head('GET', '/v1/odd/unwritable', [root, 'Connection: close']))

  expect(await wire.untilClosed()).toMatchObject([{ status: 500, body: '{"errors":["internal error"]}\n' }])
  await becomesUnderWay(server, 0)
  expect(server.lines.filter(({ msg }) => msg === 'a request failed')).toHaveLength(1)
  expect((await server.root.read('odd/plain')).status).toBe(200)
})

test.each(['GET', 'HEAD'])(
  '%s gets a 204 without a Content-Length, also where it chose the status',
  async (verb) => {
    await using server = await startTestServer()
    using wire = await openWire(server.url)
    wire.send(head(verb, '/v1/sys/health?activecode=204', ['Connection: close']))

    const bytes = await wire.bytesUntilClosed()

    expect(bytes).toMatch(/^HTTP\/1\.1 204 .*\r\ncontent-type: application\/json\r\n.*\r\n\r\n$/s)
    expect(bytes).not.toMatch(/content-length/i)
  },
)

test.each<{ refused: string; settings?: Record<string, string>; headers?: string[] }>([
  { refused: 'client address', settings: { TRUSTED_PROXIES: '127.0.0.0/8', TRUSTED_PROXY_REQUIRED: 'true' } },
  { refused: 'origin', headers: ['Origin: https://other.example'] },
])(
  'a client that ends its side within a request refused for its $refused leaves the server running',
  async ({ settings = {}, headers = [] }) => {
    await using server = await startTestServer({ settings })
    const cors = { allowed_origins: 'https://page.example' }
    const forwarded = { headers: { 'x-forwarded-for': '192.0.2.1' } }
    expect((await server.root.write('sys/config/cors', cors, forwarded)).status).toBe(204)
    using wire = await openWire(server.url)
    wire.send(
      `${head('POST', '/v1/sys/mounts', [...headers, 'Connection: close', 'Content-Length: 9'])}{"a":`,
    )
    wire.end()

    expect(await wire.untilClosed()).toMatchObject([{ status: 400 }])
    expect((await server.anonymous.read('/health/live')).status).toBe(200)
  },
)
