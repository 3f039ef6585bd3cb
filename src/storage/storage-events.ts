/** Kinds of failures in metrics. */
export type FailureKind = 'corrupt' | 'full' | 'read_only' | 'io' | 'checkpoint' | 'replaced' | 'other'

/** `key`: key of the record, or key prefix, that was read. */
type StorageFailure = { readonly kind: FailureKind; readonly key?: string; readonly cause: unknown }

/** Event handlers of the storage. They must not throw. */
export type StorageEvents = {
  /** A group of `steps` is durable. */
  committed(steps: number, seconds: number): void
  /** One call, or one checkpoint, failed. */
  failed(failure: StorageFailure): void
  /** Writes fail from now on for this reason; undefined: they work again. */
  writesFail(reason: string | undefined): void
  /** Checkpoints fail from now on with this code of the engine; undefined: they work again. */
  checkpointsFail(code: string | undefined): void
  /** The log has become unusually large, and each time it has doubled; undefined: it is small again. */
  logGrows(bytes: number | undefined): void
  /**
   * The files are not those that were opened, for this reason: writes are refused. undefined: they are again.
   */
  fileLost(reason: string | undefined): void
}

const nobody = () => {}
export const noEvents: StorageEvents = {
  committed: nobody,
  failed: nobody,
  writesFail: nobody,
  checkpointsFail: nobody,
  logGrows: nobody,
  fileLost: nobody,
}
