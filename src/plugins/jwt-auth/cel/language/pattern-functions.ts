import { RE2JS, RE2JSException } from 're2js'
import { Cache } from '../../../../lib/data/cache.ts'
import { type Definition, define, method } from './functions.ts'
import { bool, int, listOf, optionalOf, string } from './kinds.ts'
import { CelError, LimitError, Optional, type Value } from './values.ts'
import type { Work } from './work.ts'

const longestPattern = 4_096
const compiled = new Cache<RE2JS>({ name: 'patterns of cel programs', most: 1_000 })

/** Patterns match in linear time. Throws a `CelError` for one that is not valid. */
function patternOf(text: string): RE2JS {
  const known = compiled.get(text)
  if (known !== undefined) return known
  if (text.length > longestPattern) throw new LimitError('the program made too large a value')
  try {
    const pattern = RE2JS.compile(text)
    compiled.set(text, pattern)
    return pattern
  } catch (error) {
    if (error instanceof RE2JSException) throw new CelError(error.message)
    throw error
  }
}

/** A match cannot be interrupted, so its cost is limited before. */
const mostCost = 4 * 1024 * 1024

function limitCost(text: string, pattern: string, work: Work): void {
  if (text.length * pattern.length > mostCost) throw new LimitError('the program took too long')
  work.step((text.length * pattern.length) / 64)
}

type Match = { readonly start: number; readonly end: number; group(number: number): string | undefined }

/** The matches in a text, in order. */
function* matchesOf(pattern: string, text: string, work: Work): Generator<Match> {
  limitCost(text, pattern, work)
  const matcher = patternOf(pattern).matcher(text)
  while (matcher.find()) {
    work.step()
    const start = matcher.start()
    const end = matcher.end()
    // a group that did not take part is null
    yield { start, end, group: (number) => matcher.group(number) ?? undefined }
  }
}

function isMatch(text: string, pattern: string, work: Work): boolean {
  limitCost(text, pattern, work)
  return patternOf(pattern).matcher(text).find()
}

/** The only group, or else the whole match. */
function extracted(pattern: string, match: Match): string | undefined {
  const groups = patternOf(pattern).groupCount()
  if (groups > 1)
    throw new CelError(`regular expression has more than one capturing group: ${JSON.stringify(pattern)}`)
  return match.group(groups)
}

function extract(text: string, pattern: string, work: Work): Value {
  for (const match of matchesOf(pattern, text, work)) return new Optional(extracted(pattern, match))
  extractedGroups(pattern)
  return new Optional()
}

/** Throws for a pattern with more than one group, even if nothing matches. */
const extractedGroups = (pattern: string): void => {
  extracted(pattern, { start: 0, end: 0, group: () => undefined })
}

function extractAll(text: string, pattern: string, work: Work): readonly Value[] {
  extractedGroups(pattern)
  const found: string[] = []
  for (const match of matchesOf(pattern, text, work)) {
    const part = extracted(pattern, match)
    if (part !== undefined) found.push(part)
    work.list(found.length)
  }
  return found
}

/** `\0` is the match, `\1` its first group, `\\` a backslash. */
function rewritten(rewrite: string, match: Match, groups: number): string {
  return rewrite.replace(/\\(.?)/gs, (_all, char: string) => {
    if (char === '\\') return char
    if (!/^\d$/.test(char))
      throw new CelError(
        `invalid replacement string: '${rewrite.slice(0, 64)}' \\ must be followed by a digit`,
      )
    if (Number(char) > groups)
      throw new CelError(`replacement string references group ${char} but regex has only ${groups} group(s)`)
    return match.group(Number(char)) ?? ''
  })
}

function replace(text: string, pattern: string, rewrite: string, most: bigint, work: Work): string {
  const groups = patternOf(pattern).groupCount()
  let result = ''
  let copied = 0
  let left = most
  for (const match of left === 0n ? [] : matchesOf(pattern, text, work)) {
    result += text.slice(copied, match.start) + rewritten(rewrite, match, groups)
    work.text(result.length)
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
