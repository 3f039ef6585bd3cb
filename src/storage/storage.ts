/**
 * The storage port: ordered records under `/`-separated text keys. Values are opaque bytes (sealed by the
 * barrier before they come here). Every promise of a write resolves only once its effect is durable, and
 * rejects with a ServiceError `unavailable` when the engine fails; then nothing of the step happened.
 */
export type StoredRecord = {
  key: string
  value: Uint8Array
  /** Changes with each write of the key, except with `keepsRevision`. Never reused, even after a deletion. */
  revision: number
}

/** One write of a batch: `value` undefined deletes. `expect` makes the whole batch conditional. */
export type BatchEntry = {
  key: string
  value: Uint8Array | undefined
  /** `absent`: the key must not exist; a number: it must have that revision. */
  expect?: 'absent' | number
  /**
   * With a revision in `expect`: the record keeps it. For re-encryption, which must not look like a change.
   */
  keepsRevision?: true
}

export type Range = {
  /** Exclusive start: a full key; results come after it. */
  after?: string
  /** Most results; default all. */
  limit?: number
}

/** What `change` of an update decides: the new value, `undefined` to delete, or `keep` to write nothing. */
export const keep = Symbol('keep')
export type Change = (current: Uint8Array | undefined) => Uint8Array | undefined | typeof keep

export interface Storage extends AsyncDisposable {
  get(key: string): Promise<StoredRecord | undefined>
  /** Records whose key starts with `prefix`, in byte order of the key. */
  list(prefix: string, range?: Range): Promise<StoredRecord[]>
  /** Like `list`, but only keys. */
  listKeys(prefix: string, range?: Range): Promise<string[]>
  /**
   * Reads, changes and writes one key atomically. `change` must be pure and synchronous and may be called
   * again. An error it throws rejects only this step.
   */
  update(key: string, change: Change): Promise<void>
  /** Reads and deletes; only one of several callers gets the record. */
  take(key: string): Promise<StoredRecord | undefined>
  /** All or nothing. False, without any write, if an expectation did not hold. */
  write(batch: readonly BatchEntry[]): Promise<boolean>
  /** True if it was absent and is now written. */
  putIfAbsent(key: string, value: Uint8Array): Promise<boolean>
  /** Deletes every key that starts with `prefix`, in paced steps; each step is atomic, the whole is not. */
  deletePrefix(prefix: string): Promise<void>
}
