import type { RequestListener, Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ConnectionOptions, connectionOptions, createListServer } from '../../src/http/wire/list-verb.ts'

/** One response as received, with header names in lower case. */
export type Answer = { status: number; headers: Record<string, string>; body: string }

/** What the echo handler saw of a request. */
export type Seen = { method: string; url: string; body: string }

/** Responds to every request with what the handler saw of it. */
export const echo: RequestListener = async (request, response) => {
  const parts: Buffer[] = []
  try {
    for await (const part of request) parts.push(part)
  } catch {
    return
  }
  const seen: Seen = {
    method: request.method ?? '',
    url: request.url ?? '',
    body: Buffer.concat(parts).toString('latin1'),
  }
  response.setHeader('Content-Type', 'application/json')
  response.end(JSON.stringify(seen))
}

/** A listening server and the connections made to it; closing it closes them. */
export class WireServer {
  readonly server: Server
  readonly #accepted = new Map<number, Socket>()
  readonly #wires: Wire[] = []

  constructor(server: Server) {
    this.server = server
    server.on('connection', (socket: Socket) => this.#accepted.set(socket.remotePort ?? 0, socket))
  }

  get port(): number {
    // a listening TCP server has an AddressInfo
    return (this.server.address() as AddressInfo).port
  }

  async open(): Promise<Wire> {
    const socket = connect({ port: this.port, host: '127.0.0.1' })
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    const wire = new Wire(socket, () => this.#accepted.get(socket.localPort ?? 0))
    this.#wires.push(wire)
    return wire
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const wire of this.#wires) wire.close()
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }
}

export async function listen(
  options: Partial<ConnectionOptions> = {},
  handler: RequestListener = echo,
): Promise<WireServer> {
  const server = createListServer(connectionOptions(options), handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return new WireServer(server)
}

/** A connection to a listening server, wherever it was started; `from` is the client's address. */
export async function openWire(url: string, from?: string): Promise<Wire> {
  const { hostname, port } = new URL(url)
  const socket = connect({
    port: Number(port),
    host: hostname,
    ...(from === undefined ? {} : { localAddress: from }),
  })
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return new Wire(socket, () => undefined)
}

/** One connection of a client that writes exactly the bytes it is told to. */
export class Wire {
  readonly #socket: Socket
  readonly #peer: () => Socket | undefined
  #received = Buffer.alloc(0)
  #closed = false
  #wake: () => void = () => {}

  constructor(socket: Socket, peer: () => Socket | undefined) {
    this.#socket = socket
    this.#peer = peer
    socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes])
      this.#wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#closed = true
      this.#wake()
    })
  }

  send(text: string): void {
    this.#socket.write(Buffer.from(text, 'latin1'))
  }

  /** Whether everything that was sent has left this process. */
  get isDrained(): boolean {
    return this.#socket.writableLength === 0
  }

  /** Sends the parts as separate packets: each one after the server has read the one before. */
  async sendApart(parts: string[]): Promise<void> {
    for (const part of parts) {
      const before = this.#peer()?.bytesRead ?? 0
      this.send(part)
      while (!this.#closed && (this.#peer()?.bytesRead ?? 0) < before + part.length) await nextTurn()
    }
  }

  /** The next responses in order, at most this many; fewer if the server closes first. */
  async answers(count: number): Promise<Answer[]> {
    const found: Answer[] = []
    while (found.length < count) {
      const answer = this.#takeAnswer()
      if (answer !== undefined) found.push(answer)
      else if (this.#closed) break
      else await this.#more()
    }
    return found
  }

  async answer(): Promise<Answer | undefined> {
    const [answer] = await this.answers(1)
    return answer
  }

  /** Everything received until the server closes. */
  async untilClosed(): Promise<Answer[]> {
    while (!this.#closed) await this.#more()
    return this.answers(Number.POSITIVE_INFINITY)
  }

  /** Ends the sending side and keeps reading. */
  end(): void {
    this.#socket.end()
  }

  /** Every byte until the server closes: only the client knows where a response to HEAD ends. */
  async bytesUntilClosed(): Promise<string> {
    while (!this.#closed) await this.#more()
    return this.#received.toString('latin1')
  }

  close(): void {
    this.#socket.destroy()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #takeAnswer(): Answer | undefined {
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd === -1) return undefined
    const [statusLine = '', ...lines] = this.#received.toString('latin1', 0, headEnd).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    )
    const status = Number(statusLine.split(' ')[1])
    const length = headers['content-length'] ?? ([100, 204, 304].includes(status) ? 0 : undefined)
    if (length === undefined && !this.#closed) return undefined
    const end = length === undefined ? this.#received.length : headEnd + 4 + Number(length)
    if (this.#received.length < end) return undefined
    const body = this.#received.toString('latin1', headEnd + 4, end)
    this.#received = this.#received.subarray(end)
    return { status, headers, body }
  }
}

/** The bytes of one HTTP/1.1 request; a body adds its `Content-Length`. */
export function head(method: string, target: string, headers: string[] = [], body?: string): string {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: gate',
    ...headers,
    ...(body === undefined ? [] : [`Content-Length: ${body.length}`]),
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`
}

/** The bytes of one HTTP/1.1 request with a chunked body. */
export function chunked(method: string, target: string, chunks: string[], trailers: string[] = []): string {
  const body = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')
  return `${head(method, target, ['Transfer-Encoding: chunked'])}${body}0\r\n${trailers.map((line) => `${line}\r\n`).join('')}\r\n`
}

/** What the echo handler saw of the requests for these responses. */
export function seenIn(answers: Answer[]): Seen[] {
  return answers.map((answer) => JSON.parse(Buffer.from(answer.body, 'latin1').toString()))
}
