import type { View, ViewEntry } from '../../../core/barrier/view.ts'
import { failureText } from '../../../core/leases/lease-backend.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'
import type { Intent, Known } from './intent.ts'
import { type StoredIntent, StoredIntents } from './stored-intents.ts'

/** `later` says why the undo is not complete yet; it is retried. */
export type Undone = { readonly done: true } | { readonly done: false; readonly later: string }

export type IntentsParts = {
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  readonly log: { warn(fields: object, text: string): void }
  /** The mount's path, for the log. */
  readonly mount: string
  /** Removes what an intent may have created. An error counts as a failed attempt and is retried. */
  undo(stored: StoredIntent, attempt: Attempt): Promise<Undone>
}

export type Attempt = {
  /** Aborted when the server stops. */
  readonly signal: AbortSignal
  /**
   * Milliseconds since the first attempt, if the call may still take effect upstream; otherwise undefined.
   */
  readonly underwayMs: number | undefined
  /** Stores what the attempt found out, for later attempts and for the time after a restart. */
  amend(known: Known): Promise<void>
}

/** An intent that is left to undo, with the attempts made so far. */
export type Leftover = StoredIntent & { readonly tries: number; readonly error: string }

type Undoing = {
  tries: number
  error: string
  dueAt: number
  running: Promise<void> | undefined
  readonly isUnderway: boolean
  /** When the first attempt was made, in milliseconds since the epoch. */
  firstTry: number | undefined
}

const firstPauseMs = 250
const longestPauseMs = 60_000
const maxConcurrent = 4
const resumeAgainMs = 5_000

/**
 * Stores the intents of one mount and undoes them: immediately after a failure or a restart, then with pauses
 * of up to a minute until it succeeds. No intent is ever dropped. docs/contract/cloud.md#undo.
 */
export class Intents implements AsyncDisposable {
  readonly #parts: IntentsParts
  readonly #stored: StoredIntents
  readonly #undoing = new Map<string, Undoing>()
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #again: NodeJS.Timeout | undefined
  #resumed: Promise<void> | undefined

  constructor(parts: IntentsParts) {
    this.#parts = parts
    this.#stored = new StoredIntents(parts)
  }

  /**
   * Stores an intent and returns its id. The call upstream may only be made after this resolves. `tenant` is
   * the one in which the object is created.
   */
  async record(intent: Intent, tenant: string | undefined): Promise<string> {
    const { id, entry } = this.recordEntry(intent, tenant)
    await this.#stored.write([entry])
    return id
  }

  /** Like `record`, for several intents in one write. */
  async recordAll(intents: readonly Intent[], tenant: string | undefined): Promise<string[]> {
    const { ids, entries } = this.recordEntries(intents, tenant)
    await this.#stored.write(entries)
    return ids
  }

  /** Like `record`, but returns the entry, for a write that stores more than the intent. */
  recordEntry(
    intent: Intent,
    tenant: string | undefined,
  ): { readonly id: string; readonly entry: ViewEntry } {
    return this.#stored.entry(intent, tenant)
  }

  /** Like `recordEntry`, for several intents. */
  recordEntries(
    intents: readonly Intent[],
    tenant: string | undefined,
  ): { readonly ids: string[]; readonly entries: ViewEntry[] } {
    const recorded = intents.map((intent) => this.recordEntry(intent, tenant))
    return { ids: recorded.map(({ id }) => id), entries: recorded.map(({ entry }) => entry) }
  }

  /** Adds what became known since. Does nothing to a settled intent. */
  async amend(id: string, known: Known): Promise<void> {
    await this.#stored.amend([id], known)
  }

  /** Like `amend`, for several intents in one write. */
  async amendAll(ids: readonly string[], known: Known): Promise<void> {
    await this.#stored.amend(ids, known)
  }

  /** Deletes intents: a stored record owns the object now, or it is gone, so nothing is left to undo. */
  async settle(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#stored.write(this.settleEntries(ids))
  }

  /** Like `settle`, but returns the entries, for the write that stores the owner. */
  settleEntries(ids: readonly string[]): readonly ViewEntry[] {
    return ids.map((id) => this.#stored.removal(id))
  }

  /**
   * Undoes intents in the background until it succeeds. `isUnderway`: a call was not answered, so it may
   * still take effect after an attempt found nothing.
   */
  undo(
    ids: readonly string[],
    { isUnderway = false }: { readonly isUnderway?: boolean | undefined } = {},
  ): void {
    const fresh = { tries: 0, error: '', dueAt: 0, running: undefined, isUnderway, firstTry: undefined }
    for (const id of ids) if (!this.#undoing.has(id)) this.#undoing.set(id, { ...fresh })
    this.#wake()
  }

  /** Undoes the intents that an earlier process left behind. */
  resume(): Promise<void> {
    this.#resumed ??= this.#resume().catch((err: unknown) => {
      this.#resumed = undefined
      this.#parts.log.warn({ err, mount: this.#parts.mount }, 'cannot read the intents of a cloud mount')
      if (!this.#stop.signal.aborted)
        this.#again = setTimeout(() => void this.resume(), resumeAgainMs).unref()
    })
    return this.#resumed
  }

  async #resume(): Promise<void> {
    const left = (await this.#stored.all()).filter(({ id }) => !this.#stored.isOurs(id))
    // the stop of that process may have cut off a call
    this.undo(
      left.map(({ id }) => id),
      { isUnderway: true },
    )
  }

  /** Intents that are left to undo, without those of requests that are still running. */
  async debris(): Promise<Leftover[]> {
    const all = await this.#stored.all()
    return all
      .filter(({ id }) => !this.#stored.isOurs(id) || this.#undoing.has(id))
      .map((stored) => ({
        ...stored,
        tries: this.#undoing.get(stored.id)?.tries ?? 0,
        error: this.#undoing.get(stored.id)?.error ?? '',
      }))
  }

  /** Every stored intent, including those of running requests. */
  all(): Promise<StoredIntent[]> {
    return this.#stored.all()
  }

  /**
   * Makes one attempt at every leftover intent now and returns those that remain. Attempts that are not
   * finished when the signal is aborted continue in the background.
   */
  async undoAll(signal?: AbortSignal): Promise<Leftover[]> {
    await this.resume()
    for (const undoing of this.#undoing.values()) undoing.dueAt = 0
    const before = new Map([...this.#undoing].map(([id, { tries }]) => [id, tries]))
    const isUntried = ([id, tries]: [string, number]) => this.#undoing.get(id)?.tries === tries
    this.#wake()
    const limit = signal === undefined ? undefined : whenAborted(signal)
    while ([...before].some(isUntried) && !this.#stop.signal.aborted && signal?.aborted !== true) {
      await Promise.race([
        ...[...this.#undoing.values()].flatMap(({ running }) => running ?? []),
        ...(limit === undefined ? [] : [limit]),
      ])
    }
    return this.debris()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    clearTimeout(this.#timer)
    clearTimeout(this.#again)
    await Promise.all([...this.#undoing.values()].map(({ running }) => running))
  }

  #wake(): void {
    if (this.#stop.signal.aborted) return
    clearTimeout(this.#timer)
    const now = performance.now()
    let running = 0
    let next = Number.POSITIVE_INFINITY
    for (const { running: attempt } of this.#undoing.values()) if (attempt !== undefined) running += 1
    for (const [id, undoing] of this.#undoing) {
      if (undoing.running !== undefined) continue
      if (undoing.dueAt > now) next = Math.min(next, undoing.dueAt)
      else if (running < maxConcurrent) {
        running += 1
        undoing.running = this.#attempt(id, undoing).finally(() => {
          undoing.running = undefined
          this.#wake()
        })
      }
    }
    if (next < Number.POSITIVE_INFINITY) this.#timer = setTimeout(() => this.#wake(), next - now).unref()
  }

  async #attempt(id: string, undoing: Undoing): Promise<void> {
    try {
      const stored = await this.#stored.find(id)
      const undone =
        stored === undefined
          ? { done: true as const }
          : await this.#parts.undo(stored, this.#attemptOf(id, undoing))
      if (undone.done) {
        if (stored !== undefined) await this.settle([id])
        this.#undoing.delete(id)
      } else this.#failed(id, undoing, undone.later.slice(0, longestError))
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#failed(id, undoing, failureText(error), error)
    }
  }

  #attemptOf(id: string, undoing: Undoing): Attempt {
    const now = this.#parts.clock.now()
    undoing.firstTry ??= now
    const underwayMs = undoing.isUnderway ? now - undoing.firstTry : undefined
    return { signal: this.#stop.signal, underwayMs, amend: (known) => this.#stored.amend([id], known) }
  }

  #failed(id: string, undoing: Undoing, text: string, err?: unknown): void {
    undoing.tries += 1
    undoing.dueAt = performance.now() + Math.min(longestPauseMs, firstPauseMs * 2 ** undoing.tries)
    // log each reason once: the retries may go on for days
    if (undoing.error !== text) {
      const { mount, log } = this.#parts
      log.warn(
        { event: 'cloud_debris', mount, intent: id, reason: text, ...(err === undefined ? {} : { err }) },
        'could not undo an intent; will retry',
      )
    }
    undoing.error = text
  }
}

const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

const longestError = 240
