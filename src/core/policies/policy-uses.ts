import type { Clock } from '../../lib/system/clock.ts'
import type { AclOperation } from './acl.ts'

/** What holders of these policies have asked for. */
export type PolicyUse = {
  /** Of the token. */
  readonly namespace: string
  /** Of the token alone. */
  readonly policies: readonly string[]
  /** Empty without one. */
  readonly entity: string
  readonly operation: AclOperation
  /** Relative to the namespace of the token. */
  readonly path: string
}

/** `last`: milliseconds since the epoch. */
export type CountedUse = PolicyUse & { readonly count: number; readonly last: number }

export const keptDays = 30
/** What would take more characters is not kept. */
const longest = 2_048

/**
 * Counts what callers have asked for, in memory: the least recent goes when there are too many.
 * docs/contract/what-if.md#policies
 */
export class PolicyUses {
  readonly #most: number
  readonly #clock: Clock
  readonly #since: number
  readonly #uses = new Map<string, CountedUse>()

  /** `most`: 0 counts nothing. */
  constructor(most: number, clock: Clock) {
    this.#most = most
    this.#clock = clock
    this.#since = clock.now()
  }

  get isOn(): boolean {
    return this.#most > 0
  }

  /** From when on all that fits is counted, in milliseconds since the epoch. */
  get since(): number {
    return Math.max(this.#since, this.#oldest())
  }

  note(use: PolicyUse): void {
    const key = JSON.stringify([use.namespace, use.entity, use.operation, use.path, use.policies])
    if (!this.isOn || key.length > longest) return
    const count = (this.#uses.get(key)?.count ?? 0) + 1
    // the most recent is the last one
    this.#uses.delete(key)
    this.#uses.set(key, { ...use, count, last: this.#clock.now() })
    const [first] = this.#uses.keys()
    if (first !== undefined && this.#uses.size > this.#most) this.#uses.delete(first)
  }

  recent(): CountedUse[] {
    const oldest = this.#oldest()
    for (const [key, { last }] of this.#uses) {
      if (last >= oldest) break
      this.#uses.delete(key)
    }
    return [...this.#uses.values()]
  }

  #oldest(): number {
    return this.#clock.now() - keptDays * 86_400_000
  }
}
