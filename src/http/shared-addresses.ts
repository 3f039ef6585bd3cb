import { lookup } from 'node:dns/promises'
import net, { type AddressInfo, type BoundSocket, isIP } from 'node:net'
import { addressesOf, type ListenAt, type SharedAddress, urlOf } from './listener.ts'

/**
 * Addresses for several processes, bound before the first of them starts. Connections that none of them has
 * accepted wait in one queue: if a process ends, the others take what it would have taken.
 */
export class SharedAddresses implements SharedAddress, Disposable {
  readonly #sockets: readonly BoundSocket[]
  readonly url: string

  private constructor(sockets: readonly BoundSocket[], address: AddressInfo) {
    this.#sockets = sockets
    this.url = urlOf(address)
  }

  /** Whether this version of Node.js can do that: 26.4 or later. */
  static readonly isPossible = 'BoundSocket' in net

  /** Rejects with the system's error if an address cannot be bound. */
  static async bind({ host, port }: ListenAt): Promise<SharedAddresses> {
    const [first = host, ...others] = await addressesOf(host)
    const socket = new net.BoundSocket({
      host: isIP(first) === 0 ? (await lookup(first)).address : first,
      port,
    })
    const address = socket.address()
    const sockets = [socket]
    for (const other of others)
      try {
        sockets.push(new net.BoundSocket({ host: other, port: address.port }))
      } catch {
        // one address of the name suffices
      }
    return new SharedAddresses(sockets, address)
  }

  get descriptors(): number[] {
    return this.#sockets.map((socket) => socket.fd())
  }

  /** Other processes keep what they have of it. */
  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket[Symbol.dispose]()
  }
}
