import { globMatches } from '../../lib/text/glob.ts'

const hasStar = (pattern: string): boolean => pattern.includes('*')

/** The first pattern with a `*` that matches one of the texts. */
export const matchedPattern = (patterns: readonly string[], texts: readonly string[]): string | undefined =>
  patterns.find((pattern) => hasStar(pattern) && texts.some((text) => globMatches(pattern, text)))

/**
 * Whether every text that `narrow` matches is one that `wide` matches. A `*` of `narrow` can only be taken up by a `*`
 * of `wide`, because patterns have no other way to match a star.
 */
export const implies = (narrow: string, wide: string): boolean => hasStar(wide) && globMatches(wide, narrow)

/** Whether no text can match both. May be false for some pairs of which that is true. */
function areDisjoint(one: string, other: string): boolean {
  const [first, second] = [one.split('*'), other.split('*')]
  const [start, otherStart] = [first[0] ?? '', second[0] ?? '']
  const [end, otherEnd] = [first.at(-1) ?? '', second.at(-1) ?? '']
  const startsFit = start.startsWith(otherStart) || otherStart.startsWith(start)
  const endsFit = end.endsWith(otherEnd) || otherEnd.endsWith(end)
  return !startsFit || !endsFit
}

/** The known facts about the texts of a claim. */
export type KnownTexts = {
  /** How many are known only as hashes. */
  readonly hidden: number
  readonly known: readonly string[]
  /** A pattern that one of the hidden ones matched; undefined if none is known. */
  readonly matched: string | undefined
}

/**
 * Whether one of the texts matches one of the patterns; undefined if that cannot be said. A hidden text equals no pattern
 * without a `*`: it would not be hidden.
 */
export function anyMatches(
  patterns: readonly string[],
  { hidden, known, matched }: KnownTexts,
): boolean | undefined {
  if (patterns.some((pattern) => known.some((text) => globMatches(pattern, text)))) return true
  const open = patterns.filter(hasStar)
  if (hidden === 0 || open.length === 0) return false
  if (open.some((pattern) => /^\*+$/.test(pattern) || (matched !== undefined && implies(matched, pattern))))
    return true
  // one pattern says something of one text
  const isExcluded =
    matched !== undefined && hidden === 1 && open.every((pattern) => areDisjoint(matched, pattern))
  return isExcluded ? false : undefined
}
