import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { isUsableKey } from './signature.ts'

/** Keys a set may hold. Contract README "limits". */
const maxKeys = 1000
/** Base64url of a 16,384-bit modulus; a longer one is no key of ours. */
const maxMemberLength = 2732

/** The keys of one JWK set. A key is made ready when a token first asks for it; one that is broken or of an unsupported kind is skipped. */
export class JwkSet {
  readonly #keys: readonly LazyKey[]

  /** Throws an Error that says why, when the body is no JWK set at all. RFC 7517 §5, contract jwt-oidc §7.4. */
  constructor(body: Buffer) {
    this.#keys = readMembers(body).map((member) => new LazyKey(member))
  }

  /** With a key id only the keys that have that very id, without one all. Contract jwt-oidc §4.3. */
  candidates(keyId: string): KeyObject[] {
    const named = keyId === '' ? this.#keys : this.#keys.filter((key) => key.id === keyId)
    return named.map((key) => key.ready).filter((key) => key !== undefined)
  }

  hasKeyId(keyId: string): boolean {
    return this.#keys.some((key) => key.id === keyId)
  }

  /** The keys that can verify something. Makes all of them ready. */
  usable(): readonly UsableKey[] {
    return this.#keys.flatMap(({ id, algorithm, ready: key }) => (key === undefined ? [] : [{ id, algorithm, key }]))
  }

  get isEmpty(): boolean {
    return this.#keys.length === 0
  }
}

/** A key with its id and the algorithm it is said to be for, both "" where the set is silent. */
export type UsableKey = { readonly id: string; readonly algorithm: string; readonly key: KeyObject }

type Members = Readonly<Record<string, unknown>>

function readMembers(body: Buffer): Members[] {
  const document: unknown = JSON.parse(body.toString('utf8'))
  if (!isObject(document)) throw new Error('a JWK set must be a JSON object')
  const keys = document.keys ?? []
  if (!Array.isArray(keys) || !keys.every(isObject)) throw new Error('"keys" of a JWK set must be a list of objects')
  if (keys.length > maxKeys) throw new Error(`a JWK set may hold at most ${maxKeys} keys`)
  return keys
}

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value)

class LazyKey {
  readonly id: string
  readonly algorithm: string
  #members: Members | undefined
  #key: KeyObject | undefined

  constructor(members: Members) {
    this.id = typeof members.kid === 'string' ? members.kid : ''
    this.algorithm = typeof members.alg === 'string' ? members.alg : ''
    this.#members = members
  }

  get ready(): KeyObject | undefined {
    if (this.#members !== undefined) {
      this.#key = publicKeyOf(this.#members)
      this.#members = undefined
    }
    return this.#key
  }
}

const membersOf: Readonly<Record<string, readonly string[]>> = { RSA: ['n', 'e'], EC: ['crv', 'x', 'y'], OKP: ['crv', 'x'] }

/** Only what makes the public key is read: `use`, `key_ops` and `alg` are not consulted. Contract jwt-oidc §4.3. */
function publicKeyOf(members: Members): KeyObject | undefined {
  const jwk: Record<string, string> = {}
  const type = typeof members.kty === 'string' && Object.hasOwn(membersOf, members.kty) ? members.kty : ''
  for (const name of ['kty', ...(membersOf[type] ?? [])]) {
    const value = members[name]
    if (typeof value !== 'string' || value.length > maxMemberLength) return undefined
    jwk[name] = value
  }
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    if (!isUsableKey(key)) return undefined
    return members.x5c === undefined || isKeyOfLeaf(members.x5c, key) ? key : undefined
  } catch {
    return undefined
  }
}

/** A key that comes with a certificate chain must be the leaf's; the chain itself is not checked. Contract jwt-oidc §7.4. */
function isKeyOfLeaf(chain: unknown, key: KeyObject): boolean {
  const leaf: unknown = Array.isArray(chain) ? chain[0] : undefined
  if (leaf === undefined) return true
  return typeof leaf === 'string' && new X509Certificate(Buffer.from(leaf, 'base64')).publicKey.equals(key)
}
