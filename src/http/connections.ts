import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Who may hold how many connections. */
export type ConnectionLimits = {
  /** Open connections of all clients together. */
  most: number
  /** Open connections of one client. */
  mostPerClient: number
  /**
   * Whom a connection counts for, by the address of its peer; undefined for a proxy's, which counts for whom
   * it forwards.
   */
  clientOfPeer(peer: string): string | undefined
  /** Whom a request counts for; undefined for one that is refused for its address. */
  clientOfRequest(request: IncomingMessage): string | undefined
  /** Called for each connection or request that is turned away or cut off because there are too many. */
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
    /** There are more connections than there may be: only what is served whatever the load is served. */
    isBeyondLimits?: boolean
  }
}

/**
 * Connections accepted above the limits, so that a health check or a revocation can still be heard. A client
 * that has something to say says it at once, so the one that has been silent longest makes room for the next.
 */
const reserved = 64

/**
 * When the server makes sure that a client that ends its side is still there: after so long, then after twice
 * as long, and so on.
 */
const firstProbeMs = 250
const mostProbes = 4

/** One connection, and what is under way on it. */
export class Connection {
  readonly socket: Socket
  /**
   * A proxy's connection counts for the client whose request is on it, and for nobody between two requests.
   */
  readonly isProxy: boolean
  /** Of the requests whose head has arrived, in their order, until the client has the answer. */
  readonly responses: ServerResponse[] = []
  /** Whom it counts for now. */
  client: string | undefined

  constructor(socket: Socket, client: string | undefined) {
    this.socket = socket
    this.isProxy = client === undefined
    this.client = client
  }

  /**
   * Does the server wait for the client: for a request, for the rest of one, or for it to take its answers?
   */
  get isIdle(): boolean {
    return this.responses.every((response) => response.writableEnded || !response.req.complete)
  }
}

/**
 * Who may hold connections: each client so many, and all clients together so many. For one more, the
 * connection that has been idle longest is closed: one of the client's own if the client holds all it may,
 * else anyone's.
 */
export class Connections {
  readonly #limits: ConnectionLimits
  // each set is in the order in which its connections were last heard or answered
  readonly #all = new Set<Connection>()
  readonly #byClient = new Map<string, Set<Connection>>()
  readonly #reserve = new Set<Connection>()

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  /** A new connection; undefined if it was closed because there is no room, not even in the reserve. */
  open(socket: Socket): Connection | undefined {
    const connection = new Connection(socket, this.#limits.clientOfPeer(socket.remoteAddress ?? ''))
    if (!this.#admit(connection) && !this.#admitToReserve(connection)) {
      this.#close(connection)
      return undefined
    }
    socket.once('close', () => this.#forget(connection))
    socket.once('end', () => probe(connection))
    return connection
  }

  /** Bytes of the client have arrived. */
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
    response.once('close', () => this.#answered(connection))
  }

  #answered(connection: Connection): void {
    connection.responses.shift()
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

  /** Is there room for one more, or can some be made? */
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
 * A client that ends its side may wait for its answer, or be gone: only something sent to it tells. A client
 * that waits skips the interim answer (RFC 9110 §15.2). The system of one that is gone resets the connection,
 * which the next probe notices, and whoever works for that client hears of it.
 */
function probe({ socket, responses }: Pick<Connection, 'socket' | 'responses'>, probes = 0): void {
  if (responses.length === 0 || probes === mostProbes) return
  const timer = setTimeout(
    () => {
      const [response] = responses
      if (response?.req.httpVersion === '1.1' && !response.headersSent) response.writeContinue()
      probe({ socket, responses }, probes + 1)
    },
    firstProbeMs * 2 ** probes,
  )
  socket.once('close', () => clearTimeout(timer))
}
