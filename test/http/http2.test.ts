import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
  type Settings,
} from 'node:http2'
import { type AddressInfo, createServer, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CommonHeaders } from '../../src/http/exchange/common-headers.ts'
import { Http2Sessions } from '../../src/http/wire/http2-sessions.ts'
import { startingServer } from '../../src/http/wire/starting-server.ts'
import { TlsIdentity } from '../../src/http/wire/tls-identity.ts'
import { Authority } from '../support/certificates.ts'
import { preface } from '../support/http2-frames.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const authority = new Authority()
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let server: TestServer

const tlsServer = (settings: Record<string, string> = {}, options: TestServerOptions = {}) =>
  startTestServer({
    ...options,
    settings: {
      TLS_CERT_FILE: folder.file('cert.pem'),
      TLS_KEY_FILE: folder.file('key.pem'),
      METRICS: 'open',
      ...settings,
    },
  })

beforeAll(async () => {
  folder = await temporaryFolder()
  const { cert, key } = authority.sign('gate')
  writeFileSync(folder.file('cert.pem'), cert)
  writeFileSync(folder.file('key.pem'), key)
  server = await tlsServer()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  authority[Symbol.dispose]()
  await folder[Symbol.asyncDispose]()
})

/** A connection of HTTP/2. */
async function open(
  { url }: { url: string } = server,
  settings: Settings = {},
): Promise<ClientHttp2Session & Disposable> {
  const session = connect(url, { ca: authority.cert, maxSendHeaderBlockLength: 1024 * 1024, settings })
  session.on('error', () => {})
  await once(session, 'remoteSettings')
  return Object.assign(session, { [Symbol.dispose]: () => session.destroy() })
}

type Answer = { status: number; headers: OutgoingHttpHeaders; text: string; errors: unknown }

/** The response to a request; of status 0 if the stream was reset. */
function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  const answer: Answer = { status: 0, headers: {}, text: '', errors: undefined }
  stream.setEncoding('utf8')
  stream.on('error', () => {})
  stream.on('response', (headers) => Object.assign(answer, { headers, status: headers[':status'] }))
  stream.on('data', (text: string) => (answer.text += text))
  return new Promise((resolve) =>
    stream.once('close', () => {
      const errors = answer.text.startsWith('{') ? JSON.parse(answer.text)['errors'] : undefined
      resolve({ ...answer, errors })
    }),
  )
}

function call(
  session: ClientHttp2Session,
  method: string,
  path: string,
  { body, headers = {} }: { body?: string; headers?: OutgoingHttpHeaders } = {},
): Promise<Answer> {
  const stream = session.request(
    { ':method': method, ':path': path, 'x-vault-token': 'root', ...headers },
    { endStream: body === undefined },
  )
  if (body !== undefined) stream.end(body)
  return answerOf(stream)
}

describe('a connection', () => {
  test('ends the requests of a client that leaves without waiting for their responses', async () => {
    using session = await open()
    const requestsOf = async (path: string) => {
      const { text } = await call(session, 'GET', '/v1/sys/in-flight-req')
      const requests: { request_path: string }[] = Object.values(JSON.parse(text))
      return requests.filter(({ request_path }) => request_path === path).length
    }
    const left = await open()
    await once(left.request({ ':path': '/v1/sys/monitor', 'x-vault-token': 'root' }), 'response')
    expect(await requestsOf('/v1/sys/monitor')).toBe(1)

    left.destroy()

    await expect.poll(() => requestsOf('/v1/sys/monitor')).toBe(0)
  })

  test('a body that its client gives up is not served, even if the client reports no error', async () => {
    using session = await open()
    const stream = session.request({
      ':method': 'POST',
      ':path': '/v1/cubbyhole/given-up',
      'x-vault-token': 'root',
    })
    const closed = once(stream, 'close')
    stream.write('{"a":1}')
    await call(session, 'GET', '/v1/cubbyhole/given-up')

    stream.close(constants.NGHTTP2_NO_ERROR)
    await closed

    const other = await call(session, 'POST', '/v1/cubbyhole/other', { body: '{"a":1}' })
    const read = await call(session, 'GET', '/v1/cubbyhole/given-up')
    expect([other.status, read.status]).toEqual([204, 404])
  })

  test('Expect: 100-continue is answered before the response, and any other is refused', async () => {
    using session = await open()
    const sent = { ':method': 'POST', ':path': '/v1/cubbyhole/expected', 'x-vault-token': 'root' }
    const stream = session.request({ ...sent, expect: '100-continue' })
    const answer = answerOf(stream)

    await once(stream, 'continue')
    stream.end('{"a":1}')

    expect((await answer).status).toBe(204)
    const other = await call(session, 'POST', sent[':path'], { body: '{}', headers: { expect: 'more' } })
    expect(other).toMatchObject({ status: 417, errors: [] })
  })

  test('CONNECT is refused', async () => {
    using session = await open()

    const answer = await answerOf(session.request({ ':method': 'CONNECT', ':authority': 'example.com:443' }))

    expect(answer).toMatchObject({ status: 405, errors: [] })
  })

  test.each([
    ['GET', '/v1/sys/policies/acl?list=true', 200],
    ['LIST', '/v1/sys/policies/acl', 200],
    ['SCAN', '/v1/sys/namespaces', 204],
    ['HELP', '/v1/sys/policies/acl', 200],
    ['HEAD', '/v1/sys/health', 200],
    ['FOO', '/v1/sys/policies/acl', 405],
    ['list', '/v1/sys/policies/acl', 405],
    ['SEARCH', '/v1/sys/policies/acl', 405],
  ])('%s %s is served as over HTTP/1.1: %i', async (method, path, status) => {
    using session = await open()

    const answer = await call(session, method, path)

    expect(answer.status).toBe(status)
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
      'x-gatehouse-request-id': expect.any(String),
    })
  })

  test('serves requests at once, each with its own body and answer', async () => {
    using session = await open()
    const texts = Array.from({ length: 100 }, (_, index) => `secret ${index} ${'x'.repeat(index * 50)}`)

    const written = await Promise.all(
      texts.map((value, index) =>
        call(session, 'POST', `/v1/cubbyhole/h2-${index}`, { body: JSON.stringify({ value }) }),
      ),
    )
    const read = await Promise.all(texts.map((_, index) => call(session, 'GET', `/v1/cubbyhole/h2-${index}`)))

    expect(new Set(written.map(({ status }) => status))).toEqual(new Set([204]))
    expect(read.map(({ text }) => JSON.parse(text).data.value)).toEqual(texts)
  })

  test('gets prepared responses whole, and none of them is logged as a failure', async () => {
    const failures: string[] = []
    const log = pino({ level: 'error' }, { write: (line: string) => failures.push(line) })
    await using logging = await tlsServer({}, { log })
    using session = await open(logging)
    const paths = ['/v1/sys/health', '/v1/sys/internal/ui/unauthenticated-messages', '/health/live']

    // the first response of each is kept for the next ones
    for (const path of paths) await call(session, 'GET', path)
    const answers = await Promise.all(
      paths.map(async (path) => {
        const stream = session.request({ ':path': path })
        const { status, text, headers } = await answerOf(stream)
        return [status, stream.rstCode, String(Buffer.byteLength(text)) === headers['content-length']]
      }),
    )

    expect(answers).toEqual(paths.map(() => [200, constants.NGHTTP2_NO_ERROR, true]))
    expect(failures).toEqual([])
  })

  test('allows 32 requests at the same time, and 100 once one of them has had a valid token', async () => {
    using session = await open()
    const allowed = () => session.remoteSettings.maxConcurrentStreams

    const before = allowed()
    await call(session, 'GET', '/v1/auth/token/lookup-self', { headers: { 'x-vault-token': 'hvs.wrong' } })
    await call(session, 'GET', '/v1/sys/health')
    const refused = allowed()
    await call(session, 'GET', '/v1/auth/token/lookup-self')

    expect([before, refused]).toEqual([32, 32])
    await expect.poll(allowed).toBe(100)
  })

  test('is not used by clients that do not choose it, or if it is off', async () => {
    await using without = await tlsServer({ HTTP2: 'false' })
    const session = connect(without.url, { ca: authority.cert })

    await expect(once(session, 'connect')).rejects.toThrow()
  })

  test('is shown in the metrics', async () => {
    using session = await open()

    const { text } = await call(session, 'GET', '/metrics')

    expect(text).toContain('gatehouse_http_connections{protocol="http/2"} 1')
  })

  test('lets a client end one request, which then no longer waits', async () => {
    await using single = await tlsServer({ MESSAGE_WAITERS: '1' })
    using session = await open(single)
    const path = '/v1/sys/internal/ui/unauthenticated-messages'
    const tag = { 'if-none-match': String((await call(session, 'GET', path)).headers['etag']) }
    const first = session.request({ ':path': `${path}?wait=60s`, ...tag })
    const cancelled = answerOf(first)
    const second = () => call(session, 'GET', `${path}?wait=1ms`, { headers: tag })

    const during = await second()
    first.close(constants.NGHTTP2_CANCEL)
    await cancelled
    let after = await second()
    while (after.status === 429) after = await second()

    expect([during.status, after.status]).toEqual([429, 304])
  })
})

test('an empty frame of data is a body without fields', async () => {
  using session = await open(server)
  const stream = session.request({ ':method': 'POST', ':path': '/v1/auth/jwt/login' }, { endStream: false })
  const answer = answerOf(stream)
  stream.end()

  expect((await answer).status).toBe(400)
})

describe('limits', () => {
  test('an announced body over the limit is 413 before it is sent', async () => {
    using session = await open()
    const stream = session.request({
      ':method': 'POST',
      ':path': '/v1/cubbyhole/a',
      'x-vault-token': 'root',
      'content-length': 33 * 1024 * 1024,
    })

    const answer = await answerOf(stream)

    expect([answer.status, answer.errors]).toEqual([413, ['http: request body too large']])
  })

  test('a body over the limit without a length is 413', async () => {
    await using small = await tlsServer({ MAX_REQUEST_SIZE: '100KiB', MAX_LOGIN_SIZE: '10KiB' })
    using session = await open(small)

    const answer = await call(session, 'POST', '/v1/cubbyhole/a', { body: 'x'.repeat(200_000) })
    const next = await call(session, 'GET', '/v1/sys/health')

    expect([answer.status, next.status]).toEqual([413, 200])
  })

  test('a head over 32 KiB and one of more than 128 headers are 431, and the connection goes on', async () => {
    using session = await open()
    const large = Object.fromEntries(
      Array.from({ length: 5 }, (_, index) => [`x-${index}`, 'y'.repeat(7_000)]),
    )
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`x-${index}`, 'y']))

    const statuses = [
      await call(session, 'GET', '/v1/sys/health', { headers: large }),
      await call(session, 'GET', '/v1/sys/health', { headers: many }),
      await call(session, 'GET', '/v1/sys/health'),
    ].map(({ status, errors }) => [status, errors])

    expect(statuses).toEqual([
      [431, []],
      [431, []],
      [200, undefined],
    ])
  })

  test('a body that does not arrive in time is 408', async () => {
    await using impatient = await tlsServer({ BODY_TIMEOUT: '50ms' })
    using session = await open(impatient)
    const stream = session.request({ ':method': 'POST', ':path': '/v1/cubbyhole/a', 'x-vault-token': 'root' })
    stream.write('{')

    const answer = await answerOf(stream)

    expect(answer.status).toBe(408)
  })

  test('a connection without requests is closed after IDLE_TIMEOUT, and not while one is served', async () => {
    await using impatient = await tlsServer({ IDLE_TIMEOUT: '100ms' })
    using session = await open(impatient)
    const closed = once(session, 'close')

    const path = '/v1/sys/internal/ui/unauthenticated-messages'
    const { headers } = await call(session, 'GET', path)
    const waited = await call(session, 'GET', `${path}?wait=1s`, {
      headers: { 'if-none-match': String(headers['etag']) },
    })
    await closed

    expect(waited.status).toBe(304)
  })

  test('requests count like connections: one too many replaces the one that has been idle longest', async () => {
    await using small = await tlsServer({ MAX_CONNECTIONS: '4', MAX_CONNECTION_SHARE: '100%' })
    using session = await open(small)
    const unfinished = () =>
      session.request({ ':method': 'POST', ':path': '/v1/cubbyhole/a', 'x-vault-token': 'root' })
    const first = answerOf(unfinished())
    const others = [unfinished(), unfinished()]

    const served = await call(session, 'GET', '/v1/sys/health')
    const replaced = await first
    for (const one of others) one.end('{"a":1}')

    expect([served.status, replaced.status]).toEqual([200, 0])
    expect((await Promise.all(others.map(answerOf))).map(({ status }) => status)).toEqual([204, 204])
  })
})

describe('hostile clients', () => {
  test('a client that takes no responses leaves the places to others', async () => {
    await using busy = await tlsServer({ MAX_IN_FLIGHT: '2', IN_FLIGHT_WAIT: '1ms' })
    const [path, large] = ['/v1/auth/token/lookup-self', '/v1/cubbyhole/large']
    using other = await open(busy)
    await call(other, 'POST', large, { body: JSON.stringify({ value: 'x'.repeat(500_000) }) })
    using hostile = await open(busy, { initialWindowSize: 0 })
    for (const taken of [path, path, large, large])
      await once(hostile.request({ ':path': taken, 'x-vault-token': 'root' }), 'response')

    expect((await call(other, 'GET', path)).status).toBe(200)
  })

  test('a client that opens and resets requests without end is disconnected', async () => {
    using session = await open()
    const gone = new Promise((settle) => session.once('close', settle))
    let code: number | undefined
    session.on('goaway', (reason) => (code = reason))

    const flood = () => {
      for (let burst = 0; burst < 50 && !session.closed && !session.destroyed; burst++) {
        const stream = session.request({ ':path': '/v1/sys/health' })
        stream.on('error', () => {})
        stream.close(constants.NGHTTP2_CANCEL)
      }
      if (!session.destroyed) setImmediate(flood)
    }
    flood()
    await gone
    using next = await open()

    expect(code).toBeDefined()
    expect((await call(next, 'GET', '/v1/sys/health')).status).toBe(200)
  })
})

async function startingTls() {
  const identity = await TlsIdentity.read({
    certFile: folder.file('cert.pem'),
    keyFile: folder.file('key.pem'),
    minVersion: 'TLSv1.2',
    clientCaFile: undefined,
    requiresClientCertificate: false,
  })
  return { identity, http2: Http2Sessions, onRefused: () => {} }
}

test.each([
  ['/health/ready', 503, '{"status":"storage"}\n'],
  ['/v1/sys/health', 503, '{"errors":["storage is unavailable"]}\n'],
  ['/', 307, ''],
])('a server that is starting answers %s with %i', async (path, status, text) => {
  const starting = startingServer(() => 'storage', {
    tls: await startingTls(),
    common: new CommonHeaders(),
    ui: true,
  })
  const listener = createServer((socket) => starting.take(socket, 'network')).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  using session = await open({ url: `https://127.0.0.1:${(listener.address() as AddressInfo).port}` })

  const answer = await call(session, 'GET', path, { headers: { accept: 'text/html' } })

  starting.abort()
  listener.close()
  expect([answer.status, answer.text]).toEqual([status, text])
})

test('a server that is starting says so while too many bytes of the web UI wait for their clients', async () => {
  const starting = startingServer(() => 'starting', {
    tls: await startingTls(),
    common: new CommonHeaders(),
    ui: true,
  })
  const listener = createServer((socket) => starting.take(socket, 'network')).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const url = `https://127.0.0.1:${(listener.address() as AddressInfo).port}`
  await using sessions = new AsyncDisposableStack()
  const statusOf = async (session: ClientHttp2Session, path: string) => {
    const [headers] = await once(session.request({ ':path': path }), 'response')
    return headers[':status']
  }
  const first = sessions.use(await open({ url }))
  const { text } = await call(first, 'GET', '/ui/')
  const script = `/ui/${/="\.\/([^"]+\.js)"/.exec(text)?.[1]}`

  const statuses = [await statusOf(first, script)]
  while (statuses.at(-1) === 200 && statuses.length < 1000) {
    const session = sessions.use(await open({ url }, { initialWindowSize: 0 }))
    for (let number = 0; number < 4; number++) statuses.push(await statusOf(session, script))
  }
  await sessions.disposeAsync()
  starting.abort()
  listener.close()

  expect(statuses.at(-1)).toBe(503)
})

describe('a response that its client does not take counts against MAX_BUFFERED', () => {
  const document = '/v1/sys/internal/specs/openapi'
  /** Resolves with the status; no byte of the body can be sent. */
  const begun = async (session: ClientHttp2Session, path: string) => {
    const [headers] = await once(session.request({ ':path': path }), 'response')
    return headers[':status']
  }
  const statusOf = async (from: TestServer, path: string) => {
    using session = await open(from)
    return (await call(session, 'GET', path, { headers: { 'x-vault-token': '' } })).status
  }
  const script = async (from: TestServer) => {
    using session = await open(from)
    const { text } = await call(session, 'GET', '/ui/')
    return `/ui/${/="\.\/([^"]+\.js)"/.exec(text)?.[1]}`
  }
  const messages = async (from: TestServer) => {
    using session = await open(from)
    const message = { title: 't', message: 'QUJD'.repeat(60_000), start_time: 0, authenticated: false }
    const body = JSON.stringify(message)
    expect((await call(session, 'POST', '/v1/sys/config/ui/custom-messages', { body })).status).toBe(200)
    return '/v1/sys/internal/ui/unauthenticated-messages'
  }

  test.each([
    { what: 'the API document', most: '100KiB', taken: 1, pathOf: () => document },
    {
      what: 'a file of the explorer',
      most: '100KiB',
      taken: 1,
      pathOf: () => '/docs/static/swagger-ui-bundle.js',
    },
    { what: 'a file of the web UI', most: '100KiB', taken: 1, pathOf: script },
    { what: 'messages, which are prepared', most: '400KiB', taken: 2, pathOf: messages },
  ])('$what', async ({ most, taken, pathOf }) => {
    await using small = await tlsServer({ MAX_BUFFERED: most })
    const path = await pathOf(small)
    using taker = await open(small, { initialWindowSize: 0 })

    for (let number = 0; number < taken; number++) expect(await begun(taker, path)).toBe(200)
    const refused = await statusOf(small, path)
    const health = await statusOf(small, '/v1/sys/health')
    taker.destroy()

    expect([refused, health]).toEqual([503, 200])
    await expect.poll(() => statusOf(small, path)).toBe(200)
  })

  test('many small ones', async () => {
    await using small = await tlsServer({ MAX_BUFFERED: '10KiB' })
    using taker = await open(small, { initialWindowSize: 0 })

    for (let views = 0; views < 7; views++) expect(await begun(taker, `/ui/vault/${views}`)).toBe(200)
    const refused = await statusOf(small, document)
    taker.destroy()

    expect(refused).toBe(503)
    await expect.poll(() => statusOf(small, document)).toBe(200)
  })
})

test('a connection that was idle too long ends although its client only keeps it open', async () => {
  await using idle = await tlsServer({ IDLE_TIMEOUT: '1s' })
  const { port } = new URL(idle.url)
  const plain = new Socket({ allowHalfOpen: true }).connect(Number(port), '127.0.0.1')
  const client = connectTls({ socket: plain, ca: authority.cert, ALPNProtocols: ['h2'] })
  client.on('error', () => {}).write(preface)
  await once(client, 'data')
  const open = async () => {
    const families = await idle.server.metrics()
    const connections = families.find(({ name }) => name === 'gatehouse_http_connections')
    return connections?.values.find(({ labels }) => labels['protocol'] === 'http/2')?.value
  }

  expect(await open()).toBe(1)
  await expect.poll(open).toBe(0)
  client.destroy()
})

describe('a server that stops', () => {
  test('sends GOAWAY, finishes the requests in progress, and serves those on their way', async () => {
    const stopping = await tlsServer({ DRAIN_DELAY: '0s' })
    using session = await open(stopping)
    const running = session.request({
      ':method': 'PUT',
      ':path': '/v1/cubbyhole/late',
      'x-vault-token': 'root',
    })
    const late = answerOf(running)
    // the server has the head once it responds to a later request
    await call(session, 'GET', '/v1/sys/health')
    const goaway = once(session, 'goaway')

    const drained = stopping.server.drain(0)
    const [code] = await goaway
    running.end('{"a":1}')
    const answer = await late
    await drained
    await stopping[Symbol.asyncDispose]()

    expect([code, answer.status]).toEqual([constants.NGHTTP2_NO_ERROR, 204])
    expect(session.destroyed || session.closed).toBe(true)
  })
})
