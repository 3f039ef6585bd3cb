import { Buffer } from 'node:buffer'
import { refuse, ServiceError } from '../errors.ts'
import { stringifyJson } from '../lib/json.ts'

/** How often a conditional write is tried again before the server says it is too busy with that record. */
export const writeAttempts = 16

/** A record that cannot be opened, or is not what it should be: work on many leaves it out and goes on. */
export const isUnreadable = (error: unknown): boolean =>
  error instanceof ServiceError && error.kind === 'internal'

/**
 * The most that callers may have in one record: whoever uses the record later, by requests however small,
 * costs the server its size each time.
 */
const maxRecordBytes = 1_048_576

/** Throws for what is too large to be kept as one record. */
export function checkRecordSize(value: unknown): void {
  const bytes = Buffer.byteLength(stringifyJson(value))
  if (bytes > maxRecordBytes)
    throw refuse(
      'invalid',
      `put failed due to value being too large; got ${bytes} bytes, max: ${maxRecordBytes} bytes`,
    )
}
