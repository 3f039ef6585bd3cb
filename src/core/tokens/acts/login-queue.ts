import { refuse, type ServiceError } from '../../../errors.ts'
import { FairQueue } from '../../../lib/concurrency/fair-queue.ts'
import { Cache } from '../../../lib/data/cache.ts'
import { countedAddress } from '../../../lib/net/address.ts'
import type { Clock } from '../../../lib/system/clock.ts'

export type LoginQueueLimits = {
  /** How many logins are worked on at once. */
  readonly atOnce: number
  /** Logins that wait, of all clients together. */
  readonly waiting: number
  /** How many of these places are kept for names and addresses with a recent success. */
  readonly reserved: number
  /** Logins of one client address that wait. */
  readonly waitingOfClient: number
}

export type LoginQueueParts = { readonly limits: LoginQueueLimits; readonly clock: Clock }

/** Who waits. */
export type Client = {
  readonly address: string
  /** Of the user or role, and the mount. */
  readonly name: string
  /** Calls `listener` when the client has ended its side, until the returned function is called. */
  whenSilent(listener: () => void): () => void
}

/** A place in the queue: who takes turns with others, and whether a login of this address or name succeeded. */
type Place = { readonly owner: string; readonly isKnown: boolean }
type Waiting = Place & { begin(): void; refuse(): void }

const recentMs = 86_400_000

/**
 * Runs the expensive work of logins, such as password hashing. It limits how many run at once, so that other work has
 * processors left, and how many wait. Client addresses take turns. A few addresses cannot take all places: a client with
 * nothing waiting displaces the last login of the client with most, and some places are kept for names and addresses with
 * a recent success. A client that disconnects leaves the queue. docs/limits.md#passwords, docs/limits.md#cel-programs
 */
export class LoginQueue {
  readonly #parts: LoginQueueParts
  readonly #queue = new FairQueue<Waiting>()
  /** The logins that wait, in order of arrival. */
  readonly #logins = new Set<Waiting>()
  /** When a login of an address, or of a name, last succeeded. */
  readonly #successes: Cache<true>
  #running = 0

  constructor(parts: LoginQueueParts) {
    this.#parts = parts
    const ttl = { ms: recentMs, clock: parts.clock }
    this.#successes = new Cache({ name: 'recent logins', most: 20_000, ttl })
  }

  /** Runs the work of a login. Throws `throttled` if too many wait, or if the client goes before its turn. */
  async login<T>(client: Client, work: () => Promise<T>): Promise<T> {
    if (this.#isFull) await this.#wait(client)
    else this.#running += 1
    return this.#run(work)
  }

  /** Runs work that somebody with the right to do so asks for: it waits, but is never refused. */
  async write<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isFull)
      await new Promise<void>((begin) =>
        this.#queue.add('', { owner: '', isKnown: true, begin, refuse: begin }),
      )
    else this.#running += 1
    return this.#run(work)
  }

  /** From now on, this name and this address get the places that are kept for them. */
  noteSuccess(client: Pick<Client, 'address' | 'name'>): void {
    for (const owner of ownersOf(client)) this.#successes.set(owner, true)
  }

  get #isFull(): boolean {
    return this.#running >= this.#parts.limits.atOnce
  }

  async #wait(client: Client): Promise<void> {
    const place = this.#placesOf(client).find((each) => this.#hasRoomFor(each))
    if (place === undefined) throw tooManyLogins()
    const { promise, resolve: begin, reject } = Promise.withResolvers<void>()
    const login = { ...place, begin, refuse: () => reject(tooManyLogins()) }
    this.#logins.add(login)
    this.#queue.add(login.owner, login)
    const stopListening = client.whenSilent(() => {
      this.#remove(login)
      reject(refuse('throttled', 'the client has disconnected', { reason: 'client_gone' }))
    })
    try {
      await promise
    } finally {
      stopListening()
    }
  }

  /** Best first: whoever floods the server with a known name takes places of that name only. */
  #placesOf(client: Client): Place[] {
    const [address, name] = ownersOf(client)
    const known = [address, name].filter((owner) => this.#successes.get(owner) === true)
    return [...known.map((owner) => ({ owner, isKnown: true })), { owner: address, isKnown: false }]
  }

  /** Whether there is room, or can be made. */
  #hasRoomFor({ owner, isKnown }: Place): boolean {
    const { waiting, waitingOfClient, reserved } = this.#parts.limits
    const all = [...this.#logins]
    const own = all.filter((login) => login.owner === owner).length
    if (own >= waitingOfClient) return false
    const strangers = all.filter((login) => !login.isKnown)
    const crowd = !isKnown && strangers.length >= waiting - reserved ? strangers : all
    if (crowd === all && all.length < waiting) return true
    return own === 0 && this.#displaceOne(crowd)
  }

  /** Refuses the last login of the one with most, if that is more than one. */
  #displaceOne(crowd: readonly Waiting[]): boolean {
    const byOwner = [...Map.groupBy(crowd, ({ owner }) => owner).values()]
    const most = byOwner.reduce((longest, own) => (own.length > longest.length ? own : longest), [])
    const last = most.at(-1)
    if (last === undefined || most.length === 1) return false
    this.#remove(last)
    last.refuse()
    return true
  }

  #remove(login: Waiting): void {
    this.#logins.delete(login)
    this.#queue.remove(login.owner, login)
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  /** The next one takes the place. */
  #leave(): void {
    const next = this.#queue.next()
    if (next === undefined) {
      this.#running -= 1
      return
    }
    this.#logins.delete(next)
    next.begin()
  }
}

const ownersOf = ({ address, name }: Pick<Client, 'address' | 'name'>): [string, string] => [
  `address ${countedAddress(address)}`,
  `name ${name}`,
]

/** The refusal of a login that would wait too long. */
export const tooManyLogins = (): ServiceError =>
  refuse('throttled', 'too many logins are waiting', { reason: 'too_many_logins', retryAfterSeconds: 1 })
