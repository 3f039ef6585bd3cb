import type { ChangeListener } from '../../storage/shared-storage.ts'
import { keep, type Range, type WriteOptions } from '../../storage/storage.ts'

export { keep, type Range }

export type ViewRecord = { key: string; value: unknown; revision: number }
/** `from: 'root'`: the key is relative to the storage root, not to the view. */
export type ViewEntry = {
  key: string
  value: unknown
  expect?: 'absent' | number
  from?: 'root'
} & WriteOptions

/** The prefix of the core's own records, in a view of all storage. */
export const corePrefix = 'core/'

/** An entry of the core's view, for a batch written to the view of all storage. */
export const inCore = (entry: ViewEntry): ViewEntry => ({ ...entry, key: corePrefix + entry.key })

/**
 * One slice of storage under a prefix, sealed: keys are relative to the prefix, values are JSON. A value read
 * from a view with `numbers: 'literal'` has every number as `JSON.rawJSON` (lib/text/json.ts), so that it is
 * written back letter for letter; else numbers are plain. Promises resolve once durable and reject with a
 * ServiceError, as in storage/storage.ts. A record that cannot be opened rejects with kind `internal` (the
 * log names its key); it is never taken for absent.
 */
export interface View {
  get(key: string): Promise<unknown>
  /** Like `get`, with the revision that a later write can expect. */
  read(key: string): Promise<ViewRecord | undefined>
  list(prefix: string, range?: Range): Promise<ViewRecord[]>
  listKeys(prefix: string, range?: Range): Promise<string[]>
  /**
   * All records in the order of their keys, in pages; other requests are served between two. Each page is read when it
   * is asked for, so the whole is no snapshot. For every loop over more than a page of records.
   */
  pages(prefix: string, after?: string): AsyncGenerator<readonly ViewRecord[], void, undefined>
  /** Like `pages`, but only keys. */
  keyPages(prefix: string, after?: string): AsyncGenerator<readonly string[], void, undefined>
  /**
   * Returns the new value. `change` must be pure, may be called again, and returns the new value, `undefined`
   * to delete, or `keep`.
   */
  update(
    key: string,
    change: (current: unknown) => unknown | typeof keep,
    options?: WriteOptions,
  ): Promise<unknown>
  take(key: string, options?: WriteOptions): Promise<unknown>
  /** All or nothing. A `value` of undefined deletes. False if an expectation did not hold. */
  write(batch: readonly ViewEntry[]): Promise<boolean>
  /** Converts an entry of this view for a batch that another view writes. It keeps its own `isUncopied`. */
  fromRoot(entry: ViewEntry): ViewEntry
  putIfAbsent(key: string, value: unknown): Promise<boolean>
  deletePrefix(prefix: string): Promise<void>
  /**
   * Reports writes of keys that start with `prefix` by any server; the keys are relative to the view. Never
   * calls if no other server writes the storage. Ends when the barrier is sealed, or with the returned
   * function.
   */
  watch(prefix: string, listener: ChangeListener): () => void
  /** A narrower view; `isUncopied` applies to all its writes. */
  view(prefix: string, options?: { numbers?: 'plain' | 'literal' } & WriteOptions): View
}
