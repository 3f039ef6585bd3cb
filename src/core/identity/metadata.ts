import { quoted } from '../../lib/text/go-text.ts'

const maxPairs = 64
const maxKeyLength = 128
const maxValueLength = 512
/** Length of an excerpt in an error text. */
const shownLength = 2 * maxValueLength
/** Of a value that a login brings, which may be a claim that is nobody else's business. */
export const shownOfLogin = 64

/**
 * Why metadata of an entity, a group or a new alias is invalid; undefined if it is valid. With `anyKey`, keys are
 * limited in length only. `shown`: how much of a value the text repeats. docs/contract/identity.md
 */
export function metadataProblem(
  metadata: Readonly<Record<string, string>>,
  { anyKey = false, shown = shownLength } = {},
): string | undefined {
  const pairs = Object.entries(metadata)
  if (pairs.length > maxPairs) return `metadata cannot contain more than ${maxPairs} key/value pairs`
  for (const [key, value] of pairs) {
    const problem = anyKey ? lengthProblem(key, value) : pairProblem(key, value)
    if (problem !== undefined)
      return `failed to load metadata pair (${quoted(key, shownLength)}, ${quoted(value, shown)}): ${problem}`
  }
  return undefined
}

function pairProblem(key: string, value: string): string | undefined {
  if (key === '') return 'key cannot be blank'
  if (!/^[a-zA-Z0-9=/+_-]+$/.test(key)) return 'key contains invalid characters'
  if (key.length <= maxKeyLength && key.startsWith('vault-'))
    return 'key prefix "vault-" is reserved for internal use'
  return lengthProblem(key, value)
}

function lengthProblem(key: string, value: string): string | undefined {
  if (key.length > maxKeyLength) return `key is too long (limit: ${maxKeyLength} characters)`
  return Buffer.byteLength(value) > maxValueLength
    ? `value is too long (limit: ${maxValueLength} characters)`
    : undefined
}

/** Whether both have the same pairs, in any order. */
export function sameMetadata(
  a: Readonly<Record<string, string>> | null,
  b: Readonly<Record<string, string>> | null,
): boolean {
  const pairs = Object.entries(b ?? {})
  const known = a ?? {}
  return (
    Object.keys(known).length === pairs.length &&
    pairs.every(([key, value]) => Object.hasOwn(known, key) && known[key] === value)
  )
}
