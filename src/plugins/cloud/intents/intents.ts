import type { View, ViewEntry } from '../../../core/barrier/view.ts'
import { ServiceError } from '../../../errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'
import type { Intent, IntentLog, Known } from './intent.ts'
import { type StoredIntent, StoredIntents } from './stored-intents.ts'

/** `later`: not yet, and why; it is tried again. */
export type Undone = { readonly done: true } | { readonly done: false; readonly later: string }

export type IntentsParts = {
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  readonly log: { warn(fields: object, text: string): void }
  /** Name of the mount in the log. */
  readonly mount: string
  /** Removes what an intent may have made. What it throws is a failure: it is tried again. */
  undo(stored: StoredIntent, attempt: Attempt): Promise<Undone>
}

export type Attempt = {
  /** Ends with the server. */
  readonly signal: AbortSignal
  /** Of what may be underway upstream still: milliseconds since it was first looked for. */
  readonly underwayMs: number | undefined
  /** Keeps what was found out, also for the attempts after a restart. */
  amend(known: Known): Promise<void>
}

/** What is left over upstream of one intent, as far as is known. */
export type Leftover = StoredIntent & { readonly tries: number; readonly error: string }

type Undoing = {
  tries: number
  error: string
  dueAt: number
  running: Promise<void> | undefined
  readonly isUnderway: boolean
  /** By the clock; the first try sets it. */
  firstTry: number | undefined
}

const firstPauseMs = 250
const longestPauseMs = 60_000
const mostAtOnce = 4
const resumeAgainMs = 5_000

/**
 * The intents of one mount, and the work of undoing them: at once after the failure or the start that left
 * them, then with pauses of at most a minute for as long as it takes. None is ever dropped.
 * docs/contract/cloud.md#undo.
 */
export class Intents implements IntentLog, AsyncDisposable {
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

  async record(intent: Intent, tenant: string | undefined): Promise<string> {
    const { id, entry } = this.recording(intent, tenant)
    await this.#stored.write([entry])
    return id
  }

  async recordAll(intents: readonly Intent[], tenant: string | undefined): Promise<string[]> {
    const made = intents.map((intent) => this.recording(intent, tenant))
    await this.#stored.write(made.map(({ entry }) => entry))
    return made.map(({ id }) => id)
  }

  recording(intent: Intent, tenant: string | undefined): { readonly id: string; readonly entry: ViewEntry } {
    return this.#stored.entry(intent, tenant)
  }

  async amend(id: string, known: Known): Promise<void> {
    await this.#stored.amend([id], known)
  }

  /** As `amend`, for several in one write. */
  async amendAll(ids: readonly string[], known: Known): Promise<void> {
    await this.#stored.amend(ids, known)
  }

  async settle(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#stored.write(this.settling(ids))
  }

  settling(ids: readonly string[]): readonly ViewEntry[] {
    return ids.map((id) => this.#stored.removal(id))
  }

  undo(
    ids: readonly string[],
    { isUnderway = false }: { readonly isUnderway?: boolean | undefined } = {},
  ): void {
    const fresh = { tries: 0, error: '', dueAt: 0, running: undefined, isUnderway, firstTry: undefined }
    for (const id of ids) if (!this.#undoing.has(id)) this.#undoing.set(id, { ...fresh })
    this.#wake()
  }

  /** Takes up what an earlier life of the server has left behind. */
  resume(): Promise<void> {
    this.#resumed ??= this.#resume().catch((err: unknown) => {
      this.#resumed = undefined
      this.#parts.log.warn({ err, mount: this.#parts.mount }, 'what is left to undo cannot be read')
      if (!this.#stop.signal.aborted)
        this.#again = setTimeout(() => void this.resume(), resumeAgainMs).unref()
    })
    return this.#resumed
  }

  async #resume(): Promise<void> {
    const left = (await this.#stored.all()).filter(({ id }) => !this.#stored.isOurs(id))
    // the end of the server has cut off what it was asking for
    this.undo(
      left.map(({ id }) => id),
      { isUnderway: true },
    )
  }

  /** What is left over: not what is being made at this moment. */
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

  /** All that is stored: being made and left over. */
  all(): Promise<StoredIntent[]> {
    return this.#stored.all()
  }

  /**
   * Tries everything that is left once, now, and gives back what stays; what is not tried yet at the signal
   * goes on by itself.
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
      else if (running < mostAtOnce) {
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
    // once for each reason: it may go on for days
    if (undoing.error !== text) {
      const { mount, log } = this.#parts
      log.warn(
        { event: 'cloud_debris', mount, intent: id, reason: text, ...(err === undefined ? {} : { err }) },
        'what was made upstream is not undone yet',
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

/** Of a bug only that it is one. */
const failureText = (error: unknown): string =>
  error instanceof ServiceError ? error.message : 'internal error'
