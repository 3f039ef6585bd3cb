import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Limits on connections. */
export type ConnectionLimits = {
  /** Open connections of all clients together. */
  most: number
  /** Open connections of one client. */
  mostPerClient: number
  /**
   * The address that a connection counts for, by its peer; undefined for a proxy's, which counts for the
   * clients it forwards.
   */
  clientOfPeer(peer: string): string | undefined
  /** The address that a request counts for; undefined for one that is refused because of its address. */
  clientOfRequest(request: IncomingMessage): string | undefined
  /** Called for each connection or request that is refused or cut off because there are too many. */
  onCrowded(): void
}

export const noLimits: ConnectionLimits = {
  most: Number.POSITIVE_INFINITY,
  mostPerClient: Number.POSITIVE_INFINITY,
  clientOfPeer: (peer) => peer,
  clientOfRequest: () => undefined,
  onCrowded: () => {},
}

declare module 'node:http' {
  interface IncomingMessage {
    /** The limit on connections is exceeded: only requests that are served under any load are served. */
    isBeyondLimits?: boolean
    /**
     * Other servers may have changed what this one has copied, and the storage does not say: only requests that
     * need no storage are served.
     */
    hasOldCopies?: boolean
    /** Brings copies up to date, or sets `hasOldCopies`. Undefined if no other server writes the storage. */
    checkCopies?: (request: IncomingMessage) => Promise<void>
  }
}

/**
 * Connections accepted above the limits, so that health checks and revocations still get through. Clients
 * with something to say do so at once, so the longest silent connection makes room for the next.
 */
const reserved = 64

/**
 * When the server checks that a half-closed client is still there: after this time, then after twice as long,
 * and so on.
 */
const firstProbeMs = 250
const mostProbes = 4

/** One connection and its requests in progress. */
export class Connection {
  readonly socket: { destroy(): void }
  /** The requests of HTTP/2 in progress, each of which counts like a connection of its own. */
  streams = 0
  /** A proxy's connection counts for the client whose request is on it, and for nobody between requests. */
  readonly isProxy: boolean
  /** The requests whose head has arrived, in order, until their clients have received the responses. */
  readonly responses: ServerResponse[] = []
  /** The address that it counts for if it is no proxy's. */
  readonly peer: string | undefined
  /** The address that it counts for now. */
  client: string | undefined

  constructor(socket: { destroy(): void }, client: string | undefined) {
    this.socket = socket
    this.peer = client
    this.isProxy = client === undefined
    this.client = client
  }

  /**
   * Whether the server waits for the client: for a request, for the rest of one, or for the client to take
   * its responses.
   */
  get isIdle(): boolean {
    return (
      this.streams === 0 &&
      this.responses.every(
        (response) => response.writableEnded || response.writableNeedDrain || !response.req.complete,
      )
    )
  }
}

/**
 * Limits the connections of each client and of all clients. Beyond the limit, the connection that has been
 * idle longest is closed: one of the client's own if the client has reached its share, else anyone's.
 */
export class Connections {
  readonly #limits: ConnectionLimits
  // each set is ordered by the time its connections were last active
  readonly #all = new Set<Connection>()
  readonly #byClient = new Map<string, Set<Connection>>()
  readonly #reserve = new Set<Connection>()
  readonly #bySocket = new WeakMap<Socket, Connection>()

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  /**
   * Registers a new connection; undefined if it was closed because there is no room, not even in the reserve.
   */
  open(socket: Socket): Connection | undefined {
    const connection = new Connection(socket, this.#limits.clientOfPeer(socket.remoteAddress ?? ''))
    if (!this.#admit(connection) && !this.#admitToReserve(connection)) {
      this.#close(connection)
      return undefined
    }
    this.#bySocket.set(socket, connection)
    socket.once('close', () => this.#forget(connection))
    socket.once('end', () => probe(socket, connection))
    return connection
  }

  /** The number of open connections. */
  get count(): number {
    return this.#all.size + this.#reserve.size
  }

  /** The registered connection of a socket. */
  of(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket)
  }

  /** The connection continues on another socket, which speaks TLS. */
  secured(raw: Socket, socket: Socket): Connection | undefined {
    const connection = this.#bySocket.get(raw)
    if (connection === undefined) return undefined
    this.#bySocket.set(socket, connection)
    socket.once('end', () => probe(socket, connection))
    return connection
  }

  /** The client has sent bytes. */
  heard(connection: Connection): void {
    this.#renew(connection)
  }

  /** The head of a request has arrived. */
  begin(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    if (!this.#isWithinLimits(connection, request)) {
      request.isBeyondLimits = true
      response.shouldKeepAlive &&= !this.#reserve.has(connection)
    }
    connection.responses.push(response)
    response.on('close', () => this.#answered(connection, response))
  }

  /**
   * The head of a request of HTTP/2 has arrived. It counts like a connection, so that clients gain nothing by
   * sending many requests on few connections. `stream` is destroyed if there is no room, now or later; then it
   * returns false.
   */
  beginStream(
    base: Connection,
    stream: { destroy(): void },
    request: IncomingMessage,
    response: ServerResponse,
  ): boolean {
    const connection = new Connection(stream, base.peer)
    this.#renew(base)
    if (!this.#admit(connection) && !this.#admitToReserve(connection)) {
      this.#close(connection)
      return false
    }
    base.streams += 1
    response.once('close', () => {
      base.streams -= 1
      this.#forget(connection)
    })
    this.begin(connection, request, response)
    return true
  }

  #answered(connection: Connection, response: ServerResponse): void {
    connection.responses.splice(connection.responses.indexOf(response), 1)
    if (connection.isProxy && connection.responses.length === 0) this.#release(connection)
    this.#renew(connection)
  }

  #isWithinLimits(connection: Connection, request: IncomingMessage): boolean {
    if (this.#reserve.has(connection)) {
      if (!this.#admit(connection)) return false
      this.#reserve.delete(connection)
    }
    if (!connection.isProxy) return true
    const client = this.#limits.clientOfRequest(request)
    if (client === connection.client) return true
    this.#release(connection)
    if (client === undefined) return true
    if (!this.#hasRoomFor(client)) return false
    this.#hold(connection, client)
    return true
  }

  #admit(connection: Connection): boolean {
    const { client } = connection
    if (client !== undefined && !this.#hasRoomFor(client)) return false
    if (!this.#hasRoom(this.#all, this.#limits.most)) return false
    this.#all.add(connection)
    if (client !== undefined) this.#hold(connection, client)
    return true
  }

  #admitToReserve(connection: Connection): boolean {
    if (!this.#hasRoom(this.#reserve, reserved)) return false
    this.#reserve.add(connection)
    return true
  }

  #hasRoomFor(client: string): boolean {
    const held = this.#byClient.get(client)
    return held === undefined || this.#hasRoom(held, this.#limits.mostPerClient)
  }

  /** Whether there is room for one more, or can be made. */
  #hasRoom(connections: ReadonlySet<Connection>, most: number): boolean {
    if (connections.size < most) return true
    for (const connection of connections) {
      if (!connection.isIdle) continue
      this.#close(connection)
      return true
    }
    return false
  }

  #close(connection: Connection): void {
    this.#limits.onCrowded()
    this.#forget(connection)
    connection.socket.destroy()
  }

  #hold(connection: Connection, client: string): void {
    connection.client = client
    const held = this.#byClient.get(client)
    if (held === undefined) this.#byClient.set(client, new Set([connection]))
    else held.add(connection)
  }

  #release(connection: Connection): void {
    const { client } = connection
    if (client === undefined) return
    connection.client = undefined
    const held = this.#byClient.get(client)
    held?.delete(connection)
    if (held?.size === 0) this.#byClient.delete(client)
  }

  #renew(connection: Connection): void {
    const { client } = connection
    renew(this.#all, connection)
    renew(this.#reserve, connection)
    if (client !== undefined) renew(this.#byClient.get(client), connection)
  }

  #forget(connection: Connection): void {
    this.#all.delete(connection)
    this.#reserve.delete(connection)
    this.#release(connection)
  }
}

/** Moves a member to the end. */
function renew(connections: Set<Connection> | undefined, connection: Connection): void {
  if (connections?.delete(connection) === true) connections.add(connection)
}

/**
 * A half-closed client may be waiting for its response or be gone; only sending something tells. A waiting
 * client skips the interim response (RFC 9110 §15.2). The system of a client that is gone resets the
 * connection; the next probe notices that, and the work for the client is told.
 */
function probe(socket: Socket, { responses }: Pick<Connection, 'responses'>, probes = 0): void {
  if (responses.length === 0 || probes === mostProbes) return
  const timer = setTimeout(
    () => {
      const [response] = responses
      if (response?.req.httpVersion === '1.1' && !response.headersSent) response.writeContinue()
      probe(socket, { responses }, probes + 1)
    },
    firstProbeMs * 2 ** probes,
  )
  socket.once('close', () => clearTimeout(timer))
}
