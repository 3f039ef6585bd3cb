import { Limiter } from '../../lib/concurrency/limiter.ts'
import type { View, ViewRecord } from '../barrier/view.ts'
import { isUnreadable } from './stored-record.ts'

export type FollowedParts = {
  readonly view: View
  /** What the keys of the records begin with. */
  readonly prefix: string
  /** The keys of what is in memory. */
  known(): Iterable<string>
  /** Makes memory agree with what storage holds under some keys. May be repeated. */
  apply(records: readonly ViewRecord[], gone: readonly string[]): void | Promise<void>
  /** Called for a record that cannot be decrypted; what is in memory stays. */
  onFailure(error: unknown): void
}

const readsAtOnce = 500

/**
 * Records that this server keeps in memory, all of them, and that other servers may write: reads again what
 * was written. docs/replicas.md#copies
 */
export class FollowedRecords {
  readonly #parts: FollowedParts
  readonly #limiter = new Limiter(1)
  #ownChanges = 0

  constructor(parts: FollowedParts) {
    this.#parts = parts
  }

  /** Follows from now on. What is written while `load` reads the records is applied after it. */
  follow(load: () => Promise<void>): Promise<void> {
    const { view, prefix } = this.#parts
    const loaded = this.#limiter.run(load)
    view.watch(prefix, (keys) => this.reread(keys))
    return loaded
  }

  /**
   * Must be called when this server has written, before it changes memory: what was read before may be older.
   */
  changed(): void {
    this.#ownChanges += 1
  }

  /** Reads some records, or all, and applies what is found. */
  reread(keys: readonly string[] | undefined): Promise<void> {
    return this.#limiter.run(async () => {
      for (;;) {
        const before = this.#ownChanges
        const found = await this.#found(keys ?? (await this.#allKeys()))
        if (before === this.#ownChanges) return await this.#parts.apply(found.records, found.gone)
      }
    })
  }

  async #allKeys(): Promise<string[]> {
    const { view, prefix, known } = this.#parts
    return [...new Set([...known(), ...(await view.listKeys(prefix))])]
  }

  async #found(keys: readonly string[]): Promise<{ records: ViewRecord[]; gone: string[] }> {
    const records: ViewRecord[] = []
    const gone: string[] = []
    for (let at = 0; at < keys.length; at += readsAtOnce) {
      const part = keys.slice(at, at + readsAtOnce)
      const found = await Promise.all(part.map((key) => this.#read(key)))
      for (const [index, record] of found.entries()) {
        if (record === undefined) gone.push(part[index] ?? '')
        else if (record !== 'unreadable') records.push(record)
      }
    }
    return { records, gone }
  }

  async #read(key: string): Promise<ViewRecord | undefined | 'unreadable'> {
    try {
      return await this.#parts.view.read(key)
    } catch (error) {
      if (!isUnreadable(error)) throw error
      this.#parts.onFailure(error)
      return 'unreadable'
    }
  }
}
