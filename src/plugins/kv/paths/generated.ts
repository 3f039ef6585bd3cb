import { refuse } from '../../../errors.ts'
import { type Random, randomIndex } from '../../../lib/system/random.ts'
import {
  isJsonNumber,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  numberText,
  stringifyJson,
} from '../../../lib/text/json.ts'

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

type Wish = {
  readonly name: string
  make(random: Random): string
  /** Keep the value that the current version has. */
  readonly keep: boolean
}

type ByPolicy = (policy: string) => Promise<() => string>

/** The values that `options.generate` asks for. Throws a refusal. docs/contract/kv.md#generated-values */
export async function wishesIn(
  options: Readonly<Record<string, JsonValue>> | null | undefined,
  byPolicy: ByPolicy,
): Promise<Wish[]> {
  const sent = options?.['generate']
  if (sent === undefined || sent === null) return []
  const wishes: Wish[] = []
  const known = new Map<string, Promise<() => string>>()
  const once: ByPolicy = (policy) => {
    const maker = known.get(policy) ?? byPolicy(policy)
    known.set(policy, maker)
    return maker
  }
  for (const [name, wish] of Object.entries(objectOf(sent, 'generate')))
    wishes.push(await wishOf(name, objectOf(wish, name), once))
  return wishes
}

async function wishOf(name: string, sent: JsonObject, byPolicy: ByPolicy): Promise<Wish> {
  const { keep = false, policy } = sent
  if (typeof keep !== 'boolean') throw refuse('invalid', 'keep of a generated field must be true or false')
  if (policy === undefined) return { name, keep, make: makerOf(sent) }
  if (typeof policy !== 'string' || policy === '')
    throw refuse('invalid', 'policy of a generated field must be the name of a password policy')
  if (sent['length'] !== undefined || sent['charset'] !== undefined)
    throw refuse('invalid', 'a generated field has a policy, or a length and a charset')
  return { name, keep, make: await byPolicy(policy) }
}

function makerOf({ length, charset = 'alnum' }: JsonObject): Wish['make'] {
  const count = length === undefined ? usual : Number(isJsonNumber(length) ? numberText(length) : length)
  if (!Number.isInteger(count) || count < shortest || count > longest)
    throw refuse('invalid', `length of a generated field must be between ${shortest} and ${longest}`)
  const characters = typeof charset === 'string' ? charsets.get(charset) : undefined
  if (characters === undefined)
    throw refuse('invalid', `charset of a generated field must be one of ${[...charsets.keys()].join(', ')}`)
  return (random) => randomText(count, characters, random)
}

function objectOf(sent: JsonValue, name: string): JsonObject {
  if (isJsonObject(sent)) return sent
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
  for (const { name, make, keep } of wishes) {
    const kept = keep && before !== undefined && Object.hasOwn(before, name) ? before[name] : undefined
    data[name] = kept === undefined ? make(random) : kept
    if (kept === undefined) made.push(name)
  }
  return made
}

const randomText = (length: number, charset: string, random: Random): string =>
  Array.from({ length }, () => charset.charAt(randomIndex(random, charset.length))).join('')

export const isSame = (one: JsonObject, other: JsonObject | undefined): boolean =>
  other !== undefined &&
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(
    ([key, value]) => Object.hasOwn(other, key) && stringifyJson(other[key]) === stringifyJson(value),
  )
