import { tokenFields } from '../../core/tokens/store/token-fields.ts'
import { excerpt, goText, quoted } from '../../lib/text/go-text.ts'
import type { JsonValue } from '../../lib/text/json.ts'
import { isSame } from './judged.ts'
import { implies } from './patterns.ts'
import type { FieldChange, WhatIf } from './what-if.ts'

type Fields = Readonly<Record<string, unknown>>

/** Changes of the settings of tokens, and of the fields that name subjects. */
export const tokenChanges = (
  naming: readonly string[],
  before: Fields | undefined,
  after: Fields,
): WhatIf['changes'] =>
  [...naming, ...Object.keys(tokenFields)]
    .map((field) => ({ field, before: fieldOf(before, field), after: fieldOf(after, field) }))
    .filter((change) => !isSame(change.before, change.after))

/** A stored field is JSON. */
const fieldOf = (record: Fields | undefined, field: string): JsonValue =>
  (record?.[field] ?? null) as JsonValue

/** A value in the text of a report. */
export const shortText = (value: unknown): string =>
  excerpt(typeof value === 'string' ? quoted(value) : goText(value), 256)

export const when = (isSo: boolean, field: string, text: string): FieldChange[] =>
  isSo ? [{ field, text }] : []

/** Items that a list did not have; one that is empty lets in anybody, as `any` says. */
export function addedItems(
  field: string,
  before: readonly string[],
  after: readonly string[],
  any: string,
): FieldChange[] {
  if (after.length === 0) return when(before.length > 0, field, any)
  if (before.length === 0) return []
  return after.filter((one) => !before.includes(one)).map((one) => ({ field, text: shortText(one) }))
}

/** Patterns that match what none of those before did. */
export const addedPatterns = (
  field: string,
  before: readonly string[],
  after: readonly string[],
): FieldChange[] =>
  after
    .filter((value) => !before.includes(value) && !before.some((pattern) => implies(value, pattern)))
    .map((value) => ({ field, text: `${value.includes('*') ? 'values like' : 'value'} ${shortText(value)}` }))

/** Keys that other pins let sign. */
export function pinsLifted(before: readonly string[], after: readonly string[]): FieldChange[] {
  const field = 'allowed_key_thumbprints'
  if (before.length === 0) return []
  if (after.length === 0) return [{ field, text: 'tokens that any key of the source has signed' }]
  const added = after.filter((pin) => !before.includes(pin))
  return added.map((pin) => ({ field, text: `tokens that key ${pin} has signed` }))
}
