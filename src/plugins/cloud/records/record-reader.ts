import type { z } from 'zod'
import { fail } from '../../../errors.ts'

/** Reads stored records of a kind. Keeps fields of later versions. Throws kind `internal`. */
export function recordReader<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  what: string,
): (stored: unknown) => z.output<z.ZodObject<Shape>> {
  const kept = schema.loose()
  return (stored) => {
    const record = kept.safeParse(stored)
    if (record.success) return record.data
    const cause = new Error(`a stored ${what} of the cloud engine has an invalid shape`)
    throw fail('internal', 'internal error', { cause })
  }
}
