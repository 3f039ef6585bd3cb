import { RE2JS, RE2JSSyntaxException } from 're2js'
import { Cache } from '../../../../lib/data/cache.ts'
import { type Definition, define, method } from './functions.ts'
import { bool, int, listOf, optionalOf, string } from './kinds.ts'
import { CelError, LimitError, Optional, type Value } from './values.ts'
import type { Work } from './work.ts'

const longestPattern = 4_096
const compiled = new Cache<Compiled>({
  name: 'patterns of cel programs',
  most: 1_000,
  mostWeight: 100_000,
  weigh: ({ size }) => size,
})

/** `size` is about the number of instructions. */
type Compiled = { readonly pattern: RE2JS; readonly size: number }

/** Patterns match in linear time. Throws a `CelError` for one that is not valid. */
function patternOf(text: string, work: Work): Compiled {
  const known = compiled.get(text)
  if (known !== undefined) return known
  const size = expandedSize(text)
  if (text.length > longestPattern || size > mostInstructions || foldedRanges(text) > mostFoldedRanges)
    throw new LimitError('the program made too large a value')
  try {
    const pattern = { pattern: RE2JS.compile(text), size }
    compiled.set(text, pattern)
    work.look()
    return pattern
  } catch (error) {
    // its message repeats a part of the pattern
    if (error instanceof RE2JSSyntaxException)
      throw new CelError(`error parsing regexp: ${error.getDescription()}`)
    throw error
  }
}

const mostInstructions = 10_000

/** At least what a pattern becomes when its repetitions, such as `a{3}`, are written out. */
function expandedSize(pattern: string): number {
  const repeated = [...pattern.matchAll(/(\)?)\{(\d{1,4})(?:,(\d{0,4}))?\}/g)].map(
    ([, group = '', least = '', most = '']) => ({
      isGroup: group !== '',
      times: Math.max(1, Number(least), Number(most)),
    }),
  )
  const once = repeated.filter(({ isGroup }) => !isGroup).reduce((sum, { times }) => sum + times, 0)
  // groups may be inside each other; beyond 1,000 in all, RE2 refuses
  const groups = repeated.filter(({ isGroup }) => isGroup).reduce((all, { times }) => all * times, 1)
  return (pattern.length + once) * Math.min(1_000, groups)
}

/** Each takes up to three milliseconds: every character of it is looked up. */
const mostFoldedRanges = 32

/** At most how many ranges, such as `a-z`, a pattern has of which the case does not matter. */
const foldedRanges = (pattern: string): number =>
  /\(\?[A-Za-z]*i/.test(pattern) ? pattern.split('-').length - 1 : 0

/** A search cannot be interrupted, so its cost is limited before. */
const mostCost = 4 * 1024 * 1024

function limitCost(length: number, size: number, work: Work): void {
  if (length * size > mostCost) throw new LimitError('the program took too long')
  work.step((length * size) / 64)
}

type Match = { readonly start: number; readonly end: number; group(number: number): string | undefined }

/** The matches in a text, in order. */
function* matchesOf(pattern: string, text: string, work: Work): Generator<Match> {
  const { pattern: compiled, size } = patternOf(pattern, work)
  const matcher = compiled.matcher(text)
  let end = 0
  const isFound = (): boolean => {
    // each may look at all that is left
    limitCost(text.length - end, size, work)
    return matcher.find()
  }
  while (isFound()) {
    const start = matcher.start()
    end = matcher.end()
    // a group that did not take part is null
    yield { start, end, group: (number) => matcher.group(number) ?? undefined }
  }
}

function isMatch(text: string, pattern: string, work: Work): boolean {
  const { pattern: compiled, size } = patternOf(pattern, work)
  limitCost(text.length, size, work)
  return compiled.matcher(text).find()
}

/** The only group of each match, or else the whole match; undefined for a group that did not take part. */
function* partsOf(text: string, pattern: string, work: Work): Generator<string | undefined> {
  const groups = patternOf(pattern, work).pattern.groupCount()
  if (groups > 1) throw new CelError('regular expression has more than one capturing group')
  for (const match of matchesOf(pattern, text, work)) yield match.group(groups)
}

function extract(text: string, pattern: string, work: Work): Value {
  for (const part of partsOf(text, pattern, work)) return new Optional(part)
  return new Optional()
}

function extractAll(text: string, pattern: string, work: Work): readonly Value[] {
  const found: string[] = []
  for (const part of partsOf(text, pattern, work)) {
    if (part !== undefined) found.push(part)
    work.list(found.length, 1)
  }
  return found
}

/** `\0` is the match, `\1` its first group, `\\` a backslash. */
function rewritten(rewrite: string, match: Match, groups: number): string {
  return rewrite.replace(/\\(.?)/gs, (_all, char: string) => {
    if (char === '\\') return char
    if (!/^\d$/.test(char)) throw new CelError('invalid replacement string: \\ must be followed by a digit')
    if (Number(char) > groups)
      throw new CelError(`replacement string references group ${char} but regex has only ${groups} group(s)`)
    return match.group(Number(char)) ?? ''
  })
}

function replace(text: string, pattern: string, rewrite: string, most: bigint, work: Work): string {
  const groups = patternOf(pattern, work).pattern.groupCount()
  const references = rewrite.split('\\').length - 1
  let result = ''
  let copied = 0
  let left = most
  for (const match of left === 0n ? [] : matchesOf(pattern, text, work)) {
    work.text(rewrite.length + references * (match.end - match.start))
    const piece = text.slice(copied, match.start) + rewritten(rewrite, match, groups)
    result += piece
    work.text(result.length, piece.length)
    copied = match.end
    if (--left === 0n) break
  }
  return result + text.slice(copied)
}

/** Patterns of RE2. docs/contract/cel.md#functions */
export const patternFunctions: readonly Definition[] = [
  define('matches', [string, string], bool, isMatch),
  method('matches', [string, string], bool, isMatch),
  define('regex.extract', [string, string], optionalOf(string), extract),
  define('regex.extractAll', [string, string], listOf(string), extractAll),
  define('regex.replace', [string, string, string], string, (text, pattern, rewrite, work) =>
    replace(text, pattern, rewrite, -1n, work),
  ),
  define('regex.replace', [string, string, string, int], string, replace),
]
