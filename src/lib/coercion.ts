import { parseBool } from './go/bool.ts'
import { parseDuration } from './go/duration.ts'
import { parseWholeNumber } from './go/numbers.ts'
import { goText, quoted } from './go/text.ts'
import { goTypeName } from './go/type-names.ts'
import { isJsonNumber, type JsonValue } from './json.ts'
import { parseTime } from './time.ts'

/**
 * What the wire form of a field means, or the text that says why it means nothing.
 * docs/contract/http.md#field-types
 */
export type Coerced<T> = { value: T } | { error: string }

/** Values of unknown shape by key. Has no prototype. */
export type FieldMap<T = JsonValue> = { [key: string]: T }

const unconvertible = (place: string, type: string, wire: unknown): string =>
  `'${place}' expected type '${type}', got unconvertible type '${goTypeName(wire)}'`

/** The text of a scalar; undefined for lists and objects. Null and absent are the empty text. */
function scalarText(wire: unknown): string | undefined {
  if (typeof wire === 'string') return wire
  if (wire === null || wire === undefined) return ''
  if (typeof wire === 'boolean') return wire ? '1' : '0'
  if (typeof wire === 'number') return String(wire)
  return isJsonNumber(wire) ? wire.rawJSON : undefined
}

export function toBool(wire: unknown): Coerced<boolean> {
  const text = scalarText(wire)
  if (text === undefined) return { error: unconvertible('', 'bool', wire) }
  const value = text === '' ? false : parseBool(text)
  if (value !== undefined) return { value }
  return { error: "'' cannot parse value as 'bool': strconv.ParseBool: invalid syntax" }
}

export function toWholeNumber(wire: unknown): Coerced<number> {
  const text = scalarText(wire)
  if (text === undefined) return { error: unconvertible('', 'int', wire) }
  if (text === '') return { value: 0 }
  const parsed = parseWholeNumber(text)
  return 'number' in parsed
    ? { value: parsed.number }
    : { error: `'' cannot parse value as 'int': strconv.ParseInt: ${parsed.error}` }
}

export function toText(wire: unknown): Coerced<string> {
  const value = scalarText(wire)
  return value === undefined ? { error: unconvertible('', 'string', wire) } : { value }
}

export function toLowerText(wire: unknown): Coerced<string> {
  const text = toText(wire)
  return 'error' in text ? text : { value: text.value.toLowerCase() }
}

/**
 * A list, or the one element a scalar stands for. Empty text, empty object, null and absent are an empty
 * list.
 */
function elements(wire: unknown): readonly unknown[] {
  if (Array.isArray(wire)) return wire
  if (wire === null || wire === undefined || wire === '') return []
  return typeof wire === 'object' && !isJsonNumber(wire) && Object.keys(wire).length === 0 ? [] : [wire]
}

type Texts = { texts: string[]; bad: { place: number; wire: unknown }[] }

function elementTexts(list: readonly unknown[]): Texts {
  const result: Texts = { texts: [], bad: [] }
  list.forEach((wire, place) => {
    const text = scalarText(wire)
    if (text === undefined) result.bad.push({ place, wire })
    else result.texts.push(text)
  })
  return result
}

/** As many causes as an error text may name. */
const maxCauses = 20

function notTexts(bad: Texts['bad']): string {
  const causes = bad.slice(0, maxCauses).map(({ place, wire }) => unconvertible(`[${place}]`, 'string', wire))
  return `decoding failed due to the following error(s):\n\n${causes.join('\n')}`
}

/** A single string is one element: it is not split. */
export function toTextList(wire: unknown): Coerced<string[]> {
  const { texts, bad } = elementTexts(elements(wire))
  return bad.length > 0 ? { error: notTexts(bad) } : { value: texts.map((text) => text.trim()) }
}

/** As many elements as one text may stand for: the limit of strings in a body does not count them. */
const mostInText = 100_000

/** A single string is split at commas, the elements of a list are not. Empty elements are kept. */
export function toCommaList(wire: unknown): Coerced<string[]> {
  if (typeof wire === 'string' && wire !== '') {
    const parts = wire.split(',', mostInText + 1)
    return parts.length > mostInText
      ? { error: `more than ${mostInText} elements` }
      : { value: parts.map((text) => text.trim()) }
  }
  const { texts, bad } = elementTexts(elements(wire))
  if (bad.length === 0) return { value: texts.map((text) => text.trim()) }
  const causes = bad.slice(0, maxCauses).map((element) => {
    return `* ${unconvertible(`[${element.place}]`, 'string', element.wire)}, value: '${goText(element.wire)}'`
  })
  return { error: `${bad.length} error(s) decoding:\n\n${causes.join('\n')}` }
}

const isObject = (wire: unknown): wire is FieldMap =>
  typeof wire === 'object' && wire !== null && !Array.isArray(wire) && !isJsonNumber(wire)

function copyInto<T>(target: FieldMap<T>, source: FieldMap<T>): void {
  for (const key of Object.keys(source))
    Object.defineProperty(target, key, {
      value: source[key],
      enumerable: true,
      writable: true,
      configurable: true,
    })
}

/** Values keep their JSON form; a list of objects is merged. */
export function toMap(wire: unknown): Coerced<FieldMap | null> {
  if (wire === null || wire === undefined) return { value: null }
  if (isObject(wire)) return { value: wire }
  if (!Array.isArray(wire)) return { error: unconvertible('', 'map[string]interface {}', wire) }
  const merged: FieldMap = Object.create(null)
  for (const [place, element] of wire.entries()) {
    if (!isObject(element)) return { error: unconvertible(`[${place}]`, 'map[string]interface {}', element) }
    copyInto(merged, element)
  }
  return { value: merged }
}

/** Elements keep their JSON form; anything else than a list is its one element, the empty object none. */
export function toSlice(wire: unknown): Coerced<JsonValue[]> {
  if (wire === '') return { value: [''] }
  // the wire form is JSON: what it holds is too
  return { value: [...elements(wire)] as JsonValue[] }
}

/** An object of scalars, or texts `key=value`. */
export function toPairs(wire: unknown): Coerced<FieldMap<string> | null> {
  if (wire === null || wire === undefined) return { value: null }
  const pairs: FieldMap<string> = Object.create(null)
  if (isObject(wire)) {
    for (const key of Object.keys(wire)) {
      const text = scalarText(wire[key])
      if (text === undefined) return { error: notTexts([{ place: 0, wire }]) }
      pairs[key] = text
    }
    return { value: pairs }
  }
  const { texts, bad } = elementTexts(Array.isArray(wire) ? wire : [wire])
  if (bad.length > 0) return { error: notTexts(bad) }
  for (const text of texts) {
    const cut = text.indexOf('=')
    if (cut < 0) return { error: `invalid key pair ${quoted(text)}` }
    pairs[text.slice(0, cut)] = text.slice(cut + 1)
  }
  return { value: pairs }
}

export const toDuration =
  (options: { signed?: boolean; exact?: boolean } = {}) =>
  (wire: unknown): Coerced<number> => {
    if (wire === null || wire === undefined) return { value: 0 }
    const parsed = parseDuration(wire, options)
    return 'error' in parsed ? parsed : { value: parsed.seconds }
  }

export function toTime(wire: unknown): Coerced<string> {
  const parsed = parseTime(wire)
  return 'error' in parsed ? parsed : { value: parsed.time }
}
