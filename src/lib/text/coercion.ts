import { parseDuration } from './go-duration.ts'
import { parseBool, parseWholeNumber } from './go-numbers.ts'
import { goText, quoted } from './go-text.ts'
import { goTypeName } from './go-type-names.ts'
import {
  isJsonNumber,
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
  parseJson,
} from './json.ts'
import { parseTime } from './time.ts'

/** The value of a field as sent, or the error text if it has none. docs/contract/http.md#field-types */
export type Coerced<T> = { value: T } | { error: string }

/** An object without a prototype, so any key is safe. */
export type FieldMap<T = JsonValue> = { [key: string]: T }

const unconvertible = (element: string, type: string, wire: unknown): string =>
  `'${element}' expected type '${type}', got unconvertible type '${goTypeName(wire)}'`

/** The text of a scalar; undefined for lists and objects. Null and undefined are the empty text. */
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

export function toNumber(wire: unknown): Coerced<number> {
  const text = scalarText(wire)
  if (text === undefined) return { error: unconvertible('', 'float64', wire) }
  if (text === '') return { value: 0 }
  const value = numberForm.test(text) ? Number(text) : Number.NaN
  if (Number.isFinite(value)) return { value }
  const cause = Number.isNaN(value) ? 'invalid syntax' : 'value out of range'
  return { error: `'' cannot parse value as 'float64': strconv.ParseFloat: ${cause}` }
}

const numberForm = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/

export function toText(wire: unknown): Coerced<string> {
  const value = scalarText(wire)
  return value === undefined ? { error: unconvertible('', 'string', wire) } : { value }
}

export function toLowerText(wire: unknown): Coerced<string> {
  const text = toText(wire)
  return 'error' in text ? text : { value: text.value.toLowerCase() }
}

/** The elements of a list. A scalar is its one element; "", {}, null and undefined have no elements. */
function elements(wire: unknown): readonly unknown[] {
  if (Array.isArray(wire)) return wire
  if (wire === null || wire === undefined || wire === '') return []
  return typeof wire === 'object' && !isJsonNumber(wire) && Object.keys(wire).length === 0 ? [] : [wire]
}

type Texts = { texts: string[]; bad: { index: number; wire: unknown }[] }

function elementTexts(list: readonly unknown[]): Texts {
  const result: Texts = { texts: [], bad: [] }
  list.forEach((wire, index) => {
    const text = scalarText(wire)
    if (text === undefined) result.bad.push({ index, wire })
    else result.texts.push(text)
  })
  return result
}

/** The most causes that an error text lists. */
const maxCauses = 20

function notTexts(bad: Texts['bad']): string {
  const causes = bad.slice(0, maxCauses).map(({ index, wire }) => unconvertible(`[${index}]`, 'string', wire))
  return `decoding failed due to the following error(s):\n\n${causes.join('\n')}`
}

/** Reads a list. A single string is one element: it is not split. */
export function toTextList(wire: unknown): Coerced<string[]> {
  const { texts, bad } = elementTexts(elements(wire))
  return bad.length > 0 ? { error: notTexts(bad) } : { value: texts.map((text) => text.trim()) }
}

/** The most elements in one comma-separated text, which the limit of strings in a body does not count. */
const maxTextElements = 100_000

/** Reads a list. A single string is split at commas; the elements of a list are not. Keeps empty elements. */
export function toCommaList(wire: unknown): Coerced<string[]> {
  if (typeof wire === 'string' && wire !== '') {
    const parts = wire.split(',', maxTextElements + 1)
    return parts.length > maxTextElements
      ? { error: `more than ${maxTextElements} elements` }
      : { value: parts.map((text) => text.trim()) }
  }
  const { texts, bad } = elementTexts(elements(wire))
  if (bad.length === 0) return { value: texts.map((text) => text.trim()) }
  const causes = bad.slice(0, maxCauses).map((element) => {
    return `* ${unconvertible(`[${element.index}]`, 'string', element.wire)}, value: '${goText(element.wire)}'`
  })
  return { error: `${bad.length} error(s) decoding:\n\n${causes.join('\n')}` }
}

function copyInto<T>(target: FieldMap<T>, source: FieldMap<T>): void {
  for (const key of Object.keys(source))
    Object.defineProperty(target, key, {
      value: source[key],
      enumerable: true,
      writable: true,
      configurable: true,
    })
}

/** Reads a list of integers. A single string is split at commas; blanks are not trimmed. */
export function toWholeNumberList(wire: unknown): Coerced<number[]> {
  const list = typeof wire === 'string' && wire !== '' ? wire.split(',', maxTextElements + 1) : elements(wire)
  if (list.length > maxTextElements) return { error: `more than ${maxTextElements} elements` }
  const numbers: number[] = []
  const causes: string[] = []
  for (const [index, element] of list.entries()) {
    const number = toWholeNumber(element)
    if ('value' in number) numbers.push(number.value)
    else causes.push(number.error.replace("''", `'[${index}]'`))
  }
  if (causes.length === 0) return { value: numbers }
  const shown = causes.slice(0, maxCauses).join('\n')
  return { error: `decoding failed due to the following error(s):\n\n${shown}` }
}

/**
 * Reads an object, without converting its values. Merges a list of objects; null in it is nothing, and a list of
 * nothing but null is null.
 */
export function toMap(wire: unknown): Coerced<FieldMap | null> {
  if (wire === null || wire === undefined) return { value: null }
  if (isJsonObject(wire)) return { value: wire }
  if (!Array.isArray(wire)) return { error: unconvertible('', 'map[string]interface {}', wire) }
  const merged: FieldMap = Object.create(null)
  const { error, isNull } = mergeInto(merged, wire)
  if (error !== undefined) return { error }
  return { value: isNull ? null : merged }
}

/** Like `toMap`; a text that is one JSON object counts as that object, because command lines send files as text. */
export const toMapOrText = (wire: unknown): Coerced<FieldMap | null> => toMap(objectInText(wire) ?? wire)

/** Like `toPairs`; a text that is one JSON object of texts counts as that object. */
export function toPairsOrText(wire: unknown): Coerced<FieldMap<string> | null> {
  const object = objectInText(wire)
  const isOfTexts = object && Object.values(object).every((value) => typeof value === 'string')
  return toPairs(isOfTexts === true ? object : wire)
}

/** The limits of a body do not see into its texts. */
const textLimits = { maxStrings: 10_000, maxMemory: 4 * 1024 * 1024, maxDepth: 100 }

/** Undefined for anything but a text that is one JSON object, in which no member is there twice. */
function objectInText(wire: unknown): JsonObject | undefined {
  if (typeof wire !== 'string' || !/^\s*\{/.test(wire)) return undefined
  try {
    const value = parseJson(Buffer.from(wire), textLimits, { isAlone: true, isUnique: true })
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined
    throw error
  }
}

/**
 * Merges the objects in a list, at any depth. Returns the error text for anything else but null, and whether there
 * was nothing but null.
 */
function mergeInto(merged: FieldMap, list: readonly unknown[]): { error?: string; isNull: boolean } {
  let isNull = list.length > 0
  const open = [{ rest: list.entries(), place: '' }]
  for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
    const next = inner.rest.next()
    if (next.done === true) {
      open.pop()
      continue
    }
    const [index, element] = next.value
    const place = `${inner.place}[${index}]`
    if (element === null) continue
    if (Array.isArray(element)) {
      isNull &&= element.length > 0
      open.push({ rest: element.entries(), place })
    } else if (isJsonObject(element)) {
      isNull = false
      copyInto(merged, element)
    } else return { error: unconvertible(place, 'map[string]interface {}', element), isNull }
  }
  return { isNull }
}

/** Reads a list, without converting its elements. Anything else is one element, but {} is none. */
export function toSlice(wire: unknown): Coerced<JsonValue[]> {
  if (wire === '') return { value: [''] }
  // the input is JSON, so its elements are too
  return { value: [...elements(wire)] as JsonValue[] }
}

/** Reads an object of scalars, or texts of the form `key=value`. */
export function toPairs(wire: unknown): Coerced<FieldMap<string> | null> {
  if (wire === null || wire === undefined) return { value: null }
  const pairs: FieldMap<string> = Object.create(null)
  if (isJsonObject(wire)) {
    for (const key of Object.keys(wire)) {
      const text = scalarText(wire[key])
      if (text === undefined) return { error: notTexts([{ index: 0, wire }]) }
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
