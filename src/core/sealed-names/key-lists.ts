import { KeyedMutex } from '../../lib/concurrency/keyed-mutex.ts'
import { Cache } from '../../lib/data/cache.ts'
import { pagesOf } from '../../lib/data/pages.ts'
import type { View } from '../barrier/view.ts'
import { type ListClient, whileThere } from '../lists.ts'
import { levelOf } from '../records/key-level.ts'
import type { NameCipher } from './name-cipher.ts'
import { firstAfter, sortedNames } from './sorted-names.ts'

/** The names in a folder, as far as they are known. */
type Listed = {
  /** In byte order. */
  sorted: readonly string[]
  /** The name of each component of a key. */
  readonly nameOf: Map<string, string>
}

/** What is read of a folder. */
type Reading = {
  readonly prefix: string
  readonly inner: string
  /** Names that need not be decrypted, by component. */
  readonly known: ReadonlyMap<string, string>
}

/** More components than this are not looked up one by one. */
const mostLookups = 256

/**
 * The names of secrets by folder. Stored names are in the order of their ciphertexts, so a list has to decrypt
 * and sort all names of a folder: it is kept, and follows the keys that come and go.
 */
export class KeyLists {
  readonly #view: View
  readonly #cipher: NameCipher
  readonly #cache = new Cache<Listed>({
    name: 'names in folders',
    most: 10_000,
    mostWeight: 1_000_000,
    weigh: ({ sorted }) => sorted.length + 1,
  })
  readonly #mutex = new KeyedMutex()
  /** By the prefix of a list: the components that may have come or gone since. */
  readonly #touched = new Map<string, Set<string>>()

  /** `view` holds the keys. */
  constructor(view: View, cipher: NameCipher) {
    this.#view = view
    this.#cipher = cipher
  }

  /** The names directly in a folder, in byte order; folders end in a slash. */
  async namesIn(folder: string): Promise<readonly string[]> {
    const { prefix, inner } = this.#cipher.folderOf(folder)
    const isWhole = folder.split('/').length <= wholeDepth
    const known = new Map<string, string>()
    if (!isWhole) return (await this.#read({ prefix, inner, known })).sorted
    return this.#mutex.runExclusive(prefix, () => this.#current(prefix))
  }

  /** The paths below a folder, in byte order and relative to it. */
  async pathsBelow(folder: string, client: ListClient): Promise<readonly string[]> {
    const { prefix, inner } = this.#cipher.folderOf(folder)
    const paths: string[] = []
    for await (const page of whileThere(this.#view.keyPages(prefix), client))
      for (const key of page) {
        const path = this.#cipher.pathOf(key)
        if (path.startsWith(inner, folder.length - inner.length)) paths.push(path.slice(folder.length))
      }
    return sortedNames(paths)
  }

  /** A key was created or deleted. */
  touched(key: string): void {
    if (this.#touched.size === 0) return
    for (let start = 0; ; ) {
      const slash = key.indexOf('/', start)
      const component = slash < 0 ? key.slice(start) : key.slice(start, slash + 1)
      this.#touched.get(key.slice(0, start))?.add(component)
      if (slash < 0) return
      start = slash + 1
    }
  }

  /** Any key may have been created or deleted. */
  forgetAll(): void {
    this.#cache.dropAll()
    this.#touched.clear()
  }

  async #current(prefix: string): Promise<readonly string[]> {
    const listed = this.#cache.get(prefix)
    const touched = this.#touched.get(prefix)
    if (listed === undefined || touched === undefined) return this.#load(prefix, new Map())
    if (touched.size > mostLookups) return this.#load(prefix, listed.nameOf)
    for (const component of touched) {
      touched.delete(component)
      try {
        await this.#follow(prefix, component, listed)
      } catch (error) {
        touched.add(component)
        throw error
      }
    }
    return listed.sorted
  }

  async #load(prefix: string, known: ReadonlyMap<string, string>): Promise<readonly string[]> {
    // what comes or goes from now on is looked up by the next list
    const touched = new Set<string>()
    this.#touched.set(prefix, touched)
    const listed = await this.#read({ prefix, inner: '', known })
    if (this.#touched.get(prefix) === touched) this.#cache.set(prefix, listed)
    for (const other of this.#touched.keys())
      if (other !== prefix && !this.#cache.has(other)) this.#touched.delete(other)
    return listed.sorted
  }

  async #read({ prefix, inner, known }: Reading): Promise<Listed> {
    const components = await levelOf(this.#view, prefix)
    const nameOf = new Map<string, string>()
    const names: string[] = []
    for await (const page of pagesOf(components))
      for (const component of page) {
        const text = known.get(component) ?? this.#nameOf(prefix, component)
        nameOf.set(component, text)
        if (text.startsWith(inner)) names.push(firstSegment(text.slice(inner.length)))
      }
    return { sorted: await sortedNames(names), nameOf }
  }

  async #follow(prefix: string, component: string, listed: Listed): Promise<void> {
    const [first] = await this.#view.listKeys(prefix + component, { limit: 1 })
    const exists = component.endsWith('/') ? first !== undefined : first === prefix + component
    const known = listed.nameOf.get(component)
    if (exists === (known !== undefined)) return
    const name = known ?? this.#nameOf(prefix, component)
    const at = firstAfter(listed.sorted, name)
    if (exists) {
      listed.nameOf.set(component, name)
      listed.sorted = listed.sorted.toSpliced(at, 0, name)
    } else {
      listed.nameOf.delete(component)
      listed.sorted = listed.sorted.toSpliced(at - 1, 1)
    }
  }

  #nameOf(prefix: string, component: string): string {
    return component.endsWith('/')
      ? `${this.#cipher.textOf(prefix, component.slice(0, -1))}/`
      : this.#cipher.textOf(prefix, component)
  }
}

/** The keys of a deeper folder may share components: their lists are not kept. */
const wholeDepth = 16

/** A path up to its first slash. */
function firstSegment(path: string): string {
  const slash = path.indexOf('/')
  return slash < 0 ? path : path.slice(0, slash + 1)
}
