/** The label `kind` of `gatehouse_storage_errors_total`. */
export type FailureKind = 'corrupt' | 'full' | 'read_only' | 'io' | 'checkpoint' | 'replaced' | 'other'

/** `key` is the key or key prefix of a failed read. */
type StorageFailure = { readonly kind: FailureKind; readonly key?: string; readonly cause: unknown }

/** A read of one record, a read of a part of a list, or a write with the wait until it is durable. */
export type StorageOperation = 'get' | 'list' | 'write'

/** Handlers of storage events. They must not throw. */
export type StorageEvents = {
  operated(operation: StorageOperation, seconds: number): void
  /** A group of `steps` is durable. */
  committed(steps: number, seconds: number): void
  /** A call or a checkpoint failed. */
  failed(failure: StorageFailure): void
  /** Writes have started to fail for this reason; undefined: they work again. */
  writesFail(reason: string | undefined): void
  /** Checkpoints have started to fail with this engine code; undefined: they work again. */
  checkpointsFail(code: string | undefined): void
  /** The log has become unusually large, or has doubled since; undefined: it is small again. */
  logGrows(bytes: number | undefined): void
  /**
   * An opened file was replaced or removed, so writes are refused; undefined: the files are in place again.
   */
  fileLost(reason: string | undefined): void
}

const ignore = () => {}
export const noEvents: StorageEvents = {
  operated: ignore,
  committed: ignore,
  failed: ignore,
  writesFail: ignore,
  checkpointsFail: ignore,
  logGrows: ignore,
  fileLost: ignore,
}
