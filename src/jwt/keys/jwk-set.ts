import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { quoted } from '../../lib/text/go-text.ts'
import { parseFinite } from '../../lib/text/json.ts'
import { isPlainObject, type StrictObject } from '../jws/strict-json.ts'
import { keyProblem } from './key-problem.ts'

/** Why a set without keys has none that can be used. */
export const emptySet = 'the key set is empty'

/** Most keys in a set. docs/contract/jwt.md#limits */
const maxKeys = 1000
/** Length of a 16,384-bit modulus in base64url; longer ones are refused. */
const maxMemberLength = 2732

/**
 * The keys of one JWK set. A key is parsed when a token first needs it; one that must not verify anything is
 * skipped.
 */
export class JwkSet {
  readonly #keys: readonly LazyKey[]

  /** Throws an Error with the reason if the body is not a JWK set. RFC 7517 §5, docs/contract/jwt.md#keys */
  constructor(body: Buffer) {
    this.#keys = readMembers(body).map((member) => new LazyKey(member))
  }

  /**
   * With a key id, only the keys with that id; without one, all keys.
   * docs/contract/jwt.md#login-in-this-order
   */
  candidates(keyId: string): KeyObject[] {
    const named = keyId === '' ? this.#keys : this.#keys.filter((key) => key.id === keyId)
    return named.flatMap(({ ready }) => ('key' in ready ? [ready.key] : []))
  }

  /** Whether the key is one of the candidates. */
  has(keyId: string, key: KeyObject): boolean {
    const isIt = ({ ready }: LazyKey) => 'key' in ready && ready.key === key
    return this.#keys.some((each) => (keyId === '' || each.id === keyId) && isIt(each))
  }

  /** Whether a usable key has this id. */
  hasKeyId(keyId: string): boolean {
    return this.#keys.some((key) => key.id === keyId && 'key' in key.ready)
  }

  /** The usable keys. Parses all keys. */
  usable(): readonly UsableKey[] {
    return this.#keys.flatMap(({ id, algorithm, ready }) =>
      'key' in ready ? [{ id, algorithm, key: ready.key }] : [],
    )
  }

  /** The skipped keys, with the reason. Parses all keys. */
  skipped(): readonly SkippedKey[] {
    return this.#keys.flatMap(({ id, ready }) => ('key' in ready ? [] : [{ id, problem: ready.problem }]))
  }

  get hasUsableKey(): boolean {
    return this.#keys.some(({ ready }) => 'key' in ready)
  }

  get isEmpty(): boolean {
    return this.#keys.length === 0
  }
}

/** A key with its id and its declared algorithm, both "" if the set does not say. */
export type UsableKey = { readonly id: string; readonly algorithm: string; readonly key: KeyObject }

/** A key that is skipped, and why. */
export type SkippedKey = { readonly id: string; readonly problem: string }

type Members = Readonly<StrictObject>

function readMembers(body: Buffer): Members[] {
  const document: unknown = parseFinite(body.toString('utf8'))
  if (!isPlainObject(document)) throw new Error('a JWK set must be a JSON object')
  const keys = document.keys ?? []
  if (!Array.isArray(keys) || !keys.every(isPlainObject))
    throw new Error('"keys" of a JWK set must be a list of objects')
  if (keys.length > maxKeys) throw new Error(`a JWK set may hold at most ${maxKeys} keys`)
  return keys
}

type ReadyKey = { readonly key: KeyObject } | { readonly problem: string }

class LazyKey {
  readonly id: string
  readonly algorithm: string
  /** Dropped once the key is parsed. */
  #members: Members
  #ready: ReadyKey | undefined

  constructor(members: Members) {
    this.id = typeof members.kid === 'string' ? members.kid : ''
    this.algorithm = typeof members.alg === 'string' ? members.alg : ''
    this.#members = members
  }

  get ready(): ReadyKey {
    if (this.#ready === undefined) {
      this.#ready = publicKeyOf(this.#members)
      this.#members = {}
    }
    return this.#ready
  }
}

const membersOf: Readonly<Record<string, readonly string[]>> = {
  RSA: ['n', 'e'],
  EC: ['crv', 'x', 'y'],
  OKP: ['crv', 'x'],
}
const curvesOf: Readonly<Record<string, readonly string[]>> = {
  EC: ['P-256', 'P-384', 'P-521'],
  OKP: ['Ed25519'],
}

/**
 * Reads only the members that form the public key; `use`, `key_ops` and `alg` are ignored.
 * docs/contract/jwt.md#login-in-this-order
 */
function publicKeyOf(members: Members): ReadyKey {
  const type = typeof members.kty === 'string' ? members.kty : ''
  const names = Object.hasOwn(membersOf, type) ? membersOf[type] : undefined
  if (names === undefined) return { problem: `keys of kty ${quoted(type)} are not supported` }
  const jwk: Record<string, string> = { kty: type }
  for (const name of names) {
    const value = members[name]
    if (typeof value !== 'string') return { problem: `${name} is not a string` }
    if (value.length > maxMemberLength)
      return { problem: `${name} is longer than ${maxMemberLength} characters` }
    jwk[name] = value
  }
  if (curvesOf[type]?.includes(jwk['crv'] ?? '') === false)
    return { problem: `curve ${quoted(jwk['crv'] ?? '')} is not supported` }
  return importedKey(jwk, members.x5c)
}

function importedKey(jwk: Record<string, string>, chain: unknown): ReadyKey {
  let key: KeyObject
  try {
    key = createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    return {
      problem: jwk['kty'] === 'EC' ? `the EC point is not on ${jwk['crv']}` : 'the key cannot be read',
    }
  }
  const problem = keyProblem(key) ?? leafProblem(chain, key)
  return problem === undefined ? { key } : { problem }
}

/**
 * A key with a certificate chain must equal the leaf's; the chain itself is not verified.
 * docs/contract/jwt.md#keys
 */
function leafProblem(chain: unknown, key: KeyObject): string | undefined {
  const leaf: unknown = Array.isArray(chain) ? chain[0] : undefined
  if (leaf === undefined) return undefined
  const certified = typeof leaf === 'string' ? keyOfCertificate(leaf) : undefined
  if (certified === undefined) return 'the first element of x5c is no certificate'
  return certified.equals(key) ? undefined : 'the first certificate of x5c has another key'
}

function keyOfCertificate(text: string): KeyObject | undefined {
  try {
    return new X509Certificate(Buffer.from(text, 'base64')).publicKey
  } catch {
    return undefined
  }
}
