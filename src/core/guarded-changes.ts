import { fail } from '../errors.ts'
import { Limiter } from '../lib/limiter.ts'
import type { SharedStorage } from '../storage/shared-storage.ts'
import type { View, ViewEntry } from './barrier/view.ts'
import type { FollowedRecords } from './followed-records.ts'
import { pauseAfterAttempt, writeAttempts } from './stored-record.ts'

export type GuardParts = {
  readonly view: View
  /** Undefined if no other server writes the storage. */
  readonly shared: SharedStorage | undefined
  /** The key of the guard, in the view. */
  readonly key: string
  /** The records in memory that the changes are about. */
  readonly followed: FollowedRecords
}

/** Writes all or nothing. Throws if another server was quicker; the change is then decided again. */
export type GuardedWrite = (entries: readonly ViewEntry[]) => Promise<void>

const lost = new Error('another server was quicker')

/**
 * Changes to records that depend on each other, such as mounts, of which no two may have the same path. They
 * run one at a time, also across servers: each writes a guard record on the condition that no other server
 * has written it since the change was decided. docs/replicas.md#changes-that-depend-on-each-other
 */
export class GuardedChanges {
  readonly #parts: GuardParts
  readonly #turns = new Limiter(1)

  constructor(parts: GuardParts) {
    this.#parts = parts
  }

  /**
   * Runs `decide`, which must use the passed function for its one write, and may run again. Copies in memory
   * are current when it begins.
   */
  run<T>(decide: (write: GuardedWrite) => Promise<T>): Promise<T> {
    return this.#turns.run(async () => {
      for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
        const guard = await this.#guard()
        try {
          return await decide((entries) => this.#write([...entries, ...guard]))
        } catch (error) {
          if (error !== lost) throw error
        }
        await pauseAfterAttempt(attempt)
      }
      throw fail('unavailable', 'too many changes at a time')
    })
  }

  /** Resolves once all changes that were begun have ended. */
  ended(): Promise<void> {
    return this.#turns.run(async () => {})
  }

  /** Without other servers, the order of the changes is enough. */
  async #guard(): Promise<ViewEntry[]> {
    const { view, shared, key } = this.#parts
    if (shared === undefined) return []
    const before = await view.read(key)
    // whatever was written with the guard as it is now has been applied
    await shared.copies.confirm()
    return [{ key, value: true, expect: before?.revision ?? 'absent', isUncopied: true }]
  }

  async #write(entries: readonly ViewEntry[]): Promise<void> {
    const { view, followed } = this.#parts
    if (entries.length > 0 && !(await view.write(entries))) throw lost
    followed.changed()
  }
}
