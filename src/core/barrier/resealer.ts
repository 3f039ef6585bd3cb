import { setImmediate as nextTurn } from 'node:timers/promises'
import type { BatchEntry, Storage, StoredRecord } from '../../storage/storage.ts'
import type { Keyring } from './keyring.ts'
import { termOf } from './sealed-value.ts'

export type ResealerLog = { error(fields: object, text: string): void }

export type ResealerParts = {
  readonly storage: Storage
  readonly keyring: Keyring
  readonly log: ResealerLog
}

const pageSize = 32
/** Delay before a retry, and before the next check whether client-held texts still need an older term. */
const retryMs = 60_000

/**
 * Re-encrypts all records with the newest term and then removes older terms. Scans all records once per new
 * term; each record is rewritten only if it has not changed, and keeps its revision. The next start repeats
 * an interrupted scan. A term is kept while a record of it cannot be decrypted or client-held texts need it.
 */
export class Resealer implements AsyncDisposable {
  readonly #parts: ResealerParts
  /** Terms with records that cannot be decrypted. */
  readonly #stuck = new Set<number>()
  /** No readable record uses a term before this one. */
  #cleanBelow = 0
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(parts: ResealerParts) {
    this.#parts = parts
    parts.keyring.onNewTerm = () => this.start()
  }

  start(): void {
    clearTimeout(this.#timer)
    if (this.#isStopped) return
    this.#running ??= this.#run()
      .catch((err: unknown) => {
        if (!this.#parts.keyring.isDropped)
          this.#parts.log.error({ err }, 'could not re-encrypt records with the newest key; will retry')
      })
      .finally(() => {
        this.#running = undefined
        if (this.#isStopped || !this.#parts.keyring.hasOlderTerms) return
        this.#timer = setTimeout(() => this.start(), retryMs).unref()
      })
  }

  /** Resolves when no work is in progress. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.settled()
  }

  async #run(): Promise<void> {
    const { keyring } = this.#parts
    for (;;) {
      const active = keyring.activeTerm
      if (active === undefined || !keyring.hasOlderTerms || this.#isStopped) return
      if (this.#cleanBelow < active) {
        // a write encrypted with an older term must not be committed after the scan has passed its key
        await keyring.writesSettled()
        if (!(await this.#resealAll(active))) return
        this.#cleanBelow = active
      }
      await keyring.retire(active, this.#stuck)
      if (keyring.activeTerm === active) return
    }
  }

  /** Scans all records. False if interrupted. */
  async #resealAll(active: number): Promise<boolean> {
    this.#stuck.clear()
    for (let after: string | undefined; ; await nextTurn()) {
      if (this.#isStopped || this.#parts.keyring.isDropped) return false
      const page: StoredRecord[] = await this.#parts.storage.list('', {
        limit: pageSize,
        ...(after === undefined ? {} : { after }),
      })
      await this.#resealPage(page, active)
      after = page.at(-1)?.key
      if (after === undefined) return true
    }
  }

  async #resealPage(page: readonly StoredRecord[], active: number): Promise<void> {
    const { storage, keyring } = this.#parts
    const old = page.flatMap((record) => this.#openOld(record, active) ?? [])
    if (old.length === 0) return
    await keyring.ensure(old.length)
    if (await storage.write(old.map((record) => this.#resealed(record)))) return
    for (const { key } of old) await this.#resealOne(key, active)
  }

  /**
   * Re-encrypts a record that is being written: retries until it succeeds or the other write has used a newer
   * term.
   */
  async #resealOne(key: string, active: number): Promise<void> {
    const { storage, keyring } = this.#parts
    for (;;) {
      const record = await storage.get(key)
      const old = record && this.#openOld(record, active)
      if (old === undefined) return
      await keyring.ensure(1)
      if (await storage.write([this.#resealed(old)])) return
    }
  }

  #resealed({ key, plain, revision }: OldRecord): BatchEntry {
    return { key, value: this.#parts.keyring.seal(key, plain), expect: revision, keepsRevision: true }
  }

  /**
   * Decrypts a record of an older term; undefined for other records and for those that cannot be decrypted.
   */
  #openOld({ key, value, revision }: StoredRecord, active: number): OldRecord | undefined {
    const { keyring, log } = this.#parts
    const term = termOf(value)
    // term 0: encrypted with a key that has no terms
    if (term === undefined || term === 0 || term >= active) return undefined
    try {
      return { key, plain: keyring.open(key, value), revision }
    } catch (err) {
      if (keyring.isDropped) throw err
      log.error({ key, err }, 'cannot decrypt a stored record; its key is kept')
      this.#stuck.add(term)
      return undefined
    }
  }
}

type OldRecord = { readonly key: string; readonly plain: Uint8Array; readonly revision: number }
