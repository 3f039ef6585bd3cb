import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import {
  createServer as createStarting,
  type IncomingMessage,
  Server as HttpServer,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, createServer, type ListenOptions, Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { systemRandom } from '../lib/random.ts'
import { commonHeaders, requestIdHeader } from './common-headers.ts'
import { healthPaths } from './mount-router.ts'

export type ListenAt = { readonly host: string; readonly port: number }

/** Addresses that several processes share: their descriptors in this process, and their URL. */
export type SharedAddress = { readonly descriptors: readonly number[]; readonly url: string }

/** Why a server does not serve yet, as `/health/ready` says. */
export type StartState = 'starting' | 'storage'

/** After this time without a new connection, none is expected while the addresses close. */
const quietMs = 20
const longestAcceptMs = 200
/** The system queues at most this many connections: the default of `listen`. */
const queueLength = 511
const lookEveryMs = 10

/**
 * An address of the server, bound before a start changes anything, so that an address in use costs nothing.
 * Until `serve`, it responds that the server is starting, or what it waits for. `localhost` stands for all
 * addresses of that name.
 */
export class Listener implements AsyncDisposable {
  readonly url: string
  readonly #starting: readonly HttpServer[]
  readonly #addresses: readonly Address[]
  #serving: readonly Server[] = []
  #server: HttpServer | undefined
  #closed: Promise<unknown> | undefined

  private constructor(url: string, addresses: readonly Address[]) {
    this.url = url
    this.#addresses = addresses
    this.#starting = addresses.filter((address) => address instanceof HttpServer)
  }

  /** Rejects with the system's error if an address cannot be bound. */
  static async bind({ host, port }: ListenAt, state: () => StartState): Promise<Listener> {
    const [first = host, ...others] = await addressesOf(host)
    const bound = [await startingServer(first, port, state)]
    const samePort = port === 0 ? portOf(bound[0]) : port
    // one address of the name suffices
    for (const other of others)
      await startingServer(other, samePort, state).then(
        (server) => bound.push(server),
        () => undefined,
      )
    return new Listener(urlOf(addressOf(bound[0])), bound)
  }

  /**
   * Serves addresses that another process has bound. If other processes serve them already, this one begins
   * with `serve`. Rejects with the system's error.
   */
  static async share(
    { descriptors, url }: SharedAddress,
    isFirst: boolean,
    state: () => StartState,
  ): Promise<Listener> {
    const addresses = descriptors.map((fd) => ({ fd }))
    if (!isFirst) return new Listener(url, addresses)
    return new Listener(url, await Promise.all(addresses.map((at) => startingServerAt(at, state))))
  }

  /** Passes all further connections to the server. */
  async serve(server: HttpServer): Promise<void> {
    this.#server = server
    const [first, ...others] = this.#addresses
    const serving: Server[] = [server]
    await takeOver(server, first)
    for (const other of others) {
      const forwarding = createServer((socket: Socket) => server.emit('connection', socket))
      await takeOver(forwarding, other)
      serving.push(forwarding)
    }
    this.#serving = serving
  }

  /**
   * Closes the addresses after the last connection that the system has accepted for us, because a connection
   * that is still queued would be reset.
   */
  async stopListening(): Promise<void> {
    const answerTaken = await this.#acceptWaiting()
    void this.#stop()
    answerTaken()
  }

  /**
   * Waits, at most this many milliseconds, for clients to finish with their connections: a request may be on
   * its way on one that looks idle. Responses must say `Connection: close` by now, but not before the
   * addresses are closed, because a client that is told so connects again.
   */
  async linger(atMostMs: number): Promise<void> {
    const isOver = this.#stop().then(() => true)
    const end = performance.now() + atMostMs
    while (performance.now() < end && !(await Promise.race([isOver, pause(lookEveryMs, false)])));
    // what has arrived by now is read before idle connections are closed
    await nextTurn()
  }

  /** Closes addresses and idle connections and resolves when all requests are answered. */
  async close(): Promise<void> {
    for (const starting of this.#starting) starting.closeAllConnections()
    const closed = this.#stop()
    this.#server?.close()
    // after `serve` they no longer listen, but until they are closed their timers keep the new server in
    // memory
    for (const starting of this.#starting) starting.close()
    await closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * The system hands over one queued connection per turn of the event loop. To let the queue run dry, clients
   * that connect for each request are kept waiting: their requests are served once the addresses are closed.
   * Call the returned function then.
   */
  async #acceptWaiting(): Promise<() => void> {
    const server = this.#server
    if (server === undefined) return () => {}
    const listeners = server.listeners('connection')
    const taken: Socket[] = []
    let latest = performance.now()
    server.removeAllListeners('connection')
    // the type only covers the options of a server
    Object.assign(server, { pauseOnConnect: true })
    server.on('connection', (socket) => {
      taken.push(socket)
      latest = performance.now()
    })
    const end = latest + longestAcceptMs
    const isEmpty = async () => {
      const before = taken.length
      await nextTurn()
      return taken.length === before
    }
    // the turn that has begun may not look at the queue any more
    await nextTurn()
    // all that were queued at first are among as many as the queue holds, however late this process runs
    while (
      (!(await isEmpty()) && taken.length < queueLength) ||
      performance.now() < Math.min(latest + quietMs, end)
    );
    return () => {
      server.removeAllListeners('connection')
      Object.assign(server, { pauseOnConnect: false })
      for (const listener of listeners) server.on('connection', listener as (socket: Socket) => void)
      for (const socket of taken) {
        server.emit('connection', socket)
        socket.resume()
      }
    }
  }

  #stop(): Promise<unknown> {
    this.#closed ??= Promise.all(this.#serving.map(stopListening))
    return this.#closed
  }
}

/**
 * Unlike `close` of an HTTP server, this keeps idle connections open. Resolves when the last connection has
 * closed.
 */
const stopListening = (server: Server): Promise<void> =>
  new Promise((settle) => Server.prototype.close.call(server, () => settle()))

/** A server that listens, or a descriptor to listen on. */
type Address = HttpServer | { readonly fd: number }

/** `localhost` has several addresses. */
export const addressesOf = async (host: string): Promise<string[]> =>
  host === 'localhost' ? (await lookup(host, { all: true })).map(({ address }) => address) : [host]

export const urlOf = ({ address, family, port }: AddressInfo): string =>
  `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`

const startingServer = (host: string, port: number, state: () => StartState): Promise<HttpServer> =>
  startingServerAt({ host, port }, state)

async function startingServerAt(
  address: ListenOptions | { fd: number },
  state: () => StartState,
): Promise<HttpServer> {
  const server = createStarting({ headersTimeout: 10_000, requestTimeout: 10_000 }, (request, response) =>
    sayStarting(request, response, state()),
  )
  server.listen(address)
  await once(server, 'listening')
  return server
}

/** The new server takes over the addresses of the other one; existing connections stay where they are. */
async function takeOver(server: Server, address: Address | undefined): Promise<void> {
  server.listen(address)
  if (!server.listening) await once(server, 'listening')
}

function sayStarting(
  { url = '/', method }: IncomingMessage,
  response: ServerResponse,
  state: StartState,
): void {
  const path = url.split('?', 1)[0]
  const [status, body] =
    path === `/${healthPaths.live}`
      ? [200, { status: 'live' }]
      : path === `/${healthPaths.ready}`
        ? [503, { status: state }]
        : [503, { errors: [state === 'storage' ? 'storage is unavailable' : 'server is starting'] }]
  response
    .writeHead(status, {
      ...commonHeaders,
      ...(status === 503 ? { 'retry-after': '1' } : {}),
      [requestIdHeader]: systemRandom.uuid(),
      'content-type': 'application/json',
      connection: 'close',
    })
    .end(method === 'HEAD' ? undefined : `${JSON.stringify(body)}\n`)
}

// a listening server on a host has an address of this form
const addressOf = (server: Server | undefined): AddressInfo => server?.address() as AddressInfo
const portOf = (server: Server | undefined): number => addressOf(server).port
