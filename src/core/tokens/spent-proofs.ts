import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import { type KeyedHash, openKeyedHashes } from '../keyed-hash.ts'

/** What a login was made with, where that may be used once. */
export type OneTimeProof = {
  /** The same at each use of it, and of nothing else at its mount. Only a keyed hash of it is stored. */
  readonly of: string
  /** When it ends by what it says itself, milliseconds since the epoch; what the roles of its mount tolerate comes on top. */
  readonly endsAt: number
  /** When it was issued by what it says itself, likewise. */
  readonly issuedAt?: number
}

export type SpentProofsParts = { readonly view: View; readonly random: Random; readonly clock: Clock }

const root = 'proof/spent/'
const endRoot = 'proof/end/'
/** How much longer a proof is remembered than it could be accepted. */
const spareMs = 60_000
const pageSize = 1000
/** As far as a time in a key can reach. */
const lastTime = 10 ** 15 - 1

/**
 * The proofs that were used, each in two records: one that can be there once, and one that lists it by its end. They are written with the token of the
 * login, all or nothing, so of two uses one wins wherever they come in. docs/contract/jwt.md#once-only.
 */
export class SpentProofs {
  readonly #parts: SpentProofsParts
  readonly #hash: KeyedHash

  private constructor(parts: SpentProofsParts, hash: KeyedHash) {
    this.#parts = parts
    this.#hash = hash
  }

  static async open(parts: SpentProofsParts): Promise<SpentProofs> {
    return new SpentProofs(parts, (await openKeyedHashes(parts.view, parts.random, 'proof/keys', ['proof'])).proof)
  }

  /** What to write with the token; the whole write is refused when the proof was used before. `mount` is the uuid of its mount. */
  entriesOf(mount: string, proof: OneTimeProof): ViewEntry[] {
    const id = this.#idOf(proof)
    return [
      { key: `${root}${mount}/${id}`, value: 1, expect: 'absent' },
      { key: `${endRoot}${mount}/${paddedTime(proof.endsAt)}/${id}`, value: 1 },
    ]
  }

  /**
   * Whether it had ended before the clock was set back: it may have been used, and forgotten since. One that was issued after the step by a provider
   * whose clock is right is good.
   */
  hadEnded({ endsAt, issuedAt = 0 }: OneTimeProof): boolean {
    return (this.#parts.clock.stepsBack ?? []).some(({ before, after }) => endsAt < before && issuedAt < after)
  }

  async isSpent(mount: string, proof: OneTimeProof): Promise<boolean> {
    return this.hadEnded(proof) || (await this.#parts.view.get(`${root}${mount}/${this.#idOf(proof)}`)) !== undefined
  }

  #idOf({ of }: OneTimeProof): string {
    return this.#hash(of).toString('base64url')
  }

  /** Forgets those that no role can accept any more. `toleranceOf` gives the milliseconds that the roles of a mount accept a proof beyond its end. */
  async sweep(toleranceOf: (mount: string) => Promise<number>): Promise<void> {
    for (let after: string | undefined; ; ) {
      const [first] = await this.#parts.view.listKeys(endRoot, { limit: 1, ...(after === undefined ? {} : { after }) })
      if (first === undefined) return
      const mount = mountOf(first)
      if (this.#isOver(first, 0)) await this.#sweepMount(mount, await toleranceOf(mount))
      // behind all times of this mount
      after = `${endRoot}${mount}/~`
    }
  }

  async #sweepMount(mount: string, toleranceMs: number): Promise<void> {
    const { view } = this.#parts
    for (;;) {
      const keys = await view.listKeys(`${endRoot}${mount}/`, { limit: pageSize })
      const over = keys.filter((key) => this.#isOver(key, toleranceMs))
      if (over.length > 0) {
        await view.write(
          over.flatMap((key) => [
            { key, value: undefined },
            { key: `${root}${mount}/${key.slice(key.lastIndexOf('/') + 1)}`, value: undefined },
          ]),
        )
      }
      if (over.length < pageSize) return
      await nextTurn()
    }
  }

  #isOver(key: string, toleranceMs: number): boolean {
    return timeOf(key) + toleranceMs + spareMs < this.#parts.clock.now()
  }
}

// proof/end/<mount>/<time>/<id>
const paddedTime = (time: number): string => String(Math.min(lastTime, Math.max(0, Math.trunc(time)))).padStart(15, '0')
const mountOf = (key: string): string => key.slice(endRoot.length, key.indexOf('/', endRoot.length))
const timeOf = (key: string): number => Number(key.split('/').at(-2))
