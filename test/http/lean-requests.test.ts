import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ListServerOptions } from '../../src/http/list-verb.ts'
import { collector } from '../../src/lib/garbage.ts'
import { startOneServer, type TestServer } from '../support/one-server.ts'
import { type Answer, head, listen, openWire, type Wire, type WireServer } from './wire.ts'

/** The requests that Node's parser has read in this process. */
let parsed = 0
const count = () => {
  parsed += 1
}
beforeAll(() => channel('http.server.request.start').subscribe(count))
afterAll(() => void channel('http.server.request.start').unsubscribe(count))

/** Has the connection learn the header lines of a request, with a request that changes nothing. */
async function prime(wire: Wire, request: string): Promise<void> {
  wire.send(request.replace(/^\S+ \S+/, 'GET /v1/sys/seal-status'))
  await wire.answer()
}

/** Without what differs from one response to the next. */
const told = (answer: Answer | undefined) =>
  JSON.stringify(answer).replace(/[0-9a-f]{8}-[0-9a-f-]{27}|[A-Z][a-z]{2}, \d\d [^"]* GMT/g, '…')

describe('a request without Node’s parser gets the response that it gets with it', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startOneServer({ settings: { MAX_LOGIN_SIZE: '2000', UI: 'true' } })
    await server.root.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    await server.root.write('kv/large', { text: 'é'.repeat(200_000) })
    await server.root.write('sys/namespaces/a', {})
    await server.root.write('sys/config/cors', { allowed_origins: ['https://a.example'] })
    for (const name of ['a', 'b']) await server.root.write(`auth/jwt/role/${name}`, role)
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['x'] }
  const root = 'X-Vault-Token: root'
  const page = 'Origin: https://a.example'
  test.each<{ name: string; request: string; status: number }>([
    { name: 'a read', request: head('GET', '/v1/auth/token/lookup-self', [root]), status: 200 },
    {
      name: 'a bearer token',
      request: head('GET', '/kv/large?x=1', ['Authorization: Bearer root']),
      status: 200,
    },
    { name: 'a list', request: head('LIST', '/v1/auth/jwt/role', [root]), status: 200 },
    { name: 'a list by its query', request: head('GET', '/v1/auth/jwt/role?list=true', [root]), status: 200 },
    { name: 'nothing there', request: head('GET', '/v1/auth/jwt/role/none', [root]), status: 404 },
    { name: 'a write', request: head('POST', '/v1/kv/a', [root], '{"a":"b"}'), status: 204 },
    { name: 'a PUT', request: head('PUT', '/v1/kv/b', [root], '{"a":"b"}'), status: 204 },
    {
      name: 'a write that responds',
      request: head('POST', '/v1/sys/capabilities-self', [root], '{"path":"x"}'),
      status: 200,
    },
    { name: 'broken JSON', request: head('POST', '/v1/kv/a', [root], '{"a":'), status: 400 },
    { name: 'a body of a read', request: head('GET', '/v1/auth/jwt/role/a', [root], '{}'), status: 200 },
    { name: 'an empty body', request: head('POST', '/v1/kv/a', [root], ''), status: 400 },
    {
      name: 'a body that is too large',
      request: head('POST', '/v1/auth/jwt/login', [], 'x'.repeat(2001)),
      status: 413,
    },
    {
      name: 'a refused login',
      request: head('POST', '/v1/auth/jwt/login', [], '{"role":"a","jwt":"x"}'),
      status: 400,
    },
    { name: 'a deletion', request: head('DELETE', '/v1/kv/none', [root]), status: 204 },
    { name: 'a patch of nothing', request: head('PATCH', '/v1/kv/none', [root], '{}'), status: 400 },
    { name: 'no token', request: head('GET', '/v1/kv/a'), status: 403 },
    { name: 'a wrong token', request: head('GET', '/v1/kv/a', ['X-Vault-Token: hvs.x']), status: 403 },
    { name: 'no mount', request: head('GET', '/v1/none', [root]), status: 404 },
    { name: 'a path with an odd escape', request: head('GET', '/v1/%zz', [root]), status: 400 },
    { name: 'a path that is cleaned', request: head('GET', '/v1/a/../b', [root]), status: 307 },
    {
      name: 'a namespace',
      request: head('GET', '/v1/sys/mounts', [root, 'X-Vault-Namespace: a']),
      status: 200,
    },
    {
      name: 'no namespace',
      request: head('GET', '/v1/sys/mounts', [root, 'X-Vault-Namespace: b']),
      status: 404,
    },
    { name: 'an allowed page', request: head('GET', '/v1/sys/mounts', [root, page]), status: 200 },
    {
      name: 'a refused page',
      request: head('GET', '/v1/sys/mounts', [root, 'Origin: https://b.example']),
      status: 403,
    },
    { name: 'health', request: head('GET', '/v1/sys/health'), status: 200 },
    {
      name: 'health with another status',
      request: head('GET', '/v1/sys/health?activecode=299'),
      status: 299,
    },
    { name: 'health without a body', request: head('GET', '/v1/sys/health?activecode=204'), status: 204 },
    { name: 'messages', request: head('GET', '/v1/sys/internal/ui/unauthenticated-messages'), status: 200 },
    { name: 'the web page', request: head('GET', '/ui/', ['Accept: text/html']), status: 200 },
    { name: 'a file of the web page', request: head('GET', '/ui/none', ['Accept: text/html']), status: 404 },
    { name: 'the root of the server', request: head('GET', '/', ['Accept: text/html']), status: 307 },
    { name: 'the API document', request: head('GET', '/v1/sys/internal/specs/openapi', [root]), status: 200 },
    { name: 'a wrong MFA header', request: head('GET', '/v1/kv/a', [root, 'X-Vault-MFA: :x']), status: 400 },
    {
      name: 'a wrong wrapping TTL',
      request: head('GET', '/v1/kv/a', [root, 'X-Vault-Wrap-TTL: x']),
      status: 400,
    },
    {
      name: 'no ACL header',
      request: head('GET', '/v1/kv/large', [root, 'X-Vault-Request: true']),
      status: 200,
    },
  ])('$name', async ({ request, status }) => {
    using first = await openWire(server.url)
    using second = await openWire(server.url)
    // the second response of some reads is prepared
    await server.anonymous.read('sys/health')
    await server.anonymous.read('sys/internal/ui/unauthenticated-messages')
    first.send(request)
    const usual = await first.answer()
    await prime(second, request)
    const before = parsed

    second.send(request)
    const lean = await second.answer()

    expect(usual?.status).toBe(status)
    expect(told(lean)).toBe(told(usual))
    expect(parsed).toBe(before)
  })

  test('an unchanged message', async () => {
    const path = '/v1/sys/internal/ui/unauthenticated-messages'
    using wire = await openWire(server.url)
    wire.send(head('GET', path))
    const tag = (await wire.answer())?.headers['etag']
    const request = head('GET', path, [`If-None-Match: ${tag}`])
    wire.send(request)
    const usual = await wire.answer()
    const before = parsed

    wire.send(request)
    const lean = await wire.answer()

    expect(usual?.status).toBe(304)
    expect(told(lean)).toBe(told(usual))
    expect(parsed).toBe(before)
  })

  test('each token is looked at, also in place of one that was good', async () => {
    using wire = await openWire(server.url)
    const request = head('GET', '/v1/auth/token/lookup-self', [root])
    await prime(wire, request)
    const before = parsed
    const statuses: (number | undefined)[] = []

    for (const token of ['root', 'boot', 'root', 'roo', 'root ,root', 'x root']) {
      wire.send(request.replace('root', token))
      statuses.push((await wire.answer())?.status)
    }

    expect(statuses).toEqual([200, 403, 200, 403, 403, 403])
    expect(parsed).toBe(before)
  })
})

type Handler = (response: ServerResponse) => void

/** A server whose requests wait for the test, and a connection that has learned the lines of `head('GET', …)`. */
async function waiting(options: ListServerOptions = {}) {
  const responses: ServerResponse[] = []
  const server: WireServer = await listen({ ...options, lean: true }, (_request, response) => {
    responses.push(response)
    server.server.emit('asked')
  })
  const next = async (): Promise<ServerResponse> => {
    if (responses.length === 0) await once(server.server, 'asked')
    const [response] = responses.splice(0, 1)
    if (response === undefined) throw new Error('no request came')
    return response
  }
  const wire = await server.open()
  wire.send(head('GET', '/first'))
  const first = await next()
  first.writeHead(200, { 'content-length': '0' }).end()
  await wire.answer()
  return {
    ...{ server, wire },
    /** Sends a request that is not parsed; the response is for the test to send. */
    ask: async () => {
      const before = parsed
      wire.send(head('GET', '/next'))
      const response = await next()
      expect(parsed).toBe(before)
      return response
    },
    next,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

const ok: Handler = (response) => response.writeHead(200, { 'content-length': '2' }).end('ok')

describe('a connection whose request was not parsed', () => {
  test('ends after the response if its client has ended its side', async () => {
    await using open = await waiting()
    const response = await open.ask()
    const ended = once(response.req.socket, 'end')
    open.wire.end()
    await ended

    ok(response)

    expect((await open.wire.untilClosed()).map(({ body }) => body)).toEqual(['ok'])
  })

  test('keeps the order of requests that are sent before the response', async () => {
    await using open = await waiting()
    const response = await open.ask()
    open.wire.send(head('GET', '/b') + head('GET', '/c'))

    setImmediate(() => ok(response))
    const urls = [response.req.url]
    for (const _ of [1, 2]) {
      const later = await open.next()
      urls.push(later.req.url)
      ok(later)
    }

    expect(urls).toEqual(['/next', '/b', '/c'])
    expect(await open.wire.answers(3)).toHaveLength(3)
  })

  test('tells the response when the client has left', async () => {
    await using open = await waiting()
    const response = await open.ask()
    const closed = new Promise<void>((resolve) => response.once('close', resolve))

    open.wire.close()
    await closed

    expect([response.destroyed, response.writableFinished]).toEqual([true, false])
    expect(() => ok(response)).not.toThrow()
  })

  test('is not idle while the response is under way, and is afterwards', async () => {
    await using open = await waiting({ idleTimeoutMs: 1 })
    const response = await open.ask()
    // Node.js allows a second more
    await once(response.req.socket, 'timeout')

    ok(response)

    expect((await open.wire.untilClosed()).map(({ body }) => body)).toEqual(['ok'])
  })

  test('closes when the response is told to end it', async () => {
    await using open = await waiting()
    const response = await open.ask()
    response.shouldKeepAlive = false

    ok(response)

    const [answer] = await open.wire.untilClosed()
    expect(answer?.headers).toMatchObject({ connection: 'close' })
    expect(answer?.headers).not.toHaveProperty('keep-alive')
  })

  test.each([
    { name: 'of known length', headers: { 'content-length': '4' }, shown: 'abcd' },
    { name: 'in chunks', headers: {}, shown: '2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n' },
  ])('streams a body $name', async ({ headers, shown }) => {
    await using open = await waiting()
    const response = await open.ask()
    response.shouldKeepAlive = false

    response.writeHead(200, headers)
    await pipeline(Readable.from(['ab', 'cd']), response.bodySink?.() ?? response)

    expect(await open.wire.bytesUntilClosed()).toMatch(new RegExp(`\r\n\r\n${shown}$`))
  })

  test('breaks off if a streamed body does', async () => {
    await using open = await waiting()
    const response = await open.ask()
    const broken = async function* () {
      yield 'ab'
      throw new Error('broken')
    }

    response.writeHead(200, {})
    const streamed = pipeline(broken(), response.bodySink?.() ?? response)

    await expect(streamed).rejects.toThrow('broken')
    expect(await open.wire.bytesUntilClosed()).not.toContain('0\r\n\r\n')
  })

  test.each([
    { name: 'of known length', headers: { 'content-length': '20000000' } },
    { name: 'in chunks', headers: {} },
  ])('ends a streamed body $name without an error if the client leaves', async ({ headers }) => {
    await using open = await waiting()
    const response = await open.ask()
    response.writeHead(200, headers)
    const sink = response.bodySink?.()
    if (sink === undefined) throw new Error('the request was parsed')
    const closed = once(sink, 'close')

    // no system takes as much at once: the rest waits
    response.socket?.write(Buffer.alloc(10_000_000))
    sink.write(Buffer.alloc(10_000_000))
    response.socket?.destroy()

    await expect(closed).resolves.toEqual([])
    expect(response.destroyed).toBe(true)
  })

  test('keeps nothing of the request while it waits for the next', async () => {
    const collect = collector()
    await using open = await waiting()
    const asked = async () => {
      const response = await open.ask()
      ok(response)
      await open.wire.answer()
      return new WeakRef(response.req)
    }

    const request = await asked()

    const isGone = async () => {
      collect()
      return request.deref() === undefined
    }
    await expect.poll(isGone).toBe(true)
  })

  test('refuses a header value that would end the header', async () => {
    await using open = await waiting()
    const response = await open.ask()

    expect(() => response.writeHead(200, { a: 'b\r\nc: d' }).end()).toThrow('forbidden character')
    response.destroy()

    expect(await open.wire.untilClosed()).toEqual([])
  })

  test('is cut off when a client takes nothing of a long response', async () => {
    await using open = await waiting()
    const response = await open.ask()
    const closed = new Promise<void>((resolve) => response.once('close', resolve))

    response.setTimeout(1, () => response.destroy())
    await closed

    expect(await open.wire.untilClosed()).toEqual([])
  })
})

test.each([
  { name: 'parsed', lean: false },
  { name: 'not parsed', lean: true },
])('no request after a response that closes the connection is served: $name', async ({ lean }) => {
  const served: (string | undefined)[] = []
  let second: ServerResponse | undefined
  await using server = await listen({ lean }, (request, response) => {
    served.push(request.url)
    if (request.url === '/second') second = response
    else response.writeHead(200, { 'content-length': '0' }).end()
  })
  const wire = await server.open()
  wire.send(head('POST', '/first', [], ''))
  await wire.answer()
  await wire.sendApart([head('POST', '/second', [], ''), head('POST', '/third', [], '')])

  if (second === undefined) throw new Error('the second request did not come')
  second.shouldKeepAlive = false
  ok(second)

  expect(await wire.untilClosed()).toHaveLength(1)
  expect(served).toEqual(['/first', '/second'])
})
