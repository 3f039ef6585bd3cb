import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { get as getPlain, IncomingMessage } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { get as getSecure } from 'node:https'
import { Socket } from 'node:net'
import { json } from 'node:stream/consumers'
import { connect, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dropUnusedFields, headBytes } from '../../src/http/exchange/request-headers.ts'
import { Authority } from '../support/certificates.ts'
import { collect } from '../support/collect.ts'
import { frame, header, head as headOfHttp2, kinds, preface } from '../support/http2-frames.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { head, openWire } from './wire.ts'

/** Flags of a frame. */
const endStream = 1
const endHeaders = 4

const authority = new Authority()
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let plain: TestServer
let secure: TestServer

beforeAll(async () => {
  folder = await temporaryFolder()
  const { cert, key } = authority.sign('gate')
  writeFileSync(folder.file('cert.pem'), cert)
  writeFileSync(folder.file('key.pem'), key)
  plain = await startTestServer()
  secure = await startTestServer({ settings: tls() })
})

afterAll(async () => {
  await plain[Symbol.asyncDispose]()
  await secure[Symbol.asyncDispose]()
  authority[Symbol.dispose]()
  await folder[Symbol.asyncDispose]()
})

const tls = () => ({ TLS_CERT_FILE: folder.file('cert.pem'), TLS_KEY_FILE: folder.file('key.pem') })

/** As `count` short fields. */
const fields = (count: number, value = 'y') =>
  Array.from({ length: count }, (_, index) => [`x-${index}`, value] as const)

type Fields = readonly (readonly [name: string, value: string])[]

/** The status of the response to a GET with these fields beside `Host`. */
async function overPlain(sent: Fields, server = plain, path?: string): Promise<number | undefined> {
  using wire = await openWire(server.url)
  wire.send(textOf(sent, path))
  return (await wire.answer())?.status
}

async function openTls({ url }: TestServer, ALPNProtocols: string[] = []): Promise<TLSSocket> {
  const { hostname, port } = new URL(url)
  const options = { ca: authority.cert, checkServerIdentity: () => undefined, ALPNProtocols }
  const socket = connect({ ...options, host: hostname, port: Number(port) })
  await once(socket, 'secureConnect')
  return socket
}

async function overTls(sent: Fields, server = secure, path?: string): Promise<number> {
  const socket = await openTls(server)
  socket.write(textOf(sent, path))
  const [answer] = await once(socket, 'data')
  socket.destroy()
  return Number(/^HTTP\/1\.1 (\d+)/.exec(String(answer))?.[1])
}

async function overHttp2(sent: Fields, server = secure, path = '/v1/sys/seal-status'): Promise<number> {
  const session = connectHttp2(server.url, { ca: authority.cert, maxSendHeaderBlockLength: 1024 * 1024 })
  // these count as fields too, but for the host
  const pseudo = { ':path': path, ':authority': 'gate' }
  const stream = session.request({ ...pseudo, ...Object.fromEntries(sent) })
  const [headers] = await once(stream, 'response')
  session.destroy()
  return headers[':status']
}

const textOf = (sent: Fields, path = '/v1/sys/seal-status') =>
  head(
    'GET',
    path,
    sent.map((pair) => pair.join(': ')),
  )

const transports = [
  { transport: 'HTTP/1.1', ask: overPlain, own: 1, settings: () => ({}) },
  { transport: 'TLS', ask: overTls, own: 1, settings: tls },
  { transport: 'HTTP/2', ask: overHttp2, own: 4, settings: tls },
]

describe.each(transports)('over $transport', ({ ask, own, settings }) => {
  test('128 header fields are served, and one more is 431', async () => {
    expect([await ask(fields(128 - own)), await ask(fields(129 - own))]).toEqual([200, 431])
  })

  test('900 short header fields are 431', async () => {
    expect(await ask(fields(900))).toBe(431)
  })

  test('a head of 31 KiB is served, and one of 33 KiB is 431', async () => {
    const statuses = [
      await ask(fields(1, 'y'.repeat(31 * 1024))),
      await ask(fields(1, 'y'.repeat(33 * 1024))),
    ]

    expect(statuses).toEqual([200, 431])
  })

  test('a target of 31 KiB is served, and one of 33 KiB is 431', async () => {
    const target = (kib: number) => `/v1/sys/seal-status?${'y'.repeat(kib * 1024)}`

    const statuses = [await ask([], undefined, target(31)), await ask([], undefined, target(33))]

    expect(statuses).toEqual([200, 431])
  })

  test('MAX_HEAD_FIELDS and MAX_HEAD_SIZE are the limits', async () => {
    await using server = await startTestServer({
      settings: { ...settings(), MAX_HEAD_FIELDS: '20', MAX_HEAD_SIZE: '2KiB' },
    })

    const statuses = [
      await ask(fields(10), server),
      await ask(fields(20), server),
      await ask(fields(1, 'y'.repeat(2048)), server),
    ]

    expect(statuses).toEqual([200, 431, 431])
  })
})

const used = () => {
  collect()
  return process.memoryUsage().heapUsed
}

/** Requests that wait for their bodies, on as many connections or streams. */
const waiting = 100
/** Of one connection of HTTP/2. */
const streams = 25
const unused = fields(115, 'y'.repeat(120))

/** The requests in progress of a server, but for the one that asks. */
const inProgress =
  ({ url }: TestServer) =>
  async () => {
    const get = url.startsWith('https:') ? getSecure : getPlain
    const headers = { 'x-vault-token': 'root' }
    const sent = get(`${url}/v1/sys/in-flight-req`, { headers, ca: authority.cert, agent: false })
    const [answer] = await once(sent, 'response')
    return Object.keys(Object(await json(answer))).length - 1
  }

describe('a request that waits for its body', () => {
  /** What a request that `begin` sends `waiting` times keeps, in bytes, with the connection of a client in this process. */
  async function keptByEach(server: TestServer, begin: () => Promise<Disposable>): Promise<number> {
    using _first = await begin()
    const before = used()
    using _waiting = await begin()
    await expect.poll(inProgress(server)).toBe(2 * waiting)
    return (used() - before) / waiting
  }

  test('keeps only the fields that are used over HTTP/1.1', async () => {
    const sent = [...unused.map((pair) => pair.join(': ')), 'Content-Length: 9']
    const begin = async () => {
      const opened = new DisposableStack()
      for (let count = 0; count < waiting; count++)
        opened.use(await openWire(plain.url)).send(head('POST', '/v1/auth/jwt/login', sent))
      return opened
    }

    expect(await keptByEach(plain, begin)).toBeLessThan(26 * 1024)
  })

  test('keeps only the fields that are used over HTTP/2', async () => {
    const block = Buffer.concat([
      header(':method', 'POST'),
      header(':path', '/v1/auth/jwt/login'),
      header(':scheme', 'https'),
      header(':authority', 'gate'),
      ...unused.map(([name, value]) => header(name, value)),
    ])
    const begin = async () => {
      const opened = new DisposableStack()
      for (let count = 0; count < waiting; count += streams) {
        const socket = await openTls(secure, ['h2'])
        opened.defer(() => void socket.destroy())
        socket.resume()
        socket.write(preface)
        for (let index = 0; index < streams; index++)
          socket.write(frame(kinds.headers, endHeaders, 2 * index + 1, block))
      }
      return opened
    }

    expect(await keptByEach(secure, begin)).toBeLessThan(17 * 1024)
  })

  test('keeps the fields that audit entries show', async () => {
    const request = new IncomingMessage(new Socket())
    request.rawHeaders = ['X-Vault-Token', 'a', 'X-Shown', 'b', 'X-Other', 'c', 'X-VAULT-TOKEN', 'd']
    request.headers = { 'x-vault-token': 'a', 'x-shown': 'b', 'x-other': 'c' }
    const before = headBytes(request)

    const freed = dropUnusedFields(request, (name) => name === 'x-shown')

    expect(request.rawHeaders).toEqual(['X-Vault-Token', 'a', 'X-Shown', 'b', 'X-VAULT-TOKEN', 'd'])
    expect(request.headers).toEqual({ 'x-vault-token': 'a' })
    expect(freed).toBe(before - headBytes(request))
  })
})

describe('heads count against MAX_BUFFERED until their requests end', () => {
  const large = head('POST', '/v1/auth/jwt/login', [
    `X-Vault-Token: ${'x'.repeat(20_000)}`,
    'Content-Length: 9',
  ])

  test('the largest request that waits for its body makes room', async () => {
    await using server = await startTestServer({ settings: { MAX_BUFFERED: '50KiB' } })
    using first = await openWire(server.url)
    using second = await openWire(server.url)
    using third = await openWire(server.url)
    for (const wire of [first, second]) wire.send(large)
    await expect.poll(inProgress(server)).toBe(2)

    third.send(large)
    const refused = await Promise.race([first.answer(), second.answer(), third.answer()])

    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect((await server.root.write('cubbyhole/a', { a: 'b' })).status).toBe(204)
  })

  test('a target counts twice, because more than the request keeps it', async () => {
    const long = (count: number) =>
      head('POST', `/v1/auth/jwt/login?${'x'.repeat(count)}`, ['Content-Length: 9'])
    await using server = await startTestServer({ settings: { MAX_BUFFERED: '50KiB' } })
    using fits = await openWire(server.url)
    using larger = await openWire(server.url)
    fits.send(long(20_000))
    await expect.poll(inProgress(server)).toBe(1)

    larger.send(long(25_000))

    expect((await larger.answer())?.status).toBe(503)
    expect(await inProgress(server)()).toBe(1)
  })

  test('each gives its memory back', async () => {
    await using server = await startTestServer({ settings: { MAX_BUFFERED: '50KiB' } })

    for (let round = 0; round < 10; round++) {
      using wire = await openWire(server.url)
      wire.send(`${large}{"a":"b"}`)
      expect((await wire.answer())?.status).toBe(400)
      using left = await openWire(server.url)
      left.send(large)
      await expect.poll(inProgress(server)).toBe(1)
      left.close()
      await expect.poll(inProgress(server)).toBe(0)
    }
  })
})

test('a request of HTTP/2 keeps nothing once its connection has failed', async () => {
  // whatever keeps a request keeps its stream
  const begun: WeakRef<object>[] = []
  const remember = (message: unknown) => void begun.push(new WeakRef(Object(message).stream))
  const streamsOfServers = channel('http2.server.stream.created')
  streamsOfServers.subscribe(remember)
  using _ = { [Symbol.dispose]: () => void streamsOfServers.unsubscribe(remember) }
  const socket = await openTls(secure, ['h2'])
  let received = Buffer.alloc(0)
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes])
  })
  // the client takes nothing of a body: its initial window is 0 (RFC 9113 §6.5.2)
  const noWindow = frame(kinds.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))

  socket.write(
    Buffer.concat([preface, noWindow, frame(kinds.headers, endHeaders | endStream, 1, headOfHttp2)]),
  )
  await expect.poll(() => typesIn(received)).toContain(kinds.headers)
  // data belongs to a stream, and 0 is none
  socket.write(frame(kinds.data, 0, 0))
  await once(socket, 'close')

  expect(begun).toHaveLength(1)
  await expect
    .poll(() => {
      collect()
      return begun[0]?.deref()
    })
    .toBeUndefined()
})

/** The types of the frames that have begun. */
function typesIn(bytes: Buffer): number[] {
  const types: number[] = []
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
    types.push(bytes.readUInt8(at + 3))
  return types
}

test('tokens and logins may have 96 KiB more, over each transport, and nothing else', async () => {
  // a field of HTTP/2 has at most 64 KiB
  const login = (count: number, kib: number): Fields =>
    fields(count, 'y'.repeat(kib * 1024)).map(([name, value]) => [
      `x-vault-inline-auth-parameter-${name}`,
      value,
    ])

  for (const ask of [overPlain, overTls, overHttp2]) {
    expect([await ask([['x-vault-token', 'y'.repeat(60 * 1024)]]), await ask(login(2, 45))]).toEqual([
      200, 200,
    ])
    expect([await ask(login(3, 45)), await ask([['x-other', 'y'.repeat(60 * 1024)]])]).toEqual([431, 431])
  }
})
