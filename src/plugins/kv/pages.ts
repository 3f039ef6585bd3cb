import { z } from 'zod'
import { intField, stringField } from '../../lib/fields.ts'

/** The fields of every list. */
export const listInput = z.object({
  after: stringField.default('').describe('List the names after this one'),
  limit: intField.default(0).describe('List at most this many names; 0 for all'),
})

export type ListRange = z.output<typeof listInput>

/** Which of two texts comes first in the order of their UTF-8 bytes. */
export function compareBytes(one: string, other: string): number {
  const end = Math.min(one.length, other.length)
  for (let at = 0; at < end; at += 1) {
    const a = one.charCodeAt(at)
    const b = other.charCodeAt(at)
    if (a !== b) return rank(a) - rank(b)
  }
  return one.length - other.length
}

/** A surrogate stands for a character above all those of one unit. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)

/** The part of sorted names that a list asks for: the same array if it is all of them. */
export function pageOf(names: readonly string[], { after, limit }: ListRange): readonly string[] {
  if (after === '' && limit <= 0) return names
  const from = after === '' ? 0 : firstAfter(names, after)
  return names.slice(from, limit > 0 ? from + limit : undefined)
}

/** Where the names behind `after` begin. */
export function firstAfter(names: readonly string[], after: string): number {
  let [low, high] = [0, names.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareBytes(names[middle] ?? '', after) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
