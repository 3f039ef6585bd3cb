import type { ViewEntry } from '../../../core/barrier/view.ts'
import { outsideOfJobs } from '../../../core/jobs/jobs.ts'
import { failureText } from '../../../core/leases/lease-backend.ts'
import type { Servers } from '../../../core/servers/servers.ts'
import { fail } from '../../../errors.ts'
import { untilAborted } from '../../../lib/concurrency/wait.ts'
import type { LogLine } from '../../../lib/system/log-fields.ts'
import type { Intent, Known } from './intent.ts'
import { isBeingUndone, type StoredIntent, StoredIntents, type StoredIntentsParts } from './stored-intents.ts'

/** `later` says why the undo is not complete yet; it is retried. */
export type Undone = { readonly done: true } | { readonly done: false; readonly later: string }

export type IntentsParts = StoredIntentsParts & {
  readonly servers: Pick<Servers, 'isAlone' | 'live'>
  readonly log: { readonly warn: LogLine }
  /** Milliseconds from the first attempt to the second; each later pause is twice as long. */
  readonly retryMs: number
  /** The mount's path, for the log. */
  readonly mount: string
  /** Removes what an intent may have created. An error counts as a failed attempt and is retried. */
  undo(stored: StoredIntent, attempt: Attempt): Promise<Undone>
}

export type Attempt = {
  /** Aborted when the server stops. */
  readonly signal: AbortSignal
  /** Since the first attempt, if the call may still take effect upstream; otherwise undefined. */
  readonly underwayMs: number | undefined
  /** A call of the attempt itself may still take effect later, after a following attempt. */
  doubted(): void
  /** Stores what the attempt found out, for later attempts and for the time after a restart. */
  amend(known: Known): Promise<void>
}

export type Leftover = StoredIntent & { readonly tries: number; readonly error: string }

export type RecordedIntents = { readonly ids: readonly string[]; readonly entries: readonly ViewEntry[] }

type Undoing = {
  tries: number
  error: string
  dueAt: number
  running: Promise<void> | undefined
  isUnderway: boolean
  /** When the first attempt was made, or the last doubtful one, in milliseconds since the epoch. */
  firstTry: number | undefined
}

const longestPauseMs = 60_000
const maxConcurrent = 4

/** Of servers that are gone; also those that other servers are undoing; or all, because the mount is about to end. */
type Abandoned = 'gone' | 'undone' | 'all'

/** What this server is creating. `tenant` is where. */
type Made = { readonly intent: Intent; readonly tenant: string | undefined }

/**
 * Stores the intents of a mount and undoes them: after a failure, or once the server that stored them is gone, with
 * pauses of up to a minute until it succeeds. None is ever dropped. docs/contract/cloud.md#undo,
 * docs/replicas.md#cloud-credentials
 */
export class Intents implements AsyncDisposable {
  readonly #parts: IntentsParts
  readonly #stored: StoredIntents
  readonly #undoing = new Map<string, Undoing>()
  /** Intents that are being taken over: the storage may already call them ours. */
  readonly #taking = new Set<string>()
  /** Objects that are being created for requests of this server, by the id of their intent. */
  readonly #made = new Map<string, Made>()
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(parts: IntentsParts) {
    this.#parts = parts
    this.#stored = new StoredIntents(parts)
  }

  /**
   * Returns the id. The call upstream may only be made after this resolves. `tenant`: where the object is created.
   */
  async record(intent: Intent, tenant: string | undefined): Promise<string> {
    const [id = ''] = await this.recordAll([intent], tenant)
    return id
  }

  /** Like `record`, for several intents in one write. */
  async recordAll(intents: readonly Intent[], tenant: string | undefined): Promise<readonly string[]> {
    const { ids, entries } = this.recordEntries(intents, tenant)
    await this.#stored.write(entries)
    for (const [index, intent] of intents.entries()) this.#made.set(ids[index] ?? '', { intent, tenant })
    return ids
  }

  /** Like `record`, but returns the entry, for a write that stores more than the intent. */
  recordEntry(intent: Intent, tenant: string | undefined): { id: string; entry: ViewEntry } {
    return this.#stored.entry(intent, tenant)
  }

  recordEntries(intents: readonly Intent[], tenant: string | undefined): RecordedIntents {
    const recorded = intents.map((intent) => this.recordEntry(intent, tenant))
    return { ids: recorded.map(({ id }) => id), entries: recorded.map(({ entry }) => entry) }
  }

  /**
   * Stores intents in the write of what no longer owns their objects, and then undoes them: also after a failure,
   * because a failed write may be stored. Returns their ids.
   */
  async undoWith(
    write: (entries: readonly ViewEntry[]) => Promise<unknown>,
    intents: readonly Intent[],
    tenant: string | undefined,
  ): Promise<readonly string[]> {
    const { ids, entries } = this.recordEntries(intents, tenant)
    try {
      await write(entries)
    } finally {
      await this.undo(ids)
    }
    return ids
  }

  /** Adds what became known since. Does nothing to a settled intent. */
  async amend(id: string, known: Known): Promise<void> {
    await this.amendAll([id], known)
  }

  async amendAll(ids: readonly string[], known: Known): Promise<void> {
    for (const id of ids) {
      const made = this.#made.get(id)
      // the fields that become known are those of its kind
      if (made !== undefined) this.#made.set(id, { ...made, intent: { ...made.intent, ...known } as Intent })
    }
    await this.#stored.amend(ids, known)
  }

  /** Deletes intents: a stored record owns the object now, or it is gone, so nothing is left to undo. */
  async settle(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#stored.settle(ids)
    for (const id of ids) this.#made.delete(id)
  }

  /**
   * For the write that stores the owner, which fails if another server takes them over before. Throws `unavailable`
   * if one has: this server was taken for dead, and what it created is undone.
   */
  async settling(ids: readonly string[]): Promise<readonly ViewEntry[]> {
    const entries = await this.#stored.settling(ids)
    if (entries === undefined)
      throw fail('unavailable', 'this server was out of touch for too long: what it created is removed again')
    for (const id of ids) this.#made.delete(id)
    return entries
  }

  /**
   * Undoes intents in the background until it succeeds. Resolves once other servers know; never rejects.
   * `isUnderway`: a call was not answered, so it may take effect after an attempt found nothing.
   */
  async undo(
    ids: readonly string[],
    { isUnderway = false }: { readonly isUnderway?: boolean | undefined } = {},
  ): Promise<void> {
    const fresh = ids.filter((id) => !this.#undoing.has(id))
    for (const id of fresh) this.#begin({ id }, isUnderway)
    this.#wake()
    if (fresh.length > 0 && !this.#parts.servers.isAlone)
      await outsideOfJobs(() => this.#stored.begun(fresh, isUnderway)).catch(() => undefined)
  }

  /** Continues what another server has begun, if it has. */
  #begin(stored: Pick<StoredIntent, 'id' | 'tries' | 'error' | 'undo_since'>, isUnderway: boolean): void {
    const { id, tries = 0, error = '', undo_since: firstTry } = stored
    this.#undoing.set(id, { tries, error, dueAt: 0, running: undefined, isUnderway, firstTry })
  }

  /** Takes over what other servers left behind, and undoes it. */
  async adopt(which: Abandoned): Promise<void> {
    const left = await this.#leftByOthers(await this.#stored.all(), which)
    for (const stored of left) {
      this.#taking.add(stored.id)
      try {
        const taken = await this.#stored.take(stored)
        // the end of a server may have cut off a call, unless it had its answer
        if (taken !== undefined && this.#undoing.get(taken.id)?.running === undefined)
          this.#begin(...begunAgain(taken))
        this.#wake()
      } finally {
        this.#taking.delete(stored.id)
      }
    }
  }

  /** The intents must have been read before: then their servers are alive, if they are not listed as gone. */
  async #leftByOthers(all: readonly StoredIntent[], which: Abandoned): Promise<StoredIntent[]> {
    const others = all.filter((one) => !this.#stored.isOurs(one))
    if (others.length === 0 || which === 'all') return others
    const live = await this.#parts.servers.live()
    return others.filter((one) => !live.has(one.owner ?? '') || (which === 'undone' && isBeingUndone(one)))
  }

  /** Intents that are left to undo, without those of requests that are still running. */
  async debris(): Promise<Leftover[]> {
    const all = await this.#stored.all()
    const left = new Set(await this.#leftByOthers(all, 'undone'))
    return all
      .filter((stored) => left.has(stored) || this.#undoing.has(stored.id) || this.#taking.has(stored.id))
      .map((stored) => ({ ...stored, ...this.#failureOf(stored) }))
  }

  #failureOf({ id, tries = 0, error = '' }: StoredIntent): { tries: number; error: string } {
    const undoing = this.#undoing.get(id)
    return undoing === undefined ? { tries, error } : { tries: undoing.tries, error: undoing.error }
  }

  /** Every stored intent, including those of running requests. */
  all(): Promise<StoredIntent[]> {
    return this.#stored.all()
  }

  /**
   * Makes one attempt at every leftover intent now and returns those that remain. Attempts that last longer than the
   * signal continue.
   */
  async undoAll(signal?: AbortSignal, which: Abandoned = 'undone'): Promise<Leftover[]> {
    const limit = signal === undefined ? [] : [untilAborted(signal)]
    const running = () => [...this.#undoing.values()].flatMap((undoing) => undoing.running ?? [])
    // it may fail for a reason that is over by now
    const begunBefore = Promise.all(running())
    await this.adopt(which)
    await Promise.race([begunBefore, ...limit])
    for (const undoing of this.#undoing.values()) undoing.dueAt = 0
    const before = new Map([...this.#undoing].map(([id, { tries }]) => [id, tries]))
    const isUntried = ([id, tries]: [string, number]) => this.#undoing.get(id)?.tries === tries
    this.#wake()
    while ([...before].some(isUntried) && !this.#stop.signal.aborted && signal?.aborted !== true)
      await Promise.race([...running(), ...limit])
    return this.debris()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    clearTimeout(this.#timer)
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
        // not part of a job or lock that reported the failure: it goes on when that has ended
        undoing.running = outsideOfJobs(() => this.#attempt(id, undoing)).finally(() => {
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
      if (stored === undefined || !this.#stored.isOurs(stored)) {
        await this.#restore(id)
        this.#undoing.delete(id)
        return
      }
      this.#made.delete(id)
      const undone = await this.#parts.undo(stored, this.#attemptOf(id, undoing))
      if (undone.done) {
        await this.#stored.forget([id])
        this.#undoing.delete(id)
      } else await this.#failed(id, undoing, undone.later.slice(0, longestError))
    } catch (error) {
      if (!this.#stop.signal.aborted) await this.#failed(id, undoing, failureText(error), error)
    }
  }

  /**
   * Another server has taken over the undo of what a request of this one was creating: the request may have created
   * something even after that, so it is undone once more.
   */
  async #restore(id: string): Promise<void> {
    const made = this.#made.get(id)
    if (made === undefined) return
    const again = await this.record(made.intent, made.tenant)
    this.#made.delete(id)
    await this.undo([again], { isUnderway: true })
  }

  #attemptOf(id: string, undoing: Undoing): Attempt {
    const now = this.#parts.clock.now()
    undoing.firstTry ??= now
    const underwayMs = undoing.isUnderway ? now - undoing.firstTry : undefined
    const doubted = () => {
      undoing.isUnderway = true
      undoing.firstTry = this.#parts.clock.now()
    }
    return {
      signal: this.#stop.signal,
      underwayMs,
      doubted,
      amend: (known) => this.#stored.amend([id], known),
    }
  }

  async #failed(id: string, undoing: Undoing, text: string, err?: unknown): Promise<void> {
    undoing.tries += 1
    const { mount, log, servers, clock, retryMs } = this.#parts
    undoing.dueAt = performance.now() + Math.min(longestPauseMs, retryMs * 2 ** (undoing.tries - 1))
    // log each reason once: the retries may go on for days
    if (undoing.error !== text)
      log.warn(
        { event: 'cloud_debris', mount, intent: id, reason: text, ...(err === undefined ? {} : { err }) },
        'could not undo an intent; will retry',
      )
    undoing.error = text
    if (servers.isAlone) return
    const { tries, firstTry: undo_since = clock.now(), isUnderway: underway } = undoing
    await this.#stored.failed(id, { tries, error: text, undo_since, underway }).catch(() => undefined)
  }
}

/** How an undo goes on that another server began. That of a trust makes changes that may have been cut off. */
const begunAgain = ({ undo_since, ...taken }: StoredIntent): [StoredIntent, boolean] =>
  taken.intent.kind === 'federatedCredential'
    ? [taken, true]
    : [{ ...taken, ...(undo_since === undefined ? {} : { undo_since }) }, taken.underway ?? true]

const longestError = 240
