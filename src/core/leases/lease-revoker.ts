import { fail, refuse } from '../../errors.ts'
import { Turns } from '../turns.ts'
import type { Lease, LeaseRef } from './lease.ts'
import type { LeaseBackend } from './lease-backend.ts'
import { leaseKey } from './lease-keys.ts'
import type { LeaseRecords } from './lease-records.ts'

/** An engine did not take a secret back; `cause` is what it threw. Everything else that is thrown beside it is a failure of the server's own. */
export class RevocationFailure extends Error {
  override readonly name = 'RevocationFailure'

  constructor(cause: unknown) {
    super('a lease could not be revoked', { cause })
  }
}

export type LeaseRevokerParts = {
  readonly records: LeaseRecords
  backendOf(plugin: string): LeaseBackend | undefined
  /** Time one call of a backend may take. */
  readonly limitMs: number
}

/** Asks engines to take secrets back. A record goes only once its engine agreed: what is cut off in between is asked again. */
export class LeaseRevoker {
  readonly #parts: LeaseRevokerParts
  /** Whether the lease is gone at their end. */
  readonly #running = new Map<string, Promise<boolean>>()
  readonly #turns = new Turns()
  readonly #calls = new Set<() => void>()
  #stopped = false

  constructor(parts: LeaseRevokerParts) {
    this.#parts = parts
  }

  /**
   * Revokes a lease and deletes it; joins a revocation under way, and goes on by itself when that one found nothing to do. Nothing happens when it is gone,
   * or is not as `still` wants it. Rejects with a RevocationFailure when the engine refuses; then the lease is as it was.
   */
  async revoke(ref: LeaseRef, still: (lease: Lease) => boolean = () => true): Promise<void> {
    const key = leaseKey(ref)
    for (let running = this.#running.get(key); running !== undefined; running = this.#running.get(key)) if (await running) return
    const revocation = this.inTurn(ref, () => this.#revoke(ref, still)).finally(() => this.#running.delete(key))
    this.#running.set(key, revocation)
    await revocation
  }

  /** The same, but the lease is deleted whatever the engine says; what it owned the engine may remember. */
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

  /** Renewals and revocations of one lease wait for each other. */
  inTurn<T>(ref: LeaseRef, work: () => Promise<T>): Promise<T> {
    return this.#turns.take(leaseKey(ref), work)
  }

  async #revoke(ref: LeaseRef, still: (lease: Lease) => boolean): Promise<boolean> {
    const stored = await this.#parts.records.read(ref)
    if (stored === undefined) return true
    if (!still(stored.lease)) return false
    await this.ask(stored.lease)
    await this.#parts.records.remove(ref, stored)
    return true
  }

  /** Asks the engine, within the time limit, and changes nothing. */
  async ask(lease: Lease): Promise<void> {
    try {
      await this.call(lease, (backend, signal) => backend.revoke(lease, signal))
    } catch (cause) {
      throw new RevocationFailure(cause)
    }
  }

  /** One call of the lease's engine, which is given up after the time limit. */
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

  /** Gives up all calls under way and begins none any more: the server stops. */
  stop(): void {
    this.#stopped = true
    for (const giveUp of this.#calls) giveUp()
  }
}
