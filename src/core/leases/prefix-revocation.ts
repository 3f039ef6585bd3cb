import { refuse } from '../../errors.ts'
import { readPages } from '../../lib/data/pages.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { View } from '../barrier/view.ts'
import { authPrefix } from '../mounts/mount-path.ts'
import { isUnreadable } from '../records/stored-record.ts'
import type { LeaseRef } from './lease.ts'
import { failureText } from './lease-backend.ts'
import { leaseKey, leasePrefix, readRef } from './lease-keys.ts'
import type { LeaseRecords } from './lease-records.ts'
import { type LeaseRevoker, RevocationFailure } from './lease-revoker.ts'
import { endedNow, queuedNow } from './retry.ts'
import type { TokenLeases } from './token-leases.ts'

export type PrefixRevocationParts = {
  readonly view: View
  readonly clock: Clock
  readonly records: LeaseRecords
  readonly revoker: LeaseRevoker
  readonly tokenLeases: TokenLeases
  revokeToken(accessor: string): Promise<unknown>
}

/**
 * `sync`: revoked now. `async`: ended now, revoked in the background. `end`: like `async`, but leases that
 * have already ended keep their retries. `force`: deleted even if the engine fails.
 */
export type RevocationMode = 'sync' | 'async' | 'end' | 'force'

/** Leases revoked concurrently. */
const atOnce = 32

/** Revokes all leases below a path. docs/contract/leases.md#expiry-and-revocation */
export class PrefixRevocation {
  readonly #parts: PrefixRevocationParts

  constructor(parts: PrefixRevocationParts) {
    this.#parts = parts
  }

  /** Revokes the lease with exactly this id or, if there is none, all leases below `<prefix>/`. */
  async revoke(namespace: string, prefix: string, mode: RevocationMode): Promise<void> {
    const { records, tokenLeases, revokeToken } = this.#parts
    const ref = { namespace, id: prefix }
    const token = tokenLeases.isTokenLease(prefix) ? await tokenLeases.find(ref) : undefined
    if (token !== undefined) await revokeToken(token.accessor)
    else if ((await records.find(ref)) !== undefined)
      await this.#revokePage([ref], mode, { before: 0, total: 1 })
    else await this.revokeBelow(namespace, `${prefix}/`, mode)
  }

  /**
   * Revokes all leases below a prefix that is empty or ends in a slash. Throws at the first failure; the
   * error gives the progress.
   */
  async revokeBelow(namespace: string, prefix: string, mode: RevocationMode): Promise<void> {
    if (prefix.startsWith(authPrefix)) {
      await this.#revokeTokens(namespace, prefix)
      return
    }
    const base = leaseKey({ namespace, id: prefix })
    const total = mode === 'sync' ? await this.#countBelow(base) : 0
    let before = 0
    const pages = readPages(
      (range) => this.#parts.view.listKeys(base, range),
      (key) => key,
      { size: atOnce },
    )
    for await (const page of pages) {
      const refs = page.map((key) => readRef(key.slice(leasePrefix.length)))
      await this.#revokePage(refs, mode, { before, total: Math.max(total, before + refs.length) })
      before += refs.length
    }
  }

  async #revokeTokens(namespace: string, prefix: string): Promise<void> {
    let accessors: string[] = []
    const revoke = async () => {
      const outcomes = await Promise.allSettled(
        accessors.map((accessor) => this.#parts.revokeToken(accessor)),
      )
      accessors = []
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    }
    for await (const { token } of this.#parts.tokenLeases.under(namespace, prefix)) {
      accessors.push(token.accessor)
      if (accessors.length === atOnce) await revoke()
    }
    await revoke()
  }

  async #countBelow(base: string): Promise<number> {
    let count = 0
    for await (const page of this.#parts.view.keyPages(base)) count += page.length
    return count
  }

  async #revokePage(
    refs: readonly LeaseRef[],
    mode: RevocationMode,
    { before, total }: { before: number; total: number },
  ): Promise<void> {
    const { records, revoker, clock } = this.#parts
    const outcomes = await Promise.allSettled(
      refs.map((ref) => {
        if (mode === 'async') return records.change(ref, (lease) => queuedNow(lease, clock.now()))
        if (mode === 'end') return records.change(ref, (lease) => endedNow(lease, clock.now()))
        return mode === 'force' ? revoker.force(ref) : revoker.revoke(ref)
      }),
    )
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') continue
      const error: unknown = outcome.reason
      if (mode === 'end' && isUnreadable(error)) continue
      if (!(error instanceof RevocationFailure)) throw error
      const text = `failed to revoke "${refs[index]?.id}" (${before + index + 1} / ${total}): failed to revoke entry: ${failureText(error.cause)}`
      throw refuse('invalid', text, { cause: error })
    }
  }
}
