import { connect as connectPlain, type Socket } from 'node:net'
import { setImmediate as immediate, setTimeout as wait } from 'node:timers/promises'
import { connect } from 'node:tls'
import type { ServerProcess } from '../simulators/server-process.ts'
import { frame, head, header, kinds, preface } from '../test/support/http2-frames.ts'
import { collected, heldOpen } from './hostile-costs.ts'
import { readProcessFigures, readStarvedMs } from './process-figures.ts'
import { SlowClients, slowClients } from './slow-clients.ts'

/** A kind of flood, for a server with or without TLS. */
export type Flood = {
  readonly name: string
  readonly isSecure: boolean
  /** Attacks a port until `isOver` says so; resolves with the number of connections. */
  run(port: number, isOver: () => boolean): Promise<number>
}

/** A hostile client of a server with TLS; resolves when `isOver` says so. Its connection may end at any time. */
type HostileClient = {
  readonly name: string
  /** As many at a time. */
  readonly clients: number
  attack(port: number, isOver: () => boolean): Promise<void>
}

const sampleEveryMs = 100
const drainEveryMs = 5
const framesAtOnce = 64
const manyConnections = 512
const fewConnections = 8
const highestStream = 2 ** 31 - 1

/** The streams that a client opens have odd numbers. */
const streamOf = (count: number) => (2 * count + 1) % highestStream
const padding = header('x-a', 'y'.repeat(100))
const largeHead = Buffer.concat([head, ...Array.from({ length: 80 }, () => padding)])

const http2Floods: readonly (readonly [string, (count: number) => Buffer])[] = [
  [
    'HTTP/2: requests that are reset at once',
    (count) => {
      const stream = streamOf(count)
      const reset = frame(kinds.reset, 0, stream, Buffer.from([0, 0, 0, 8]))
      return Buffer.concat([frame(kinds.headers, 5, stream, head), reset])
    },
  ],
  [
    'HTTP/2: a head that is continued without end',
    (count) => frame(count === 0 ? kinds.headers : kinds.continuation, 0, 1, count === 0 ? head : padding),
  ],
  [
    'HTTP/2: empty frames of a continued head',
    (count) => (count === 0 ? frame(kinds.headers, 0, 1, head) : frame(kinds.continuation, 0, 1)),
  ],
  ['HTTP/2: requests with large heads', (count) => frame(kinds.headers, 5, streamOf(count), largeHead)],
  ['HTTP/2: requests without their bodies', (count) => frame(kinds.headers, 4, streamOf(count), head)],
  ['HTTP/2: pings', () => frame(kinds.ping, 0, 0, Buffer.alloc(8))],
  ['HTTP/2: settings', () => frame(kinds.settings, 0, 0)],
  [
    'HTTP/2: empty frames of data',
    (count) => (count === 0 ? frame(kinds.headers, 4, 1, head) : frame(kinds.data, 0, 1)),
  ],
]

const hostileClients: readonly HostileClient[] = [
  ...http2Floods.map(([name, next]) => ({
    name,
    clients: fewConnections,
    attack: (port: number, isOver: () => boolean) => sendFrames(port, next, isOver),
  })),
  {
    name: 'TLS: handshakes that never begin',
    clients: manyConnections,
    attack: (port, isOver) => hold(connectPlain(port, '127.0.0.1'), isOver),
  },
  {
    name: 'TLS: handshakes that stop in the middle',
    clients: manyConnections,
    attack: async (port, isOver) => {
      const socket = connectPlain(port, '127.0.0.1')
      // a record that announces more than ever comes
      socket.write(Buffer.from([22, 3, 1, 64, 0, 1, 0, 63, 252, 3, 3]))
      await hold(socket, isOver)
    },
  },
  {
    name: 'TLS: handshakes whose client leaves',
    clients: fewConnections,
    attack: async (port) => {
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
      socket.on('error', () => {})
      // the server has sent its certificate by then
      socket.once('keylog', () => socket.destroy())
      await closed(socket)
    },
  },
  {
    name: 'TLS: sessions that are renegotiated',
    clients: fewConnections,
    attack: async (port, isOver) => {
      const options = { port, host: '127.0.0.1', rejectUnauthorized: false, maxVersion: 'TLSv1.2' } as const
      const socket = connect(options)
      socket.on('error', () => {})
      const again = () => {
        if (isOver() || socket.destroyed) socket.destroy()
        else
          socket.renegotiate({ rejectUnauthorized: false }, (error) =>
            error === null ? again() : socket.destroy(),
          )
      }
      socket.once('secureConnect', again)
      await hold(socket, isOver)
    },
  },
]

/** Writes frames until the server closes the connection. */
async function sendFrames(
  port: number,
  next: (count: number) => Buffer,
  isOver: () => boolean,
): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] })
  socket.on('error', () => {})
  await Promise.race([new Promise((settle) => socket.once('secureConnect', settle)), closed(socket)])
  // a client that floods does not read either
  socket.pause()
  socket.write(preface)
  for (let count = 0; !isOver() && !socket.destroyed; count++) {
    socket.write(next(count))
    while (socket.writableNeedDrain && !socket.destroyed && !isOver()) await wait(drainEveryMs)
    // the watch below is in this process too
    if (count % framesAtOnce === 0) await immediate()
  }
  socket.destroy()
}

const closed = (socket: Socket): Promise<unknown> =>
  socket.destroyed ? Promise.resolve() : new Promise((settle) => socket.once('close', settle))

async function hold(socket: Socket, isOver: () => boolean): Promise<void> {
  socket.on('error', () => {})
  socket.resume()
  while (!isOver() && !socket.destroyed) await wait(sampleEveryMs)
  socket.destroy()
}

export type FloodFigures = {
  readonly name: string
  readonly connections: number
  /** Of the server while it lasted. */
  readonly highestRssBytes: number
  /** The longest turn of its event loop, with the time in which other processes had the processor. */
  readonly longestTurnMs: number
  /**
   * The longest response to `/health/live` of another address while it lasted, without the time for which the server or
   * this process, which asks, waited for a processor that other programs had: the longer of the two, which may overlap.
   */
  readonly slowestMs: number
  /** The same of a server that nobody attacked. */
  readonly slowestOfOtherMs: number
}

/** All of them; `heldAtOnce` requests of a dozen addresses are held open. */
export const allFloods = (heldAtOnce: number): readonly Flood[] => [
  ...hostileClients.map(({ name, clients, attack }) => ({
    name,
    isSecure: true,
    run: async (port: number, isOver: () => boolean) => {
      let connections = 0
      const client = async () => {
        while (!isOver()) {
          connections += 1
          await attack(port, isOver)
        }
      }
      await Promise.all(Array.from({ length: clients }, client))
      return connections
    },
  })),
  ...heldOpen.map(({ name, transport, one }) => ({
    name,
    isSecure: transport.isSecure,
    run: async (port: number, isOver: () => boolean) => {
      using _opened = await transport.hold(port, one, heldAtOnce)
      while (!isOver()) await wait(sampleEveryMs)
      return heldAtOnce
    },
  })),
  {
    name: 'clients that send one byte per second',
    isSecure: false,
    run: async (port, isOver) => {
      using _slow = new SlowClients(port)
      while (!isOver()) await wait(sampleEveryMs)
      return slowClients
    },
  },
]

/** How the server is watched. */
export type Watched = {
  readonly seconds: number
  /** Rejects unless the server answers. */
  live(): Promise<void>
  /** The same for a server that nobody attacks: it tells how busy the machine is. */
  otherLive(): Promise<void>
  /** The longest turn of its event loop since the last call. */
  longestTurnMs(): Promise<number>
}

/** Runs a flood against a server, which the caller of `live` reaches. */
export async function measureFlood(
  { name, run }: Flood,
  server: ServerProcess,
  { seconds, live, otherLive, longestTurnMs }: Watched,
): Promise<FloodFigures> {
  // what earlier floods left as garbage is not this one's
  await collected(server)
  await longestTurnMs()
  const end = performance.now() + seconds * 1000
  const isOver = () => performance.now() >= end
  let [highestRssBytes, slowestMs, slowestOfOtherMs] = [0, 0, 0]
  const parties = [server.pid, process.pid]
  const watch = async () => {
    while (!isOver()) {
      const before = await Promise.all(parties.map(readStarvedMs))
      const [ours, others] = await Promise.all([timeOf(live), timeOf(otherLive)])
      const after = await Promise.all(parties.map(readStarvedMs))
      const starvedMs = Math.max(...after.map((ms, index) => ms - (before[index] ?? 0)))
      slowestMs = Math.max(slowestMs, ours - starvedMs)
      slowestOfOtherMs = Math.max(slowestOfOtherMs, others)
      highestRssBytes = Math.max(highestRssBytes, (await readProcessFigures(server.pid))?.rssBytes ?? 0)
      await wait(sampleEveryMs)
    }
  }
  const [connections] = await Promise.all([run(server.port, isOver), watch()])
  const turn = await longestTurnMs()
  return { name, connections, highestRssBytes, slowestMs, slowestOfOtherMs, longestTurnMs: turn }
}

/** In milliseconds. */
async function timeOf(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
