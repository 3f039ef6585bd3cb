import { get as getPlain } from 'node:http'
import { get as getSecure } from 'node:https'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { Authority } from '../test/support/certificates.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { type Cost, collected, collectsAtSignal, measureKept, measureProcessorTime } from './hostile-costs.ts'
import { allFloods, type Flood, type FloodFigures, measureFlood, type Watched } from './hostile-floods.ts'
import { median } from './measure.ts'
import { readProcessFigures } from './process-figures.ts'
import { startProgram } from './program.ts'
import { startSecure } from './secure-server.ts'

/**
 * `npm run hostile [1000]`: sends this many requests of each hostile kind to Gatehouse and, in turns, to a
 * server that only reads them. Fails at an unexpected status, if Gatehouse's median time is many times that
 * of the other server, or if memory is not released. Then measures what a request without a token costs and keeps over
 * HTTP/1.1, TLS and HTTP/2, each with a limit. Then floods of HTTP/2 and TLS, held requests, and slow clients, for a
 * second each per hundred of them, each twice on a server of its own: fails if memory exceeds a multiple of an idle server's,
 * or if another address waits long for a health check (beyond the time in which other programs had the processor).
 *
 * `--short` sends few, floods once, and does not wait for memory that is released. `--only 'large heads'` runs the floods whose
 * names contain this text, and nothing else.
 */

/**
 * A hostile request: its bytes, and the status of its refusal; with `leave` the client hangs up instead of
 * waiting for a response.
 */
type Hostile = {
  readonly name: string
  readonly bytes: Buffer
  readonly status: number
  readonly leave?: boolean
}

const MiB = 1024 * 1024
const { values, positionals } = parseArgs({
  options: { short: { type: 'boolean', default: false }, only: { type: 'string' } },
  allowPositionals: true,
})
const isShort = values.short
const repeats = Number(positionals[0] ?? (isShort ? 10 : 1000))
/** Requests whose processor time is measured, that are held open to measure what they keep, and that are in a flood. */
const measured = isShort ? 80 : 400
const keptAtOnce = isShort ? 100 : 500
/** The long form has as many as ten connections of HTTP/2 with 100 streams each. */
const heldAtOnce = isShort ? 300 : 1000
const atOnce = 2
const turns = 10
/** What memory may be afterwards, as a multiple of that before. */
const maxAfterRatio = 1.6
const floodSeconds = Math.max(1, repeats / 100)
/** After its start, a server settles down. */
const idleMs = 3_000
/** Highest accepted ratio of our median time to that of the server that only reads. */
const maxRatio = 20
/** What memory may be in a flood, as a multiple of that of the idle server. */
const maxMemoryRatio = 3
/** How long a health check may take in a flood, or how many times as long as that of a server that nobody attacks. */
const maxHealthMs = 1000
const maxHealthRatio = 5
/** Not the address of those who attack. */
const watcher = '127.0.0.2'

function request(verb: string, path: string, lines: readonly string[], body: string | Buffer = ''): Buffer {
  const head = [`${verb} ${path} HTTP/1.1`, 'Host: x', 'Connection: close', ...lines].join('\r\n')
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), Buffer.from(body)])
}

const counted = (verb: string, path: string, body: string | Buffer, lines: readonly string[] = []) =>
  request(verb, path, [...lines, `Content-Length: ${Buffer.byteLength(body)}`], body)

function inChunks(path: string, body: Buffer, size: number): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; at += size) {
    const piece = body.subarray(at, at + size)
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
  }
  return request(
    'POST',
    path,
    ['Transfer-Encoding: chunked'],
    Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]),
  )
}

const login = '/v1/auth/jwt/login'
const large = Buffer.alloc(32 * MiB + 1, ' ')
const base64url = (text: string) => Buffer.from(text).toString('base64url')
const jwt = (header: string) =>
  JSON.stringify({ role: 'r', jwt: `${base64url(header)}.${base64url('{}')}.AAAA` })

const kinds: readonly Hostile[] = [
  { name: 'body of 32 MiB + 1, announced', bytes: counted('POST', login, large), status: 413 },
  { name: 'body of 32 MiB + 1, in chunks', bytes: inChunks(login, large, 65_536), status: 413 },
  { name: 'body in chunks of one byte', bytes: inChunks(login, Buffer.alloc(20_000, ' '), 1), status: 400 },
  { name: 'JSON 20,000 deep', bytes: counted('POST', login, '['.repeat(20_000)), status: 400 },
  {
    name: '1,001 strings',
    bytes: counted('POST', login, JSON.stringify(Array.from({ length: 1001 }, () => 'x'))),
    status: 400,
  },
  {
    name: 'a million small values',
    bytes: counted('PUT', '/v1/sys/unseal', `{"a":[${'1,'.repeat(1e6)}1]}`),
    status: 413,
  },
  {
    name: '500,000 small values',
    bytes: counted('PUT', '/v1/sys/unseal', `{"a":[${'1,'.repeat(5e5)}1]}`),
    status: 400,
  },
  {
    name: '15 million values, wrong token',
    bytes: counted('POST', '/v1/cubbyhole/a', `{"a":[${'1,'.repeat(15e6)}1]}`, ['X-Vault-Token: x']),
    status: 403,
  },
  {
    name: 'fields of Object.prototype',
    bytes: counted('POST', login, '{"__proto__":{"jwt":"x"},"constructor":1}'),
    status: 400,
  },
  {
    name: 'invalid UTF-8',
    bytes: counted('POST', login, Buffer.from('{"role":"\xff\xfe","jwt":"\xc0"}', 'latin1')),
    status: 400,
  },
  {
    name: 'JWT of 600 KiB',
    bytes: counted('POST', login, jwt(`{"alg":"RS256","x":"${'y'.repeat(450_000)}"}`)),
    status: 400,
  },
  {
    name: 'kid of 700 kB',
    bytes: counted('POST', login, jwt(`{"alg":"RS256","kid":"${'k'.repeat(7e5)}"}`)),
    status: 400,
  },
  {
    name: 'form of 100,000 pairs',
    bytes: counted('POST', login, 'a=b&'.repeat(1e5), ['Content-Type: application/x-www-form-urlencoded']),
    status: 400,
  },
  {
    name: 'token of 1 MiB',
    bytes: request('GET', '/v1/sys/mounts', [`X-Vault-Token: ${'x'.repeat(MiB)}`]),
    status: 431,
  },
  {
    name: 'a new wrong token each',
    bytes: request('GET', '/v1/sys/mounts', [`X-Vault-Token: ${'x'.repeat(4000)}`]),
    status: 403,
  },
  {
    name: '2,000 headers',
    bytes: request(
      'GET',
      '/v1/sys/mounts',
      Array.from({ length: 2000 }, (_, i) => `x${i}: y`),
    ),
    status: 431,
  },
  { name: 'path of 30 KiB', bytes: request('GET', `/v1/${'%2F'.repeat(10_000)}`, []), status: 403 },
  { name: 'path of 1 MiB', bytes: request('GET', `/v1/${'x'.repeat(MiB)}`, []), status: 431 },
  { name: 'broken escapes', bytes: request('GET', '/v1/%zz%', []), status: 400 },
  { name: 'path of Object.prototype', bytes: request('GET', '/__proto__/constructor', []), status: 403 },
  {
    name: 'upload of 1 MiB broken off',
    bytes: request('POST', login, ['Content-Length: 2000000'], Buffer.alloc(MiB)),
    status: 0,
    leave: true,
  },
]

const next: Hostile = { name: 'the next request', bytes: request('GET', '/v1/sys/health', []), status: 200 }

/** Sends the request; resolves with the status of the response and the time until it arrived. */
function send(port: number, { bytes, leave = false }: Hostile): Promise<{ status: number; tookMs: number }> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const startedAt = performance.now()
    let answer = ''
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      answer += text
      // closes only once everything is written, as a client does that reads only after writing
      if (answer.includes('\r\n\r\n') && socket.writableLength === 0) socket.end()
    })
    socket.on('error', () => {})
    socket.on('close', () =>
      resolve({
        status: Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0),
        tookMs: performance.now() - startedAt,
      }),
    )
    socket.write(bytes, () => {
      if (leave) socket.destroy()
    })
  })
}

async function rss(pid: number): Promise<number> {
  const figures = await readProcessFigures(pid)
  if (figures === undefined) throw new Error('this system does not report the memory of a process')
  return figures.rssBytes
}

/** Sends a kind `times` times; returns the milliseconds each took. Throws at a status other than `wanted`. */
async function repeat(
  port: number,
  kind: Hostile,
  times: number,
  wanted: number | undefined,
): Promise<number[]> {
  let left = times
  const taken: number[] = []
  const sender = async () => {
    while (left-- > 0) {
      const answer = await send(port, kind)
      if (wanted !== undefined && answer.status !== wanted)
        throw new Error(`${kind.name}: answered ${answer.status} instead of ${wanted}`)
      // a client that hangs up does not wait, so the next request is timed instead
      taken.push(kind.leave === true ? (await send(port, next)).tookMs : answer.tookMs)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, sender))
  return taken
}

/** Measures the two servers in turns, so that a disturbance affects both. */
async function compare(kind: Hostile): Promise<{ ours: number[]; reader: number[] }> {
  const ours: number[] = []
  const reader: number[] = []
  const times = Math.ceil(repeats / turns)
  // warms up the JIT compiler
  await repeat(server.port, kind, times, kind.status)
  for (let turn = 0; turn < turns; turn++) {
    ours.push(...(await repeat(server.port, kind, times, kind.status)))
    reader.push(...(await repeat(onlyReads.port, kind, times, undefined)))
  }
  return { ours, reader }
}

const figures = (taken: readonly number[]) =>
  `p50 ${median(taken).toFixed(1).padStart(6)} p99 ${percentile99(taken).toFixed(1).padStart(7)} ms`
const percentile99 = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0

using authority = new Authority()
await using folder = await makeBenchFolder()
const environment = { GATEHOUSE_METRICS: 'open', ...collectsAtSignal }
await using server = await startServerProcess({ folder: folder.path, environment })
await using onlyReads = await startProgram('only-reads.ts')
let tooSlow = 0
let tooCostly = 0
let failedFloods = 0
const shown = (bytes: number) => `${(bytes / MiB).toFixed(0)} MiB`
const isPlainFlat = values.only !== undefined || (await measureKinds())
if (values.only === undefined) await measureCosts()

console.log(`floods, ${floodSeconds} s each`)
const isWanted = ({ name }: Flood) => name.includes(values.only ?? '')
for (const flood of allFloods(heldAtOnce).filter(isWanted)) await showFlood(flood)
if (!isPlainFlat || tooSlow + tooCostly + failedFloods > 0) process.exitCode = 1
console.log(
  `kinds over ratio ${maxRatio}: ${tooSlow}; requests that cost too much: ${tooCostly}; floods that do: ${failedFloods}`,
)

/** Sends each kind of request; whether the memory of the server is as before afterwards. */
async function measureKinds(): Promise<boolean> {
  // the baseline is the memory of an idle server
  await wait(idleMs)
  const before = await rss(server.pid)
  console.log(`${repeats} of each kind, ${atOnce} at once; memory before: ${shown(before)}`)
  for (const kind of kinds) {
    const { ours, reader } = await compare(kind)
    const ratio = median(ours) / median(reader)
    if (ratio > maxRatio) tooSlow++
    const times = `${figures(ours)}, only read ${figures(reader)}: ratio ${ratio.toFixed(1).padStart(5)}`
    console.log(
      `${kind.name.padEnd(34)} ${String(kind.status || '–').padEnd(4)} ${times}   memory ${shown(await rss(server.pid))}`,
    )
  }
  return isShort || (await showRelease(server, before))
}

function showCost({ name, perRequest, limit }: Cost, unit: number, unitName: string): void {
  const isBad = perRequest > limit
  if (isBad) tooCostly++
  const [found, most] = [perRequest, limit].map((amount) => (amount / unit).toFixed(1))
  console.log(
    `${name.padEnd(60)} ${found?.padStart(7)} ${unitName}, at most ${most}${isBad ? '   TOO MUCH' : ''}`,
  )
}

async function measureCosts(): Promise<void> {
  await using secure = await startFlooded(true)
  const servers = { plain: server, secure: secure.server }
  for await (const cost of measureProcessorTime(servers, measured)) showCost(cost, 1, 'ms')
  for await (const cost of measureKept(servers, keptAtOnce)) showCost(cost, 1024, 'KiB')
}

/** A server with or without TLS, in a folder of its own. */
async function startFlooded(isSecure: boolean) {
  await using stack = new AsyncDisposableStack()
  const own = stack.use(await makeBenchFolder())
  const started = stack.use(
    isSecure
      ? await startSecure(own.path, authority, { environment })
      : await startServerProcess({ folder: own.path, environment }),
  )
  await wait(idleMs)
  const stop = stack.move()
  return {
    server: started,
    idleBytes: await rss(started.pid),
    [Symbol.asyncDispose]: () => stop.disposeAsync(),
  }
}

/**
 * Each flood has a server of its own: the C library keeps freed memory between what is in use, so one server would show what
 * all floods before have left. It is flooded twice: what the first time leaves must do for the second.
 */
async function showFlood(flood: Flood): Promise<void> {
  await using flooded = await startFlooded(flood.isSecure)
  const watch = watchAt(`${flood.isSecure ? 'https' : 'http'}://127.0.0.1:${flooded.server.port}`)
  showFigures(await measureFlood(flood, flooded.server, watch), flooded.idleBytes)
  if (isShort) return
  const second = await measureFlood(flood, flooded.server, watch)
  showFigures({ ...second, name: '  the second time' }, flooded.idleBytes)
}

function showFigures(
  { name, connections, highestRssBytes, slowestMs, slowestOfOtherMs, longestTurnMs }: FloodFigures,
  idleBytes: number,
): void {
  const isBad =
    highestRssBytes > maxMemoryRatio * idleBytes ||
    slowestMs > Math.max(maxHealthMs, maxHealthRatio * slowestOfOtherMs)
  if (isBad) failedFloods++
  const live = `/health/live at most ${slowestMs.toFixed(0).padStart(4)} ms (other server ${slowestOfOtherMs.toFixed(0)} ms), turn ${longestTurnMs.toFixed(0).padStart(4)} ms`
  console.log(
    `${name.padEnd(46)} ${String(connections).padStart(6)} connections   ${live}   memory at most ${shown(highestRssBytes)}, ${(highestRssBytes / idleBytes).toFixed(1)} × idle${isBad ? '   TOO MUCH' : ''}`,
  )
}

/** An idle server keeps little: its garbage is collected at a signal, so that what is left is in use. */
async function showRelease(server: ServerProcess, memoryBefore: number): Promise<boolean> {
  const end = performance.now() + 60_000
  let ratio = Number.POSITIVE_INFINITY
  while (ratio > maxAfterRatio && performance.now() < end) {
    await wait(5_000)
    ratio = (await collected(server)) / memoryBefore
  }
  const isFlat = ratio <= maxAfterRatio
  console.log(
    `memory after: ${shown(ratio * memoryBefore)}, ${ratio.toFixed(1)} × before${isFlat ? '' : '   TOO MUCH'}`,
  )
  return isFlat
}

function watchAt(url: string): Watched {
  const longest = /^nodejs_eventloop_lag_max_seconds (\S+)$/m
  return {
    seconds: floodSeconds,
    live: async () => void (await read(`${url}/health/live`)),
    otherLive: async () => void (await read(`http://127.0.0.1:${server.port}/health/live`)),
    longestTurnMs: async () => Number(longest.exec(await read(`${url}/metrics`))?.[1] ?? 0) * 1000,
  }
}

/** Rejects unless the status is 200. */
function read(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const get = url.startsWith('https:') ? getSecure : getPlain
    const sent = get(url, { agent: false, rejectUnauthorized: false, localAddress: watcher }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => (text += chunk))
      answer.on('end', () =>
        answer.statusCode === 200 ? resolve(text) : reject(new Error(`${url} is ${answer.statusCode}`)),
      )
    })
    sent.on('error', reject)
  })
}
