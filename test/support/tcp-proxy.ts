import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** One connection through a proxy. */
export type ProxiedConnection = { readonly client: Socket; readonly server: Socket }

export type TcpProxyParts = {
  /** The port of 127.0.0.1 that a new connection leads to. */
  target(): number
  /** Called with what the server sends, before the client gets it. False: the client does not get it. */
  onAnswer?(chunk: Buffer, connection: ProxiedConnection): boolean
  /** Called with what the client sends, before the server gets it. */
  onRequest?(chunk: Buffer, connection: ProxiedConnection): void
}

/** Connections to a port of 127.0.0.1, which a test can redirect, watch, cut and refuse. */
export class TcpProxy implements AsyncDisposable {
  readonly port: number
  readonly #listener: Server
  readonly #connections: Set<ProxiedConnection>

  private constructor(listener: Server, connections: Set<ProxiedConnection>) {
    const address = listener.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
    this.port = address.port
    this.#listener = listener
    this.#connections = connections
  }

  static async start({ target, onAnswer, onRequest }: TcpProxyParts): Promise<TcpProxy> {
    const connections = new Set<ProxiedConnection>()
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      // servers see the address that the client has chosen
      const server = connect({
        port: target(),
        host: '127.0.0.1',
        localAddress: client.remoteAddress,
        allowHalfOpen: true,
        noDelay: true,
      })
      const connection = { client, server }
      connections.add(connection)
      relay(client, server, (chunk) => {
        onRequest?.(chunk, connection)
        return true
      })
      relay(server, client, (chunk) => onAnswer?.(chunk, connection) ?? true)
      server.on('close', () => connections.delete(connection))
    })
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    return new TcpProxy(listener, connections)
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Ends all connections without a word. */
  cut(): void {
    for (const { client, server } of this.#connections) {
      client.resetAndDestroy()
      server.resetAndDestroy()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#listener.close(resolve))
  }
}

function relay(from: Socket, to: Socket, passes: (chunk: Buffer) => boolean): void {
  from.on('data', (chunk: Buffer) => {
    if (passes(chunk) && !to.write(chunk)) from.pause()
  })
  to.on('drain', () => from.resume())
  from.on('end', () => to.end())
  from.on('error', () => to.resetAndDestroy())
  from.on('close', () => to.destroySoon())
}
