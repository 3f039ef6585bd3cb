import { type Definition, define } from './functions.ts'
import { dyn, string } from './kinds.ts'
import { noted, scalarText } from './texts.ts'
import { CelMap, isList, noOverload, type Value } from './values.ts'
import type { Work } from './work.ts'

/** The value of decoded JSON. Every number is a double. */
export function fromJson(json: unknown, work: Work, depth = 0): Value {
  work.level(depth)
  // half of a pair of surrogates could not be stored
  if (typeof json === 'string') return json.toWellFormed()
  if (json === null || typeof json === 'boolean' || typeof json === 'number') return json
  if (typeof json === 'bigint') return Number(json)
  if (Array.isArray(json)) {
    work.list(json.length)
    return json.map((item) => fromJson(item, work, depth + 1))
  }
  const members = Object.entries(json ?? {})
  work.list(members.length)
  return new CelMap(members.map(([key, value]) => [key.toWellFormed(), fromJson(value, work, depth + 1)]))
}

/** A value as JSON text, with sorted keys. Throws for what JSON has no form of. */
export function jsonText(value: Value, work: Work, depth = 0): string {
  work.level(depth)
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') {
    work.text(value.length)
    return JSON.stringify(value)
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw noOverload()
    return noted(value, JSON.stringify(value), work)
  }
  if (value instanceof Uint8Array) {
    work.text(value.length * 2)
    return JSON.stringify(Buffer.from(value).toString('base64'))
  }
  if (isList(value))
    return bracketed(
      '[]',
      value.map((item) => jsonText(item, work, depth + 1)),
      work,
    )
  if (value instanceof CelMap) return bracketed('{}', membersOf(value, work, depth + 1), work)
  const text = scalarText(value, work)
  return /^-?\d+$/.test(text) ? text : JSON.stringify(text)
}

function membersOf(map: CelMap, work: Work, depth: number): string[] {
  const members = map.entries().map(([key, value]) => [scalarText(key, work), value] as const)
  return members
    .sort(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
    .map(([key, value]) => `${JSON.stringify(key)}:${jsonText(value, work, depth)}`)
}

function bracketed([open, close]: string, parts: readonly string[], work: Work): string {
  work.text(parts.reduce((length, part) => length + part.length + 1, 2))
  return `${open}${parts.join(',')}${close}`
}

function encoded(value: Value, work: Work): Value {
  return value instanceof CelMap ? jsonText(value, work) : false
}

function decoded(text: string, work: Work): Value {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return false
  }
  return fromJson(json, work)
}

/** docs/contract/cel.md#functions */
export const jsonFunctions: readonly Definition[] = [
  define('encode_json', [dyn], dyn, encoded),
  define('decode_json', [string], dyn, decoded),
]
