import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

export type HeldConnectionsInput = {
  port: number
  count: number
  /** Loopback source addresses, used in turn. */
  from: readonly string[]
  /** The only bytes that each connection sends. */
  bytes: Buffer
}

const connectingAtOnce = 200
const reopenEveryMs = 500
const maxReopened = 50

/** Connections held open until disposed. Up to a hundred closed ones per second are reopened. */
export class HeldConnections implements AsyncDisposable {
  readonly #input: HeldConnectionsInput
  readonly #sockets = new Map<number, Socket>()
  #reopening: Promise<void> | undefined
  #isOver = false

  private constructor(input: HeldConnectionsInput) {
    this.#input = input
  }

  /** Resolves when all connections are open and their bytes were handed to the system. */
  static async open(input: HeldConnectionsInput): Promise<HeldConnections> {
    const held = new HeldConnections(input)
    await held.#openMissing(input.count)
    held.#reopenLater()
    return held
  }

  #reopenLater(): void {
    this.#reopening = wait(reopenEveryMs).then(async () => {
      await this.#openMissing(maxReopened)
      if (!this.#isOver) this.#reopenLater()
    })
  }

  async #openMissing(most: number): Promise<void> {
    const all = Array.from({ length: this.#input.count }, (_, index) => index)
    const missing = all.filter((index) => !this.#sockets.has(index)).slice(0, most)
    for (let at = 0; at < missing.length && !this.#isOver; at += connectingAtOnce) {
      await Promise.all(missing.slice(at, at + connectingAtOnce).map((index) => this.#open(index)))
    }
  }

  #open(index: number): Promise<void> {
    const { port, from, bytes } = this.#input
    const localAddress = from[index % from.length]
    const socket = connect({
      port,
      host: '127.0.0.1',
      ...(localAddress === undefined ? {} : { localAddress }),
    })
    this.#sockets.set(index, socket)
    return new Promise((resolve) => {
      socket.on('connect', () => (bytes.length === 0 ? resolve() : socket.write(bytes, () => resolve())))
      socket.on('error', () => {})
      // the response is ignored, but a socket notices its end only while it is read
      socket.resume()
      socket.on('close', () => {
        this.#sockets.delete(index)
        resolve()
      })
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.#reopening
    const open = [...this.#sockets.values()]
    const closed = open.map((socket) => once(socket, 'close'))
    for (const socket of open) socket.destroy()
    await Promise.all(closed)
  }
}
