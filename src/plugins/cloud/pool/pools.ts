import type { Mount } from '../../../core/mounts/mount.ts'
import type { TtlBounds } from '../../../core/tokens/store/lifetime.ts'
import { ServiceError } from '../../../errors.ts'
import type { Limiter } from '../../../lib/concurrency/limiter.ts'
import { formatTime } from '../../../lib/text/time.ts'
import type { EngineParts } from '../engine-parts.ts'
import { MountLooks } from '../mount-looks.ts'
import type { MountState, NamedRole } from '../mount-state.ts'
import { retire } from './leave-pool.ts'
import { makeMember } from './make-member.ts'
import type { PoolFailure, StoredMember } from './pool-store.ts'
import { isFresh, isUsable, type PoolTerms, termsNow } from './pool-terms.ts'

const usualTimes = {
  /** Between two looks for pools that are not full. */
  lookMs: 5_000,
  /** After the first failure of a role; each further one doubles it. */
  againMs: 15_000,
  longestPauseMs: 600_000,
  /** How long a new secret may take until the login service knows it. */
  provenMs: 600_000,
}

/** Changed by tests only. */
export type PoolTimes = Partial<typeof usualTimes>

export type PoolsParts = EngineParts & {
  readonly systemTtl: TtlBounds
  readonly poolTimes?: PoolTimes | undefined
  /** Limits the credentials of a mount that are created at a time, on demand and ahead. */
  creationsOf(mount: Mount): Limiter
}

/** Credentials of one mount that are made ahead at a time; a role that fails makes one. docs/limits.md#cloud-credentials */
const mostInFlight = 4
const longestError = 240

/** A role with the terms of its members now; undefined if it can have none. */
type Pool = NamedRole & { readonly size: number; readonly terms: PoolTerms | undefined }

type Refill = {
  readonly pool: NamedRole
  readonly terms: PoolTerms
  readonly failure: PoolFailure | undefined
}

/** The work for one mount at this server. Aborted when the mount is removed. */
type Running = {
  readonly stopping: AbortController
  /** With the names of their roles. */
  readonly refills: Map<Promise<void>, string>
  filling: Promise<void> | undefined
}

export type ShownPool = {
  readonly role: string
  readonly size: number
  readonly ready: number
  readonly oldest: string | null
  readonly error: string
  readonly retry_at: string | null
}

/**
 * Keeps the pools of all mounts full, and removes members that may not be handed out any more.
 * docs/contract/cloud-pool.md#refill
 */
export class CloudPools {
  readonly looks: MountLooks
  readonly #parts: PoolsParts
  readonly #times: typeof usualTimes
  readonly #runningByUuid = new Map<string, Running>()

  constructor(parts: PoolsParts) {
    this.#parts = parts
    this.#times = { ...usualTimes, ...parts.poolTimes }
    this.looks = new MountLooks({
      ...parts,
      job: 'cloud-pools',
      intervalMs: this.#times.lookMs,
      failure: 'could not look at the pools of a cloud mount',
      lookAt: (mount, ended) => this.#lookAt(mount, ended),
    })
  }

  /** Fills the pools of a mount, and waits for that. */
  async #lookAt(mount: Mount, ended: AbortSignal): Promise<void> {
    this.#dropRemoved()
    const running = this.#runningAt(mount)
    await this.#fill(mount, running, ended)
    while (running.refills.size > 0) await Promise.all(running.refills.keys())
  }

  #dropRemoved(): void {
    const known = new Set(this.#parts.everyMount().map(({ uuid }) => uuid))
    for (const [uuid, { stopping, refills }] of this.#runningByUuid) {
      if (known.has(uuid)) continue
      // removed by another server
      stopping.abort()
      if (refills.size === 0) this.#runningByUuid.delete(uuid)
    }
  }

  /** Of a mount that is being removed, once no request is inside any more: its members become debris. */
  async empty(mount: Mount): Promise<void> {
    const running = this.#runningByUuid.get(mount.uuid)
    running?.stopping.abort()
    await running?.filling
    await Promise.all(running?.refills.keys() ?? [])
    this.#runningByUuid.delete(mount.uuid)
    const state = this.#parts.stateOf(mount)
    await retire(await state.pool.all(), state)
  }

  /** The counts that `cloud/pool` shows. `idle` counts every member, also those that are about to be removed. */
  async shown(mount: Mount): Promise<{ idle: number; wanted: number; roles: ShownPool[] }> {
    const state = this.#parts.stateOf(mount)
    const now = this.#parts.clock.now()
    const [members, pools, failures] = [
      await state.pool.all(),
      await this.#poolsOf(mount, state),
      await state.pool.failures(),
    ]
    const roles = pools.map((pool) => {
      const ready = usableOf(pool, members, now)
      const since = ready.map(({ member }) => member.since)
      const failure = failureOf(pool, failures)
      return {
        role: pool.name,
        size: pool.size,
        ready: ready.length,
        oldest: since.length === 0 ? null : formatTime(Math.min(...since)),
        error: failure?.error ?? '',
        retry_at: failure === undefined ? null : formatTime(failure.at),
      }
    })
    return { idle: members.length, wanted: sum(pools.map(({ size }) => size)), roles }
  }

  /** Values for the gauges. */
  async figures(): Promise<{ mount: Mount; idle: number; wanted: number }[]> {
    return Promise.all(
      this.#parts.everyMount().map(async (mount) => {
        const state = this.#parts.stateOf(mount)
        const wanted = sum((await state.pooledRoles()).map(({ role }) => role.pool ?? 0))
        return { mount, idle: await state.pool.count(), wanted }
      }),
    )
  }

  #runningAt({ uuid }: Mount): Running {
    const known = this.#runningByUuid.get(uuid)
    if (known !== undefined) return known
    const running: Running = { stopping: new AbortController(), refills: new Map(), filling: undefined }
    this.#runningByUuid.set(uuid, running)
    return running
  }

  /** Starts refills until enough are running; each that ends makes room for the next. Never rejects. */
  #fill(mount: Mount, running: Running, ended: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([ended, running.stopping.signal])
    running.filling ??= this.#startRefills(mount, running, signal)
      .catch((err: unknown) => this.looks.failed(mount, err))
      .finally(() => {
        running.filling = undefined
      })
    return running.filling
  }

  async #startRefills(mount: Mount, running: Running, signal: AbortSignal): Promise<void> {
    const state = this.#parts.stateOf(mount)
    while (!signal.aborted && running.refills.size < mostInFlight) {
      const next = await this.#next(mount, state, [...running.refills.values()])
      if (next === undefined || signal.aborted) return
      const refill = this.#refill(mount, state, { ...next, signal }).then((isMade) => {
        running.refills.delete(refill)
        // after a failure, the next look goes on
        return isMade ? this.#fill(mount, running, signal) : undefined
      })
      running.refills.set(refill, next.pool.name)
    }
  }

  /** Removes members that are not wanted, and returns what is to be made next. */
  async #next(mount: Mount, state: MountState, underway: readonly string[]): Promise<Refill | undefined> {
    const now = this.#parts.clock.now()
    const [members, pools] = [await state.pool.all(), await this.#poolsOf(mount, state)]
    const kept = pools.flatMap((pool) => newest(usableOf(pool, members, now), pool.size))
    await retire(
      members.filter((one) => !kept.includes(one)),
      state,
    )
    const lacking = pools.flatMap((pool) => {
      const { name, size, terms } = pool
      if (terms === undefined) return []
      const fresh = kept.filter(({ member }) => member.data.role === name && isFresh(member, terms, now))
      return fresh.length < size ? [{ pool, terms, lacks: size - fresh.length }] : []
    })
    const failures = await state.pool.failures()
    for (const role of failures.keys())
      if (!lacking.some(({ pool }) => pool.name === role)) await state.pool.noteFailure(role, undefined)
    const [most] = lacking
      .flatMap(({ pool, terms, lacks }) => {
        const failure = failureOf(pool, failures)
        const made = underway.filter((role) => role === pool.name).length
        const mayNot = failure !== undefined && (made > 0 || isPaused(failure, now, this.#times))
        return mayNot || made >= lacks ? [] : [{ pool, terms, failure, lacks: lacks - made }]
      })
      .toSorted((one, other) => other.lacks - one.lacks)
    return most
  }

  async #poolsOf(mount: Mount, state: MountState): Promise<Pool[]> {
    const where = { mount, systemTtl: this.#parts.systemTtl }
    return Promise.all(
      (await state.pooledRoles()).map(async ({ name, role }) => ({
        name,
        role,
        size: role.pool ?? 0,
        terms: await termsNow(name, role, state, where),
      })),
    )
  }

  /** Whether it was made. Never rejects. */
  async #refill(
    mount: Mount,
    state: MountState,
    { pool, terms, failure, signal }: Refill & { readonly signal: AbortSignal },
  ): Promise<boolean> {
    const { name } = pool
    try {
      const { provenMs } = this.#times
      await makeMember({ ...pool, terms, signal, provenMs }, { ...this.#parts, mount, state })
      if (failure !== undefined) await state.pool.noteFailure(name, undefined)
      return true
    } catch (err) {
      if (!signal.aborted) await this.#note(mount, state, { name, terms, failure, err })
      return false
    }
  }

  /** Backs off, and logs each cause once. */
  async #note(
    mount: Mount,
    state: MountState,
    {
      name,
      terms,
      failure,
      err,
    }: { name: string; terms: PoolTerms; failure: PoolFailure | undefined; err: unknown },
  ): Promise<void> {
    const { clock, log } = this.#parts
    const { againMs, longestPauseMs } = this.#times
    const tries = (failure?.tries ?? 0) + 1
    const error = (err instanceof ServiceError ? err.message : 'internal error').slice(0, longestError)
    const at = clock.now() + Math.min(longestPauseMs, againMs * 2 ** Math.min(tries - 1, 16))
    if (failure?.error !== error)
      log.warn(
        { event: 'cloud_pool_failed', err, mount: mount.path, namespace: mount.namespace, role: name },
        'could not make a cloud credential ahead; will retry',
      )
    await state.pool
      .noteFailure(name, { terms: terms.digest, tries, error, at })
      .catch((cause: unknown) => this.looks.failed(mount, cause))
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((one, other) => one + other, 0)

const usableOf = ({ name, terms }: Pool, members: readonly StoredMember[], now: number): StoredMember[] =>
  terms === undefined
    ? []
    : members.filter(({ member }) => member.data.role === name && isUsable(member, terms, now))

const newest = (members: readonly StoredMember[], most: number): StoredMember[] =>
  members.toSorted((one, other) => other.member.since - one.member.since).slice(0, most)

/** A failure of other terms says nothing about those of now. */
function failureOf(
  { name, terms }: Pool,
  failures: ReadonlyMap<string, PoolFailure>,
): PoolFailure | undefined {
  const failure = failures.get(name)
  return failure?.terms === terms?.digest ? failure : undefined
}

/** A longer pause means that the clock was set back. */
const isPaused = ({ at }: PoolFailure, now: number, { longestPauseMs }: typeof usualTimes): boolean =>
  now < at && at <= now + longestPauseMs
