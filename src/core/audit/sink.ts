import type { ChainHead } from './chain.ts'

export type SinkTarget =
  | {
      readonly kind: 'file'
      readonly path: string
      /** Permissions of the file; 0 leaves those of an existing file. */
      readonly mode: number
      /** The folders that the file must be in. */
      readonly directories: readonly string[]
    }
  | { readonly kind: 'stdout' }
  | { readonly kind: 'discard' }
  | { readonly kind: 'http'; readonly uri: string; readonly headers: Readonly<Record<string, string>> }

export type SinkEnd = {
  /** Whether there was nothing before. */
  readonly isNew: boolean
  /** The position of the last complete line, if the sink can be read and the line belongs to a chain. */
  readonly head?: ChainHead | undefined
  /** The length of an incomplete last line, and whether a line end follows it. */
  readonly torn?: { readonly bytes: number; readonly isEnded: boolean } | undefined
}

/**
 * A file, a pipe or a collector. After a failure, the sink is closed and opened again before the next write.
 */
export type Sink = {
  /** False if nothing tells which lines have arrived. */
  readonly isReadable: boolean
  open(): SinkEnd
  /** Writes whole lines. Rejects with a SinkError. */
  write(lines: readonly string[]): Promise<void>
  /** Resolves when everything written is durable. */
  sync(): Promise<void>
  /** Whether what was opened is no longer at its path. Absent for what has no path. */
  isReplaced?(): boolean
  close(): void
}

export class SinkError extends Error {
  override readonly name = 'SinkError'
  /** A system error such as `ENOSPC`. */
  readonly code: string
  readonly written: number
  /** Whether more than that may have arrived. */
  readonly isUncertain: boolean

  constructor(
    cause: unknown,
    { code, written, isUncertain }: { code: string; written: number; isUncertain: boolean },
  ) {
    super(cause instanceof Error ? cause.message : code, { cause })
    this.code = code
    this.written = written
    this.isUncertain = isUncertain
  }
}
