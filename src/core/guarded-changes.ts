import type { SharedStorage } from '../storage/shared-storage.ts'
import type { View, ViewEntry } from './barrier/view.ts'
import type { FollowedRecords } from './followed-records.ts'
import { JoinedChanges, type JoinedWrite } from './joined-changes.ts'

export type GuardParts = {
  readonly view: View
  /** Undefined if no other server writes the storage. */
  readonly shared: SharedStorage | undefined
  /** The key of the guard, in the view. */
  readonly key: string
  /** The records in memory that the changes are about. */
  readonly followed: FollowedRecords
  /** Called before each round is decided. */
  onRound?(): void
}

/**
 * Changes to records that depend on each other, such as mounts, of which no two may have the same path. No two
 * servers decide at the same time: each round writes a guard record on the condition that no other server
 * has written it since the round began. docs/replicas.md#changes-that-depend-on-each-other
 */
export class GuardedChanges {
  readonly #parts: GuardParts
  readonly #changes: JoinedChanges

  constructor(parts: GuardParts) {
    this.#parts = parts
    this.#changes = new JoinedChanges({
      guard: () => this.#guard(),
      write: (entries) => this.#write(entries),
    })
  }

  /** Like `JoinedChanges.run`. Copies in memory are current when `decide` begins. */
  run<T>(decide: (write: JoinedWrite) => Promise<T>, kind?: string): Promise<T> {
    return this.#changes.run(decide, kind)
  }

  /** Resolves once all changes that were begun have ended. */
  ended(): Promise<void> {
    return this.#changes.ended()
  }

  /** Without other servers, the order of the changes is enough. */
  async #guard(): Promise<ViewEntry[]> {
    const { view, shared, key } = this.#parts
    this.#parts.onRound?.()
    if (shared === undefined) return []
    const before = await view.read(key)
    // whatever was written with the guard as it is now has been applied
    await shared.copies.confirm()
    return [{ key, value: true, expect: before?.revision ?? 'absent', isUncopied: true }]
  }

  async #write(entries: readonly ViewEntry[]): Promise<boolean> {
    const { view, followed } = this.#parts
    if (entries.length > 0 && !(await view.write(entries))) return false
    followed.changed()
    return true
  }
}
