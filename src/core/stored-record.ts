import { Buffer } from 'node:buffer'
import { setTimeout as pause } from 'node:timers/promises'
import { refuse, ServiceError } from '../errors.ts'
import { stringifyJson } from '../lib/json.ts'

/** Number of attempts of a conditional write before it fails as `unavailable`. */
export const writeAttempts = 16
/** Pauses grow up to 256 ms. */
const longestPausePower = 8

/**
 * Pauses after an attempt that another writer has overtaken, longer after each. So one that writes without a
 * break does not starve the others.
 */
export const pauseAfterAttempt = (attempt: number): Promise<void> =>
  pause(Math.random() * 2 ** Math.min(attempt, longestPausePower))

/**
 * Whether a record cannot be decrypted or has an invalid format. Work on many records skips such a record.
 */
export const isUnreadable = (error: unknown): boolean =>
  error instanceof ServiceError && error.kind === 'internal'

/**
 * The maximum size of a record with data from callers, because every later use of it costs time by its size.
 */
const maxRecordBytes = 1_048_576

/** Throws `invalid` if the value is too large for one record. */
export function checkRecordSize(value: unknown): void {
  const bytes = Buffer.byteLength(stringifyJson(value))
  if (bytes > maxRecordBytes)
    throw refuse(
      'invalid',
      `put failed due to value being too large; got ${bytes} bytes, max: ${maxRecordBytes} bytes`,
    )
}
