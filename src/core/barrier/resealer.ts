import { untilAborted } from '../../lib/concurrency/wait.ts'
import { readPages } from '../../lib/data/pages.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import type { BatchEntry, Storage, StoredRecord } from '../../storage/storage.ts'
import type { BackgroundJob, Held } from '../jobs/jobs.ts'
import type { Keyring } from './keyring.ts'
import { termOf } from './sealed-value.ts'

export type ResealerLog = { readonly info: LogLine; readonly error: LogLine }

export type ResealerParts = {
  readonly storage: Storage
  readonly keyring: Keyring
  readonly log: ResealerLog
  readonly onRun?: BackgroundJob['ran'] | undefined
}

/** Delay before a retry, and before the next check whether client-held texts still need an older term. */
const retryMs = 60_000

/** A pass over all records in the order of their keys, from the one after `after`. */
type Pass = { readonly term: number; after: string | undefined; remaining: number }

/**
 * Re-encrypts all records with the newest term and then removes older terms. Visits all records once per new
 * term, and begins when nobody can write with an older one. Each record is rewritten only if it has not
 * changed, and keeps its revision. The next start repeats an interrupted pass. A term is kept while a record
 * of it cannot be decrypted or client-held texts need it.
 */
export class Resealer implements AsyncDisposable {
  readonly #parts: ResealerParts
  readonly #stopping = new AbortController()
  /** Terms with records that cannot be decrypted. */
  readonly #stuck = new Set<number>()
  /** No readable record uses a term before this one. */
  #cleanBelow = 0
  #pass: Pass | undefined
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isOn = false
  /** Set while this server holds the job. */
  #held: Held | undefined

  constructor(parts: ResealerParts) {
    this.#parts = parts
    parts.keyring.onNewTerm(() => {
      if (this.#isOn) this.start()
    })
  }

  get remaining(): number {
    return this.#pass?.remaining ?? 0
  }

  /** Starts passes, as `start` does, as long as this server holds the job. */
  async work(held: Held): Promise<void> {
    this.#held = held
    this.start()
    await untilAborted(this.#ended)
    this.#isOn = false
    clearTimeout(this.#timer)
    await this.settled()
    this.#pass = undefined
    this.#held = undefined
  }

  /** Starts a pass if one is needed, now and after each new term. */
  start(): void {
    this.#isOn = true
    clearTimeout(this.#timer)
    if (this.#isStopped) return
    this.#running ??= this.#fenced(() => this.#run())
      .then(
        () => this.#parts.onRun?.('ok'),
        (err: unknown) => {
          this.#parts.onRun?.('failed')
          // the refused write of a server that has lost the job is expected
          if (!this.#parts.keyring.isDropped && !this.#isStopped)
            this.#parts.log.error(
              { event: 'work_failed', err },
              'could not re-encrypt records with the newest key; will retry',
            )
        },
      )
      .finally(() => {
        this.#running = undefined
        if (this.#isStopped || !this.#parts.keyring.hasOlderTerms) return
        this.#timer = setTimeout(() => this.start(), retryMs).unref()
      })
  }

  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    clearTimeout(this.#timer)
    await this.settled()
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted || this.#held?.ended.aborted === true
  }

  get #ended(): AbortSignal {
    const { signal } = this.#stopping
    return this.#held === undefined ? signal : AbortSignal.any([signal, this.#held.ended])
  }

  /** Also what a timer or a new term begins is work of the job. */
  #fenced(work: () => Promise<void>): Promise<void> {
    return this.#held === undefined ? work() : this.#held.run(work)
  }

  async #run(): Promise<void> {
    const { keyring } = this.#parts
    for (;;) {
      const active = keyring.activeTerm
      if (active === undefined || !keyring.hasOlderTerms || this.#isStopped) return
      if (this.#cleanBelow < active && !(await this.#resealAll(active))) return
      this.#cleanBelow = active
      await keyring.retire(active, this.#stuck)
      if (keyring.activeTerm === active) return
    }
  }

  /** Visits all records, or those that a pass which failed has left. False if interrupted. */
  async #resealAll(active: number): Promise<boolean> {
    const { storage, keyring, log } = this.#parts
    const failed = this.#pass
    const isBegun = failed?.term === active && failed.after !== undefined
    const pass = isBegun ? failed : await this.#newPass(active)
    const after = pass.after
    for await (const page of readPages(
      (range) => storage.list('', range),
      ({ key }) => key,
      { after },
    )) {
      if (this.#isStopped || keyring.isDropped) return false
      await this.#resealPage(page, active)
      pass.after = page.at(-1)?.key
      pass.remaining = Math.max(0, pass.remaining - page.length)
    }
    this.#pass = undefined
    log.info(
      { event: 'resealed', term: active },
      'all readable records are encrypted with the newest data key',
    )
    return true
  }

  async #newPass(term: number): Promise<Pass> {
    this.#stuck.clear()
    // a write encrypted with an older term must be durable before the pass begins: it might not visit it
    await this.#parts.keyring.writesSettled()
    await Promise.race([this.#parts.storage.shared?.confirmedByAll(), untilAborted(this.#ended)])
    const pass: Pass = { term, after: undefined, remaining: 0 }
    this.#pass = pass
    await this.#count(pass)
    return pass
  }

  async #count(pass: Pass): Promise<void> {
    const { storage } = this.#parts
    for await (const keys of readPages(
      (range) => storage.listKeys('', range),
      (key) => key,
    )) {
      if (this.#isStopped) return
      pass.remaining += keys.length
    }
  }

  async #resealPage(page: readonly StoredRecord[], active: number): Promise<void> {
    const { storage, keyring } = this.#parts
    const old = page.flatMap((record) => this.#openOld(record, active) ?? [])
    await keyring.ensure(old.length)
    const entries = old.map((record) => this.#resealed(record))
    if (entries.length === 0 || (await storage.write(entries))) return
    for (const { key } of entries) await this.#resealOne(key, active)
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
    const value = this.#parts.keyring.seal(key, plain)
    // to everyone else the record has not changed
    return { key, value, expect: revision, keepsRevision: true, isUncopied: true }
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
      log.error({ event: 'record_unreadable', key, err }, 'cannot decrypt a stored record; its key is kept')
      this.#stuck.add(term)
      return undefined
    }
  }
}

type OldRecord = { readonly key: string; readonly plain: Uint8Array; readonly revision: number }
