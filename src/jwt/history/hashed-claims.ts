import type { KeyedHash } from '../../core/records/keyed-hash.ts'
import { stepsOf } from '../../lib/text/json-pointer.ts'
import { ownMember, type StrictObject } from '../jws/strict-json.ts'

/**
 * A claim of which only keyed hashes are kept: `t:`, `n:` or `b:` in front of the hash of a text, a whole number or a
 * bool; a list of these; `o` for anything else; null for a claim that the token did not have.
 */
type Hashed = string | readonly string[] | null

/** Claims by the names that a role has for them. */
type HashedClaims = Readonly<Record<string, Hashed>>

/** The part of a login's claims that the server keeps. docs/contract/what-if.md#what-is-kept */
export type KeptClaims = {
  readonly issuer: string
  /** Null if the token had none; undefined if they are not kept. */
  readonly audiences: string | readonly string[] | null | undefined
  /** Names of the claims of the token; undefined if they are not kept. */
  readonly names: readonly string[] | undefined
  readonly values: HashedClaims
}

/** Beyond these limits nothing is kept of a list. */
const maxItems = 128
const maxNames = 100
const maxText = 512

const fits = (value: unknown): boolean => !Array.isArray(value) || value.length <= maxItems
const isShort = (text: unknown): text is string => typeof text === 'string' && text.length <= maxText

/** The parts of some claims that may be kept; `lookup` finds one by the name that a role has for it. */
export function keptClaims(
  claims: StrictObject,
  looked: Iterable<string>,
  { hash, lookup }: { hash: KeyedHash; lookup(claims: StrictObject, name: string): unknown },
): KeptClaims {
  const values: [string, Hashed][] = []
  for (const name of looked) {
    const value = lookup(claims, name)
    if (fits(value)) values.push([name, hashedValue(value, hash)])
  }
  // one that is looked for may be there without a value
  const names = Object.keys(claims).filter((name) => claims[name] !== undefined)
  const issuer = ownMember(claims, 'iss')
  return {
    issuer: isShort(issuer) ? issuer : '',
    audiences: keptAudiences(ownMember(claims, 'aud') ?? null),
    names: names.length <= maxNames && names.every(isShort) ? names : undefined,
    values: Object.fromEntries(values),
  }
}

function keptAudiences(audience: unknown): KeptClaims['audiences'] {
  // one that is empty counts as none, other than a list of it
  if (audience === null || isShort(audience)) return audience
  const audiences: unknown[] = [audience].flat()
  return fits(audiences) && audiences.every(isShort) ? audiences : undefined
}

function hashedValue(value: unknown, hash: KeyedHash): Hashed {
  if (value === undefined || value === null) return null
  if (Array.isArray(value)) return value.map((item) => hashedScalar(item, hash))
  return hashedScalar(value, hash)
}

function hashedScalar(value: unknown, hash: KeyedHash): string {
  if (typeof value === 'string') return `t:${hash(value, 'base64url')}`
  if (typeof value === 'boolean') return `b:${hash(String(value), 'base64url')}`
  if (typeof value === 'bigint') return `n:${hash(String(value), 'base64url')}`
  // a number is compared by its integer part
  if (typeof value === 'number' && Number.isSafeInteger(Math.trunc(value)))
    return `n:${hash(String(Math.trunc(value)), 'base64url')}`
  return 'o'
}

/** A hash as `failures/hash` returns it. */
export const shownHash = (kept: string): string =>
  `hmac-sha256:${Buffer.from(kept, 'base64url').toString('hex')}`

/** Values that are known in clear, because a role names them or an operator may see them, by their kept form. */
export class KnownValues {
  readonly #hash: KeyedHash
  readonly #byHash = new Map<string, unknown>()

  constructor(hash: KeyedHash) {
    this.#hash = hash
    this.add([true, false])
  }

  add(values: Iterable<unknown>): void {
    for (const value of values) {
      const kept = hashedScalar(value, this.#hash)
      if (kept !== 'o') this.#byHash.set(kept, value)
    }
  }

  /** A value that is not known is a text, or a number, that equals none of those. */
  valueOf(kept: string): unknown {
    const known = this.#byHash.get(kept)
    if (known !== undefined) return known
    if (kept.startsWith('t:')) return shownHash(kept.slice(2))
    return kept.startsWith('n:') ? Number.NaN : {}
  }

  isKnown(kept: string): boolean {
    return this.#byHash.has(kept)
  }
}

/** The claims of a remembered login, as far as they are known. */
export type RecalledClaims = {
  /** Of use for checks of claims that are known. */
  readonly claims: StrictObject
  /** Whether it is known what a check of this claim would find. */
  knows(name: string): boolean
  /** The texts in a claim that are only known as hashes, and whether others are known. */
  textsOf(name: string): { readonly hidden: number; readonly known: readonly string[] }
}

export function recalled(kept: KeptClaims, known: KnownValues): RecalledClaims {
  const claims: Record<string, unknown> = {}
  for (const name of kept.names ?? []) define(claims, name, notRemembered)
  // what is inside another claim comes after that one
  const values = Object.entries(kept.values).map(([name, value]) => ({ steps: stepsOf(name), value }))
  for (const { steps, value } of values.sort((one, other) => one.steps.length - other.steps.length))
    place(claims, steps, revealed(value, known))
  if (kept.issuer !== '') define(claims, 'iss', kept.issuer)
  if (kept.audiences !== null && kept.audiences !== undefined) define(claims, 'aud', kept.audiences)
  return {
    claims,
    knows: (name) =>
      (/^\/?iss$/.test(name) && kept.issuer !== '') ||
      (/^\/?aud$/.test(name) && kept.audiences !== undefined) ||
      Object.hasOwn(kept.values, name) ||
      kept.names?.includes(stepsOf(name)[0] ?? '') === false,
    textsOf: (name) => {
      const values = Object.hasOwn(kept.values, name) ? [kept.values[name] ?? []].flat() : []
      const texts = values.filter((value) => value.startsWith('t:'))
      const clear = texts.filter((text) => known.isKnown(text)).map((text) => String(known.valueOf(text)))
      return { hidden: texts.length - clear.length, known: clear }
    },
  }
}

/** The audiences among recalled claims; undefined if there is none. */
export function recalledAudiences({ claims }: Pick<RecalledClaims, 'claims'>): string[] | undefined {
  const audience = ownMember(claims, 'aud') ?? undefined
  return audience === undefined ? undefined : [audience].flat().map(String)
}

/** Stands for the value of a claim whose name alone is kept. */
const notRemembered = 'not remembered'

const define = (object: object, name: string, value: unknown): void =>
  void Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true })

function revealed(value: Hashed, known: KnownValues): unknown {
  if (value === null) return undefined
  return typeof value === 'string' ? known.valueOf(value) : value.map((item) => known.valueOf(item))
}

/** Puts a value where a role's name for a claim leads. */
function place(claims: StrictObject, steps: readonly string[], value: unknown): void {
  const last = steps.at(-1) ?? ''
  if (value === undefined) {
    if (steps.length === 1) delete claims[last]
    return
  }
  let parent = claims
  for (const step of steps.slice(0, -1)) {
    const inner = ownMember(parent, step)
    // a list has members too
    const next = typeof inner === 'object' && inner !== null ? (inner as StrictObject) : {}
    define(parent, step, next)
    parent = next
  }
  define(parent, last, value)
}
