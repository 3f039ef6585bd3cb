import type { View } from '../barrier/view.ts'

/** A stored cut-off: how many there were, and whether the tokens it ended are gone from the store. */
type Stored = { readonly count: number; readonly swept: boolean }

/** `asked` runs ahead of `stored` while a cut-off is being written. */
type CutOff = { asked: number; stored: number; swept: boolean }

const prefix = 'entity-cut-off/'
const pageSize = 1000

/**
 * When all tokens of a person were ended. They are counted, not timed: a token carries the number of cut-offs its entity had when it was issued, and one with
 * fewer than there are now is no longer valid, whatever a clock said. All are in memory: they are made by hand, one person at a time.
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
        cutOffs.#byEntity.set(key.slice(prefix.length), { asked: count, stored: count, swept })
      }
      after = page.at(-1)?.key
      if (after === undefined) return cutOffs
    }
  }

  /** Cut-offs of an entity; its tokens with a smaller number are not valid. 0: none ever. */
  of(entityId: string): number {
    return this.#byEntity.get(entityId)?.asked ?? 0
  }

  /** The number a token issued now carries: that of a cut-off still being written is not reached by it, so it ends with the rest. */
  ofNewToken(entityId: string): number {
    return this.#byEntity.get(entityId)?.stored ?? 0
  }

  /** Ends every token of these entities issued until this resolves; it is durable then. They are refused from the call on. */
  async set(entityIds: readonly string[]): Promise<void> {
    await Promise.all(entityIds.map((entityId) => this.#set(entityId)))
  }

  async #set(entityId: string): Promise<void> {
    const known = this.#byEntity.get(entityId) ?? { asked: 0, stored: 0, swept: true }
    known.asked += 1
    this.#byEntity.set(entityId, known)
    const after = await this.#view.update(prefix + entityId, (current): Stored => {
      const { count } = current === undefined ? { count: 0 } : readCutOff(current)
      return { count: count + 1, swept: false }
    })
    known.stored = Math.max(known.stored, readCutOff(after).count)
    known.asked = Math.max(known.asked, known.stored)
    known.swept = false
  }

  /** Entities whose ended tokens may still be in the store, with the number of the last cut-off. */
  unswept(): ReadonlyMap<string, number> {
    return new Map([...this.#byEntity].filter(([, { swept }]) => !swept).map(([entityId, { stored }]) => [entityId, stored]))
  }

  /** Says that the tokens ended by these cut-offs are gone; one that was set in the meantime stays as it is. */
  async markSwept(cutOffs: ReadonlyMap<string, number>): Promise<void> {
    for (const [entityId, count] of cutOffs) {
      const after = await this.#view.update(prefix + entityId, (current): Stored => {
        const stored = readCutOff(current)
        return stored.count === count ? { ...stored, swept: true } : stored
      })
      const known = this.#byEntity.get(entityId)
      if (known !== undefined && known.asked === count) known.swept = readCutOff(after).swept
    }
  }
}

function readCutOff(value: unknown): Stored {
  const { count, swept }: Partial<Record<keyof Stored, unknown>> = typeof value === 'object' && value !== null ? value : {}
  if (typeof count !== 'number' || typeof swept !== 'boolean') throw new Error('a stored cut-off has not the shape of one')
  return { count, swept }
}
