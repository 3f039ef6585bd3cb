import type { FastifySchemaCompiler } from 'fastify'
import type { z } from 'zod'
import { convertFields } from '../../lib/text/fields.ts'
import type { JsonValue } from '../../lib/text/json.ts'

/** The declared fields of a request, converted, and the names of the others. */
export class ConvertedFields {
  readonly values: unknown
  readonly unknown: readonly string[]

  constructor(schema: z.ZodObject, sent: Readonly<Record<string, JsonValue>>) {
    const { values, unknown } = convertFields(schema, sent)
    this.values = values
    this.unknown = unknown
  }
}

/**
 * Fastify's validator compiler: a zod schema converts the fields as sent, each by its own type.
 * docs/contract/http.md#field-types
 */
export const convertWithZod: FastifySchemaCompiler<z.ZodObject> =
  ({ schema }) =>
  (sent: ConvertedFields | Record<string, JsonValue>) => {
    // the existence check of a write has converted them already
    if (sent instanceof ConvertedFields) return { value: sent }
    try {
      return { value: new ConvertedFields(schema, sent) }
    } catch (error) {
      return {
        error: error instanceof Error ? error : new Error('a field cannot be converted', { cause: error }),
      }
    }
  }
