import { timingSafeEqual } from 'node:crypto'
import { refuse } from '../../errors.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { newKey } from '../barrier/root-key.ts'
import type { SealRevision } from '../barrier/seal-config.ts'
import type { HeldKey, ShareBackup } from './held-key.ts'
import { issueShares, readKeyPlan } from './key-plan.ts'
import {
  byFingerprint,
  checkRequest,
  noRekey,
  outcomeOf,
  type RekeyPlan,
  type RekeyRequest,
  type RekeyResult,
  type RekeyStatus,
  resultOf,
  type VerificationStatus,
} from './rekey-answers.ts'
import { ShareProgress } from './share-progress.ts'

export type RekeyParts = { readonly held: HeldKey; readonly clock: Clock; readonly random: Random }

type Attempt = RekeyPlan & {
  /** Of the seal, when the rekey began. */
  readonly revision: SealRevision
  /** The new key, once it waits for its verification. */
  made?: { readonly key: Buffer; readonly backup: ShareBackup | undefined }
}

/**
 * Replaces a key that people hold: the holders of the old one authorize it share by share. One at a time; it
 * ends after a while without progress. docs/contract/seal.md#rekey
 */
export class Rekey implements Disposable {
  readonly #parts: RekeyParts
  /** The shares of the old key, and then those for the verification. */
  readonly #progress: ShareProgress
  #attempt: Attempt | undefined

  constructor(parts: RekeyParts) {
    this.#parts = parts
    this.#progress = new ShareProgress({ ...parts, onExpired: () => this.#end() })
  }

  async status(): Promise<RekeyStatus> {
    const required = (await this.#parts.held.counts())?.threshold ?? 0
    const attempt = this.#current()
    if (attempt === undefined) return { ...noRekey, required }
    const { nonce, plan, made } = attempt
    return {
      nonce,
      started: true,
      t: plan.threshold,
      n: plan.shares,
      required,
      progress: made === undefined ? this.#progress.count : 0,
      ...outcomeOf(attempt),
      ...(made === undefined ? {} : { verification_nonce: this.#progress.nonce }),
    }
  }

  /** Whether there is no key yet whose holders could authorize another. */
  async isFirst(): Promise<boolean> {
    return (await this.#parts.held.counts()) === undefined
  }

  /** Begins a rekey. Nobody can authorize the first key, so its shares are returned. Throws a refusal. */
  start(request: RekeyRequest): Promise<RekeyResult | undefined> {
    return this.#progress.exclusively(async () => {
      const { held, clock } = this.#parts
      const revision = await held.revision()
      const counts = await held.counts()
      checkRequest(request)
      const plan = await readKeyPlan(request, held.planPrefix, clock.now())
      if (this.#current() !== undefined) throw refuse('invalid', 'rekey already in progress')
      this.#progress.begin()
      const attempt: Attempt = { nonce: this.#progress.nonce, plan, request, revision }
      this.#attempt = attempt
      return counts === undefined ? await this.#issueFirst(attempt) : undefined
    })
  }

  /** Takes over a share of the old key; the last one gets the new shares. Throws a refusal. */
  update(share: Buffer, nonce: string): Promise<RekeyResult | undefined> {
    return this.#progress.offered(share, async () => {
      const counts = await this.#parts.held.counts()
      const attempt = this.#current()
      if (attempt === undefined || counts === undefined) throw refuse('invalid', 'no rekey in progress')
      if (attempt.made !== undefined) {
        const text =
          'rekey operation already finished; verification must be performed; nonce for the verification operation is'
        throw refuse('invalid', `${text} ${quoted(this.#progress.nonce)}`)
      }
      this.#add(share, { nonce, name: 'rekey' })
      if (this.#progress.count < counts.threshold) return undefined
      await this.#progress.authorize(this.#parts.held.matches, 'rekey failed')
      return await this.#issue(attempt)
    })
  }

  /** Forgets the rekey in progress, if any; the old key stays. */
  cancel(): Promise<void> {
    return this.#progress.exclusively(async () => {
      await this.#parts.held.counts()
      this.#end()
    })
  }

  async verification(): Promise<VerificationStatus> {
    await this.#parts.held.counts()
    const attempt = this.#current()
    if (attempt === undefined) throw refuse('invalid', 'no rekey configuration found')
    const { plan, made } = attempt
    const isWaiting = made !== undefined
    return {
      nonce: isWaiting ? this.#progress.nonce : '',
      started: isWaiting,
      t: plan.threshold,
      n: plan.shares,
      progress: isWaiting ? this.#progress.count : 0,
    }
  }

  /** Takes over a share of the new key; the last one makes it valid. Throws a refusal. */
  verify(share: Buffer, nonce: string): Promise<{ nonce: string; complete: true } | undefined> {
    return this.#progress.offered(share, async () => {
      await this.#parts.held.counts()
      const attempt = this.#current()
      if (attempt === undefined) throw refuse('invalid', 'no rekey in progress')
      const { made, plan } = attempt
      if (made === undefined) throw refuse('invalid', 'no rekey verification in progress')
      this.#add(share, { nonce, name: 'verify' })
      if (this.#progress.count < plan.threshold) return undefined
      const key = await this.#progress.combine()
      try {
        if (key === undefined || !timingSafeEqual(key, made.key)) {
          this.#progress.begin()
          throw refuse('invalid', 'rekey verification failed; incorrect key shares supplied')
        }
        await this.#replace(attempt, { key, backup: made.backup })
      } finally {
        key?.fill(0)
      }
      this.#end()
      return { nonce, complete: true }
    })
  }

  /** Forgets the shares for the verification. */
  restartVerification(): Promise<VerificationStatus> {
    return this.#progress.exclusively(async () => {
      if (this.#current()?.made !== undefined) this.#progress.begin()
      return await this.verification()
    })
  }

  /** Throws a refusal if there is none. */
  async backup(): Promise<ShareBackup> {
    await this.#parts.held.counts()
    const backup = await this.#parts.held.backup()
    if (backup === undefined) throw refuse('invalid', 'no backed-up keys found')
    return backup
  }

  async deleteBackup(): Promise<void> {
    await this.#parts.held.counts()
    await this.#parts.held.deleteBackup()
  }

  [Symbol.dispose](): void {
    this.#end()
    this.#progress[Symbol.dispose]()
  }

  /** The rekey in progress, unless it has expired. */
  #current(): Attempt | undefined {
    return this.#progress.nonce === '' ? undefined : this.#attempt
  }

  #add(share: Buffer, { nonce, name }: { nonce: string; name: 'rekey' | 'verify' }): void {
    if (nonce !== this.#progress.nonce)
      throw refuse(
        'invalid',
        `incorrect nonce supplied; nonce for this ${name} operation is ${quoted(this.#progress.nonce)}`,
      )
    if (!this.#progress.add(share))
      throw refuse('invalid', `given key has already been provided during this ${name} operation`)
  }

  /** Nobody could go on with a first key that was not stored. */
  async #issueFirst(attempt: Attempt): Promise<RekeyResult> {
    try {
      return await this.#issue(attempt)
    } catch (error) {
      this.#end()
      throw error
    }
  }

  async #issue(attempt: Attempt): Promise<RekeyResult> {
    const { random } = this.#parts
    const { plan, request, nonce } = attempt
    const key = newKey(random)
    let isHeld = false
    try {
      const issued = await issueShares(key, plan)
      const backup = request.backup ? { nonce, keys: byFingerprint(issued, plan) } : undefined
      if (request.requiresVerification) {
        this.#progress.begin()
        attempt.made = { key, backup }
        isHeld = true
        return { ...resultOf(attempt, issued), verification_nonce: this.#progress.nonce }
      }
      await this.#replace(attempt, { key, backup })
      this.#end()
      return resultOf(attempt, issued)
    } finally {
      if (!isHeld) key.fill(0)
    }
  }

  /** Throws a refusal, and the rekey ends, if another server has replaced the key since it began. */
  async #replace(
    { plan, revision }: Attempt,
    made: { key: Buffer; backup: ShareBackup | undefined },
  ): Promise<void> {
    if (await this.#parts.held.replace({ ...made, counts: plan, expect: revision })) return
    this.#end()
    throw refuse('invalid', 'rekey aborted: the key was replaced meanwhile')
  }

  #end(): void {
    this.#attempt?.made?.key.fill(0)
    this.#attempt = undefined
    this.#progress.discard()
  }
}
