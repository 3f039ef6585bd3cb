import { FairQueue } from '../../lib/concurrency/fair-queue.ts'
import { overloaded } from './body-reader.ts'

export type PlacesLimits = {
  /** Requests that are handled at once. */
  readonly most: number
  /** How long a request waits for a place before it is refused. */
  readonly waitMs: number
}

/** A request that waits: its client, and how its wait ends. */
type Waiting = {
  readonly client: string
  /** When it is refused, in milliseconds of the monotonic clock. */
  readonly endsAt: number
  serve(): void
  refuse(): void
}

/**
 * A refused client may ask again at once, so refusals must not take the time of those who are served: at most
 * this many in this time.
 */
const refusalsAtOnce = 10
const refusalsEveryMs = 10

/**
 * The places of the requests that are handled at once. Beyond them, requests wait, and client addresses take turns
 * at the places that become free. docs/limits.md#overload
 */
export class Places {
  readonly #limits: PlacesLimits
  readonly #queue = new FairQueue<Waiting>()
  /** In order of arrival. */
  readonly #waiting = new Set<Waiting>()
  #taken = 0
  #timer: NodeJS.Timeout | undefined

  constructor(limits: PlacesLimits) {
    this.#limits = limits
  }

  get taken(): number {
    return this.#taken
  }

  get areTaken(): boolean {
    return this.#taken >= this.#limits.most
  }

  /** Takes a place, whether one is free or not. */
  retake(): void {
    this.#taken += 1
  }

  /**
   * Takes a place for a client address; if none is free, returns a promise that rejects if none became free in
   * time, or once `gone` has called its listener.
   */
  take(client: string, gone: (listener: () => void) => void): Promise<void> | undefined {
    if (!this.areTaken) {
      this.#taken += 1
      return undefined
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        client,
        endsAt: performance.now() + this.#limits.waitMs,
        serve: resolve,
        refuse: () => reject(overloaded()),
      }
      this.#waiting.add(waiting)
      this.#queue.add(client, waiting)
      this.#awaitEnd()
      gone(() => this.#refuse(waiting))
    })
  }

  /** Gives a place back, to the next that waits. */
  give(): void {
    this.#taken -= 1
    if (this.areTaken) return
    const next = this.#queue.next()
    if (next === undefined) return
    this.#waiting.delete(next)
    this.#taken += 1
    next.serve()
  }

  #refuse(waiting: Waiting): void {
    if (!this.#waiting.delete(waiting)) return
    this.#queue.remove(waiting.client, waiting)
    waiting.refuse()
  }

  #awaitEnd(): void {
    const [first] = this.#waiting
    if (this.#timer !== undefined || first === undefined) return
    const ms = Math.max(first.endsAt - performance.now(), refusalsEveryMs)
    this.#timer = setTimeout(() => this.#refuseLate(), ms)
  }

  #refuseLate(): void {
    this.#timer = undefined
    const now = performance.now()
    let left = refusalsAtOnce
    for (const waiting of this.#waiting) {
      if (waiting.endsAt > now || left === 0) break
      left -= 1
      this.#refuse(waiting)
    }
    this.#awaitEnd()
  }
}
