import type { Socket } from 'node:net'
import type { Server, TLSSocket } from 'node:tls'
import { noteClientCertificate } from './client-certificate.ts'
import type { Protocols, TlsIdentity } from './tls-identity.ts'

export type TlsSocketsOptions = {
  readonly identity: TlsIdentity
  readonly handshakeTimeoutMs: number
  readonly protocols: Protocols
  /** Called with each connection whose handshake is complete and whose client may connect. */
  onSecure(socket: TLSSocket, raw: Socket): void
  /** Called for each connection that ends without one. */
  onRefused(): void
}

/** Speaks TLS on connections that something else accepts. */
export class TlsSockets {
  readonly #options: TlsSocketsOptions
  readonly #server: Server
  /** The connections whose handshake is not complete, by `endsOf`. */
  readonly #shaking = new Map<string, Socket>()

  constructor(options: TlsSocketsOptions) {
    this.#options = options
    const { identity, handshakeTimeoutMs: handshakeTimeout, protocols } = options
    this.#server = identity.newServer({ handshakeTimeout, protocols })
    this.#server.on('secureConnection', (socket) => this.#secured(socket))
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy())
  }

  take(raw: Socket): void {
    const ends = endsOf(raw)
    this.#shaking.set(ends, raw)
    raw.once('close', () => {
      if (this.#shaking.get(ends) !== raw) return
      this.#shaking.delete(ends)
      this.#options.onRefused()
    })
    raw.on('error', () => raw.destroy())
    this.#server.emit('connection', raw)
  }

  /** Closes the connections whose handshake is not complete. */
  close(): void {
    for (const raw of this.#shaking.values()) raw.destroy()
    this.#server.close()
  }

  #secured(socket: TLSSocket): void {
    const ends = endsOf(socket)
    const raw = this.#shaking.get(ends)
    if (raw === undefined || !this.#mayConnect(socket)) {
      socket.destroy()
      return
    }
    this.#shaking.delete(ends)
    if (this.#options.identity.settings.clientCaFile !== undefined) noteClientCertificate(socket)
    this.#options.onSecure(socket, raw)
  }

  #mayConnect(socket: TLSSocket): boolean {
    const { clientCaFile, requiresClientCertificate } = this.#options.identity.settings
    if (clientCaFile === undefined) return true
    const hasCertificate = socket.getPeerX509Certificate() !== undefined
    return hasCertificate ? socket.authorized : !requiresClientCertificate
  }
}

/** Tells which socket a TLS socket was made from: Node.js does not say. */
const endsOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
