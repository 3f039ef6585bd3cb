import { z } from 'zod'
import type { View } from '../../barrier/view.ts'
import { ifReadable, recordReader } from '../../records/stored-record.ts'

/** The stored cut-offs of an entity: their number, and whether the tokens they ended have been deleted. */
const storedCutOff = z.object({ count: z.number(), swept: z.boolean() })
type Stored = z.output<typeof storedCutOff>
const readCutOff = recordReader<Stored>('cut-off', storedCutOff)

/**
 * The stored cut-offs, and the number of those that are being written. `isUnknown`: a write has failed, and the
 * record has not been read since.
 */
type CutOff = { stored: number; swept: boolean; pending: number; isUnknown: boolean }

const prefix = 'entity-cut-off/'

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
    view.watch(prefix, (written) => cutOffs.#follow(written))
    for await (const page of view.pages(prefix))
      for (const { key, value } of page) cutOffs.#apply(key.slice(prefix.length), value)
    return cutOffs
  }

  /** Reads what has been written, by any server. Skips unreadable records, which the barrier logs. */
  async #follow(written: readonly string[] | undefined): Promise<void> {
    for (const key of written ?? (await this.#allKeys()))
      await ifReadable(this.#read(key.slice(prefix.length)))
  }

  async #allKeys(): Promise<Set<string>> {
    const known = [...this.#byEntity.keys()].map((entityId) => prefix + entityId)
    return new Set([...known, ...(await this.#view.listKeys(prefix))])
  }

  async #read(entityId: string): Promise<void> {
    const value = await this.#view.get(prefix + entityId)
    if (value !== undefined) this.#apply(entityId, value)
    this.#of(entityId).isUnknown = false
  }

  /** Applies a stored record. A read may be older than what is known: counts only grow. */
  #apply(entityId: string, value: unknown): void {
    const { count, swept } = readCutOff(value)
    const known = this.#of(entityId)
    if (count < known.stored) return
    known.stored = count
    known.swept = swept
  }

  #of(entityId: string): CutOff {
    const known = this.#byEntity.get(entityId)
    if (known !== undefined) return known
    const none = { stored: 0, swept: true, pending: 0, isUnknown: false }
    this.#byEntity.set(entityId, none)
    return none
  }

  /** Number of cut-offs of an entity; tokens with a smaller number are invalid. */
  of(entityId: string): number {
    const known = this.#byEntity.get(entityId)
    return known === undefined ? 0 : known.stored + known.pending + (known.isUnknown ? 1 : 0)
  }

  /**
   * The number for a token issued now. It leaves out a cut-off that is being written, which ends this token
   * too.
   */
  ofNewToken(entityId: string): number {
    return this.#byEntity.get(entityId)?.stored ?? 0
  }

  /**
   * Invalidates, from the call on, every token of these entities that is issued on this server before the
   * promise resolves. The cut-off is durable when the promise resolves; other servers apply it within a
   * second.
   */
  async set(entityIds: readonly string[]): Promise<void> {
    await Promise.all(entityIds.map((entityId) => this.#set(entityId)))
  }

  async #set(entityId: string): Promise<void> {
    const known = this.#of(entityId)
    known.pending += 1
    try {
      const after = await this.#view.update(prefix + entityId, (current): Stored => {
        const { count } = current === undefined ? { count: 0 } : readCutOff(current)
        return { count: count + 1, swept: false }
      })
      this.#apply(entityId, after)
      known.isUnknown = false
    } catch (error) {
      // the write may have been committed; until that is known, no token of the entity is valid
      known.isUnknown = true
      await this.#read(entityId).catch(() => {})
      throw error
    } finally {
      known.pending -= 1
    }
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
      this.#apply(entityId, after)
    }
  }
}
