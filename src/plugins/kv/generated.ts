import { refuse } from '../../errors.ts'
import { isJsonNumber, type JsonObject, type JsonValue, numberText, stringifyJson } from '../../lib/json.ts'
import { type Random, randomIndex } from '../../lib/random.ts'

const letters = 'abcdefghijklmnopqrstuvwxyz'
const digits = '0123456789'
const alnum = letters + letters.toUpperCase() + digits

const charsets: ReadonlyMap<string, string> = new Map([
  ['alnum', alnum],
  ['hex', `${digits}abcdef`],
  ['base64url', `${alnum}-_`],
  ['digits', digits],
  ['ascii', Array.from({ length: 94 }, (_, at) => String.fromCharCode(0x21 + at)).join('')],
])
const [shortest, longest, usual] = [8, 1024, 32]

/** A field whose value the server makes. */
type Wish = {
  readonly name: string
  readonly length: number
  readonly charset: string
  /** Keep the value that the current version has. */
  readonly keep: boolean
}

/** The values that `options.generate` asks for. Throws a refusal. docs/contract/kv.md#generated-values */
export function wishesIn(options: Readonly<Record<string, JsonValue>> | null | undefined): Wish[] {
  const sent = options?.['generate']
  if (sent === undefined || sent === null) return []
  return Object.entries(objectOf(sent, 'generate')).map(([name, wish]) => wishOf(name, wish))
}

function wishOf(name: string, sent: JsonValue): Wish {
  const { length, charset = 'alnum', keep = false } = objectOf(sent, name)
  const count = length === undefined ? usual : Number(isJsonNumber(length) ? numberText(length) : length)
  if (!Number.isInteger(count) || count < shortest || count > longest)
    throw refuse('invalid', `length of a generated field must be between ${shortest} and ${longest}`)
  const characters = typeof charset === 'string' ? charsets.get(charset) : undefined
  if (characters === undefined)
    throw refuse('invalid', `charset of a generated field must be one of ${[...charsets.keys()].join(', ')}`)
  if (typeof keep !== 'boolean') throw refuse('invalid', 'keep of a generated field must be true or false')
  return { name, length: count, charset: characters, keep }
}

function objectOf(sent: JsonValue, name: string): JsonObject {
  if (typeof sent === 'object' && sent !== null && !Array.isArray(sent) && !isJsonNumber(sent)) return sent
  throw refuse('invalid', `"${name}" must be an object`)
}

/** Throws if a field is both given and to be generated. */
export function checkWishes(wishes: readonly Wish[], given: Readonly<Record<string, JsonValue>>): void {
  for (const { name } of wishes)
    if (Object.hasOwn(given, name)) throw refuse('invalid', `field "${name}" is both given and generated`)
}

/** Adds the fields that are wished for to data, and returns the names of those that were made. */
export function addGenerated(
  data: JsonObject,
  wishes: readonly Wish[],
  { before, random }: { readonly before: JsonObject | undefined; readonly random: Random },
): string[] {
  const made: string[] = []
  for (const { name, length, charset, keep } of wishes) {
    const kept = keep && before !== undefined && Object.hasOwn(before, name) ? before[name] : undefined
    data[name] = kept === undefined ? randomText(length, charset, random) : kept
    if (kept === undefined) made.push(name)
  }
  return made
}

const randomText = (length: number, charset: string, random: Random): string =>
  Array.from({ length }, () => charset.charAt(randomIndex(random, charset.length))).join('')

/** Whether two objects have the same fields with the same values. */
export const isSame = (one: JsonObject, other: JsonObject | undefined): boolean =>
  other !== undefined &&
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(
    ([key, value]) => Object.hasOwn(other, key) && stringifyJson(other[key]) === stringifyJson(value),
  )
