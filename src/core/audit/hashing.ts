import { Buffer } from 'node:buffer'
import { hmacWith } from '../../lib/hmac.ts'
import { isJsonNumber, type JsonValue, numberText } from '../../lib/json.ts'
import { parseTime } from '../../lib/time.ts'

/** The device options that decide what is hashed. docs/contract/audit.md#what-is-hashed */
export type HashingOptions = {
  readonly logRaw: boolean
  readonly hmacAccessor: boolean
  readonly elideListResponses: boolean
}

/** How one device hides values. */
export type Hashing = HashingOptions & {
  /** HMAC-SHA256 with the device's salt, as entries show it. */
  hash(text: string): string
}

export function hashingWith(salt: string, options: HashingOptions): Hashing {
  const hmac = hmacWith(Buffer.from(salt))
  return { ...options, hash: (text) => `hmac-sha256:${hmac(text, 'hex')}` }
}

export type FieldNames = ReadonlySet<string>

/** What an entry shows instead of a text at this key, the nearest one around it. */
export type Hide = (text: string, key: string) => string

/**
 * Hides all texts but the values of `clear`, which a mount wants in clear text, and times that are not values
 * of `secret`.
 */
export const hidingBut =
  (hash: Hashing['hash'], { clear, secret }: { clear: FieldNames; secret: FieldNames }): Hide =>
  (text, key) =>
    clear.has(key) || (isTime(text) && !secret.has(key)) ? text : hash(text)

/** The numbers and booleans of secret fields as texts, so that they are hidden: a password may be a number. */
export function withSecretTexts(data: Readonly<Record<string, JsonValue>>, secret: FieldNames): object {
  const sent = [...secret].filter((name) => Object.hasOwn(data, name))
  if (sent.every((name) => typeof data[name] === 'string')) return data
  return { ...data, ...Object.fromEntries(sent.map((name) => [name, withTexts(data[name] ?? null)])) }
}

/** Maps stay as they are: no secret is one. */
function withTexts(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => (Array.isArray(item) ? item : withTexts(item)))
  if (isJsonNumber(value)) return numberText(value)
  return typeof value === 'boolean' ? String(value) : value
}

type Container = unknown[] | { [key: string]: unknown }
/** `key`: the nearest map key around the elements of a list. */
type Work = { readonly source: object; readonly target: Container; readonly key: string }

/**
 * A copy of JSON data with hidden texts; undefined if it has more values than `most`. Without recursion: a
 * body may have 10,000 levels.
 */
export function hiddenCopy(data: object, hide: Hide, most: number): object | undefined {
  const work: Work[] = []
  let values = 0
  const hidden = (value: unknown, key: string): unknown => {
    values += 1
    if (typeof value === 'string') return hide(value, key)
    if (typeof value !== 'object' || value === null || isJsonNumber(value)) return value
    const target: Container = Array.isArray(value) ? [] : Object.create(null)
    work.push({ source: value, target, key })
    return target
  }
  const copy = hidden(data, '')
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    const { source, target, key } = next
    if (Array.isArray(target)) {
      for (const value of source as unknown[]) {
        if (values > most) return undefined
        target.push(hidden(value, key))
      }
      continue
    }
    for (const [name, value] of Object.entries(source)) {
      if (values > most) return undefined
      target[name] = hidden(value, name)
    }
  }
  return copy as object
}

const timeStart = /^\d{4}-\d\d-\d\dT/

/** Whether the whole text is an RFC 3339 time. */
const isTime = (text: string): boolean => timeStart.test(text) && 'time' in parseTime(text)
