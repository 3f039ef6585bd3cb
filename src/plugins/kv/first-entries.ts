import { z } from 'zod'
import type { View } from '../../core/barrier/view.ts'
import { levelOf } from '../../core/key-level.ts'
import { RecordCache } from '../../core/record-cache.ts'
import { pauseAfterAttempt, writeAttempts } from '../../core/stored-record.ts'
import { fail } from '../../errors.ts'
import { atMost } from '../../lib/async-iterables.ts'
import { LongWork } from '../../lib/long-work.ts'
import type { ListRange } from './pages.ts'

/** An entry of version 1. */
const storedEntry = z.object({
  /** The entry as JSON text, as it is sent. */
  data: z.string(),
  /** The lease duration that the entry names, in seconds. */
  lease: z.number().exactOptional(),
})

export type Entry = z.output<typeof storedEntry>

/** An entry with the revision of its record. */
export type StoredEntry = { readonly path: string; readonly entry: Entry; readonly revision: number }

const maxCached = 10_000
const maxCachedText = 8_192
const pageSize = 1_000
/** What the keys of entries begin with. */
export const firstPrefix = '1/'
const prefix = firstPrefix
const keyOf = (path: string): string => prefix + path

type Paced = (names: AsyncIterable<string>) => AsyncIterable<string>

/** The entries of one mount of version 1: a record for each, under its path. docs/contract/kv.md#storage */
export class FirstEntries implements Disposable {
  readonly #view: View
  readonly #cache = new RecordCache<Entry>(maxCached, maxCachedText)
  readonly #unwatch: () => void

  /** `view` is the mount's own. */
  constructor(view: View) {
    this.#view = view
    this.#unwatch = view.watch(prefix, (keys) => this.#cache.follow(keys, (key) => key.slice(prefix.length)))
  }

  [Symbol.dispose](): void {
    this.#unwatch()
  }

  find(path: string): Promise<Entry | undefined> {
    return this.#cache.read(path, async () => {
      const stored = await this.#view.get(keyOf(path))
      return stored === undefined ? undefined : readEntry(stored)
    })
  }

  /** Writes an entry. `check` learns whether there is one at this moment, and may throw to refuse. */
  async put(path: string, entry: Entry, check: (exists: boolean) => void): Promise<void> {
    const key = keyOf(path)
    try {
      for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
        const stored = await this.#view.read(key)
        check(stored !== undefined)
        const expect = stored?.revision ?? ('absent' as const)
        if (await this.#view.write([{ key, value: entry, expect }])) return
        await pauseAfterAttempt(attempt)
      }
      throw fail('unavailable', 'too many writes of one secret at a time')
    } finally {
      this.#cache.drop(path)
    }
  }

  async remove(path: string): Promise<void> {
    try {
      await this.#view.write([{ key: keyOf(path), value: undefined }])
    } finally {
      this.#cache.drop(path)
    }
  }

  /** The names directly in a folder, in byte order. */
  namesIn(folder: string, { after, limit }: ListRange, paced: Paced): Promise<string[]> {
    const work = new LongWork()
    return levelOf(this.#view, keyOf(folder), { after, limit, giveWay: () => work.giveWay(), paced })
  }

  /** The paths below a folder, in byte order. */
  pathsBelow(folder: string, { after, limit }: ListRange, paced: Paced): Promise<string[]> {
    return Array.fromAsync(atMost(limit, paced(this.#pathsFrom(keyOf(folder), after))))
  }

  async *#pathsFrom(start: string, after: string): AsyncGenerator<string, void, undefined> {
    const work = new LongWork()
    for (let last = after === '' ? undefined : start + after; ; await work.giveWay()) {
      const keys = await this.#view.listKeys(start, {
        limit: pageSize,
        ...(last === undefined ? {} : { after: last }),
      })
      for (const key of keys) yield key.slice(start.length)
      last = keys.at(-1)
      if (last === undefined || keys.length < pageSize) return
    }
  }

  /** The first entries in byte order of their paths. */
  async first(limit: number): Promise<StoredEntry[]> {
    const records = await this.#view.list(prefix, { limit })
    return records.map(({ key, value, revision }) => ({
      path: key.slice(prefix.length),
      entry: readEntry(value),
      revision,
    }))
  }

  /** An entry as it is stored, not a copy. */
  async stored(path: string): Promise<StoredEntry | undefined> {
    const record = await this.#view.read(keyOf(path))
    return record && { path, entry: readEntry(record.value), revision: record.revision }
  }

  /** Whether there is no entry. */
  async isEmpty(): Promise<boolean> {
    return (await this.#view.listKeys(prefix, { limit: 1 })).length === 0
  }

  /** The deletion of an entry as it was read, for a batch of the mount's view. */
  static removal({ path, revision }: StoredEntry) {
    return { key: keyOf(path), value: undefined, expect: revision }
  }
}

/** Throws `internal` for a record of another format. */
function readEntry(stored: unknown): Entry {
  const read = storedEntry.safeParse(stored)
  if (read.success) return read.data
  throw fail('internal', 'internal error', { cause: new Error('a secret cannot be read') })
}
