import { refuse } from '../../../errors.ts'
import { countedAddress } from '../../../lib/address.ts'
import type { Pace } from '../../../lib/busy-pace.ts'
import { Turns } from '../../../lib/turns.ts'

export type HashingLimits = {
  /** Hashes that are computed at once. */
  readonly atOnce: number
  /** Logins that wait, of all clients together. */
  readonly waiting: number
  /** Logins of one client address that wait. */
  readonly waitingOfClient: number
}

/** Who waits for a hash. */
export type Client = {
  readonly address: string
  /** Calls `listener` when the client has ended its side, until the returned function is called. */
  whenSilent(listener: () => void): () => void
}

type Turn = () => void

/**
 * Hashes take turns: so many at once, that other work has processors left. Logins that wait are limited, and
 * client addresses take turns. A client that disconnects leaves. docs/limits.md#passwords
 */
export class HashingQueue {
  readonly #limits: HashingLimits
  readonly #pace: Pace
  readonly #turns = new Turns<Turn>()
  readonly #waitingByClient = new Map<string, number>()
  #waiting = 0
  #running = 0

  constructor(limits: HashingLimits, pace: Pace) {
    this.#limits = limits
    this.#pace = pace
  }

  /** Runs the hashes of a login. Throws `throttled` if too many wait, or if the client goes before its turn. */
  async login<T>({ address, whenSilent }: Client, work: () => Promise<T>): Promise<T> {
    if (this.#isFull) await this.#wait(countedAddress(address), whenSilent)
    else this.#running += 1
    return this.#run(work)
  }

  /** Runs the hash of a password that somebody with the right to do so sets: it waits, but is never refused. */
  async write<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isFull) await new Promise<void>((resolve) => this.#turns.add('', resolve))
    else this.#running += 1
    return this.#run(work)
  }

  get #isFull(): boolean {
    return this.#running >= this.#limits.atOnce
  }

  async #wait(client: string, whenSilent: Client['whenSilent']): Promise<void> {
    const own = this.#waitingByClient.get(client) ?? 0
    if (this.#waiting >= this.#limits.waiting || own >= this.#limits.waitingOfClient)
      throw refuse('throttled', 'too many logins are waiting', {
        reason: 'too_many_logins',
        retryAfterSeconds: 1,
      })
    this.#count(client, 1)
    const { promise, resolve: turn, reject } = Promise.withResolvers<void>()
    this.#turns.add(client, turn)
    const stopListening = whenSilent(() => {
      this.#turns.remove(client, turn)
      reject(refuse('throttled', 'the client has disconnected', { reason: 'client_gone' }))
    })
    try {
      await promise
    } finally {
      stopListening()
      this.#count(client, -1)
    }
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    const ended = this.#pace()
    try {
      return await work()
    } finally {
      const pauseMs = ended()
      if (pauseMs > 0) setTimeout(() => this.#leave(), pauseMs).unref()
      else this.#leave()
    }
  }

  /** The next one takes the place. */
  #leave(): void {
    const next = this.#turns.next()
    if (next === undefined) this.#running -= 1
    else next()
  }

  #count(client: string, change: 1 | -1): void {
    const count = (this.#waitingByClient.get(client) ?? 0) + change
    this.#waiting += change
    if (count === 0) this.#waitingByClient.delete(client)
    else this.#waitingByClient.set(client, count)
  }
}
