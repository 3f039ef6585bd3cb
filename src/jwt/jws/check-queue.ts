import { FairQueue } from '../../lib/concurrency/fair-queue.ts'
import { countedAddress } from '../../lib/net/address.ts'

/** How long checks may keep the main thread, until others have their turn of the event loop. */
const mostMsAtOnce = 0.25

type Cheap = { check(): boolean; resolve(verified: boolean): void }
type Heavy = { readonly weight: number; start(): void }

/**
 * The signature checks that wait, in turns between client addresses: whoever sends many expensive tokens
 * delays the own logins first. docs/limits.md#forged-tokens
 */
export class CheckQueue {
  readonly #cheap = new FairQueue<Cheap>()
  readonly #inPool = new FairQueue<Heavy>()
  #free: number
  #isAwaited = false

  /** `poolWeight`: the total weight of the checks that run on the thread pool at a time. */
  constructor(poolWeight: number) {
    this.#free = poolWeight
  }

  /** Does a cheap check on this thread, in the next turn of the event loop or a later one. */
  cheap(client: string, check: () => boolean): Promise<boolean> {
    return new Promise((resolve) => {
      this.#cheap.add(countedAddress(client), { check, resolve })
      this.#await()
    })
  }

  /** Runs a check on the thread pool. It must not reject. */
  inPool(client: string, weight: number, check: () => Promise<boolean>): Promise<boolean> {
    return new Promise((resolve) => {
      const start = () =>
        void check().then((verified) => {
          this.#free += weight
          resolve(verified)
          this.#startNext()
        })
      this.#inPool.add(countedAddress(client), { weight, start })
      this.#startNext()
    })
  }

  #await(): void {
    if (this.#isAwaited) return
    this.#isAwaited = true
    setImmediate(() => {
      this.#isAwaited = false
      this.#doCheap()
      if (!this.#cheap.isEmpty) this.#await()
    })
  }

  #doCheap(): void {
    const endsAt = performance.now() + mostMsAtOnce
    do {
      const next = this.#cheap.next()
      if (next === undefined) return
      next.resolve(next.check())
    } while (performance.now() < endsAt)
  }

  /** The next check is not overtaken, so a heavy one does not starve. */
  #startNext(): void {
    for (;;) {
      const { first } = this.#inPool
      if (first === undefined || first.weight > this.#free) return
      this.#inPool.next()
      this.#free -= first.weight
      first.start()
    }
  }
}
