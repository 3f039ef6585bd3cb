import { Buffer } from 'node:buffer'
import { createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { fail } from '../../errors.ts'
import { type Hmac, hmacWith } from '../../lib/hmac.ts'
import { type CounterMode, counterMode } from './counter-mode.ts'

/** Deeper segments share one component, which bounds the length of a key. */
const ownComponents = 16
const tagBytes = 16
const keyBytes = 32
const cachedFolders = 5_000
/** Those of requests in progress. */
const cachedKeys = 500

/** Where a folder is stored. */
export type StoredFolder = {
  /** What the keys in it begin with. */
  readonly prefix: string
  /** What the names in it begin with, if it is so deep that others share its prefix. */
  readonly inner: string
}

/**
 * Encrypts the paths of secrets, segment by segment, so that a folder stays a prefix. A segment always has the
 * same ciphertext in the same folder: its tag, a keyed hash of the segment and of the folder, is the
 * initialization vector. docs/contract/kv.md#storage
 */
export class NameCipher {
  readonly #tag: Hmac
  readonly #crypt: CounterMode
  /** With `max`, the cache would allocate all its space at once, for each mount. */
  readonly #folders = new LRUCache<string, string>({ maxSize: cachedFolders, sizeCalculation: () => 1 })
  /** By path: a write needs its key several times. */
  readonly #keys = new LRUCache<string, string>({ maxSize: cachedKeys, sizeCalculation: () => 1 })
  /** The folder of the key that was opened last: keys are mostly opened in order. */
  #last = { prefix: '', path: '' }

  constructor(secret: Uint8Array) {
    const derived = (purpose: string) =>
      new Uint8Array(hkdfSync('sha256', secret, new Uint8Array(), purpose, keyBytes))
    this.#tag = hmacWith(derived('kv name tag'))
    this.#crypt = counterMode(createSecretKey(derived('kv name encryption')))
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

  /** The text of a component behind a prefix. Throws `internal` if it was not encrypted here. */
  textOf(prefix: string, component: string): string {
    const bytes = Buffer.from(component, 'base64url')
    const tag = bytes.subarray(0, tagBytes)
    if (bytes.length > tagBytes) {
      const text = this.#crypt(tag, bytes.subarray(tagBytes)).toString('utf8')
      if (timingSafeEqual(this.#tagOf(prefix, text), tag)) return text
    }
    throw fail('internal', 'internal error', { cause: new Error('the name of a secret cannot be read') })
  }

  /** The path of a key. */
  pathOf(key: string): string {
    const end = key.lastIndexOf('/') + 1
    const prefix = key.slice(0, end)
    return this.#folderAt(prefix) + this.textOf(prefix, key.slice(end))
  }

  /** The path of the folder with this prefix. */
  #folderAt(prefix: string): string {
    if (prefix === '') return ''
    if (prefix === this.#last.prefix) return this.#last.path
    const start = prefix.lastIndexOf('/', prefix.length - 2) + 1
    const above = prefix.slice(0, start)
    const path = `${this.#folderAt(above)}${this.textOf(above, prefix.slice(start, -1))}/`
    this.#last = { prefix, path }
    return path
  }

  #prefixOf(folder: string): string {
    if (folder === '') return ''
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

  /** No prefix contains a line break. */
  #tagOf(prefix: string, text: string): Buffer {
    return Buffer.from(this.#tag(`${prefix}\n${text}`, 'latin1'), 'latin1').subarray(0, tagBytes)
  }
}

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
