import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect as connectPlain, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { ServerProcess } from '../simulators/server-process.ts'
import { readProcessFigures, readProcessorMs } from './process-figures.ts'

/** A request without a token. */
type Asked = {
  readonly name: string
  readonly verb: string
  readonly path: string
  readonly fields?: readonly (readonly [name: string, value: string])[]
  readonly body?: string
}

/** A request that leaves something open. */
type Held = Asked & {
  /** Its body never comes, its response is never taken, or its connection stays open after it. */
  readonly leaves: 'body' | 'response' | 'connection'
}

const fields = (count: number, value: string) =>
  Array.from({ length: count }, (_, index) => [`x-${index}`, value] as const)

const login = { verb: 'POST', path: '/v1/auth/jwt/login' }
const document = { verb: 'GET', path: '/v1/sys/internal/specs/openapi' }
const deep = { verb: 'GET', path: `/ui/vault/${'a/'.repeat(15_000)}` }
const base64url = (text: string) => Buffer.from(text).toString('base64url')
const loginBody = (header: string) =>
  JSON.stringify({ role: 'r', jwt: `${base64url(header)}.${base64url('{}')}.AAAA` })

const longBody = loginBody(`{"alg":"RS256","x":"${'y'.repeat(450_000)}"}`)
/** A request of the same length that its first byte refuses. */
const onlyRead = (body: string): Asked => ({ ...login, name: 'only read', body: 'x'.repeat(body.length) })

const formType = [['content-type', 'application/x-www-form-urlencoded']] as const

const asked: readonly Asked[] = [
  { name: 'a health check', verb: 'GET', path: '/v1/sys/health' },
  { name: '120 header fields', verb: 'GET', path: '/v1/sys/mounts', fields: fields(120, 'y'.repeat(200)) },
  { name: '900 header fields', verb: 'GET', path: '/v1/sys/mounts', fields: fields(900, 'y') },
  {
    name: 'a wrong token',
    verb: 'GET',
    path: '/v1/sys/mounts',
    fields: [['x-vault-token', 'x'.repeat(20_000)]],
  },
  { name: 'a long path', verb: 'GET', path: `/v1/${'%2F'.repeat(10_000)}` },
  { name: 'a deep path of the UI', ...deep },
  { name: 'the API document', ...document },
  { name: 'a broken login', ...login, body: '{"role":' },
  { name: 'a login with a JWT of 600 kB', ...login, body: longBody },
  { name: '600 kB of blanks', ...login, body: ' '.repeat(longBody.length) },
  { name: '600 kB of escapes', ...login, body: `{"a":"${'\\n'.repeat(longBody.length / 2)}"}` },
  {
    name: 'a form of 600 kB of pluses',
    ...login,
    fields: formType,
    body: `a=${'+'.repeat(longBody.length)}`,
  },
  { name: 'a form of 600 kB of separators', ...login, fields: formType, body: '&'.repeat(longBody.length) },
  { name: '10,000 deep', ...login, body: '['.repeat(20_000) },
  { name: '9,000 values', ...login, body: `{"a":[${'1,'.repeat(9000)}1]}` },
]

const held: readonly Held[] = [
  { name: 'a connection', verb: 'GET', path: '/v1/sys/health', leaves: 'connection' },
  {
    name: 'a connection after 120 header fields',
    verb: 'GET',
    path: '/v1/sys/health',
    fields: fields(120, 'y'.repeat(200)),
    leaves: 'connection',
  },
  { name: 'a login without its body', ...login, fields: fields(120, 'y'.repeat(200)), leaves: 'body' },
  {
    name: 'a login without its body, long path',
    verb: 'POST',
    path: `${login.path}?${'x'.repeat(30_000)}`,
    leaves: 'body',
  },
  { name: 'the API document, not taken', ...document, leaves: 'response' },
  { name: 'a deep path of the UI, not taken', ...deep, leaves: 'response' },
]

/** How a client speaks to the server. */
type Transport = {
  readonly name: string
  readonly isSecure: boolean
  /** The status of the response; 0 without one. */
  ask(port: number, asked: Asked): Promise<number>
  /** Resolves when as many requests have been sent; what is returned closes them. */
  hold(port: number, held: Held, count: number): Promise<Disposable>
}

/** Each address has as many connections. */
const perAddress = 200
const perSession = 30

const transports: readonly Transport[] = [
  overHttp1('HTTP/1.1', false),
  overHttp1('TLS', true),
  {
    name: 'HTTP/2',
    isSecure: true,
    ask: async (port, one) => {
      const session = openSession(port, 0, 65_535)
      const status = await statusOf(session, one)
      session.destroy()
      return status
    },
    hold: async (port, one, count) => {
      const opened = new DisposableStack()
      for (let at = 0; at < count; at += perSession) {
        const session = openSession(port, at, one.leaves === 'response' ? 0 : 65_535)
        opened.defer(() => session.destroy())
        await once(session, 'remoteSettings').catch(() => {})
        // a connection is kept by itself; the others are requests of few connections
        const requests = Math.min(perSession, count - at)
        const sent = Array.from({ length: requests }, () => statusOf(session, one, one.leaves === 'body'))
        if (one.leaves === 'connection') await Promise.all(sent)
      }
      return opened
    },
  },
]

function overHttp1(name: string, isSecure: boolean): Transport {
  const open = async (port: number, index: number): Promise<Socket> => {
    const at = { port, host: '127.0.0.1', localAddress: addressOf(index) }
    const socket = isSecure ? connectTls({ ...at, rejectUnauthorized: false }) : connectPlain(at)
    socket.on('error', () => {})
    await Promise.race([once(socket, isSecure ? 'secureConnect' : 'connect'), once(socket, 'close')])
    return socket
  }
  return {
    name,
    isSecure,
    ask: async (port, one) => {
      const socket = await open(port, 0)
      socket.write(textOf(one))
      const status = await firstStatus(socket)
      socket.destroy()
      return status
    },
    hold: async (port, one, count) => {
      const opened = new DisposableStack()
      const begin = async (index: number) => {
        const socket = await open(port, index)
        opened.defer(() => socket.destroy())
        const { leaves } = one
        if (leaves === 'response') socket.pause()
        await new Promise((settle) => socket.write(textOf(one, leaves === 'body'), settle))
        if (leaves === 'connection') await firstStatus(socket)
      }
      for (let at = 0; at < count; at += atOnce)
        await Promise.all(
          Array.from({ length: Math.min(atOnce, count - at) }, (_, index) => begin(at + index)),
        )
      return opened
    },
  }
}

const atOnce = 20

/** A client address on loopback. */
const addressOf = (index: number) => `127.0.1.${1 + Math.floor(index / perAddress)}`

async function firstStatus(socket: Socket): Promise<number> {
  const [bytes] = await Promise.race([once(socket, 'data'), once(socket, 'close')])
  return Number(/^HTTP\/1\.1 (\d+)/.exec(String(bytes))?.[1] ?? 0)
}

function textOf({ verb, path, fields: sent = [], body = '' }: Asked, withoutBody = false): string {
  const length = withoutBody ? 1000 : Buffer.byteLength(body)
  const lines = [['Host', 'x'], ...sent, ...(length > 0 ? [['Content-Length', String(length)]] : [])]
  return `${[`${verb} ${path} HTTP/1.1`, ...lines.map((line) => line.join(': '))].join('\r\n')}\r\n\r\n${body}`
}

function openSession(port: number, index: number, initialWindowSize: number): ClientHttp2Session {
  const at = { port, host: '127.0.0.1', localAddress: addressOf(index), rejectUnauthorized: false }
  const session = connectHttp2(`https://127.0.0.1:${port}`, {
    maxSendHeaderBlockLength: 1024 * 1024,
    settings: { initialWindowSize },
    createConnection: () => connectTls({ ...at, ALPNProtocols: ['h2'] }),
  })
  session.on('error', () => {})
  return session
}

function statusOf(
  session: ClientHttp2Session,
  { verb, path, fields: sent = [], body }: Asked,
  withoutBody = false,
): Promise<number> {
  const head = { ':method': verb, ':path': path, ...Object.fromEntries(sent) }
  const stream = session.request(head, { endStream: body === undefined && !withoutBody })
  stream.on('error', () => {})
  if (body !== undefined) stream.end(body)
  stream.resume()
  return new Promise((resolve) => {
    stream.once('response', (headers) => {
      const status = Number(headers[':status'])
      if (body === undefined) resolve(status)
      else stream.once('close', () => resolve(status))
    })
    stream.once('close', () => resolve(0))
  })
}

export type Cost = { readonly name: string; readonly perRequest: number; readonly limit: number }

/** What a request without a token may keep, in bytes. */
const mostKept = 64 * 1024
/** The processor time that it may cost, in milliseconds, or as a multiple of that of a request that is only read. */
const mostMs = 5
const timesOfReading = 3

/** Servers by whether they speak TLS. */
export type Pair = { readonly plain: ServerProcess; readonly secure: ServerProcess }

const serverOf = ({ isSecure }: Transport, { plain, secure }: Pair): ServerProcess =>
  isSecure ? secure : plain

/**
 * The processor time of each kind of request, in milliseconds: the lower quartile of many small groups of them, each
 * beside a group of requests that are only read. What other programs do meanwhile adds to some groups; what a request
 * costs is in all of them.
 */
export async function* measureProcessorTime(servers: Pair, times: number): AsyncGenerator<Cost> {
  for (const transport of transports) {
    const { port, pid } = serverOf(transport, servers)
    const measure = async (one: Asked) => {
      const before = await readProcessorMs(pid)
      for (let count = 0; count < groupSize; count++) await transport.ask(port, one)
      // what the server does after its last response is part of the group
      await wait(settleGroupMs)
      return ((await readProcessorMs(pid)) - before) / groupSize
    }
    for (const one of asked) {
      const read = onlyRead((one.body ?? '').length < longBody.length ? '' : longBody)
      const costs: { asked: number; read: number }[] = []
      while (costs.length * groupSize < times)
        costs.push({ asked: await measure(one), read: await measure(read) })
      // on a busy machine, reading takes longer too
      const limit = Math.max(mostMs, timesOfReading * lowerQuartile(costs.map((cost) => cost.read)))
      const perRequest = lowerQuartile(costs.map((cost) => cost.asked))
      yield { name: `${transport.name}: ${one.name}`, perRequest, limit }
    }
  }
}

const groupSize = 5
const settleGroupMs = 5

const lowerQuartile = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 4)] ?? Number.NaN

/** What each kind of request keeps that is held open `count` times, in bytes. */
export async function* measureKept(servers: Pair, count: number): AsyncGenerator<Cost> {
  for (const { name, transport, one } of heldOpen) {
    const server = serverOf(transport, servers)
    const hold = () => transport.hold(server.port, one, count)
    // what the server keeps once, and the memory that it grows to, is no request's
    const first = await hold()
    first[Symbol.dispose]()
    const before = await collected(server)
    using _second = await hold()
    yield { name, perRequest: ((await collected(server)) - before) / count, limit: mostKept }
  }
}

/** Each kind of request that leaves something open, over each transport. */
export const heldOpen = transports.flatMap((transport) =>
  held.map((one) => ({ name: `${transport.name}: ${one.name}`, transport, one })),
)

/** The memory of a server that has been told to collect garbage. */
export async function collected({ pid }: ServerProcess): Promise<number> {
  for (let round = 0; round < 2; round++) {
    await wait(settleMs)
    process.kill(pid, 'SIGUSR2')
  }
  await wait(settleMs)
  return (await figuresOf(pid)).rssBytes
}

const settleMs = 300

/** Has a server collect garbage at SIGUSR2. */
export const collectsAtSignal = {
  NODE_OPTIONS: `--expose-gc --import=${new URL('./collect-at-signal.ts', import.meta.url).href}`,
}

async function figuresOf(pid: number) {
  const figures = await readProcessFigures(pid)
  if (figures === undefined) throw new Error('this system does not report the figures of a process')
  return figures
}
