import { fail, refuse } from '../../errors.ts'
import { KeyedMutex } from '../../lib/keyed-mutex.ts'
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
}

/**
 * Revokes leases through their engines. Deletes a record only after its engine succeeded, so an interrupted
 * revocation is repeated.
 */
export class LeaseRevoker {
  readonly #parts: LeaseRevokerParts
  /** Revocations in progress; each resolves to whether the lease no longer exists. */
  readonly #running = new Map<string, Promise<boolean>>()
  readonly #mutex = new KeyedMutex()
  readonly #calls = new Set<() => void>()
  #stopped = false

  constructor(parts: LeaseRevokerParts) {
    this.#parts = parts
  }

  /**
   * Revokes and deletes a lease. Joins a revocation in progress, and runs again if that one did nothing.
   * No-op if the lease no longer exists or `condition` returns false. If the engine fails, rejects with a
   * RevocationFailure and leaves the lease unchanged.
   */
  async revoke(ref: LeaseRef, condition: (lease: Lease) => boolean = () => true): Promise<void> {
    const key = leaseKey(ref)
    for (let running = this.#running.get(key); running !== undefined; running = this.#running.get(key))
      if (await running) return
    const revocation = this.runExclusive(ref, () => this.#revoke(ref, condition)).finally(() =>
      this.#running.delete(key),
    )
    this.#running.set(key, revocation)
    await revocation
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
    } finally {
      remembered?.dropped()
    }
  }

  /** Serializes renewals and revocations of a lease. */
  runExclusive<T>(ref: LeaseRef, work: () => Promise<T>): Promise<T> {
    return this.#mutex.runExclusive(leaseKey(ref), work)
  }

  async #revoke(ref: LeaseRef, condition: (lease: Lease) => boolean): Promise<boolean> {
    const stored = await this.#parts.records.read(ref)
    if (stored === undefined) return true
    if (!condition(stored.lease)) return false
    await this.revokeSecret(stored.lease)
    await this.#parts.records.remove(ref, stored)
    return true
  }

  /** Calls the engine's `revoke` within the time limit; does not touch the record. */
  async revokeSecret(lease: Lease): Promise<void> {
    try {
      await this.call(lease, (backend, signal) => backend.revoke(lease, signal))
    } catch (cause) {
      throw new RevocationFailure(cause)
    }
  }

  /** Calls the lease's engine. Throws `unavailable` at the time limit or when the server stops. */
  async call<T>(lease: Lease, call: (backend: LeaseBackend, signal: AbortSignal) => Promise<T>): Promise<T> {
    const backend = this.#parts.backendOf(lease.plugin)
    if (backend === undefined) throw refuse('missing', 'unsupported path')
    if (this.#stopped) throw fail('unavailable', 'the server is stopping')
    const limit = new AbortController()
    const { promise: late, reject } = Promise.withResolvers<never>()
    const giveUp = () => {
      const error = fail('unavailable', 'context deadline exceeded')
      limit.abort(error)
      reject(error)
    }
    const timer = setTimeout(giveUp, this.#parts.limitMs)
    this.#calls.add(giveUp)
    try {
      return await Promise.race([call(backend, limit.signal), late])
    } finally {
      clearTimeout(timer)
      this.#calls.delete(giveUp)
    }
  }

  /** Aborts all calls in progress and refuses new ones. */
  stop(): void {
    this.#stopped = true
    for (const giveUp of this.#calls) giveUp()
  }
}
