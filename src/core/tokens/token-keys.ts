import { hash } from 'node:crypto'
import type { Random } from '../../lib/random.ts'
import type { View } from '../barrier/view.ts'
import { type KeyedHash, openKeyedHashes } from '../keyed-hash.ts'
import { namespaceIdOf, suffixOf } from '../namespaces/suffix.ts'
import { RecordCache } from '../record-cache.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const accessorLength = 24
const cacheLimit = 10_000
/** Longer ids are nobody's: neither made nor looked up. */
export const maxIdLength = 4096

/**
 * From a token's id to where it is stored, one way only: id → accessor (24 base62 characters of one keyed hash, and the namespace the id ends in) → hash (hexadecimal, of another),
 * the last part of the record's key. So an id and an accessor both lead to the record without an index, and neither is in the database.
 */
export class TokenKeys {
  readonly #ofId: KeyedHash
  readonly #ofAccessor: KeyedHash
  /** Of ids seen lately, under a digest that only this process can make: a fraction of the cost of the keyed hash, on every request. */
  readonly #accessors = new RecordCache<{ accessor: string }>(cacheLimit)
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
    if (known !== undefined) return known.accessor
    const accessor = this.#derive(id) + suffixOf(namespaceIdOf(id))
    this.#accessors.set(digest, { accessor })
    return accessor
  }

  #derive(id: string): string {
    const bytes = this.#ofId(id)
    let accessor = ''
    // the modulo favours some letters by a little: 24 of them still tell 2^142 tokens apart, and nothing here is secret
    for (let at = 0; at < accessorLength; at += 1) accessor += alphabet[(bytes[at] ?? 0) % alphabet.length]
    return accessor
  }

  hashOf(accessor: string): string {
    return this.#ofAccessor(accessor).toString('hex')
  }
}

export const tokenPrefix = 'token/'
export const tokenKey = (hash: string): string => tokenPrefix + hash

/** Rows under `expire/` are in order of time: every time a clock can show has room in its digits. */
export const expirePrefix = 'expire/'
export const expireKey = (ms: number, hash: string): string => `${expirePrefix}${String(ms).padStart(16, '0')}/${hash}`

/** Time and hash of a row under `expire/`. */
export function readExpireKey(key: string): { time: number; hash: string } {
  const [, time = '', hash = ''] = key.split('/')
  return { time: Number(time), hash }
}

export const childFolder = 'child/'
export const childPrefix = (parent: string): string => `${childFolder}${parent}/`
export const childKey = (parent: string, child: string): string => `${childPrefix(parent)}${child}`

/** Hashes of parent and child of a row under `child/`. */
export function readChildKey(key: string): { parent: string; child: string } {
  const [, parent = '', child = ''] = key.split('/')
  return { parent, child }
}
