import { fail, refuse } from '../../errors.ts'
import { KeyedMutex } from '../../lib/concurrency/keyed-mutex.ts'
import type { Lease, LeaseRef } from './lease.ts'
import type { LeaseBackend } from './lease-backend.ts'
import { leaseKey } from './lease-keys.ts'
import type { LeaseRecords } from './lease-records.ts'

/**
 * An engine could not revoke a secret; `cause` is its error. All other errors are failures of the server
 * itself.
 */
export class RevocationFailure extends Error {
  override readonly name = 'RevocationFailure'

  constructor(cause: unknown) {
    super('a lease could not be revoked', { cause })
  }
}

export type LeaseRevokerParts = {
  readonly records: LeaseRecords
  backendOf(plugin: string): LeaseBackend | undefined
  /** Time limit of one call of a backend. */
  readonly limitMs: number
  /** Called after each attempt to revoke a lease. */
  onRevoked?(lease: Lease, outcome: 'ok' | 'failed' | 'forced'): void
}

/** A revocation in progress. Resolves to whether the lease no longer exists. `ended`: see `revoke`. */
type Revocation = { readonly done: Promise<boolean>; readonly ended: AbortSignal | undefined }

/**
 * Revokes leases through their engines. Deletes a record only after its engine succeeded, so an interrupted
 * revocation is repeated.
 */
export class LeaseRevoker {
  readonly #parts: LeaseRevokerParts
  readonly #running = new Map<string, Revocation>()
  readonly #mutex = new KeyedMutex()
  readonly #calls = new Set<() => void>()
  #stopped = false

  constructor(parts: LeaseRevokerParts) {
    this.#parts = parts
  }

  /**
   * Revokes and deletes a lease. Joins a revocation in progress, and runs again if that one did nothing.
   * No-op if the lease no longer exists or `condition` returns false. If the engine fails, rejects with a
   * RevocationFailure and leaves the lease unchanged. `ended` aborts the call of a background job.
   */
  async revoke(
    ref: LeaseRef,
    condition: (lease: Lease) => boolean = () => true,
    ended?: AbortSignal,
  ): Promise<void> {
    const key = leaseKey(ref)
    for (let running = this.#running.get(key); running !== undefined; running = this.#running.get(key))
      if (await wasRevoked(running)) return
    const done = this.runExclusive(ref, () => this.#revoke(ref, condition, ended)).finally(() =>
      this.#running.delete(key),
    )
    this.#running.set(key, { done, ended })
    await done
  }

  /**
   * Like `revoke`, but deletes the lease even if the engine fails. The engine may store what remains to be
   * revoked.
   */
  async force(ref: LeaseRef): Promise<void> {
    try {
      await this.revoke(ref)
    } catch (error) {
      if (!(error instanceof RevocationFailure)) throw error
      await this.#drop(ref)
    }
  }

  async #drop(ref: LeaseRef): Promise<void> {
    const { records, backendOf } = this.#parts
    const stored = await records.read(ref)
    if (stored === undefined) return
    const remembered = backendOf(stored.lease.plugin)?.dropping?.(stored.lease)
    try {
      await records.remove(ref, stored, remembered?.alongside)
      this.#parts.onRevoked?.(stored.lease, 'forced')
    } finally {
      await remembered?.dropped()
    }
  }

  /** Serializes renewals and revocations of a lease. */
  runExclusive<T>(ref: LeaseRef, work: () => Promise<T>): Promise<T> {
    return this.#mutex.runExclusive(leaseKey(ref), work)
  }

  async #revoke(
    ref: LeaseRef,
    condition: (lease: Lease) => boolean,
    ended: AbortSignal | undefined,
  ): Promise<boolean> {
    const stored = await this.#parts.records.read(ref)
    if (stored === undefined) return true
    if (!condition(stored.lease)) return false
    await this.revokeSecret(stored.lease, ended)
    await this.#parts.records.remove(ref, stored)
    return true
  }

  /** Calls the engine's `revoke` within the time limit; does not touch the record. */
  async revokeSecret(lease: Lease, ended?: AbortSignal): Promise<void> {
    try {
      await this.call(lease, (backend, signal) => backend.revoke(lease, signal), ended)
      this.#parts.onRevoked?.(lease, 'ok')
    } catch (cause) {
      this.#parts.onRevoked?.(lease, 'failed')
      throw new RevocationFailure(cause)
    }
  }

  /**
   * Calls the lease's engine. Throws `unavailable` at the time limit, when `ended` is aborted or when the
   * server stops.
   */
  async call<T>(
    lease: Lease,
    call: (backend: LeaseBackend, signal: AbortSignal) => Promise<T>,
    ended?: AbortSignal,
  ): Promise<T> {
    const backend = this.#parts.backendOf(lease.plugin)
    if (backend === undefined) throw refuse('missing', 'unsupported path')
    if (this.#stopped || ended?.aborted === true) throw fail('unavailable', 'the server is stopping')
    const limit = new AbortController()
    const { promise: late, reject } = Promise.withResolvers<never>()
    const giveUp = () => {
      const error = fail('unavailable', 'context deadline exceeded')
      limit.abort(error)
      reject(error)
    }
    const timer = setTimeout(giveUp, this.#parts.limitMs)
    this.#calls.add(giveUp)
    ended?.addEventListener('abort', giveUp)
    try {
      return await Promise.race([call(backend, limit.signal), late])
    } finally {
      clearTimeout(timer)
      this.#calls.delete(giveUp)
      ended?.removeEventListener('abort', giveUp)
    }
  }

  /** Aborts all calls in progress and refuses new ones. */
  stop(): void {
    this.#stopped = true
    for (const giveUp of this.#calls) giveUp()
  }
}

/** Whether a revocation in progress deleted the lease. False if it belonged to a job that has ended. */
async function wasRevoked({ done, ended }: Revocation): Promise<boolean> {
  try {
    return await done
  } catch (error) {
    if (ended?.aborted === true) return false
    throw error
  }
}
