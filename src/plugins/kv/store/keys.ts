import type { View, ViewEntry } from '../../../core/barrier/view.ts'
import type { ListClient } from '../../../core/lists.ts'
import { Changes, type Write, writeAttempts } from '../../../core/records/change.ts'
import { KeyLists } from '../../../core/sealed-names/key-lists.ts'
import type { NameCipher } from '../../../core/sealed-names/name-cipher.ts'
import { fail, refuse } from '../../../errors.ts'
import type { Limiter } from '../../../lib/concurrency/limiter.ts'
import { Cache, textIn } from '../../../lib/data/cache.ts'
import { type PageRange, pagesOf, readPages } from '../../../lib/data/pages.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import {
  dataKey,
  dataPrefix,
  headPrefix,
  KeyDraft,
  remainsPrefix,
  versionKey,
  versionNumberIn,
  versionPrefix,
} from './key-draft.ts'
import { type Head, readHead, readVersion, type Version } from './key-record.ts'
import { LargeRead } from './large-read.ts'

export type StoredKey = {
  readonly head: Head
  readonly revision: number /** Its response, once made. */
  shown?: string
}

/** The key of a path, with what was stored there when it was read. */
type Found = { readonly key: string; readonly stored: StoredKey | undefined }

type Decided<T> = Found & {
  readonly draft: KeyDraft
  readonly entries: readonly ViewEntry[]
  readonly result: T
  /** Whether anything is to be written. */
  readonly isChange: boolean
}

export type WholeKey = { readonly head: Head; readonly versions: Map<number, Version> }

export type KeyChange<T> = {
  /** The numbers of earlier versions that `apply` looks at or changes. */
  readonly versions?: Iterable<number>
  readonly readsData?: true
  /** Must be pure, except for what it does to the draft, and may run again. Throws to refuse. */
  apply(draft: KeyDraft): T | Promise<T>
}

export type KeysParts = {
  readonly view: View
  readonly cipher: NameCipher
  readonly clock: Clock
  /** Admits one call at a time that reads much data. */
  readonly large: Limiter
  /** Called after a change of the key with this path; undefined: of any. */
  onChange(path: string | undefined): void
  onFailure(error: unknown): void
}

/** Versions can be large. */
const versionPage = 16
/** The most data of versions that one change reads, in characters. */
const mostChanged = 64 * 1024 * 1024

const tooMany = 'too many changes of one secret at a time'

const tooLarge = () => refuse('invalid', 'the data of the versions is too large for one call')

/**
 * The keys of one mount of version 2. A key is a head record with its current version, and a record for each
 * earlier version. Every change replaces the head, on the condition that it is still the one that the change
 * was decided on. docs/contract/kv.md#storage
 */
export class Keys implements Disposable {
  readonly lists: KeyLists
  readonly #parts: KeysParts
  readonly #view: View
  readonly #cache = new Cache<Found>({
    name: 'secrets',
    most: 10_000,
    mostWeight: 16 * 1024 * 1024,
    weigh: ({ key, stored }, path) => key.length + textIn(stored?.head, path),
  })
  /** By path. */
  readonly #changes: Changes
  readonly #unwatch: () => void

  constructor(parts: KeysParts) {
    this.#parts = parts
    this.#view = parts.view
    this.lists = new KeyLists(parts.view.view(headPrefix), parts.cipher)
    this.#changes = new Changes({ view: parts.view, tooMany })
    this.#unwatch = parts.view.watch(headPrefix, (keys) => this.#follow(keys))
  }

  [Symbol.dispose](): void {
    this.#unwatch()
  }

  async find(path: string): Promise<StoredKey | undefined> {
    return (await this.#cache.read(path, () => this.#read(path))).stored
  }

  /** A version of a key with its data; undefined if there is none with this number. */
  async version({ head }: StoredKey, number: number): Promise<Version | undefined> {
    if (number === head.current) return head.last
    const isKept = number < head.current && number >= Math.max(1, head.oldest)
    return isKept ? this.#wholeVersion(head.id, number) : undefined
  }

  async #wholeVersion(id: string, number: number): Promise<Version | undefined> {
    for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
      const stored = await this.#view.get(versionKey(id, number))
      if (stored === undefined) return undefined
      const version = await this.#withData(id, number, readVersion(stored))
      if (version !== undefined) return version
    }
    throw fail('unavailable', tooMany)
  }

  /** Undefined if its data was removed meanwhile. */
  async #withData(id: string, number: number, version: Version): Promise<Version | undefined> {
    if (version.isApart !== true) return version
    const data = await this.#view.get(dataKey(id, number))
    return typeof data === 'string' ? { ...version, data } : undefined
  }

  /** A key with all its versions at one moment, without their data. Ends when the client disconnects. */
  async described(path: string, client: ListClient): Promise<WholeKey | undefined> {
    using reading = new LargeRead(this.#parts.large, client)
    return await this.#all(path, reading, ({ data, ...described }) => described)
  }

  /** A key with all its versions at one moment. Throws if their data is too much for one change. */
  async whole(path: string): Promise<WholeKey | undefined> {
    const reading = new LargeRead()
    return await this.#all(path, reading, async (version, { id }, number) => {
      const whole = await this.#withData(id, number, version)
      if (version.isApart === true && whole !== undefined) reading.add(whole)
      if (reading.size > mostChanged) throw tooLarge()
      return whole
    })
  }

  /** `take` returns undefined for a version that was changed meanwhile. */
  async #all(
    path: string,
    reading: LargeRead,
    take: (version: Version, head: Head, number: number) => Version | Promise<Version | undefined>,
  ): Promise<WholeKey | undefined> {
    for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
      const { key, stored } = await this.#read(path)
      if (stored === undefined) return undefined
      const { head } = stored
      reading.size = 0
      const versions = new Map<number, Version>()
      if (head.current > 1)
        for await (const [number, version] of this.#earlier(head, reading)) {
          const taken = await take(version, head, number)
          if (taken !== undefined) versions.set(number, taken)
        }
      const isSame = head.current <= 1 || (await this.#view.read(key))?.revision === stored.revision
      const last = head.last && (await take(head.last, head, head.current))
      if (last !== undefined) versions.set(head.current, last)
      if (isSame) return { head, versions }
    }
    throw fail('unavailable', tooMany)
  }

  change<T>(path: string, change: KeyChange<T>): Promise<T> {
    return this.#changes.run(path, async (write) => {
      const copy = this.#cache.get(path)
      // a copy may be old: its decision counts only if the write finds that it is current
      const byCopy = copy && (await this.#decide(copy, change).catch(() => undefined))
      const decided = byCopy?.isChange === true ? byCopy : await this.#decide(await this.#read(path), change)
      if (decided.isChange) await this.#write(path, decided, write)
      return decided.result
    })
  }

  async #decide<T>(found: Found, change: KeyChange<T>): Promise<Decided<T>> {
    using reading = new LargeRead(this.#parts.large)
    const head = found.stored?.head
    const loaded = await this.#loaded(head, change, reading)
    const draft = new KeyDraft(head, loaded, this.#parts.clock.now())
    const result = await change.apply(draft)
    const entries = await draft.entries()
    return { ...found, draft, entries, result, isChange: draft.head !== head || entries.length > 0 }
  }

  /** For changes of several keys, which `writeHeads` writes. */
  changeSeveral<T>(decide: (overtaken: Error) => Promise<T>): Promise<T> {
    return this.#changes.runUnordered((_, overtaken) => decide(overtaken))
  }

  /** Writes further records together with the heads of keys, all or nothing. */
  async writeHeads(
    heads: readonly { path: string; head: Head | undefined; expect: number | 'absent' }[],
    also: readonly ViewEntry[],
  ): Promise<boolean> {
    try {
      return await this.#view.write([
        ...heads.map(({ path, head: value, expect }) => ({ key: this.#keyOf(path), value, expect })),
        ...also,
      ])
    } finally {
      for (const { path } of heads) this.#changed(path, this.#keyOf(path))
    }
  }

  /** The key as it is stored, not a copy. */
  async read(path: string): Promise<StoredKey | undefined> {
    return (await this.#read(path)).stored
  }

  async deleteRemains(): Promise<void> {
    for (const key of await this.#view.listKeys(remainsPrefix))
      await this.#deleteVersions(key.slice(remainsPrefix.length))
  }

  async #deleteVersions(id: string): Promise<void> {
    const view = this.#view.view('', { isUncopied: true })
    for (const prefix of [versionPrefix, dataPrefix]) await view.deletePrefix(`${prefix}${id}/`)
    await this.#view.write([{ key: remainsPrefix + id, value: undefined, isUncopied: true }])
  }

  #keyOf(path: string): string {
    return headPrefix + this.#parts.cipher.keyOf(path)
  }

  async #read(path: string): Promise<Found> {
    const key = this.#keyOf(path)
    const record = await this.#view.read(key)
    return { key, stored: record && { head: readHead(record.value), revision: record.revision } }
  }

  async *#earlier(
    { id }: Head,
    reading: LargeRead,
  ): AsyncGenerator<readonly [number, Version], void, undefined> {
    const prefix = `${versionPrefix}${id}/`
    const read = (range: PageRange) => this.#view.list(prefix, range)
    for await (const page of readPages(read, ({ key }) => key, { size: versionPage })) {
      for (const { key, value } of page) {
        const version = readVersion(value)
        reading.add(version)
        yield [versionNumberIn(key), version]
      }
      await reading.goOn()
    }
  }

  async #loaded(
    head: Head | undefined,
    { versions = [], readsData }: KeyChange<unknown>,
    reading: LargeRead,
  ): Promise<Map<string, Version>> {
    const loaded = new Map<string, Version>()
    const numbers = [...new Set(versions)]
    if (head === undefined || numbers.length === 0) return loaded
    for await (const page of pagesOf(numbers, versionPage))
      for (const number of page) {
        if (number < Math.max(1, head.oldest) || number >= head.current) continue
        await reading.goOn()
        const key = versionKey(head.id, number)
        const stored = readsData ? await this.#wholeVersion(head.id, number) : await this.#view.get(key)
        if (stored === undefined) continue
        const version = readVersion(stored)
        reading.add(version)
        if (reading.size > mostChanged) throw tooLarge()
        loaded.set(key, version)
      }
    return loaded
  }

  async #write(path: string, { key, stored, draft, entries }: Decided<unknown>, write: Write): Promise<void> {
    const isNew = stored === undefined
    const head: ViewEntry[] =
      isNew && draft.head === undefined
        ? []
        : [{ key, value: draft.head, expect: stored?.revision ?? 'absent' }]
    try {
      await write([...head, ...entries])
      this.#clean(draft.remains)
    } finally {
      this.#changed(path, isNew || draft.head === undefined ? key : undefined)
    }
  }

  /** In the background: nobody can reach these versions any more, and the next start continues. */
  #clean(remains: readonly string[]): void {
    for (const id of remains) this.#deleteVersions(id).catch((error) => this.#parts.onFailure(error))
  }

  /** `key`: it was created or deleted. */
  #changed(path: string, key: string | undefined): void {
    this.#cache.drop(path)
    if (key !== undefined) this.lists.touched(key.slice(headPrefix.length))
    this.#parts.onChange(path)
  }

  /** Keys have been written, perhaps by another server. */
  #follow(keys: readonly string[] | undefined): void {
    try {
      for (const key of keys ?? []) {
        const sealed = key.slice(headPrefix.length)
        this.lists.touched(sealed)
        const path = this.#parts.cipher.pathOf(sealed)
        this.#cache.drop(path)
        this.#parts.onChange(path)
      }
      if (keys !== undefined) return
    } catch (error) {
      this.#parts.onFailure(error)
    }
    this.#cache.dropAll()
    this.lists.forgetAll()
    this.#parts.onChange(undefined)
  }
}
