import type { SharedStorage } from '../../storage/shared-storage.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import { Changes, type Write } from './change.ts'
import type { FollowedRecords } from './followed-records.ts'

export type GuardParts = {
  readonly view: View
  readonly shared: SharedStorage | undefined
  /** The key of the guard, in the view. */
  readonly key: string
  /** The records in memory that the changes are about. */
  readonly followed: FollowedRecords
}

/**
 * Changes to records that depend on each other, such as mounts, of which no two may have the same path. They are
 * decided one after the other, and no two servers decide at the same time: each write has a guard record on the
 * condition that no other server has written it since. docs/replicas.md#changes-that-depend-on-each-other
 */
export class GuardedChanges {
  readonly #parts: GuardParts
  readonly #changes: Changes

  constructor(parts: GuardParts) {
    this.#parts = parts
    this.#changes = new Changes({ view: parts.view, tooMany: 'too many changes at a time' })
  }

  /** Like `Changes.run`. Copies in memory are current when `decide` begins. */
  run<T>(decide: (write: Write) => Promise<T>): Promise<T> {
    const { key, followed } = this.#parts
    return this.#changes.run(key, async (write) => {
      const guard = await this.#guard()
      return await decide(async (entries) => {
        await write([...entries, ...guard])
        followed.changed()
      })
    })
  }

  async ended(): Promise<void> {
    await this.#changes.pending(this.#parts.key)
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
}
