import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import { KeyedMutex } from '../../lib/concurrency/keyed-mutex.ts'
import type { WaitingBounds } from '../../lib/concurrency/limiter.ts'
import { hex, type Random } from '../../lib/system/random.ts'
import { type Fence, fenced, type SharedStorage, unfenced } from '../../storage/shared-storage.ts'

/** Between two attempts to get a lock that another server holds. */
const askMs = 100
const longestWaitMs = 60_000
const keepMs = 3_000
const ttlMs = 10_000

/** This server among those that share its storage. Without a shared storage, it is the only one. */
export class Servers {
  readonly ownId: string
  /** Whether no other server writes the storage. */
  readonly isAlone: boolean
  readonly #shared: SharedStorage | undefined
  readonly #mutex = new KeyedMutex()

  constructor(shared: SharedStorage | undefined, random: Random) {
    this.#shared = shared
    this.isAlone = shared === undefined
    this.ownId = shared?.replicaId ?? hex(random, 16)
  }

  /** The ids of the servers that are alive, this one included. */
  async live(): Promise<ReadonlySet<string>> {
    const live = (await this.#shared?.replicas()) ?? []
    return new Set([this.ownId, ...live.map(({ id }) => id)])
  }

  /** Resolves once what this server has copied includes every change that was acknowledged before the call. */
  async confirmCopies(): Promise<void> {
    await this.#shared?.copies.confirm()
  }

  /**
   * Runs work while no other work with the same name runs, here or at another server, with current copies. If
   * this server is taken for dead meanwhile, another one may begin, and each later write of this work is
   * refused. Throws `unavailable` if others keep it waiting for a minute, or the refusal of `bounds`.
   * docs/replicas.md#work-that-one-server-does-at-a-time
   */
  exclusively<T>(name: string, work: () => Promise<T>, bounds?: WaitingBounds): Promise<T> {
    const askedAt = performance.now()
    const left = ({ ms, ...rest }: WaitingBounds): WaitingBounds =>
      ms === undefined ? rest : { ...rest, ms: Math.max(0, ms - (performance.now() - askedAt)) }
    const run = () =>
      this.#shared === undefined
        ? work()
        : exclusivelyShared(this.#shared, jobOf(name), work, bounds && left(bounds))
    return bounds === undefined
      ? this.#mutex.runExclusive(name, run)
      : this.#mutex.runWithin(bounds, name, run)
  }
}

/** Names may be long, and hold what callers have sent. Servers of earlier versions know the lock by this key. */
const jobOf = (name: string): string => `turn/${createHash('sha256').update(name).digest('base64url')}`

async function exclusivelyShared<T>(
  shared: SharedStorage,
  job: string,
  work: () => Promise<T>,
  bounds?: WaitingBounds,
): Promise<T> {
  const fence = await taken(shared, job, bounds)
  const finished = new AbortController()
  const keeping = unfenced(() => keep(shared, fence, finished.signal))
  try {
    await shared.copies.confirm()
    return await fenced(fence, work)
  } finally {
    finished.abort()
    await keeping
    // if this fails, the lock ends by itself
    await shared.releaseJob(fence).catch(() => undefined)
  }
}

const tooLong = () => fail('unavailable', 'another server has been working on this for too long')

async function taken(
  shared: SharedStorage,
  job: string,
  { ms = longestWaitMs, refusal }: WaitingBounds = { refusal: tooLong },
): Promise<Fence> {
  for (const end = performance.now() + ms; ; ) {
    const fence = await shared.holdJob(job, ttlMs)
    if (fence !== undefined) return fence
    if (performance.now() > end) throw refusal()
    await pause(askMs)
  }
}

/** Renews a lock until `finished` is aborted, or until it is lost. */
async function keep(shared: SharedStorage, { job, epoch }: Fence, finished: AbortSignal): Promise<void> {
  for (;;) {
    await pause(keepMs, undefined, { signal: finished, ref: false }).catch(() => undefined)
    if (finished.aborted) return
    const renewed = await shared.holdJob(job, ttlMs).catch(() => 'unknown' as const)
    if (renewed === 'unknown' || renewed?.epoch === epoch) continue
    // another server had it meanwhile: the work that still runs may not write any more
    if (renewed !== undefined) await shared.releaseJob(renewed).catch(() => undefined)
    return
  }
}
