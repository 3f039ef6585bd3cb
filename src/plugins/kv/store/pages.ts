import { z } from 'zod'
import { intField, stringField } from '../../../lib/text/fields.ts'

export const listInput = z.object({
  after: stringField.default('').describe('List the names after this one'),
  limit: intField.default(0).describe('List at most this many names; 0 for all'),
})

export type ListRange = z.output<typeof listInput>
