import { isJsonNumber, type JsonValue, numberText, stringifyJson } from '../../lib/text/json.ts'
import { nearMiss } from '../refusals/hints.ts'
import type { ExplainedCheck, Proposal } from './explained.ts'

/** Most characters of a text in an explanation. */
export const maxShown = 256

/** Whether a shown text is all that there was. */
export const isWhole = (value: unknown): value is string =>
  typeof value === 'string' && value.length < maxShown

export const isSame = (one: unknown, other: unknown): boolean =>
  stringifyJson(one ?? null) === stringifyJson(other ?? null)

/** A list with one value more. */
export const withOne = <Value>(values: readonly Value[], one: Value): Value[] =>
  values.some((value) => isSame(value, one)) ? [...values] : [...values, one]

export const listOf = (value: JsonValue | undefined): readonly JsonValue[] =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]

/** The value of the token that was probably meant: the only one, or one that is nearly an expected one. */
export function oneOf(expected: readonly JsonValue[], seen: JsonValue): JsonValue | undefined {
  const values = listOf(seen).filter(isComparable)
  const near = values.find((value) => nearMiss({ expected, seen: [value], isLiteral: true }) !== '')
  return near ?? (values.length === 1 ? values[0] : undefined)
}

const isComparable = (value: JsonValue): boolean =>
  isWhole(value) || typeof value === 'boolean' || (isJsonNumber(value) && /^-?\d+$/.test(numberText(value)))

/** The changes that failed checks ask for. Each sees the record with those of the checks before it. */
export type Fixes<Of extends object> = Readonly<
  Record<string, (check: ExplainedCheck, record: Of) => Partial<Of>>
>

/** One proposal for an object, of the fields that differ from it; none if there are none. */
export function proposalFor<Of extends object>(
  path: string,
  record: Of,
  { failed, fixes }: { readonly failed: readonly ExplainedCheck[]; readonly fixes: Fixes<Of> },
): Proposal[] {
  let fields: Partial<Of> = {}
  for (const check of failed)
    fields = { ...fields, ...fixes[check.reason]?.(check, { ...record, ...fields }) }
  // the object may have changed since
  const stored = new Map<string, unknown>(Object.entries(record))
  const changed = Object.entries(fields).filter(([name, value]) => !isSame(value, stored.get(name)))
  return changed.length === 0 ? [] : [{ path, fields: Object.fromEntries(changed) }]
}
