import { connect, type Socket } from 'node:net'
import { loginPath } from './pipeline-logins.ts'

export const slowClients = 256

/** Clients that send one byte per second. Each connects again when it is cut off. */
export class SlowClients implements Disposable {
  readonly #port: number
  readonly #sockets = new Set<Socket>()
  #isOver = false

  constructor(port: number) {
    this.#port = port
    for (let count = 0; count < slowClients; count++) this.#connect()
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    for (const socket of this.#sockets) socket.destroy()
  }

  #connect(): void {
    const socket = connect(this.#port, '127.0.0.1')
    const bytes = `POST ${loginPath} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n`
    let at = 0
    const timer = setInterval(() => socket.write(bytes[at++] ?? ' '), 1000)
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => {
      clearInterval(timer)
      this.#sockets.delete(socket)
      if (!this.#isOver) this.#connect()
    })
  }
}
