import { Buffer } from 'node:buffer'
import { createCipheriv, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'
import { fail } from '../../errors.ts'
import { Cache } from '../../lib/data/cache.ts'
import type { Random } from '../../lib/system/random.ts'
import type { View } from '../barrier/view.ts'
import { type KeyedHash, keyedHash } from '../records/keyed-hash.ts'

/** Deeper segments share one component, which bounds the length of a key. */
const ownComponents = 16
/** Those of an initialization vector. */
const tagBytes = 16
const keyBytes = 32

/** Where a folder is stored. */
export type StoredFolder = {
  /** What the keys in it begin with. */
  readonly prefix: string
  /** What the names in it begin with, if it is so deep that others share its prefix. */
  readonly inner: string
}

/** What the names of one owner are encrypted with. */
export type NameKeys = { readonly tag: KeyedHash; readonly key: KeyObject }

/** The keys of names that are derived from the secret stored at `key`, which the first call creates. */
export async function openNameKeys(view: View, random: Random, key: string): Promise<NameKeys> {
  await view.putIfAbsent(key, Buffer.from(random.bytes(keyBytes)).toString('base64'))
  const stored = await view.get(key)
  const secret = Buffer.from(typeof stored === 'string' ? stored : '', 'base64')
  if (secret.length !== keyBytes)
    throw fail('internal', 'internal error', { cause: new Error('the key of names cannot be read') })
  return nameKeysOf(secret)
}

export function nameKeysOf(secret: Uint8Array): NameKeys {
  const derived = (purpose: string) =>
    new Uint8Array(hkdfSync('sha256', secret, new Uint8Array(), purpose, keyBytes))
  return { tag: keyedHash(derived('kv name tag')), key: createSecretKey(derived('kv name encryption')) }
}

/**
 * Encrypts the paths of secrets, segment by segment, so that a folder stays a prefix. A segment always has the
 * same ciphertext in the same folder: its tag, a keyed hash of the segment and of the folder, is the
 * initialization vector. All keys begin with `base`: below another one, the same path looks different.
 * docs/contract/kv.md#storage
 */
export class NameCipher {
  readonly #tag: KeyedHash
  readonly #key: KeyObject
  readonly #folders = new Cache<string>({ name: 'folder prefixes', most: 5_000 })
  readonly #base: string
  /** The folder of the key that was opened last: keys are mostly opened in order. */
  #last: { readonly prefix: string; readonly path: string }

  /** `base` is empty or ends in a slash. */
  constructor({ tag, key }: NameKeys, base = '') {
    this.#tag = tag
    this.#key = key
    this.#base = base
    this.#last = { prefix: base, path: '' }
  }

  /** The key of a path. */
  keyOf(path: string): string {
    const { folder, rest } = split(path)
    const prefix = this.#prefixOf(folder)
    return prefix + this.#sealed(prefix, rest)
  }

  /** Where a folder is stored, whose path is empty or ends in a slash. */
  folderOf(path: string): StoredFolder {
    const segments = path.split('/', ownComponents + 1)
    if (segments.length <= ownComponents) return { prefix: this.#prefixOf(path), inner: '' }
    const shared = `${segments.slice(0, ownComponents).join('/')}/`
    return { prefix: this.#prefixOf(shared), inner: path.slice(shared.length) }
  }

  /** The text of a component behind a prefix. Throws `internal` if it was not encrypted here. */
  textOf(prefix: string, component: string): string {
    const bytes = Buffer.from(component, 'base64url')
    if (bytes.length < tagBytes) throw unreadable()
    const tag = bytes.subarray(0, tagBytes)
    const text = this.#crypt(tag, bytes.subarray(tagBytes)).toString()
    if (!timingSafeEqual(this.#tagOf(prefix, text), tag)) throw unreadable()
    return text
  }

  /** The path of a key. */
  pathOf(key: string): string {
    const prefix = prefixIn(key)
    return this.#folderAt(prefix) + this.textOf(prefix, key.slice(prefix.length))
  }

  /** The path of the folder with this prefix. */
  #folderAt(prefix: string): string {
    if (prefix === this.#base) return ''
    if (prefix === this.#last.prefix) return this.#last.path
    const above = prefixIn(prefix.slice(0, -1))
    const path = `${this.#folderAt(above)}${this.textOf(above, prefix.slice(above.length, -1))}/`
    this.#last = { prefix, path }
    return path
  }

  #prefixOf(folder: string): string {
    if (folder === '') return this.#base
    const known = this.#folders.get(folder)
    if (known !== undefined) return known
    const start = folder.lastIndexOf('/', folder.length - 2) + 1
    const above = this.#prefixOf(folder.slice(0, start))
    const prefix = `${above}${this.#sealed(above, folder.slice(start, -1))}/`
    this.#folders.set(folder, prefix)
    return prefix
  }

  #sealed(prefix: string, text: string): string {
    const tag = this.#tagOf(prefix, text)
    return Buffer.concat([tag, this.#crypt(tag, Buffer.from(text))]).toString('base64url')
  }

  /** Encrypts or decrypts. The vector is the tag. */
  #crypt(tag: Uint8Array, bytes: Uint8Array): Buffer {
    return createCipheriv('aes-256-ctr', this.#key, tag).update(bytes)
  }

  /** No prefix contains a line break. */
  #tagOf(prefix: string, text: string): Buffer {
    return Buffer.from(this.#tag(`${prefix}\n${text}`, 'hex'), 'hex').subarray(0, tagBytes)
  }
}

/** What a key begins with, up to its last component. */
const prefixIn = (key: string): string => key.slice(0, key.lastIndexOf('/') + 1)

const unreadable = () =>
  fail('internal', 'internal error', { cause: new Error('the name of a secret cannot be read') })

/** The folder whose segments have components of their own, and the rest of the path. */
function split(path: string): { folder: string; rest: string } {
  let end = 0
  for (let count = 0; count < ownComponents; count += 1) {
    const slash = path.indexOf('/', end)
    if (slash < 0) break
    end = slash + 1
  }
  return { folder: path.slice(0, end), rest: path.slice(end) }
}
