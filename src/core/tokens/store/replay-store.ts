import type { Clock } from '../../../lib/system/clock.ts'
import type { Random } from '../../../lib/system/random.ts'
import type { View, ViewEntry } from '../../barrier/view.ts'
import { foldersOf } from '../../records/key-level.ts'
import { type KeyedHash, openKeyedHashes } from '../../records/keyed-hash.ts'

/** A login proof, such as a JWT, that may be used only once. */
export type OneTimeProof = {
  /** Identifies the proof within its mount. Only a keyed hash of it is stored. */
  readonly of: string
  /** Its own expiry time, in milliseconds since the epoch, without the leeway of the mount's roles. */
  readonly endsAt: number
  /** Its own issue time, in milliseconds since the epoch. */
  readonly issuedAt?: number
}

export type ReplayStoreParts = { readonly view: View; readonly random: Random; readonly clock: Clock }

const root = 'proof/spent/'
const endRoot = 'proof/end/'
/** How long a proof is stored after it can no longer be accepted. */
const marginMs = 60_000
/** Greatest time that fits in a key. */
const lastTime = 10 ** 15 - 1

/**
 * Used proofs. Each has two records: one that only one write can create, and one ordered by expiry time. Both
 * are written atomically with the login's token, so only one of two concurrent uses succeeds, even on
 * different replicas. docs/contract/jwt.md#once-only
 */
export class ReplayStore {
  readonly #parts: ReplayStoreParts
  readonly #hash: KeyedHash

  private constructor(parts: ReplayStoreParts, hash: KeyedHash) {
    // nobody copies proofs
    this.#parts = { ...parts, view: parts.view.view('', { isUncopied: true }) }
    this.#hash = hash
  }

  static async open(parts: ReplayStoreParts): Promise<ReplayStore> {
    return new ReplayStore(
      parts,
      (await openKeyedHashes(parts.view, parts.random, 'proof/keys', ['proof'])).proof,
    )
  }

  /** Entries to write with the token; the write fails if the proof was used before. `mount` is a UUID. */
  entriesOf(mount: string, proof: OneTimeProof): ViewEntry[] {
    const id = this.#idOf(proof)
    return [
      { key: `${root}${mount}/${id}`, value: 1, expect: 'absent', isUncopied: true },
      { key: `${endRoot}${mount}/${paddedTime(proof.endsAt)}/${id}`, value: 1, isUncopied: true },
    ]
  }

  /**
   * Whether the proof had expired before the clock was set back; it may have been used, and its records
   * deleted. False for a proof that was issued after the step.
   */
  hadExpired({ endsAt, issuedAt = 0 }: OneTimeProof): boolean {
    return (this.#parts.clock.stepsBack ?? []).some(
      ({ before, after }) => endsAt < before && issuedAt < after,
    )
  }

  async isSpent(mount: string, proof: OneTimeProof): Promise<boolean> {
    return (
      this.hadExpired(proof) ||
      (await this.#parts.view.get(`${root}${mount}/${this.#idOf(proof)}`)) !== undefined
    )
  }

  #idOf({ of }: OneTimeProof): string {
    return this.#hash(of, 'base64url')
  }

  /**
   * Deletes the records of proofs that no role accepts any more. `toleranceOf` returns for how many
   * milliseconds after its expiry the roles of a mount may accept a proof.
   */
  async sweep(toleranceOf: (mount: string) => Promise<number>): Promise<void> {
    for await (const { name: mount, key } of foldersOf(this.#parts.view, endRoot))
      if (this.#isExpired(key, 0)) await this.#sweepMount(mount, await toleranceOf(mount))
  }

  async #sweepMount(mount: string, toleranceMs: number): Promise<void> {
    const { view } = this.#parts
    for await (const page of view.keyPages(`${endRoot}${mount}/`)) {
      const expired = page.filter((key) => this.#isExpired(key, toleranceMs))
      const spent = expired.map((key) => `${root}${mount}/${key.slice(key.lastIndexOf('/') + 1)}`)
      if (expired.length > 0)
        await view.write([...expired, ...spent].map((key) => ({ key, value: undefined })))
      if (expired.length < page.length) return
    }
  }

  #isExpired(key: string, toleranceMs: number): boolean {
    return timeOf(key) + toleranceMs + marginMs < this.#parts.clock.now()
  }
}

// proof/end/<mount>/<time>/<id>
const paddedTime = (time: number): string =>
  String(Math.min(lastTime, Math.max(0, Math.trunc(time)))).padStart(15, '0')
const timeOf = (key: string): number => Number(key.split('/').at(-2))
