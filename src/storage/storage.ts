import type { SharedStorage } from './shared-storage.ts'

/**
 * The storage port: ordered records under `/`-separated text keys. Values are opaque bytes, sealed by the
 * barrier. A write resolves once it is durable. If the engine fails, it rejects with a ServiceError
 * `unavailable`, and nothing was written.
 */
export type StoredRecord = {
  key: string
  value: Uint8Array
  /** Changes with each write of the key, except with `keepsRevision`. Never reused, even after a deletion. */
  revision: number
}

/** One write of a batch. An undefined `value` deletes; `expect` makes the whole batch conditional. */
export type BatchEntry = {
  key: string
  value: Uint8Array | undefined
  /** `absent`: the key must not exist; a number: it must have that revision. */
  expect?: 'absent' | number
  /** The record keeps the revision in `expect`. For re-encryption, which must not look like a change. */
  keepsRevision?: true
  /**
   * No server can have a copy of this record: nothing copies such records, or its key is new and random. The
   * write is not reported to other servers, which makes it cheaper.
   */
  isUncopied?: true
}

export type WriteOptions = Pick<BatchEntry, 'isUncopied'>

export type Range = {
  /** Exclusive start: a full key. */
  after?: string
  /** Maximum number of results; default: all. */
  limit?: number
}

/** A change returns the new value, `undefined` to delete, or `keep` to write nothing. */
export const keep = Symbol('keep')
export type Change = (current: Uint8Array | undefined) => Uint8Array | undefined | typeof keep

/** Disposal waits for pending writes; later calls reject with `storage is unavailable`. */
export interface Storage extends AsyncDisposable {
  readonly shared?: SharedStorage | undefined
  get(key: string): Promise<StoredRecord | undefined>
  /** Records whose key starts with `prefix`, in byte order of the key. */
  list(prefix: string, range?: Range): Promise<StoredRecord[]>
  /** Like `list`, but only keys. */
  listKeys(prefix: string, range?: Range): Promise<string[]>
  /**
   * Reads, changes and writes one key atomically. `change` must be pure and synchronous and may be called
   * again. An error it throws rejects only this step.
   */
  update(key: string, change: Change, options?: WriteOptions): Promise<void>
  /** Writes all or nothing. False, without any write, if an expectation does not hold. */
  write(batch: readonly BatchEntry[]): Promise<boolean>
  /** Deletes every key that starts with `prefix`, in small steps; each step is atomic, the whole is not. */
  deletePrefix(prefix: string, options?: WriteOptions): Promise<void>
}
