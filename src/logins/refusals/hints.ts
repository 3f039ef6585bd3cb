import { globMatches } from '../../lib/text/glob.ts'
import { isJsonNumber, numberText } from '../../lib/text/json.ts'

/** Why two values that should be equal differ, as one stable word. docs/explain.md */
export type Hint =
  | ''
  | 'differs_in_case'
  | 'differs_in_white_space'
  | 'differs_in_trailing_slash'
  | 'differs_in_type'
  | 'glob_in_string_mode'
  | 'clock_offset'
  | 'write_as_json_pointer'
  | 'expired_in_file'
  | 'default_audience'
  | 'legacy_token'
  | 'other_cluster'

export type Compared = {
  readonly expected: readonly unknown[]
  readonly seen: readonly unknown[]
  /** `*` in an expected text is an ordinary character. */
  readonly isLiteral: boolean
}

/**
 * How two sides differ: the first hint that applies to any pair of their values. Only the first hundred
 * values are examined, and each is prepared once rather than for every pair, so the cost is linear in what a
 * caller sends.
 */
export function nearMiss({ expected, seen, isLiteral }: Compared): Hint {
  const wanted = expected.slice(0, maxLooked)
  const given = seen.slice(0, maxLooked)
  if (isLiteral && looksLikeGlob(wanted, given)) return 'glob_in_string_mode'
  if (isOtherType(wanted, given)) return 'differs_in_type'
  return tidyings.find(([, tidied]) => isAlike(wanted, given, tidied))?.[0] ?? ''
}

const maxLooked = 100
/** Longer texts are compared by their beginning. */
const maxText = 1024

const isText = (value: unknown): value is string => typeof value === 'string'

/** Longer texts are not considered. */
function looksLikeGlob(wanted: readonly unknown[], given: readonly unknown[]): boolean {
  const patterns = wanted.filter(isText).filter((text) => text.includes('*') && text.length <= maxText)
  const texts = given.filter(isText).filter((text) => text.length <= maxText)
  return patterns.some((pattern) => texts.some((text) => globMatches(pattern, text)))
}

const tidyings: readonly (readonly [Hint, (text: string) => string])[] = [
  ['differs_in_case', (text) => text.toLowerCase()],
  ['differs_in_white_space', (text) => text.replace(/\s+/g, '')],
  ['differs_in_trailing_slash', (text) => text.replace(/\/{1,8}$/, '')],
]

/** Whether two texts differ but are equal once normalised. */
function isAlike(
  wanted: readonly unknown[],
  given: readonly unknown[],
  tidied: (text: string) => string,
): boolean {
  const start = (text: string) => tidied(text.slice(0, maxText))
  const byStart = Map.groupBy(wanted.filter(isText), start)
  return given.filter(isText).some((text) => byStart.get(start(text))?.some((other) => other !== text))
}

/** `"1"` for `1`, `"true"` for `true`, or one text `"a, b"` for a list of `a` and `b`. */
function isOtherType(wanted: readonly unknown[], given: readonly unknown[]): boolean {
  const [wantedScalars, givenScalars] = [scalarsIn(wanted), scalarsIn(given)]
  const wantedByText = Map.groupBy(wantedScalars, ({ text }) => text)
  if (
    givenScalars.some(({ text, type }) =>
      wantedByText.get(text)?.some((other) => other.type !== type || type !== 'string'),
    )
  )
    return true
  const textsIn = (scalars: readonly Scalar[]) =>
    new Set(scalars.flatMap(({ text, type }) => (type === 'string' ? [text] : [])))
  return (
    isListed(textsIn(wantedScalars), textsIn(givenScalars)) ||
    isListed(textsIn(givenScalars), textsIn(wantedScalars))
  )
}

const isListed = (lists: ReadonlySet<string>, items: ReadonlySet<string>): boolean =>
  [...lists].some((list) => listIn(list).some((part) => items.has(part)))

/** A value's text and type. */
type Scalar = { readonly text: string; readonly type: string }

const scalarsIn = (values: readonly unknown[]): Scalar[] =>
  values.flatMap((value) => {
    const text = textOf(value)
    return text === undefined ? [] : [{ text, type: typeof value }]
  })

function textOf(value: unknown): string | undefined {
  if (isText(value)) return value.slice(0, maxText)
  if (isJsonNumber(value)) return numberText(value)
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'
    ? String(value)
    : undefined
}

/** The parts of a text that looks like a list. */
const listIn = (text: string): string[] =>
  text.includes(',') || text.startsWith('[')
    ? text
        .replace(/^\[|\]$/g, '')
        .split(',')
        .map((part) => part.trim().replace(/^"|"$/g, ''))
    : []
