import { globMatches } from '../../../lib/glob.ts'
import { isJsonNumber, numberText } from '../../../lib/json.ts'

/** Why two values that should be the same are not, as one stable word. Contract jwt-oidc §11.1. */
export type Hint =
  | ''
  | 'differs_in_case'
  | 'differs_in_white_space'
  | 'differs_in_trailing_slash'
  | 'differs_in_type'
  | 'glob_in_string_mode'
  | 'clock_offset'

export type Compared = {
  readonly expected: readonly unknown[]
  readonly seen: readonly unknown[]
  /** `*` in an expected text stands for itself. */
  readonly isLiteral: boolean
}

/** How near a value was missed: the first hint that holds for any two of them. Values beyond the first hundred are not looked at. */
export function nearMiss({ expected, seen, isLiteral }: Compared): Hint {
  const pairs = expected.slice(0, maxLooked).flatMap((wanted) => seen.slice(0, maxLooked).map((given) => [wanted, given] as const))
  for (const [hint, holds] of likenesses) {
    if (hint === 'glob_in_string_mode' && !isLiteral) continue
    if (pairs.some(([wanted, given]) => holds(wanted, given))) return hint
  }
  return ''
}

const maxLooked = 100
/** Longer texts are compared by their start. */
const maxText = 1024

type Likeness = (wanted: unknown, given: unknown) => boolean

const likenesses: readonly (readonly [Hint, Likeness])[] = [
  ['glob_in_string_mode', (wanted, given) => isText(wanted) && isText(given) && wanted.includes('*') && globMatches(wanted, given)],
  ['differs_in_type', isOtherType],
  ['differs_in_case', alike((text) => text.toLowerCase())],
  ['differs_in_white_space', alike((text) => text.replace(/\s+/g, ''))],
  ['differs_in_trailing_slash', alike((text) => text.replace(/\/{1,8}$/, ''))],
]

const isText = (value: unknown): value is string => typeof value === 'string'

function alike(tidied: (text: string) => string): Likeness {
  const start = (text: string) => tidied(text.slice(0, maxText))
  return (wanted, given) => isText(wanted) && isText(given) && wanted !== given && start(wanted) === start(given)
}

/** `"1"` for `1`, `"true"` for `true`, and one text `"a, b"` where a list of `a` and `b` was meant. */
function isOtherType(wanted: unknown, given: unknown): boolean {
  const [one, other] = [textOf(wanted), textOf(given)]
  if (one === undefined || other === undefined) return false
  if (typeof wanted !== typeof given || !isText(wanted)) return one === other
  return listIn(one).includes(other) || listIn(other).includes(one)
}

function textOf(value: unknown): string | undefined {
  if (isText(value)) return value.slice(0, maxText)
  if (isJsonNumber(value)) return numberText(value)
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint' ? String(value) : undefined
}

/** The parts of a text that looks like a list. */
const listIn = (text: string): string[] =>
  text.includes(',') || text.startsWith('[')
    ? text
        .replace(/^\[|\]$/g, '')
        .split(',')
        .map((part) => part.trim().replace(/^"|"$/g, ''))
    : []
