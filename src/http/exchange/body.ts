import { Buffer } from 'node:buffer'
import { unescape as unescapePercent } from 'node:querystring'
import { refuse } from '../../errors.ts'
import { excerpt } from '../../lib/text/go-text.ts'
import { jsonTypeName } from '../../lib/text/go-type-names.ts'
import {
  isJsonNumber,
  type JsonLimits,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
  parseJson,
} from '../../lib/text/json.ts'

const formType = 'application/x-www-form-urlencoded'
/** The media type of a PATCH. */
export const mergePatchType = 'application/merge-patch+json'

/**
 * Reads the fields of a POST or PUT: a JSON object whatever its media type, or a form that is declared as
 * one. Throws `ServiceError`. docs/contract/http.md#bodies
 */
export function readFields(
  raw: Uint8Array | undefined,
  contentType: string | undefined,
  limits: JsonLimits,
): Record<string, JsonValue> {
  const first = raw && firstByte(raw)
  if (raw === undefined || first === undefined) return noFields()
  const isForm =
    first !== 0x7b && first !== 0x5b && contentType !== undefined && mediaType(contentType) === formType
  return isForm ? readForm(raw, limits) : readObject(raw, limits)
}

/**
 * Reads the fields of a PATCH, which has only one media type. Throws `ServiceError`.
 * docs/contract/http.md#bodies
 */
export function readPatchFields(
  raw: Uint8Array | undefined,
  contentType: string | undefined,
  limits: JsonLimits,
): Record<string, JsonValue> {
  if (contentType === undefined || contentType.trim() === '') throw refuse('invalid', 'mime: no media type')
  const given = mediaType(contentType)
  if (given !== mergePatchType)
    throw refuse(
      'unsupported-media',
      `PATCH requires Content-Type of ${mergePatchType}, provided ${excerpt(given)}`,
    )
  return raw === undefined || firstByte(raw) === undefined ? noFields() : readObject(raw, limits)
}

/**
 * Reads the fields of a read, list or delete. A key that occurs once is a text, a repeated one a list of
 * texts; `help` and pairs that cannot be decoded are dropped. docs/contract/http.md#verbs-and-paths
 */
export function queryFields(query: string): Record<string, JsonValue> {
  if (!query.includes('&')) return fieldsOfPair(query)
  const fields = noFields()
  for (const pair of manyPairsOf(query)) {
    if (pair === undefined) continue
    const { key, value } = pair
    if (key === 'help') continue
    const before = fields[key]
    if (before === undefined) fields[key] = value
    else if (Array.isArray(before)) before.push(value)
    else fields[key] = [before, value]
  }
  return fields
}

/** Most queries have one pair. This object costs a third of one to which the field is added. */
function fieldsOfPair(query: string): Record<string, JsonValue> {
  const pair = query === '' ? undefined : decodePair(query)
  if (pair === undefined || pair.key === 'help') return noFields()
  return { __proto__: null, [pair.key]: pair.value }
}

/** Without a prototype, so that no field name collides with an inherited property. */
const noFields = (): JsonObject => Object.create(null)

/** The first that is not blank. A megabyte of blanks takes a tenth of the time that a callback for each would. */
function firstByte(raw: Uint8Array): number | undefined {
  let at = 0
  while (isBlank(raw[at] ?? -1)) at++
  return raw[at]
}

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d

const mediaType = (contentType: string): string => (contentType.split(';', 1)[0] ?? '').trim().toLowerCase()

function readObject(raw: Uint8Array, limits: JsonLimits): Record<string, JsonValue> {
  const value = parseBody(raw, limits)
  if (value === null) return noFields()
  if (typeof value === 'object' && !Array.isArray(value) && !isJsonNumber(value)) return value
  throw refuse(
    'invalid',
    `failed to parse JSON input: json: cannot unmarshal ${jsonTypeName(value)} into Go value of type map[string]interface {}`,
  )
}

function parseBody(raw: Uint8Array, limits: JsonLimits): JsonValue {
  try {
    return parseJson(raw, limits)
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    throw refuse(
      'invalid',
      error.tooComplex
        ? `refused JSON input due to high complexity: ${error.message}`
        : `failed to parse JSON input: ${error.message}`,
    )
  }
}

function readForm(raw: Uint8Array, limits: JsonLimits): Record<string, JsonValue> {
  const valuesByKey = new Map<string, string[]>()
  const maxValues = limits.maxValues || Number.POSITIVE_INFINITY
  let values = 0
  let strings = 0
  for (const pair of pairsOf(spaced(raw).toString())) {
    if (pair === undefined) throw refuse('invalid', 'error parsing form data')
    strings += 2
    if (limits.maxStrings > 0 && strings > limits.maxStrings) {
      throw refuse('invalid', 'refused form input due to high complexity: exceeded maximum number of strings')
    }
    values++
    if (values > maxValues)
      throw refuse('invalid', 'refused form input due to high complexity: exceeded maximum number of values')
    const before = valuesByKey.get(pair.key)
    if (before === undefined) valuesByKey.set(pair.key, [pair.value])
    else before.push(pair.value)
  }
  const fields = noFields()
  for (const [key, values] of valuesByKey) fields[key] = values.join(',')
  return fields
}

/** With each plus as the blank that it means. In a text, a million of them would take a hundred times as long. */
function spaced(raw: Uint8Array): Buffer {
  const bytes = Buffer.from(raw)
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === plus) bytes[at] = blank
  return bytes
}

const plus = 0x2b
const blank = 0x20

type Pair = { readonly key: string; readonly value: string }

/** The pairs of a form or query in order; undefined for a pair that cannot be decoded. */
function pairsOf(text: string): Iterable<Pair | undefined> {
  return text.includes('&') ? manyPairsOf(text) : text === '' ? [] : [decodePair(text)]
}

function* manyPairsOf(separated: string): Generator<Pair | undefined> {
  // a regular expression passes a megabyte of separators in a twentieth of the time of a loop
  const text = separated.replace(/&{2,}/g, '&')
  for (let start = 0; start < text.length; ) {
    const ampersand = text.indexOf('&', start)
    const end = ampersand < 0 ? text.length : ampersand
    if (end > start) yield decodePair(text.slice(start, end))
    start = end + 1
  }
}

function decodePair(pair: string): Pair | undefined {
  if (pair.includes(';') || (pair.includes('%') && /%(?![\dA-Fa-f]{2})/.test(pair))) return undefined
  const cut = pair.indexOf('=')
  return cut < 0
    ? { key: decode(pair), value: '' }
    : { key: decode(pair.slice(0, cut)), value: decode(pair.slice(cut + 1)) }
}

/** Bytes that are not valid UTF-8 become U+FFFD. */
function decode(text: string): string {
  const plain = text.includes('+') ? text.replaceAll('+', ' ') : text
  return plain.includes('%') ? unescapePercent(plain) : plain
}
