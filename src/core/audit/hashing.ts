import { createHmac, hash } from 'node:crypto'
import { isJsonNumber } from '../../lib/json.ts'
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
  const hmac = shortHmac(salt)
  return { ...options, hash: (text) => `hmac-sha256:${hmac(text)}` }
}

const blockBytes = 64
const digestBytes = 32
/** UTF-8 takes at most three bytes for a UTF-16 code unit. */
const maxShortLength = 1300

/**
 * HMAC-SHA-256 in hex. Two digests of short texts take half the time of `createHmac`, which every audited
 * request would need several times. RFC 2104
 */
function shortHmac(key: string): (text: string) => string {
  const inner = Buffer.alloc(blockBytes + 3 * maxShortLength)
  const outer = Buffer.alloc(blockBytes + digestBytes)
  // a longer key would have to be hashed first
  if (inner.write(key) > blockBytes) return (text) => createHmac('sha256', key).update(text).digest('hex')
  for (let at = 0; at < blockBytes; at++) {
    const byte = inner[at] ?? 0
    inner[at] = byte ^ 0x36
    outer[at] = byte ^ 0x5c
  }
  return (text) => {
    if (text.length > maxShortLength) return createHmac('sha256', key).update(text).digest('hex')
    const bytes = inner.write(text, blockBytes)
    outer.write(hash('sha256', inner.subarray(0, blockBytes + bytes), 'latin1'), blockBytes, 'latin1')
    return hash('sha256', outer, 'hex')
  }
}

/** Keys whose values a mount wants in clear text. */
export type ClearKeys = ReadonlySet<string>

/** What an entry shows instead of a text at this key, the nearest one around it. */
export type Hide = (text: string, key: string) => string

/** Hides all texts but times and the values of clear keys. */
export const hidingBut =
  (hash: Hashing['hash'], clear: ClearKeys): Hide =>
  (text, key) =>
    clear.has(key) || isTime(text) ? text : hash(text)

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
