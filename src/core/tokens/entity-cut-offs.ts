import type { View } from '../barrier/view.ts'

/** The stored cut-offs of an entity: their number, and whether the tokens they ended have been deleted. */
type Stored = { readonly count: number; readonly swept: boolean }

/** `requested` is greater than `stored` while a cut-off is being written. */
type CutOff = { requested: number; stored: number; swept: boolean }

const prefix = 'entity-cut-off/'
const pageSize = 1000

/**
 * Cut-offs: each one ends all tokens of an entity. A cut-off is a count, not a time, so it does not depend on
 * the clock: a token stores how many cut-offs its entity had when the token was issued, and becomes invalid
 * once the entity has more. All counts are in memory; operators cut off one entity at a time, so there are
 * few.
 */
export class EntityCutOffs {
  readonly #view: View
  readonly #byEntity = new Map<string, CutOff>()

  private constructor(view: View) {
    this.#view = view
  }

  static async open(view: View): Promise<EntityCutOffs> {
    const cutOffs = new EntityCutOffs(view)
    for (let after: string | undefined; ; ) {
      const page = await view.list(prefix, { limit: pageSize, ...(after === undefined ? {} : { after }) })
      for (const { key, value } of page) {
        const { count, swept } = readCutOff(value)
        cutOffs.#byEntity.set(key.slice(prefix.length), { requested: count, stored: count, swept })
      }
      after = page.at(-1)?.key
      if (after === undefined) return cutOffs
    }
  }

  /** Number of cut-offs of an entity; tokens with a smaller number are invalid. */
  of(entityId: string): number {
    return this.#byEntity.get(entityId)?.requested ?? 0
  }

  /**
   * The number for a token issued now. It leaves out a cut-off that is being written, which ends this token
   * too.
   */
  ofNewToken(entityId: string): number {
    return this.#byEntity.get(entityId)?.stored ?? 0
  }

  /**
   * Invalidates, from the call on, every token of these entities that is issued before the promise resolves.
   * The cut-off is durable when the promise resolves.
   */
  async set(entityIds: readonly string[]): Promise<void> {
    await Promise.all(entityIds.map((entityId) => this.#set(entityId)))
  }

  async #set(entityId: string): Promise<void> {
    const known = this.#byEntity.get(entityId) ?? { requested: 0, stored: 0, swept: true }
    known.requested += 1
    this.#byEntity.set(entityId, known)
    const after = await this.#view.update(prefix + entityId, (current): Stored => {
      const { count } = current === undefined ? { count: 0 } : readCutOff(current)
      return { count: count + 1, swept: false }
    })
    known.stored = Math.max(known.stored, readCutOff(after).count)
    known.requested = Math.max(known.requested, known.stored)
    known.swept = false
  }

  /** Entities that may still have invalid tokens in storage, with the number of their last cut-off. */
  unswept(): ReadonlyMap<string, number> {
    return new Map(
      [...this.#byEntity]
        .filter(([, { swept }]) => !swept)
        .map(([entityId, { stored }]) => [entityId, stored]),
    )
  }

  /** Records that the tokens ended by these cut-offs are deleted. Skips entities with a newer cut-off. */
  async markSwept(cutOffs: ReadonlyMap<string, number>): Promise<void> {
    for (const [entityId, count] of cutOffs) {
      const after = await this.#view.update(prefix + entityId, (current): Stored => {
        const stored = readCutOff(current)
        return stored.count === count ? { ...stored, swept: true } : stored
      })
      const known = this.#byEntity.get(entityId)
      if (known !== undefined && known.requested === count) known.swept = readCutOff(after).swept
    }
  }
}

function readCutOff(value: unknown): Stored {
  const { count, swept }: Partial<Record<keyof Stored, unknown>> =
    typeof value === 'object' && value !== null ? value : {}
  if (typeof count !== 'number' || typeof swept !== 'boolean')
    throw new Error('a stored cut-off has an invalid shape')
  return { count, swept }
}
