import { characters } from './core-functions.ts'
import { isEmail } from './email.ts'
import { formatted } from './format.ts'
import { type Definition, define, method } from './functions.ts'
import { bool, bytes, int, list, listOf, string } from './kinds.ts'
import { quotedText } from './texts.ts'
import { CelError, noOverload, type Value } from './values.ts'
import type { Work } from './work.ts'

const texts = listOf(string)

/** An index into something of this length, which the end of it is too. */
function within(index: bigint, length: number): number {
  if (index < 0n || index > BigInt(length)) throw new CelError(`index out of range: ${index}`)
  return Number(index)
}

function charAt(text: string, index: bigint, work: Work): string {
  const all = characters(text, work)
  return all[within(index, all.length)] ?? ''
}

/** Where the characters begin in the text, and where the last one ends. */
function offsetsOf(text: string, work: Work): number[] {
  let offset = 0
  return [0, ...characters(text, work).map((character) => (offset += character.length))]
}

function indexFrom(text: string, part: string, from: bigint, work: Work): bigint {
  work.search(text, part)
  const offsets = offsetsOf(text, work)
  const begin = offsets[within(from, offsets.length - 1)]
  return BigInt(offsets.indexOf(text.indexOf(part, begin)))
}

function lastIndexFrom(text: string, part: string, from: bigint | undefined, work: Work): bigint {
  work.search(text, part)
  const offsets = offsetsOf(text, work)
  const begin = from === undefined ? undefined : offsets[within(from, offsets.length - 1)]
  return BigInt(offsets.indexOf(text.lastIndexOf(part, begin)))
}

function substring(text: string, from: bigint, to: bigint | undefined, work: Work): string {
  const offsets = offsetsOf(text, work)
  const last = offsets.length - 1
  const [begin, end] = [within(from, last), within(to ?? BigInt(last), last)]
  if (begin > end) throw new CelError(`invalid substring range. start: ${begin}, end: ${end}`)
  return text.slice(offsets[begin], offsets[end])
}

/** The parts between separators, at most so many; the last one is the rest. Negative: all of them. */
function split(text: string, separator: string, most: bigint, work: Work): readonly Value[] {
  work.search(text, separator)
  const parts = separator === '' ? [...text] : text.split(separator)
  work.list(parts.length)
  if (most < 0n || BigInt(parts.length) <= most) return parts
  const kept = Number(most)
  return kept === 0 ? [] : [...parts.slice(0, kept - 1), parts.slice(kept - 1).join(separator)]
}

function replace(text: string, old: string, by: string, most: bigint, work: Work): string {
  work.search(text, old)
  const pieces = old === '' ? ['', ...text, ''] : text.split(old)
  const count = most < 0n || most > BigInt(pieces.length - 1) ? pieces.length - 1 : Number(most)
  work.text(text.length + count * by.length)
  return `${pieces
    .slice(0, count)
    .map((piece) => piece + by)
    .join('')}${pieces.slice(count).join(old)}`
}

function join(items: readonly Value[], separator: string, work: Work): string {
  let length = 0
  const parts = items.map((item) => {
    if (typeof item !== 'string') throw noOverload()
    length += item.length + separator.length
    return item
  })
  work.text(length)
  return parts.join(separator)
}

const ascii = (pattern: RegExp, change: (letter: string) => string) => (text: string, work: Work) => {
  work.text(text.length)
  return text.replace(pattern, change)
}

// the characters with the property White_Space
const blank = '[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
const blanksBefore = new RegExp(`^${blank}+`)

function trim(text: string, work: Work): string {
  work.text(text.length)
  let end = text.length
  while (end > 0 && blanksBefore.test(text.charAt(end - 1))) end--
  return text.slice(0, end).replace(blanksBefore, '')
}

/** docs/contract/cel.md#functions */
export const textFunctions: readonly Definition[] = [
  method('contains', [string, string], bool, (text, part, work) => {
    work.search(text, part)
    return text.includes(part)
  }),
  method('startsWith', [string, string], bool, (text, part) => text.startsWith(part)),
  method('endsWith', [string, string], bool, (text, part) => text.endsWith(part)),
  method('charAt', [string, int], string, charAt),
  method('indexOf', [string, string], int, (text, part, work) => indexFrom(text, part, 0n, work)),
  method('indexOf', [string, string, int], int, indexFrom),
  method('lastIndexOf', [string, string], int, (text, part, work) =>
    lastIndexFrom(text, part, undefined, work),
  ),
  method('lastIndexOf', [string, string, int], int, lastIndexFrom),
  method('substring', [string, int], string, (text, from, work) => substring(text, from, undefined, work)),
  method('substring', [string, int, int], string, substring),
  method('split', [string, string], texts, (text, separator, work) => split(text, separator, -1n, work)),
  method('split', [string, string, int], texts, split),
  method('replace', [string, string, string], string, (text, old, by, work) =>
    replace(text, old, by, -1n, work),
  ),
  method('replace', [string, string, string, int], string, replace),
  method('join', [texts], string, (items, work) => join(items, '', work)),
  method('join', [texts, string], string, join),
  method(
    'lowerAscii',
    [string],
    string,
    ascii(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  ),
  method(
    'upperAscii',
    [string],
    string,
    ascii(/[a-z]+/g, (letters) => letters.toUpperCase()),
  ),
  method('trim', [string], string, trim),
  method('reverse', [string], string, (text, work) => characters(text, work).reverse().join('')),
  method('format', [string, list], string, formatted),
  define('strings.quote', [string], string, (text, work) => {
    work.text(text.length * 2)
    return quotedText(text)
  }),
  define('base64.encode', [bytes], string, (value, work) => {
    work.text(value.length * 2)
    return Buffer.from(value).toString('base64')
  }),
  define('base64.decode', [string], bytes, decodeBase64),
  define('check_valid_email', [string], bool, (text) => isEmail(text)),
]

function decodeBase64(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.replace(/=+$/, '').length % 4 === 1)
    throw new CelError('illegal base64 data')
  return Buffer.from(text, 'base64')
}
