import { areEqual, compare, contains } from './compare.ts'
import { type Definition, define, method } from './functions.ts'
import * as kind from './kinds.ts'
import { doubleText, noted, scalarText } from './texts.ts'
import {
  CelError,
  type CelMap,
  endOfInt,
  nanosOfSecond,
  noOverload,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from './values.ts'
import type { Work } from './work.ts'

const { bool, bytes, double, dyn, int, list, map, string, uint } = kind

const leastInt = -endOfInt
const endOfUint = 2n ** 64n

/** An int, or the error that it does not fit into 64 bits. */
export function intOf(value: bigint): bigint {
  if (value < leastInt || value >= endOfInt) throw new CelError('integer overflow')
  return value
}

function uintOf(value: bigint): Uint {
  if (value < 0n || value >= endOfUint) throw new CelError('unsigned integer overflow')
  return new Uint(value)
}

function nonZero(divisor: bigint, problem: 'division by zero' | 'modulus by zero'): bigint {
  if (divisor === 0n) throw new CelError(problem)
  return divisor
}

const joinedTexts = (one: string, other: string, work: Work): string => {
  work.text(one.length + other.length)
  return one + other
}

const joinedBytes = (one: Uint8Array, other: Uint8Array, work: Work): Uint8Array => {
  work.text(one.length + other.length)
  return Buffer.concat([one, other])
}

const joinedLists = (one: readonly Value[], other: readonly Value[], work: Work): readonly Value[] => {
  work.list(one.length + other.length)
  return [...one, ...other]
}

const arithmetic: readonly Definition[] = [
  define('_+_', [int, int], int, (one, other) => intOf(one + other)),
  define('_+_', [uint, uint], uint, (one, other) => uintOf(one.value + other.value)),
  define('_+_', [double, double], double, (one, other) => one + other),
  define('_+_', [string, string], string, joinedTexts),
  define('_+_', [bytes, bytes], bytes, joinedBytes),
  define('_+_', [list, list], list, joinedLists),
  define('_-_', [int, int], int, (one, other) => intOf(one - other)),
  define('_-_', [uint, uint], uint, (one, other) => uintOf(one.value - other.value)),
  define('_-_', [double, double], double, (one, other) => one - other),
  define('_*_', [int, int], int, (one, other) => intOf(one * other)),
  define('_*_', [uint, uint], uint, (one, other) => uintOf(one.value * other.value)),
  define('_*_', [double, double], double, (one, other) => one * other),
  define('_/_', [int, int], int, (one, other) => intOf(one / nonZero(other, 'division by zero'))),
  define('_/_', [uint, uint], uint, (one, other) =>
    uintOf(one.value / nonZero(other.value, 'division by zero')),
  ),
  define('_/_', [double, double], double, (one, other) => one / other),
  define('_%_', [int, int], int, (one, other) => one % nonZero(other, 'modulus by zero')),
  define('_%_', [uint, uint], uint, (one, other) =>
    uintOf(one.value % nonZero(other.value, 'modulus by zero')),
  ),
  define('-_', [int], int, (value) => intOf(-value)),
  define('-_', [double], double, (value) => -value),
  define('!_', [bool], bool, (value) => !value),
]

/** Which of two is first, as far as an order is known. */
const order = (name: string, isWanted: (order: number) => boolean): Definition =>
  define(name, [dyn, dyn], bool, (one, other, work) => {
    const result = compare(one, other, work)
    return result !== undefined && isWanted(result)
  })

const comparisons: readonly Definition[] = [
  define('_==_', [dyn, dyn], bool, areEqual),
  define('_!=_', [dyn, dyn], bool, (one, other, work) => !areEqual(one, other, work)),
  order('_<_', (result) => result < 0),
  order('_<=_', (result) => result <= 0),
  order('_>_', (result) => result > 0),
  order('_>=_', (result) => result >= 0),
  define('@in', [dyn, list], bool, (wanted, items, work) => contains(items, wanted, work)),
  define('@in', [dyn, map], bool, (key, items) => items.get(key) !== undefined),
]

function wholePart(value: number, work: Work): bigint {
  if (!Number.isFinite(value)) throw new CelError('integer overflow')
  const whole = BigInt(Math.trunc(value))
  noted(value, String(whole), work)
  return whole
}

/** A double as an int; one at the very end of the range is refused, because it may have been rounded. */
function intOfDouble(value: number, work: Work): bigint {
  const whole = wholePart(value, work)
  if (whole <= leastInt || whole >= endOfInt) throw new CelError('integer overflow')
  return whole
}

function parsed(text: string, pattern: RegExp, type: string): bigint {
  if (text.length > 64 || !pattern.test(text))
    throw new CelError(`type conversion error from 'string' to '${type}'`)
  return BigInt(text.replace(/^\+/, ''))
}

const doubles = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/

function parsedDouble(text: string): number {
  const named = /^([-+]?)(?:inf(?:inity)?|(nan))$/i.exec(text)
  if (named !== null) return named[2] === undefined ? Number(`${named[1]}Infinity`) : Number.NaN
  const value = text.length < 1_000 && doubles.test(text) ? Number(text) : Number.NaN
  if (!Number.isFinite(value)) throw new CelError("type conversion error from 'string' to 'double'")
  return value
}

const truths: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
])

function parsedBool(text: string): boolean {
  const value = truths.get(text)
  if (value === undefined) throw new CelError("type conversion error from 'string' to 'bool'")
  return value
}

function decoded(value: Uint8Array, work: Work): string {
  work.text(value.length)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value)
  } catch {
    throw new CelError('invalid UTF-8 in bytes, cannot convert to string')
  }
}

const conversions: readonly Definition[] = [
  define('int', [int], int, (value) => value),
  define('int', [uint], int, ({ value }) => intOf(value)),
  define('int', [double], int, intOfDouble),
  define('int', [string], int, (text) => intOf(parsed(text, /^[-+]?\d+$/, 'int'))),
  define('int', [kind.timestamp], int, ({ nanos }) => floored(nanos, nanosOfSecond)),
  define('uint', [uint], uint, (value) => value),
  define('uint', [int], uint, uintOf),
  define('uint', [double], uint, (value, work) => {
    if (value < 0) throw new CelError('unsigned integer overflow')
    return uintOf(wholePart(value, work))
  }),
  define('uint', [string], uint, (text) => uintOf(parsed(text, /^\d+$/, 'uint'))),
  define('double', [double], double, (value) => value),
  define('double', [int], double, Number),
  define('double', [uint], double, ({ value }) => Number(value)),
  define('double', [string], double, parsedDouble),
  ...[bool, int, uint, string, kind.timestamp, kind.duration].map((from) =>
    define('string', [from], string, scalarText),
  ),
  define('string', [double], string, doubleText),
  define('string', [bytes], string, decoded),
  define('bytes', [bytes], bytes, (value) => value),
  define('bytes', [string], bytes, (text, work) => {
    work.text(Buffer.byteLength(text))
    return Buffer.from(text)
  }),
  define('bool', [bool], bool, (value) => value),
  define('bool', [string], bool, parsedBool),
  define('dyn', [dyn], dyn, (value) => value),
  define('type', [dyn], kind.type, (value) => new TypeValue(typeName(value))),
]

/** Divided and rounded down. */
export function floored(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor
  return value % divisor < 0n ? quotient - 1n : quotient
}

/** Characters, not units of UTF-16. */
export const characters = (text: string, work: Work): string[] => {
  work.step(text.length / 16)
  return [...text]
}

const sizes: readonly Definition[] = [define, method].flatMap((make) => [
  make('size', [string], int, (text, work) => BigInt(characters(text, work).length)),
  make('size', [bytes], int, (value) => BigInt(value.length)),
  make('size', [list], int, (items) => BigInt(items.length)),
  make('size', [map], int, (items: CelMap) => BigInt(items.size)),
])

/** Operators, conversions and `size`. docs/contract/cel.md#functions */
export const coreFunctions: readonly Definition[] = [...arithmetic, ...comparisons, ...conversions, ...sizes]

/** An index of a list. */
export function indexOf(value: Value): number {
  const index = typeof value === 'bigint' ? value : value instanceof Uint ? value.value : wholeDouble(value)
  if (index === undefined) throw noOverload()
  return Number(index)
}

const wholeDouble = (value: Value): bigint | undefined =>
  typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : undefined
