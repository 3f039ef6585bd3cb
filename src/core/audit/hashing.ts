import { Buffer } from 'node:buffer'
import { isJsonNumber, type JsonValue, numberText } from '../../lib/text/json.ts'
import { parseTime } from '../../lib/text/time.ts'
import { keyedHash } from '../records/keyed-hash.ts'

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
  const hmac = keyedHash(Buffer.from(salt))
  return { ...options, hash: (text) => `hmac-sha256:${hmac(text, 'hex')}` }
}

export type FieldNames = ReadonlySet<string>

/** What of the data of a request and its response is secret, so that its numbers, booleans and times are, too. */
export type Secrets = {
  /** Fields that carry a secret. */
  readonly fields: FieldNames
  readonly values?: SecretValues | undefined
}

/** Whether all values in this member of the data are secret, at any depth. */
type IsSecret = (member: string) => boolean

export type SecretValues = { readonly request: IsSecret; readonly response: IsSecret }

export const everyValue: SecretValues = { request: () => true, response: () => true }

export const noSecrets: Secrets = { fields: new Set() }

/** What an entry shows instead of a text at this key, the nearest one around it, in a secret value or not. */
export type Hide = (text: string, key: string, isSecret: boolean) => string

/**
 * Hides all texts but the values of `clear`, which a mount wants in clear text, and times that are neither part of
 * a secret value nor values of `secret`.
 */
export const hidingBut =
  (hash: Hashing['hash'], { clear, secret }: { clear: FieldNames; secret: FieldNames }): Hide =>
  (text, key, isSecret) =>
    clear.has(key) || (!isSecret && isTime(text) && !secret.has(key)) ? text : hash(text)

/** How data is hidden. */
export type Hiding = { readonly hide: Hide; readonly isSecretIn?: IsSecret | undefined }

/** Where a value stands: its nearest key, and whether it is part of a secret value. */
type Place = { readonly key: string; readonly isSecret: boolean }

/** What an entry shows of a text, a number, a boolean or null. */
export function shownValue(value: unknown, { key, isSecret }: Place, hide: Hide): unknown {
  if (typeof value === 'string') return hide(value, key, isSecret)
  if (!isSecret || value === null || value === undefined) return value
  const text = isJsonNumber(value) ? numberText(value) : String(value)
  const hidden = hide(text, key, true)
  return hidden === text ? value : hidden
}

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
/** The place is that of the elements of a list. */
type Work = Place & { readonly source: object; readonly target: Container }

/**
 * A copy of JSON data with hidden texts; undefined if it has more values than `most`. Without recursion: a
 * body may have 10,000 levels.
 */
export function hiddenCopy(data: object, { hide, isSecretIn }: Hiding, most: number): object | undefined {
  const work: Work[] = []
  let values = 0
  const hidden = (value: unknown, key: string, isSecret: boolean): unknown => {
    values += 1
    if (typeof value !== 'object' || value === null || isJsonNumber(value))
      return shownValue(value, { key, isSecret }, hide)
    const target: Container = Array.isArray(value) ? [] : Object.create(null)
    work.push({ source: value, target, key, isSecret })
    return target
  }
  const copy = hidden(data, '', false)
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    const { source, target, key, isSecret } = next
    if (Array.isArray(target)) {
      for (const value of source as unknown[]) {
        if (values > most) return undefined
        target.push(hidden(value, key, isSecret))
      }
      continue
    }
    for (const [name, value] of Object.entries(source)) {
      if (values > most) return undefined
      target[name] = hidden(value, name, isSecret || (source === data && isSecretIn?.(name) === true))
    }
  }
  return copy as object
}

const timeStart = /^\d{4}-\d\d-\d\dT/

/** Whether the whole text is an RFC 3339 time. */
const isTime = (text: string): boolean => timeStart.test(text) && 'time' in parseTime(text)
