import type { RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { type ConnectionLimits, Connections, noLimits } from './connections.ts'
import { createListServer, type ListServerOptions } from './list-verb.ts'
import type { Transport } from './listen-address.ts'
import type { Receiver } from './listener.ts'

/** How connections are served. docs/settings.md */
export type WebServerOptions = Omit<ListServerOptions, 'connections'> & { limits?: ConnectionLimits }

/** Serves HTTP on connections that a listener accepts. */
export class WebServer implements Receiver {
  readonly #connections: Connections
  readonly #http1: Server

  constructor({ limits = noLimits, ...options }: WebServerOptions, handler: RequestListener) {
    this.#connections = new Connections(limits)
    this.#http1 = createListServer({ ...options, connections: this.#connections }, handler)
    // Node.js enforces the time limits of requests on a server that has begun to listen; this one never does
    this.#http1.emit('listening')
  }

  take(socket: Socket, _transport: Transport): void {
    this.#http1.emit('connection', socket)
    if (socket.isPaused()) socket.resume()
  }

  /** Open connections by protocol. */
  get counts(): Readonly<Record<string, number>> {
    return { 'http/1.1': this.#connections.count }
  }

  endConnections(): void {}

  close(): void {
    this.#http1.close()
  }

  abort(): void {
    this.#http1.closeAllConnections()
    this.#http1.close()
  }
}
