import { hash } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Server, TLSSocket } from 'node:tls'
import { canonicalAddress } from '../../lib/net/address.ts'
import type { CommonHeaders } from '../exchange/common-headers.ts'
import { answerAndClose, goAwayAndClose } from './raw-errors.ts'
import type { Protocols, TlsIdentity } from './tls-identity.ts'

export type TlsSocketsOptions = {
  readonly identity: TlsIdentity
  readonly handshakeTimeoutMs: number
  readonly protocols: Protocols
  readonly common: CommonHeaders
  /** Called with each connection whose handshake is complete and whose client may connect. */
  onSecure(socket: TLSSocket, raw: Socket): void
  /** Called for each connection that ends without one. */
  onRefused(refused: RefusedConnection): void
}

export type RefusedConnection = {
  readonly address: string
  /** Undefined if the client sent nothing, as probes of a port do. */
  readonly reason: string | undefined
}

/** A connection whose handshake is not complete. */
type Shaking = { readonly raw: Socket; readonly address: string; reason: string | undefined }

const httpText = 'Client sent an HTTP request to an HTTPS server.'
/** A record of TLS never begins with a letter. */
const httpRequest = /^[a-z_-]{1,32} \S/i

/** Speaks TLS on connections that something else accepts. */
export class TlsSockets {
  readonly #options: TlsSocketsOptions
  readonly #server: Server
  /** By `endsOf`. */
  readonly #shaking = new Map<string, Shaking>()

  constructor(options: TlsSocketsOptions) {
    this.#options = options
    const { identity, handshakeTimeoutMs: handshakeTimeout, protocols } = options
    this.#server = identity.newServer({ handshakeTimeout, protocols })
    this.#server.on('secureConnection', (socket) => this.#secured(socket))
    // by now, OpenSSL has sent its alert
    this.#server.on('tlsClientError', (error, socket) => {
      const shaking = this.#shaking.get(endsOf(socket))
      if (shaking !== undefined) shaking.reason ??= reasonOf(error)
      socket.destroy()
    })
  }

  take(raw: Socket): void {
    const ends = endsOf(raw)
    const shaking: Shaking = { raw, address: canonicalAddress(raw.remoteAddress ?? ''), reason: undefined }
    const { onRefused, handshakeTimeoutMs } = this.#options
    this.#shaking.set(ends, shaking)
    const late = setTimeout(() => {
      if (this.#shaking.get(ends) === shaking) end(shaking, 'it was not complete in time')
    }, handshakeTimeoutMs)
    raw.once('close', () => {
      clearTimeout(late)
      if (this.#shaking.get(ends) !== shaking) return
      this.#shaking.delete(ends)
      if (raw.bytesRead > 0) shaking.reason ??= 'the connection ended'
      onRefused(shaking)
    })
    raw.on('error', () => raw.destroy())
    raw.once('readable', () => this.#begin(shaking))
  }

  /** Closes the connections whose handshake is not complete. */
  close(): void {
    const shaking = [...this.#shaking.values()]
    this.#shaking.clear()
    for (const { raw } of shaking) raw.destroy()
    this.#server.close()
  }

  /** The first bytes tell clients that speak plain HTTP. */
  #begin(shaking: Shaking): void {
    const { raw } = shaking
    const first: Buffer | null = raw.read()
    if (first === null) raw.destroy()
    else if (httpRequest.test(first.toString('latin1', 0, 40))) {
      shaking.reason = 'the client speaks plain HTTP'
      answerAndClose(raw, 400, this.#options.common, httpText)
      raw.resume()
    } else {
      raw.unshift(first)
      this.#server.emit('connection', raw)
    }
  }

  #secured(socket: TLSSocket): void {
    const ends = endsOf(socket)
    const shaking = this.#shaking.get(ends)
    if (shaking === undefined) {
      socket.destroy()
      return
    }
    const refusal = this.#refusalOf(socket)
    if (refusal !== undefined) {
      this.#refuse(socket, shaking, refusal)
      return
    }
    this.#shaking.delete(ends)
    if (this.#options.identity.settings.clientCaFile !== undefined) noteClientCertificate(socket)
    this.#options.onSecure(socket, shaking.raw)
  }

  /** Why the client may not connect. */
  #refusalOf(socket: TLSSocket): string | undefined {
    const { clientCaFile, requiresClientCertificate } = this.#options.identity.settings
    if (clientCaFile === undefined) return undefined
    if (socket.getPeerX509Certificate() === undefined)
      return requiresClientCertificate ? 'a client certificate is required' : undefined
    return socket.authorized
      ? undefined
      : `the client certificate is refused: ${String(socket.authorizationError)}`
  }

  /** Node.js completes the handshake before it says what is wrong with a certificate: it is too late for an alert. */
  #refuse(socket: TLSSocket, shaking: Shaking, refusal: string): void {
    shaking.reason = refusal
    socket.on('error', () => socket.destroy())
    socket.once('data', () => {
      if (socket.alpnProtocol === 'h2') goAwayAndClose(socket, refusal)
      else answerAndClose(socket, 400, this.#options.common, refusal)
    })
  }
}

function end(shaking: Shaking, reason: string): void {
  shaking.reason ??= reason
  shaking.raw.destroy()
}

/** OpenSSL says it in few words; Node's own errors have a code. */
function reasonOf(error: Error & { code?: string; reason?: string }): string | undefined {
  return error.code === 'ECONNRESET' ? undefined : (error.reason ?? error.code)
}

/** Tells which socket a TLS socket was made from: Node.js does not say. */
const endsOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`

declare module 'node:net' {
  interface Socket {
    /** In decimal, as in Vault's audit logs; undefined unless the client has a certificate, which was verified. */
    clientCertificateSerialNumber?: string
    /** In base64url; undefined likewise. RFC 8705 §3.1 */
    clientCertificateSha256?: string
  }
}

/** Notes serial number and digest of the client's certificate, if it has one, for the requests of its connection. */
function noteClientCertificate(socket: TLSSocket): void {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return
  socket.clientCertificateSerialNumber = BigInt(`0x${certificate.serialNumber}`).toString()
  socket.clientCertificateSha256 = hash('sha256', certificate.raw, 'base64url')
}
