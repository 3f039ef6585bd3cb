import { Buffer } from 'node:buffer'
import { createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { fail } from '../../errors.ts'
import { type Hmac, hmacWith } from '../../lib/hmac.ts'
import type { Random } from '../../lib/random.ts'
import type { View } from '../barrier/view.ts'
import { type CounterMode, counterMode, vectorBytes } from './counter-mode.ts'

/** Deeper segments share one component, which bounds the length of a key. */
const ownComponents = 16
const tagBytes = vectorBytes
const keyBytes = 32
const cachedFolders = 5_000
/** Those of requests in progress. */
const cachedKeys = 500
/** Components that are decrypted together, and the tags that are compared; used by one call at a time. */
const scratch = Buffer.alloc(8_192)
const [ownTag, storedTag] = [Buffer.alloc(tagBytes), Buffer.alloc(tagBytes)]

/** Where a folder is stored. */
export type StoredFolder = {
  /** What the keys in it begin with. */
  readonly prefix: string
  /** What the names in it begin with, if it is so deep that others share its prefix. */
  readonly inner: string
}

/** What the names of one owner are encrypted with. */
export type NameKeys = { readonly tag: Hmac; readonly cipher: CounterMode }

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
  return {
    tag: hmacWith(derived('kv name tag')),
    cipher: counterMode(createSecretKey(derived('kv name encryption'))),
  }
}

/**
 * Encrypts the paths of secrets, segment by segment, so that a folder stays a prefix. A segment always has the
 * same ciphertext in the same folder: its tag, a keyed hash of the segment and of the folder, is the
 * initialization vector. All keys begin with `base`: below another one, the same path looks different.
 * docs/contract/kv.md#storage
 */
export class NameCipher {
  readonly #tag: Hmac
  readonly #cipher: CounterMode
  /** With `max`, the cache would allocate all its space at once, for each mount. */
  readonly #folders = new LRUCache<string, string>({ maxSize: cachedFolders, sizeCalculation: () => 1 })
  /** By path: a write needs its key several times. */
  readonly #keys = new LRUCache<string, string>({ maxSize: cachedKeys, sizeCalculation: () => 1 })
  readonly #base: string
  /** The folder of the key that was opened last: keys are mostly opened in order. */
  #last: { readonly prefix: string; readonly path: string }

  /** `base` is empty or ends in a slash. */
  constructor({ tag, cipher }: NameKeys, base = '') {
    this.#tag = tag
    this.#cipher = cipher
    this.#base = base
    this.#last = { prefix: base, path: '' }
  }

  /** The key of a path. */
  keyOf(path: string): string {
    const known = this.#keys.get(path)
    if (known !== undefined) return known
    const { folder, rest } = split(path)
    const prefix = this.#prefixOf(folder)
    const key = prefix + this.#sealed(prefix, rest)
    this.#keys.set(path, key)
    return key
  }

  /** Where a folder is stored, whose path is empty or ends in a slash. */
  folderOf(path: string): StoredFolder {
    const segments = path.split('/', ownComponents + 1)
    if (segments.length <= ownComponents) return { prefix: this.#prefixOf(path), inner: '' }
    const shared = `${segments.slice(0, ownComponents).join('/')}/`
    return { prefix: this.#prefixOf(shared), inner: path.slice(shared.length) }
  }

  /** The texts of components behind one prefix. Throws `internal` if one was not encrypted here. */
  textsOf(prefix: string, components: readonly string[]): string[] {
    const space = components.reduce((sum, { length }) => sum + length, 0)
    const bytes = space <= scratch.length ? scratch : Buffer.alloc(space)
    const ends: number[] = []
    for (const component of components) {
      const start = ends.at(-1) ?? 0
      const end = start + bytes.write(component, start, 'base64url')
      if (end < start + tagBytes) throw unreadable()
      ends.push(end)
    }
    this.#cipher.cryptAll(bytes, ends)
    return ends.map((end, at) => {
      const start = ends[at - 1] ?? 0
      const text = bytes.toString('utf8', start + tagBytes, end)
      ownTag.write(this.#tag(`${prefix}\n${text}`, 'latin1'), 'latin1')
      bytes.copy(storedTag, 0, start, start + tagBytes)
      if (!timingSafeEqual(ownTag, storedTag)) throw unreadable()
      return text
    })
  }

  /** The path of a key. */
  pathOf(key: string): string {
    return this.pathsOf([key])[0] ?? ''
  }

  /** The paths of keys; those with one prefix, that follow each other, are decrypted together. */
  pathsOf(keys: readonly string[]): string[] {
    const paths: string[] = []
    for (let from = 0; from < keys.length; ) {
      const prefix = prefixIn(keys[from] ?? '')
      const components: string[] = []
      for (let key = keys[from]; key !== undefined && prefixIn(key) === prefix; key = keys[from]) {
        components.push(key.slice(prefix.length))
        from += 1
      }
      const folder = this.#folderAt(prefix)
      for (const text of this.textsOf(prefix, components)) paths.push(folder + text)
    }
    return paths
  }

  /** The path of the folder with this prefix. */
  #folderAt(prefix: string): string {
    if (prefix === this.#base) return ''
    if (prefix === this.#last.prefix) return this.#last.path
    const above = prefixIn(prefix.slice(0, -1))
    const path = `${this.#folderAt(above)}${this.textsOf(above, [prefix.slice(above.length, -1)])[0] ?? ''}/`
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
    return Buffer.concat([tag, this.#cipher.crypt(tag, Buffer.from(text))]).toString('base64url')
  }

  /** No prefix contains a line break. */
  #tagOf(prefix: string, text: string): Buffer {
    return Buffer.from(this.#tag(`${prefix}\n${text}`, 'latin1'), 'latin1').subarray(0, tagBytes)
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
