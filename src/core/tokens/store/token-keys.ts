import { hash } from 'node:crypto'
import { Cache } from '../../../lib/data/cache.ts'
import type { Random } from '../../../lib/system/random.ts'
import type { View } from '../../barrier/view.ts'
import { rootNamespace } from '../../namespaces/namespace.ts'
import { namespaceIdOf, suffixOf } from '../../namespaces/suffix.ts'
import { type KeyedHash, openKeyedHashes } from '../../records/keyed-hash.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const accessorLength = 24
/** With the suffix of a namespace. */
const maxAccessorLength = 31
/** Greatest length of an id. No longer id is created or looked up. */
export const maxIdLength = 4096

/**
 * Derives the storage key of a token from its id, in two one-way steps: id → accessor (24 base62 characters
 * of a keyed hash, plus the namespace suffix of the id) → hash (another keyed hash, hexadecimal), which ends
 * the record's key. Both id and accessor lead to the record without an index, and no database key contains
 * either.
 */
export class TokenKeys {
  readonly #ofId: KeyedHash
  readonly #ofAccessor: KeyedHash
  /**
   * Accessors of recent ids, keyed by a digest that only this process can compute. Without them and their hashes, a
   * read takes a fifth longer.
   */
  readonly #accessors = new Cache<string>({ name: 'token accessors', most: 10_000 })
  readonly #hashes = new Cache<string>({ name: 'hashes of token accessors', most: 10_000 })
  readonly #salt: string

  private constructor(ofId: KeyedHash, ofAccessor: KeyedHash, random: Random) {
    this.#ofId = ofId
    this.#ofAccessor = ofAccessor
    this.#salt = Buffer.from(random.bytes(32)).toString('latin1')
  }

  /** Reads the keys from `view`; makes them at the first start. */
  static async open(view: View, random: Random): Promise<TokenKeys> {
    const { id, accessor } = await openKeyedHashes(view, random, 'token-keys', ['id', 'accessor'])
    return new TokenKeys(id, accessor, random)
  }

  accessorOf(id: string): string {
    const digest = hash('sha256', this.#salt + id, 'base64')
    const known = this.#accessors.get(digest)
    if (known !== undefined) return known
    const accessor = this.#derive(id) + suffixOf(namespaceIdOf(id))
    this.#accessors.set(digest, accessor)
    return accessor
  }

  #derive(id: string): string {
    const bytes = this.#ofId(id, 'latin1')
    let accessor = ''
    // the modulo is slightly biased; 24 characters still carry 142 bits, and accessors are not secret
    for (let at = 0; at < accessorLength; at += 1)
      accessor += alphabet[bytes.charCodeAt(at) % alphabet.length]
    return accessor
  }

  hashOf(accessor: string): string {
    const known = this.#hashes.get(accessor)
    if (known !== undefined) return known
    const derived = this.#ofAccessor(accessor, 'hex')
    // callers may send any text as an accessor
    if (accessor.length <= maxAccessorLength) this.#hashes.set(accessor, derived)
    return derived
  }
}

export const tokenPrefix = 'token/'
export const tokenKey = (hash: string): string => tokenPrefix + hash

/** Rows under `expire/` sort by time: 16 digits hold every time of a JavaScript Date. */
export const expirePrefix = 'expire/'
export const expireKey = (ms: number, hash: string): string =>
  `${expirePrefix}${String(ms).padStart(16, '0')}/${hash}`

/** Time and hash of a row under `expire/`. */
export function readExpireKey(key: string): { time: number; hash: string } {
  const [, time = '', hash = ''] = key.split('/')
  return { time: Number(time), hash }
}

export const childFolder = 'child/'
export const childPrefix = (parent: string): string => `${childFolder}${parent}/`
export const childKey = (parent: string, child: string): string => `${childPrefix(parent)}${child}`

/** Rows of the tokens of one namespace. The root, which is never removed, has none. */
export const namespaceTokenPrefix = (namespace: string): string => `namespace-token/${namespace}/`
export const namespaceTokenKeys = (namespace: string, hash: string): string[] =>
  namespace === rootNamespace.id ? [] : [namespaceTokenPrefix(namespace) + hash]

/** Hashes of parent and child of a row under `child/`. */
export function readChildKey(key: string): { parent: string; child: string } {
  const [, parent = '', child = ''] = key.split('/')
  return { parent, child }
}
