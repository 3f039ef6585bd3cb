import { stepsOf } from '../../lib/text/json-pointer.ts'
import { ownMember, type SourceText, type StrictObject, sourceAround } from './strict-json.ts'

/** A claim that is a list or an object, as the token has it, without blanks. `key` is read as `lookupClaim` does. */
export function claimText(claims: StrictObject, key: string, value: object): string {
  const steps = stepsOf(key)
  const top = ownMember(claims, steps[0] ?? '')
  const source = typeof top === 'object' && top !== null ? sourceAround(top) : undefined
  return (source && memberText(source, steps)) ?? JSON.stringify(value, withAllDigits)
}

const withAllDigits = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value

const tokens = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/gu

/**
 * The value of a member as its JSON text has it, without blanks: members in their order, numbers with all digits. The text is
 * an object that `parseStrictObject` has accepted. Undefined if there is no such value.
 */
function memberText(source: SourceText, steps: readonly string[]): string | undefined {
  source.tokens ??= source.text.match(tokens) ?? []
  const all = source.tokens
  let at: number | undefined = 0
  for (const step of steps) at = at === undefined ? undefined : childAt(all, at, step)
  return at === undefined ? undefined : all.slice(at, endOf(all, at)).join('')
}

/** Where the member or element begins, in the value that begins at `at`. */
function childAt(all: readonly string[], at: number, step: string): number | undefined {
  const isList = all[at] === '['
  if (!isList && all[at] !== '{') return undefined
  let index = 0
  for (let next = at + 1; all[next] !== ']' && all[next] !== '}'; index++) {
    const value = isList ? next : next + 2
    const name = isList ? String(index) : JSON.parse(all[next] ?? '')
    if (name === step) return value
    next = endOf(all, value)
    if (all[next] === ',') next++
  }
  return undefined
}

/** Where the value ends that begins at `at`. */
function endOf(all: readonly string[], at: number): number {
  let depth = 0
  let next = at
  do {
    const token = all[next++]
    if (token === '{' || token === '[') depth++
    if (token === '}' || token === ']') depth--
  } while (depth > 0)
  return next
}
