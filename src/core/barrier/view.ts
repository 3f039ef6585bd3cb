import type { keep, Range } from '../../storage/storage.ts'

export type ViewRecord = { key: string; value: unknown; revision: number }
/** `from: 'root'`: its key counts from the root of everything stored, whatever the view it is written by. */
export type ViewEntry = { key: string; value: unknown; expect?: 'absent' | number; from?: 'root' }

/**
 * One slice of storage under a prefix, sealed: keys are relative to the prefix, values are JSON. A value read from a view with `numbers: 'literal'`
 * has every number as `JSON.rawJSON` (lib/json.ts), so that it is written back letter for letter; else numbers are plain.
 * Promises resolve once durable and reject with a ServiceError, as in storage/storage.ts. A record that cannot be opened rejects with
 * kind `internal` (the log names its key); it is never taken for absent.
 */
export interface View {
  get(key: string): Promise<unknown>
  /** As `get`, with the revision a later write can expect. */
  read(key: string): Promise<ViewRecord | undefined>
  list(prefix: string, range?: Range): Promise<ViewRecord[]>
  listKeys(prefix: string, range?: Range): Promise<string[]>
  /** `change` is pure and may run again; it gives the new value, `undefined` to delete, or `keep`. Gives back the value after the step. */
  update(key: string, change: (current: unknown) => unknown | typeof keep): Promise<unknown>
  take(key: string): Promise<unknown>
  /** A `value` of undefined deletes. False when an expectation did not hold. */
  write(batch: readonly ViewEntry[]): Promise<boolean>
  /** The same entry for a batch that is written by another view: one step over several places. */
  fromRoot(entry: ViewEntry): ViewEntry
  putIfAbsent(key: string, value: unknown): Promise<boolean>
  deletePrefix(prefix: string): Promise<void>
  /** A narrower view. */
  view(prefix: string, options?: { numbers?: 'plain' | 'literal' }): View
}
