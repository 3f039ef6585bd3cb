import { Buffer } from 'node:buffer'
import { fail, ServiceError } from '../../errors.ts'
import { pageSize, pagesOf, readPages } from '../../lib/data/pages.ts'
import { parseLossless, stringifyJson } from '../../lib/text/json.ts'
import { type ChangeListener, unfenced } from '../../storage/shared-storage.ts'
import {
  type BatchEntry,
  type Change,
  keep,
  type Range,
  type Storage,
  type StoredRecord,
  type WriteOptions,
} from '../../storage/storage.ts'
import { ifReadable } from '../records/stored-record.ts'
import { type Companion, companionOf } from './companion.ts'
import { type Keyring, UnknownTerm } from './keyring.ts'
import { sealedError } from './keyring-store.ts'
import type { View, ViewEntry, ViewRecord } from './view.ts'

/** How a view reads numbers; see view.ts. */
export type Numbers = 'plain' | 'literal'

/** Receives the keys of records that cannot be decrypted. */
export type BarrierLog = {
  error(fields: { event: string; key: string; err: unknown }, text: string): void
  /** Called in addition, for metrics. */
  recordUnreadable?(): void
}

type ViewOptions = { numbers: Numbers } & WriteOptions

const keyOf = ({ key }: ViewRecord): string => key

export type SealedViewParts = { storage: Storage; keyring: Keyring; log: BarrierLog }

type Update = { readonly key: string; change(current: unknown): unknown; readonly options: WriteOptions }

/** Number of attempts of a write with a companion. */
const mostAccompanied = 40

const changedByTooMany = () => fail('unavailable', 'the record is changed by too many at once')

const maxAttempts = 3
/**
 * Runs `work` again if it meets a term that this server does not know: another server may have begun it, or
 * re-encrypted what was read and removed the term.
 */
export async function withTerms<T>(
  { storage, keyring }: Pick<SealedViewParts, 'storage' | 'keyring'>,
  work: () => Promise<T>,
): Promise<T> {
  if (storage.shared === undefined) return await work()
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (cause) {
      if (!(cause instanceof UnknownTerm) || attempt === maxAttempts) throw cause
      await keyring.learn(cause.term)
    }
  }
}

/**
 * A view of encrypted records. The associated data of a value is its full storage key, including the prefix.
 */
export class SealedView implements View {
  readonly #parts: SealedViewParts
  readonly #prefix: string
  readonly #numbers: Numbers
  readonly #isUncopied: true | undefined

  constructor(parts: SealedViewParts, prefix: string, { numbers, isUncopied }: ViewOptions) {
    this.#parts = parts
    this.#prefix = prefix
    this.#numbers = numbers
    this.#isUncopied = isUncopied
  }

  get(key: string): Promise<unknown> {
    return this.#opening(async () => {
      const record = await this.#storage.get(this.#prefix + key)
      return record === undefined ? undefined : this.#open(record.key, record.value)
    })
  }

  read(key: string): Promise<ViewRecord | undefined> {
    return this.#opening(async () => {
      const record = await this.#storage.get(this.#prefix + key)
      return record === undefined ? undefined : this.#viewRecord(record)
    })
  }

  list(prefix: string, range: Range = {}): Promise<ViewRecord[]> {
    return this.#opening(async () => {
      const records = await this.#storage.list(this.#prefix + prefix, this.#fullRange(range))
      return records.map((record) => this.#viewRecord(record))
    })
  }

  pages(prefix: string, after?: string): AsyncGenerator<readonly ViewRecord[], void, undefined> {
    return readPages((range) => this.list(prefix, range), keyOf, { after })
  }

  keyPages(prefix: string, after?: string): AsyncGenerator<readonly string[], void, undefined> {
    return readPages(
      (range) => this.listKeys(prefix, range),
      (key) => key,
      { after },
    )
  }

  async listKeys(prefix: string, range: Range = {}): Promise<string[]> {
    const keys = await this.#storage.listKeys(this.#prefix + prefix, this.#fullRange(range))
    return keys.map((key) => key.slice(this.#prefix.length))
  }

  async update(
    key: string,
    change: (current: unknown) => unknown | typeof keep,
    options: WriteOptions = {},
  ): Promise<unknown> {
    const full = this.#prefix + key
    const companion = companionOf(() => [full])
    if (companion !== undefined) return this.#updateTogether(companion, { key, change, options })
    let after: unknown
    await this.#parts.keyring.ensure(1)
    const written = this.#parts.keyring.beginWrite()
    try {
      const onSealed: Change = (sealed) => {
        const current = sealed === undefined ? undefined : this.#open(full, sealed)
        const next = change(current)
        after = next === keep ? current : next
        return next === keep ? keep : this.#seal(full, next)
      }
      await this.#opening(() => this.#storage.update(full, onSealed, this.#with(options)))
    } finally {
      written()
    }
    return after
  }

  /** Decrypts within the atomic step, so that an unreadable record is not deleted. */
  async take(key: string, options: WriteOptions = {}): Promise<unknown> {
    const full = this.#prefix + key
    let taken: unknown
    const take: Change = (sealed) => {
      taken = sealed === undefined ? undefined : this.#open(full, sealed)
      return sealed === undefined ? keep : undefined
    }
    await this.#opening(() => this.#storage.update(full, take, this.#with(options)))
    return taken
  }

  write(batch: readonly ViewEntry[]): Promise<boolean> {
    const companion = companionOf(() => batch.map((entry) => this.#keyOf(entry)))
    return companion === undefined ? this.#writeAlone(batch) : this.#writeTogether(companion, batch)
  }

  #writeAlone(batch: readonly ViewEntry[]): Promise<boolean> {
    return this.sealing(batch, (records) => this.#storage.write(records))
  }

  /**
   * The companion decided by the record's former value, so the write has that as its condition. A record that
   * cannot be read can be replaced and deleted all the same.
   */
  async #writeTogether(companion: Companion, batch: readonly ViewEntry[]): Promise<boolean> {
    const own = batch.find((entry) => companion.concerns(this.#keyOf(entry)))
    if (own === undefined) return await this.#writeAlone(batch)
    const key = this.#keyOf(own)
    for (let attempt = 0; attempt < mostAccompanied; attempt += 1) {
      const record = await this.#storage.get(key)
      const found = record?.revision ?? ('absent' as const)
      if (own.expect !== undefined && own.expect !== found) return false
      const before =
        record && (await ifReadable(this.#opening(async () => this.#open(record.key, record.value))))
      const also = await companion.entriesFor({ key, before, after: own.value })
      const bound = batch.map((entry) => (entry === own ? { ...entry, expect: found } : entry))
      if (await this.#writeAlone([...bound, ...also])) {
        companion.written()
        return true
      }
      // the condition of another entry does not hold
      if (((await this.#storage.get(key))?.revision ?? 'absent') === found) return false
    }
    throw changedByTooMany()
  }

  async #updateTogether(companion: Companion, { key, change, options }: Update): Promise<unknown> {
    for (let attempt = 0; attempt < mostAccompanied; attempt += 1) {
      const before = await this.read(key)
      const value = change(before?.value)
      if (value === keep) return before?.value
      const entry = { key, value, expect: before?.revision ?? ('absent' as const), ...options }
      if (await this.#writeTogether(companion, [entry])) return value
    }
    throw changedByTooMany()
  }

  #keyOf({ key, from }: ViewEntry): string {
    return from === 'root' ? key : this.#prefix + key
  }

  /** Passes encrypted entries to `write`. Their data key is kept until it has settled. */
  async sealing<T>(
    batch: readonly ViewEntry[],
    write: (records: readonly BatchEntry[]) => Promise<T>,
  ): Promise<T> {
    await this.#parts.keyring.ensure(batch.length)
    const written = this.#parts.keyring.beginWrite()
    try {
      return await write(await this.#sealedBatch(batch))
    } finally {
      written()
    }
  }

  async #sealedBatch(batch: readonly ViewEntry[]): Promise<BatchEntry[]> {
    if (batch.length <= pageSize) return batch.map((one) => this.#sealed(one))
    const records: BatchEntry[] = []
    for await (const page of pagesOf(batch)) records.push(...page.map((one) => this.#sealed(one)))
    return records
  }

  #sealed(viewEntry: ViewEntry): BatchEntry {
    const { value, expect, from, isUncopied } = viewEntry
    const full = this.#keyOf(viewEntry)
    const entry: BatchEntry = { key: full, value: this.#seal(full, value) }
    if (expect !== undefined) entry.expect = expect
    // an entry of another view knows whether it is copied
    if (isUncopied ?? (from !== 'root' && this.#isUncopied)) entry.isUncopied = true
    return entry
  }

  fromRoot(entry: ViewEntry): ViewEntry {
    if (entry.from === 'root') return entry
    return { ...entry, key: this.#prefix + entry.key, from: 'root', ...this.#with(entry) }
  }

  /**
   * Reads first, so that an existing record needs no write: a start on a full disk calls this for existing
   * keys.
   */
  async putIfAbsent(key: string, value: unknown): Promise<boolean> {
    if ((await this.#storage.get(this.#prefix + key)) !== undefined) return false
    return await this.write([{ key, value, expect: 'absent' }])
  }

  async deletePrefix(prefix: string): Promise<void> {
    await this.#storage.deletePrefix(this.#prefix + prefix, this.#with({}))
  }

  watch(prefix: string, listener: ChangeListener): () => void {
    const { shared } = this.#parts.storage
    if (shared === undefined) return () => {}
    const { keyring } = this.#parts
    const start = this.#prefix.length
    const end = shared.watch(this.#prefix + prefix, async (keys) => {
      if (keyring.isDropped) return end()
      try {
        // whoever asked for the report, the listener does not work for a job
        await unfenced(async () => listener(keys?.map((key) => key.slice(start))))
      } catch (error) {
        // sealed meanwhile: the copies are gone too
        if (!keyring.isDropped) throw error
      }
    })
    return end
  }

  view(prefix: string, { numbers = this.#numbers, ...options }: Partial<ViewOptions> = {}): View {
    return new SealedView(this.#parts, this.#prefix + prefix, { numbers, ...this.#with(options) })
  }

  #with({ isUncopied = this.#isUncopied }: WriteOptions): WriteOptions {
    return isUncopied ? { isUncopied } : {}
  }

  /** Throws `sealed`. */
  get #storage(): Storage {
    if (this.#parts.keyring.isDropped) throw sealedError()
    return this.#parts.storage
  }

  #fullRange({ after, limit }: Range): Range {
    return {
      ...(after === undefined ? {} : { after: this.#prefix + after }),
      ...(limit === undefined ? {} : { limit }),
    }
  }

  #viewRecord({ key, value, revision }: StoredRecord): ViewRecord {
    return { key: key.slice(this.#prefix.length), value: this.#open(key, value), revision }
  }

  #seal(key: string, value: unknown): Buffer | undefined {
    return value === undefined ? undefined : this.#parts.keyring.seal(key, Buffer.from(stringifyJson(value)))
  }

  /** Throws UnknownTerm, besides what a view throws. */
  #open(key: string, sealed: Uint8Array): unknown {
    try {
      const text = this.#parts.keyring.open(key, sealed).toString('utf8')
      return this.#parsed(text)
    } catch (cause) {
      if (cause instanceof ServiceError || cause instanceof UnknownTerm) throw cause
      throw this.#unreadable(key, cause)
    }
  }

  #parsed(text: string): unknown {
    return this.#numbers === 'literal' ? parseLossless(text) : JSON.parse(text)
  }

  async #opening<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await withTerms(this.#parts, work)
    } catch (cause) {
      throw cause instanceof UnknownTerm ? this.#unreadable(cause.associatedData, cause) : cause
    }
  }

  #unreadable(key: string, cause: unknown): ServiceError {
    this.#parts.log.error({ event: 'record_unreadable', key, err: cause }, 'cannot decrypt a stored record')
    this.#parts.log.recordUnreadable?.()
    return new ServiceError('internal', 'internal error', { cause, reason: 'record_unreadable' })
  }
}
