import { lookup } from 'node:dns/promises'
import net, { type BoundSocket, type BoundSocketOptions, isIP } from 'node:net'
import {
  addressesOf,
  binding,
  type HostAndPort,
  type ListenAt,
  type Transport,
  type UnixSocketAt,
  unixUrl,
  urlOf,
} from './listen-address.ts'
import { bindUnixSocket } from './unix-socket.ts'

declare module 'node:net' {
  // since Node 26.5, not in the types yet
  interface BoundSocketOptions {
    path?: string
  }
}

/** Addresses that several processes share, with their descriptors in this process. */
export type SharedDoors = {
  readonly urls: readonly string[]
  readonly doors: readonly { readonly descriptor: number; readonly transport: Transport }[]
}

type Bound = { readonly socket: BoundSocket; readonly transport: Transport; readonly hide: () => void }

/**
 * Addresses for several processes, bound before the first of them starts. Connections that none of them has
 * accepted wait in one queue: if a process ends, the others take what it would have taken.
 */
export class SharedAddresses implements Disposable {
  readonly urls: readonly string[]
  readonly #bound: readonly Bound[]

  private constructor(urls: readonly string[], bound: readonly Bound[]) {
    this.urls = urls
    this.#bound = bound
  }

  /** Whether this version of Node.js can do that: 26.4 or later. */
  static readonly isPossible = 'BoundSocket' in net

  /** Rejects with a `ListenError` if an address cannot be bound. */
  static async bind(addresses: readonly ListenAt[], scheme: string): Promise<SharedAddresses> {
    const urls: string[] = []
    const all: Bound[] = []
    try {
      for (const at of addresses) {
        const { bound, url } = await binding(at, () => ('path' in at ? bindPath(at) : bindHost(at, scheme)))
        all.push(...bound)
        urls.push(url)
      }
    } catch (error) {
      release(all)
      throw error
    }
    return new SharedAddresses(urls, all)
  }

  get doors(): SharedDoors['doors'] {
    return this.#bound.map(({ socket, transport }) => ({ descriptor: socket.fd(), transport }))
  }

  /** Other processes keep what they have of it. */
  release(): void {
    for (const { socket } of this.#bound) socket[Symbol.dispose]()
  }

  [Symbol.dispose](): void {
    release(this.#bound)
  }
}

function release(all: readonly Bound[]): void {
  for (const { socket, hide } of all) {
    socket[Symbol.dispose]()
    hide()
  }
}

async function bindHost({ host, port }: HostAndPort, scheme: string) {
  const [first = host, ...others] = await addressesOf(host)
  const numeric = isIP(first) === 0 ? (await lookup(first)).address : first
  const bound = [networkSocket({ host: numeric, port })]
  const address = bound[0]?.socket.address()
  if (address === undefined) throw new Error('a bound socket has no address')
  for (const other of others)
    try {
      bound.push(networkSocket({ host: other, port: address.port }))
    } catch {
      // one address of the name suffices
    }
  return { bound, url: urlOf(scheme, address) }
}

const networkSocket = (at: BoundSocketOptions): Bound => ({
  socket: new net.BoundSocket(at),
  transport: 'network',
  hide: () => {},
})

async function bindPath(place: UnixSocketAt) {
  const { bound: socket, file } = await bindUnixSocket(place, (at) => new net.BoundSocket({ path: at }))
  const bound: Bound[] = [{ socket, transport: 'unix', hide: file.remove }]
  return { bound, url: unixUrl(place.path) }
}
