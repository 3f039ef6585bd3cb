import { createServer, type Server } from 'node:tls'
import { readTlsFiles, TlsFileError, type TlsMaterial, type TlsSettings } from './tls-files.ts'

/** Protocols that a client may choose (ALPN), best first. */
export type Protocols = readonly ('h2' | 'http/1.1')[]

/**
 * The certificate of the server, and the authorities of its clients. `reload` replaces them for new
 * connections; existing ones keep theirs.
 */
export class TlsIdentity {
  #settings: TlsSettings
  #material: TlsMaterial
  readonly #servers = new Set<Server>()

  private constructor(settings: TlsSettings, material: TlsMaterial) {
    this.#settings = settings
    this.#material = material
  }

  /** Rejects with a `TlsFileError` if the files cannot be used. */
  static async read(settings: TlsSettings): Promise<TlsIdentity> {
    return new TlsIdentity(settings, await readTlsFiles(settings))
  }

  get settings(): TlsSettings {
    return this.#settings
  }

  /** When the certificate expires, in milliseconds. */
  get expiresAt(): number {
    return this.#material.expiresAt
  }

  /** Reads these files. Rejects with a `TlsFileError`, and changes nothing, if they cannot be used. */
  async reload(settings: TlsSettings): Promise<void> {
    if ((settings.clientCaFile === undefined) !== (this.#settings.clientCaFile === undefined))
      throw new TlsFileError(
        'GATEHOUSE_TLS_CLIENT_CA_FILE: client certificates are turned on or off only at a start',
      )
    const material = await readTlsFiles(settings)
    if (material.expiresAt <= Date.now())
      throw new TlsFileError('GATEHOUSE_TLS_CERT_FILE: the certificate has expired')
    this.#settings = settings
    this.#material = material
    // a new context has new keys for tickets, so no session continues that other authorities admitted
    for (const server of this.#servers) server.setSecureContext(this.#material.context)
  }

  /** A server that does not listen: each `connection` becomes a `secureConnection`. */
  newServer(options: { readonly handshakeTimeout: number; readonly protocols: Protocols }): Server {
    const server = createServer({
      ...this.#material.context,
      handshakeTimeout: options.handshakeTimeout,
      ALPNProtocols: [...options.protocols],
      requestCert: this.#settings.clientCaFile !== undefined,
      // a client that may not connect learns why
      rejectUnauthorized: false,
    })
    this.#servers.add(server)
    server.once('close', () => this.#servers.delete(server))
    return server
  }
}
