import { Buffer } from 'node:buffer'
import type { z } from 'zod'
import { fail, refuse, ServiceError } from '../../errors.ts'
import { stringifyJson } from '../../lib/text/json.ts'

/**
 * Whether a record cannot be decrypted or has an invalid format. Work on many records skips such a record.
 */
export const isUnreadable = (error: unknown): boolean =>
  error instanceof ServiceError && error.kind === 'internal'

/**
 * A reader of the stored records of one kind. It checks only the fields of `shape`, such as those that affect rights,
 * since this server sealed the record. Throws `internal`.
 */
export const recordReader =
  <Read>(kind: string, shape: z.ZodType<{ readonly [Name in keyof Read]?: unknown }>) =>
  (value: unknown): Read => {
    if (!shape.safeParse(value).success)
      throw fail('internal', 'internal error', { cause: new Error(`a stored ${kind} has an invalid shape`) })
    // this server wrote the other fields
    return value as Read
  }

/** What `read` finds; undefined if the record cannot be read, which the log says. */
export async function ifReadable<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return undefined
  }
}

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
