import type { RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type ConnectionLimits, Connections, noLimits } from './connections.ts'
import type { Http2Sessions } from './http2-sessions.ts'
import { type ConnectionOptions, connectionOptions, createListServer } from './list-verb.ts'
import type { Transport } from './listen-address.ts'
import type { Receiver } from './listener.ts'
import type { TlsIdentity } from './tls-identity.ts'
import { type RefusedConnection, TlsSockets } from './tls-sockets.ts'

/** How connections are served. docs/settings.md */
export type WebServerOptions = Partial<Omit<ConnectionOptions, 'connections'>> & {
  limits?: ConnectionLimits
  /** Networks are served with TLS, Unix sockets never. */
  tls?: TlsParts | undefined
}

export type TlsParts = {
  readonly identity: TlsIdentity
  /** Undefined: clients cannot choose HTTP/2. It takes long to load. */
  readonly http2: typeof Http2Sessions | undefined
  /** Called for each connection that ends without a handshake, or whose client may not connect. */
  onRefused(refused: RefusedConnection): void
}

const lookEveryMs = 20

/** Serves HTTP, with or without TLS, on connections that a listener accepts. */
export class WebServer implements Receiver {
  readonly #connections: Connections
  readonly #http1: Server
  readonly #http2: Http2Sessions | undefined
  readonly #tls: TlsSockets | undefined

  constructor({ limits = noLimits, tls, ...given }: WebServerOptions, handler: RequestListener) {
    this.#connections = new Connections(limits)
    const options = connectionOptions({ ...given, connections: this.#connections })
    this.#http1 = createListServer(options, handler)
    // Node.js enforces the time limits of requests on a server that has begun to listen; this one never does
    this.#http1.emit('listening')
    this.#http2 = tls?.http2 && new tls.http2(options, handler)
    this.#tls =
      tls &&
      new TlsSockets({
        identity: tls.identity,
        handshakeTimeoutMs: options.headerTimeoutMs,
        common: options.common,
        protocols: this.#http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
        onSecure: (socket, raw) => this.#serve(socket, raw),
        onRefused: (refused) => tls.onRefused(refused),
      })
  }

  take(socket: Socket, transport: Transport): void {
    if (this.#tls === undefined || transport === 'unix') this.#http1.emit('connection', socket)
    // a connection counts from its first moment, whether or not a handshake follows
    else if (this.#connections.open(socket) !== undefined) this.#tls.take(socket)
    if (socket.isPaused()) socket.resume()
  }

  #serve(socket: TLSSocket, raw: Socket): void {
    const connection = this.#connections.secured(raw, socket)
    if (connection === undefined) socket.destroy()
    else if (socket.alpnProtocol === 'h2') this.#http2?.take(socket, connection)
    else this.#http1.emit('connection', socket)
  }

  /** Open connections by protocol. */
  get counts(): Readonly<Record<string, number>> {
    const http2 = this.#http2?.count ?? 0
    return { 'http/1.1': this.#connections.count - http2, 'http/2': http2 }
  }

  endConnections(): void {
    this.#http2?.endConnections()
  }

  close(): void {
    this.#tls?.close()
    this.#http2?.close()
    this.#http1.close()
    this.#closeLater()
  }

  /**
   * Node.js closes what is idle now, but nothing that becomes idle later, such as a connection whose request was
   * refused before its body had arrived.
   */
  #closeLater(): void {
    const looks = setInterval(() => {
      if (this.#connections.count === 0) clearInterval(looks)
      else this.#http1.closeIdleConnections()
    }, lookEveryMs)
  }

  abort(): void {
    this.#tls?.close()
    this.#http2?.abort()
    this.#http1.closeAllConnections()
    this.#http1.close()
  }
}
