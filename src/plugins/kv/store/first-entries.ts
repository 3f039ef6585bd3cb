import { z } from 'zod'
import type { View } from '../../../core/barrier/view.ts'
import type { ListClient } from '../../../core/lists.ts'
import { Changes } from '../../../core/records/change.ts'
import { recordReader } from '../../../core/records/stored-record.ts'
import { KeyLists } from '../../../core/sealed-names/key-lists.ts'
import { moveRecords } from '../../../core/sealed-names/moved-records.ts'
import type { NameCipher } from '../../../core/sealed-names/name-cipher.ts'
import { pageOf } from '../../../core/sealed-names/sorted-names.ts'
import { Cache } from '../../../lib/data/cache.ts'
import type { ListRange } from './pages.ts'

const storedEntry = z.object({
  /** The entry as JSON text, as it is sent. */
  data: z.string(),
  /** The lease duration that the entry names, in seconds. */
  lease: z.number().exactOptional(),
})

export type Entry = z.output<typeof storedEntry>
const readEntry = recordReader<Entry>('secret', storedEntry)

export type StoredEntry = {
  readonly key: string
  readonly path: string
  readonly entry: Entry
  readonly revision: number
}

const prefix = 'e/'
/** What they began with when they had the path in clear. */
const clearPrefix = '1/'
export const firstPrefixes = [prefix, clearPrefix]

/** The entries of one mount of version 1: a record for each, under its encrypted path. docs/contract/kv.md#storage */
export class FirstEntries implements Disposable {
  readonly #view: View
  readonly #cipher: NameCipher
  readonly #lists: KeyLists
  /** By key. */
  readonly #changes: Changes
  readonly #cache = new Cache<Entry>({
    name: 'secrets of version 1',
    most: 10_000,
    mostWeight: 16 * 1024 * 1024,
  })
  readonly #unwatch: () => void

  private constructor(view: View, cipher: NameCipher) {
    this.#view = view
    this.#cipher = cipher
    this.#changes = new Changes({ view, tooMany: 'too many writes of one secret at a time' })
    this.#lists = new KeyLists(view.view(prefix), cipher)
    this.#unwatch = view.watch(prefix, (keys) => this.#follow(keys))
  }

  /** `view` is the mount's own. Encrypts the paths that an earlier version has stored in clear. */
  static async open(view: View, cipher: NameCipher): Promise<FirstEntries> {
    await moveRecords(view, clearPrefix, ({ key, value }) => ({
      key: prefix + cipher.keyOf(key.slice(clearPrefix.length)),
      value,
    }))
    return new FirstEntries(view, cipher)
  }

  [Symbol.dispose](): void {
    this.#unwatch()
  }

  find(path: string): Promise<Entry | undefined> {
    const key = this.#keyOf(path)
    return this.#cache.read(key, async () => {
      const stored = await this.#view.get(key)
      return stored === undefined ? undefined : readEntry(stored)
    })
  }

  /** Writes an entry. `check` learns whether there is one at this moment, and may throw to refuse. */
  async put(path: string, entry: Entry, check: (exists: boolean) => void): Promise<void> {
    const key = this.#keyOf(path)
    try {
      await this.#changes.run(key, async (write) => {
        const stored = await this.#view.read(key)
        check(stored !== undefined)
        await write([{ key, value: entry, expect: stored?.revision ?? 'absent' }])
      })
    } finally {
      this.#changed(key)
    }
  }

  async remove(path: string): Promise<void> {
    const key = this.#keyOf(path)
    try {
      await this.#view.write([{ key, value: undefined }])
    } finally {
      this.#changed(key)
    }
  }

  /** The names directly in a folder, in byte order. */
  async namesIn(folder: string, range: ListRange): Promise<readonly string[]> {
    return pageOf(await this.#lists.namesIn(folder), range)
  }

  /** The paths below a folder, in byte order. */
  pathsBelow(folder: string, client: ListClient): Promise<readonly string[]> {
    return this.#lists.pathsBelow(folder, client)
  }

  async first(limit: number): Promise<StoredEntry[]> {
    const records = await this.#view.list(prefix, { limit })
    return records.map(({ key, value, revision }) => ({
      key,
      revision,
      path: this.#cipher.pathOf(key.slice(prefix.length)),
      entry: readEntry(value),
    }))
  }

  async stored(path: string): Promise<StoredEntry | undefined> {
    const record = await this.#view.read(this.#keyOf(path))
    return record && { key: record.key, path, entry: readEntry(record.value), revision: record.revision }
  }

  async isEmpty(): Promise<boolean> {
    return (await this.#view.listKeys(prefix, { limit: 1 })).length === 0
  }

  /** The deletion of an entry as it was read, for a batch of the mount's view. */
  static removal({ key, revision }: StoredEntry) {
    return { key, value: undefined, expect: revision }
  }

  #keyOf(path: string): string {
    return prefix + this.#cipher.keyOf(path)
  }

  #changed(key: string): void {
    this.#cache.drop(key)
    this.#lists.touched(key.slice(prefix.length))
  }

  /** Entries have been written, perhaps by another server. */
  #follow(keys: readonly string[] | undefined): void {
    this.#cache.follow(keys)
    if (keys === undefined) this.#lists.forgetAll()
    else for (const key of keys) this.#lists.touched(key.slice(prefix.length))
  }
}
