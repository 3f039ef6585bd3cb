import { Buffer } from 'node:buffer'
import { letOthersRun } from '../../lib/data/pages.ts'
import { isJsonNumber, type JsonValue, numberText } from '../../lib/text/json.ts'
import { parseTime } from '../../lib/text/time.ts'
import { keyedHash } from '../records/keyed-hash.ts'

/** The device options that decide what is hashed. docs/contract/audit.md#what-is-hashed */
export type HashingOptions = {
  readonly logRaw: boolean
  readonly hmacAccessor: boolean
  readonly elideListResponses: boolean
}

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
export type Secrets = { readonly fields: FieldNames; readonly values?: SecretValues | undefined }

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

export type Hiding = { readonly hide: Hide; readonly isSecretIn?: IsSecret | undefined }

/** Where a value stands: its nearest key, and whether it is part of a secret value. */
type Place = { readonly key: string; readonly isSecret: boolean }

/** What an entry shows of a text, a number, a boolean or null. */
function shownValue(value: unknown, { key, isSecret }: Place, hide: Hide): unknown {
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

/** Texts hidden in one turn of the event loop: about two milliseconds. */
const textsPerTurn = 2_000
/** A device has 2 s for a line. */
const maxLength = 16 * 1024 * 1024

type Frame = {
  readonly entries: Iterator<readonly [string, unknown]>
  readonly end: string
  readonly isSecret: boolean
  isFirst: boolean
}

/**
 * The JSON text of data with hidden texts. Without recursion: a body may have 10,000 levels. Other requests are served
 * while the names of a long list are hidden. Too long data is omitted. docs/contract/audit.md#long-data
 */
export async function hiddenText(data: object, { hide, isSecretIn }: Hiding): Promise<string> {
  const pieces: string[] = []
  const open: Frame[] = []
  let length = 0
  let texts = 0
  const write = (piece: string) => {
    pieces.push(piece)
    length += piece.length
  }
  const enter = (value: object, key: string, isSecret: boolean) => {
    write(Array.isArray(value) ? '[' : '{')
    open.push({ ...membersOf(value, key), isSecret, isFirst: true })
  }
  enter(data, '', false)
  for (let frame = open.at(-1); frame !== undefined; frame = open.at(-1)) {
    if (length > maxLength) return JSON.stringify({ omitted: `longer than ${maxLength} characters` })
    const next = frame.entries.next()
    if (next.done === true) {
      write(frame.end)
      open.pop()
      continue
    }
    const [key, value] = next.value
    if (value === undefined) continue
    write(`${frame.isFirst ? '' : ','}${frame.end === '}' ? `${JSON.stringify(key)}:` : ''}`)
    frame.isFirst = false
    const isSecret = frame.isSecret || (open.length === 1 && isSecretIn?.(key) === true)
    if (typeof value === 'object' && value !== null && !isJsonNumber(value)) {
      enter(value, key, isSecret)
      continue
    }
    write(JSON.stringify(shownValue(value, { key, isSecret }, hide)))
    texts += 1
    if (texts % textsPerTurn === 0) await letOthersRun()
  }
  return pieces.join('')
}

/** The elements of a list count under the list's key. */
const membersOf = (value: object, key: string): Pick<Frame, 'entries' | 'end'> =>
  Array.isArray(value)
    ? { entries: value.values().map((element) => [key, element] as const), end: ']' }
    : { entries: Object.entries(value).values(), end: '}' }

const timeStart = /^\d{4}-\d\d-\d\dT/

/** Whether the whole text is an RFC 3339 time. */
const isTime = (text: string): boolean => timeStart.test(text) && 'time' in parseTime(text)
