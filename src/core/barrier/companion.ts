import { AsyncLocalStorage } from 'node:async_hooks'
import type { ViewEntry } from './view.ts'

/** A write of the record. `before` and `after` are undefined if there is none, and `before` if it cannot be read. */
export type AccompaniedWrite = { readonly key: string; readonly before: unknown; readonly after: unknown }

/**
 * What is written together with a record, in one commit, whoever writes the record. Keys are those of the storage.
 * docs/contract/history.md#what-is-kept
 */
export type Companion = {
  /** Whether this is the record. */
  concerns(key: string): boolean
  /** The further entries, with keys from the root. Runs again if another server was quicker. */
  entriesFor(write: AccompaniedWrite): Promise<readonly ViewEntry[]>
  /** The commit is durable: other writes of the same work are not accompanied. */
  written(): void
}

const current = new AsyncLocalStorage<Companion>()

/** Runs work whose write of one record has a companion. */
export const accompanied = <T>(companion: Companion, work: () => Promise<T>): Promise<T> =>
  current.run(companion, work)

/** The companion of a write of one of these keys, if there is one. */
export function companionOf(keys: () => readonly string[]): Companion | undefined {
  const companion = current.getStore()
  return companion !== undefined && keys().some((key) => companion.concerns(key)) ? companion : undefined
}
