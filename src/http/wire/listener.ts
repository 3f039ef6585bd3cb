import { once } from 'node:events'
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import {
  addressesOf,
  binding,
  type HostAndPort,
  type ListenAt,
  type Transport,
  type UnixSocketAt,
  unixUrl,
  urlOf,
} from './listen-address.ts'
import type { SharedDoors } from './shared-addresses.ts'
import { bindUnixSocket } from './unix-socket.ts'

/** Serves the connections that a listener accepts. */
export type Receiver = {
  take(socket: Socket, transport: Transport): void
  /** Asks the clients of connections for many requests at once (HTTP/2) to make no more. */
  endConnections(): void
  /** Closes idle connections, now and whenever one becomes idle. */
  close(): void
  /** Closes all connections, whatever is on them. */
  abort(): void
}

/** After this time without a new connection, none is expected while the addresses close. */
const quietMs = 20
const longestAcceptMs = 200
/**
 * The most connections that wait to be accepted at an address, unless the system allows fewer. Clients beyond it try again
 * after a second.
 */
const queueLength = 4_096
const lookEveryMs = 10

type Kept = { readonly socket: Socket; readonly transport: Transport }

/** One address of the server. */
type Door = {
  readonly server: Server
  readonly transport: Transport
  /** The descriptor to listen on once the server serves requests; undefined: it listens already. */
  readonly descriptor: number | undefined
  /** Clients do not find it any more. */
  readonly hide: () => void
}

/**
 * The addresses of the server, bound before a start changes anything, so that an address in use costs nothing.
 * Until `serve`, a receiver of its own responds that the server is starting. `localhost` stands for all
 * addresses of that name.
 */
export class Listener implements AsyncDisposable {
  readonly urls: readonly string[]
  readonly #doors: readonly Door[]
  readonly #starting: Receiver
  #receiver: Receiver
  /** Connections that are served once the addresses are closed. */
  #kept: Kept[] | undefined
  #latest = 0
  #closed: Promise<unknown> | undefined

  private constructor(urls: readonly string[], doors: readonly Door[], starting: Receiver) {
    this.urls = urls
    this.#doors = doors
    this.#starting = starting
    this.#receiver = starting
    for (const { server, transport } of doors)
      server.on('connection', (socket) => this.#take(socket, transport))
  }

  /** Rejects with a `ListenError` if an address cannot be bound. */
  static async bind(addresses: readonly ListenAt[], scheme: string, starting: Receiver): Promise<Listener> {
    const urls: string[] = []
    const doors: Door[] = []
    try {
      for (const at of addresses) {
        const bound = await binding(at, () => ('path' in at ? bindPath(at) : bindHost(at, scheme)))
        doors.push(...bound.doors)
        urls.push(bound.url)
      }
    } catch (error) {
      for (const { server, hide } of doors) {
        hide()
        server.close()
      }
      throw error
    }
    return new Listener(urls, doors, starting)
  }

  /**
   * Serves addresses that another process has bound. If other processes serve them already, this one begins
   * with `serve`. Rejects with a `ListenError`.
   */
  static async share({ urls, doors }: SharedDoors, isFirst: boolean, starting: Receiver): Promise<Listener> {
    const shared = doors.map(({ descriptor, transport }) => ({
      server: newServer(),
      transport,
      descriptor,
      hide: () => {},
    }))
    if (isFirst) await Promise.all(shared.map(listenOn))
    return new Listener(urls, shared, starting)
  }

  /** Passes all further connections to the server. */
  async serve(server: Receiver): Promise<void> {
    this.#receiver = server
    this.#starting.endConnections()
    await Promise.all(this.#doors.map(listenOn))
  }

  /**
   * Closes the addresses after the last connection that the system has accepted for us, because a connection
   * that is still queued would be reset.
   */
  async stopListening(): Promise<void> {
    await this.#acceptWaiting()
    void this.#stop()
    this.#serveKept()
  }

  /**
   * Waits, at most this many milliseconds, for clients to finish with their connections: a request may be on
   * its way on one that looks idle. Responses must say that the connection ends by now, but not before the
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
    this.#starting.abort()
    const closed = this.#stop()
    this.#receiver.close()
    await closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #take(socket: Socket, transport: Transport): void {
    this.#latest = performance.now()
    if (this.#kept === undefined) this.#receiver.take(socket, transport)
    else this.#kept.push({ socket, transport })
  }

  /**
   * The system hands over one queued connection per turn of the event loop. To let the queue run dry, clients
   * that connect for each request are kept waiting: their requests are served once the addresses are closed.
   */
  async #acceptWaiting(): Promise<void> {
    const kept: Kept[] = []
    this.#kept = kept
    this.#latest = performance.now()
    // the type only covers the options of a server
    for (const { server } of this.#doors) Object.assign(server, { pauseOnConnect: true })
    const end = this.#latest + longestAcceptMs
    const isEmpty = async () => {
      const before = kept.length
      await nextTurn()
      return kept.length === before
    }
    // the turn that has begun may not look at the queue any more
    await nextTurn()
    // all that were queued at first are among as many as the queues hold, however late this process runs
    while (
      (!(await isEmpty()) && kept.length < queueLength * this.#doors.length) ||
      performance.now() < Math.min(this.#latest + quietMs, end)
    );
  }

  #serveKept(): void {
    const kept = this.#kept ?? []
    this.#kept = undefined
    for (const { socket, transport } of kept) this.#receiver.take(socket, transport)
  }

  #stop(): Promise<unknown> {
    this.#closed ??= Promise.all(
      this.#doors.map(({ server, hide }) => {
        hide()
        return new Promise<void>((settle) => server.close(() => settle()))
      }),
    )
    return this.#closed
  }
}

/** A client that has closed its sending side still gets its pending responses. */
const newServer = (): Server => createServer({ allowHalfOpen: true, noDelay: true })

async function listening(server: Server, at: ListenOptions & { readonly fd?: number }): Promise<Server> {
  server.listen({ ...at, backlog: queueLength })
  await once(server, 'listening')
  return server
}

async function listenOn({ server, descriptor }: Door): Promise<void> {
  if (descriptor !== undefined && !server.listening) await listening(server, { fd: descriptor })
}

/** Binds all addresses of a name. */
async function bindHost({ host, port }: HostAndPort, scheme: string) {
  const [first = host, ...others] = await addressesOf(host)
  const server = await listening(newServer(), { host: first, port })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a server on a host has no address')
  const doors = [networkDoor(server)]
  // one address of the name suffices
  for (const other of others)
    await listening(newServer(), { host: other, port: address.port }).then(
      (one) => doors.push(networkDoor(one)),
      () => undefined,
    )
  return { url: urlOf(scheme, address), doors }
}

const networkDoor = (server: Server): Door => ({
  server,
  transport: 'network',
  descriptor: undefined,
  hide: () => {},
})

async function bindPath(place: UnixSocketAt) {
  const { bound, file } = await bindUnixSocket(place, (at) =>
    newServer().listen({ path: at, backlog: queueLength }),
  )
  if (!bound.listening) await once(bound, 'listening')
  const door: Door = { server: bound, transport: 'unix', descriptor: undefined, hide: file.remove }
  return { url: unixUrl(place.path), doors: [door] }
}
