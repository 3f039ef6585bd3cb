import { availableParallelism } from 'node:os'
import { countedAddress } from '../../lib/address.ts'
import { Turns } from '../../lib/turns.ts'
import { type SignatureCheck, timeOf, verifyHere } from './schemes.ts'
import { SignatureThread } from './signature-thread.ts'

/** How long checks may keep the main thread, until others have their turn of the event loop. */
const mostMsAtOnce = 0.25
/** Most checks that the thread gets together, by the time that each takes: others wait for all of them. */
const mostTogether = 16
/** So long others wait for it: on a busy machine, the thread may have to wait for a processor. */
const longestWaitMs = 1

type Cheap<Check> = { readonly check: Check; resolve(verified: boolean): void }
type Heavy = { readonly weight: number; start(): void }

/** How cheap checks are done. */
export type Ways<Check> = {
  here(check: Check): boolean
  /** The time that it takes, compared with the quickest check. */
  timeOf(check: Check): number
  /** Absent with one processor: no other one could take the checks. */
  readonly thread?: Pick<SignatureThread, 'isReady' | 'start'> & {
    verify(checks: readonly Check[]): Promise<readonly boolean[]>
  }
}

/** The servers of a process share its thread. */
const usualWays: Ways<SignatureCheck> = {
  here: verifyHere,
  timeOf,
  ...(availableParallelism() > 1 ? { thread: new SignatureThread() } : {}),
}

/**
 * The signature checks that wait, in turns between client addresses: whoever sends many expensive tokens
 * delays the own logins first. docs/limits.md#forged-tokens
 */
export class CheckQueue<Check = SignatureCheck> {
  readonly #ways: Ways<Check>
  readonly #cheap = new Turns<Cheap<Check>>()
  readonly #inPool = new Turns<Heavy>()
  #free: number
  #isAwaited = false
  #isThreadBusy = false
  #timer: NodeJS.Timeout | undefined

  /** `poolWeight`: the total weight of the checks that run on the thread pool at a time. */
  constructor(poolWeight: number, ways: Ways<Check>) {
    this.#free = poolWeight
    this.#ways = ways
  }

  static usual(poolWeight: number): CheckQueue {
    return new CheckQueue(poolWeight, usualWays)
  }

  /**
   * Does a cheap check in the next turn of the event loop, or a later one: here if it is alone, together with
   * the others that wait on a thread of their own.
   */
  cheap(client: string, check: Check): Promise<boolean> {
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
    if (this.#isThreadBusy) {
      this.#timer ??= setTimeout(() => this.#helpThread(), longestWaitMs)
      return
    }
    if (this.#isAwaited) return
    this.#isAwaited = true
    setImmediate(() => {
      this.#isAwaited = false
      const first = this.#cheap.next()
      if (first === undefined) return
      const { thread } = this.#ways
      if (this.#cheap.isEmpty || thread?.isReady !== true) this.#doHere(first)
      else void this.#doTogether(first, thread)
      if (!this.#cheap.isEmpty) this.#await()
    })
  }

  #helpThread(): void {
    this.#timer = undefined
    const first = this.#isThreadBusy ? this.#cheap.next() : undefined
    if (first === undefined) return
    this.#doHere(first)
    if (!this.#cheap.isEmpty) this.#await()
  }

  #doHere(first: Cheap<Check>): void {
    const endsAt = performance.now() + mostMsAtOnce
    for (let next: Cheap<Check> | undefined = first; next !== undefined; next = this.#cheap.next()) {
      next.resolve(this.#ways.here(next.check))
      if (performance.now() < endsAt) continue
      if (!this.#cheap.isEmpty) this.#ways.thread?.start()
      return
    }
  }

  async #doTogether(first: Cheap<Check>, thread: NonNullable<Ways<Check>['thread']>): Promise<void> {
    const batch: Cheap<Check>[] = []
    let left = mostTogether
    for (let next: Cheap<Check> | undefined = first; next !== undefined; next = this.#cheap.next()) {
      batch.push(next)
      left -= this.#ways.timeOf(next.check)
      if (left <= 0) break
    }
    this.#isThreadBusy = true
    const verified = await thread.verify(batch.map(({ check }) => check))
    this.#isThreadBusy = false
    for (const [at, { resolve }] of batch.entries()) resolve(verified[at] === true)
    if (!this.#cheap.isEmpty) this.#await()
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
