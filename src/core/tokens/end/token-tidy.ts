import { untilAborted, wait } from '../../../lib/concurrency/wait.ts'
import type { LogLine } from '../../../lib/system/log-fields.ts'
import type { View } from '../../barrier/view.ts'
import type { BackgroundJob, Held } from '../../jobs/jobs.ts'
import { childFolder, readChildKey, tokenKey } from '../store/token-keys.ts'
import type { StoredToken, TokenStore } from '../store/token-store.ts'
import type { TokenRevoker } from './token-revoker.ts'

type TidyLog = { readonly info: LogLine; readonly error: LogLine }

export type TokenTidyParts = {
  readonly tokens: TokenStore
  readonly revoker: TokenRevoker
  /** The view that stores the tokens. */
  readonly view: View
  /**
   * Ends the leases of cut-off batch tokens, which are not stored themselves. `cutOffs` maps an entity to the
   * number of its last cut-off.
   */
  endBatchLeases(cutOffs: ReadonlyMap<string, number>): Promise<void>
  readonly log: TidyLog
  readonly job: BackgroundJob
}

type Count = { seen: number; ended: number; rows: number; unreadable: number; failed: number }

/** Delay before the next pass after a failure. */
const retryMs = 60_000
/** How often the holder of the job looks for cut-offs by other servers. */
const lookMs = 1_000

/**
 * Scans all service tokens in the background and removes invalid ones with their descendants and leases:
 * those of a cut-off entity, a deleted mount or a deleted ancestor. It only cleans up; validity is checked at
 * each use.
 */
export class TokenTidy implements AsyncDisposable {
  readonly #parts: TokenTidyParts
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #again = false
  #retry: NodeJS.Timeout | undefined
  /** Undefined while another server does the job. */
  #held: Held | undefined

  constructor(parts: TokenTidyParts) {
    this.#parts = parts
  }

  /** Starts a pass on this server. False if one is in progress here. */
  start(): boolean {
    return this.#start(this.#stop.signal)
  }

  #start(ended: AbortSignal): boolean {
    if (this.#running !== undefined || this.#stop.signal.aborted) return false
    this.#running = this.#passes(ended).finally(() => {
      this.#running = undefined
      // `startAfresh` was called after the loop had ended
      if (this.#again) this.start()
    })
    return true
  }

  /**
   * Starts a pass because of a stored cut-off, or makes the one in progress repeat. The server that does the
   * job finds the cut-off itself.
   */
  startAfresh(): void {
    if (this.#parts.job.isShared && this.#held === undefined) return
    if (!this.start()) this.#again = true
  }

  /** Removes the tokens of cut-offs: what a server that has stopped left, and what other servers cut off. */
  begin(): void {
    const { job, tokens } = this.#parts
    job.begin(async (held) => {
      const ended = AbortSignal.any([held.ended, this.#stop.signal])
      this.#held = held
      do {
        if (this.#retry === undefined && tokens.cutOffs.unswept().size > 0) this.#start(ended)
        await (job.isShared ? wait(lookMs, ended) : untilAborted(ended))
      } while (!ended.aborted)
      this.#forgetRetry()
      await this.idle()
      this.#held = undefined
    })
  }

  /** Resolves when no pass is in progress. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  async #passes(ended: AbortSignal): Promise<void> {
    this.#forgetRetry()
    do {
      this.#again = false
      await this.#pass(ended)
    } while (this.#again && !ended.aborted)
  }

  async #pass(ended: AbortSignal): Promise<void> {
    const { tokens, log, job } = this.#parts
    const count: Count = { seen: 0, ended: 0, rows: 0, unreadable: 0, failed: 0 }
    try {
      const cutOffs = tokens.cutOffs.unswept()
      await this.#parts.endBatchLeases(cutOffs)
      await this.#tidyTokens(count, ended)
      await this.#tidyChildRows(count, ended)
      if (ended.aborted) return
      if (count.failed === 0) await tokens.cutOffs.markSwept(cutOffs)
      log.info({ event: 'token_tidy', ...count }, 'tidied tokens')
    } catch (err) {
      if (ended.aborted) return
      count.failed += 1
      log.error({ event: 'work_failed', err, ...count }, 'could not tidy tokens')
    }
    job.ran(count.failed === 0 ? 'ok' : 'failed')
    if (count.failed > 0) this.#retry = setTimeout(() => this.#start(ended), retryMs).unref()
  }

  #forgetRetry(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
  }

  async #tidyTokens(count: Count, ended: AbortSignal): Promise<void> {
    const onUnreadable = () => {
      count.unreadable += 1
    }
    for await (const page of this.#parts.tokens.pages({ onUnreadable })) {
      if (ended.aborted) return
      for (const stored of page) await this.#tidyToken(stored, count)
    }
  }

  async #tidyToken({ hash, token }: StoredToken, count: Count): Promise<void> {
    const { tokens, revoker, log } = this.#parts
    count.seen += 1
    try {
      if (await tokens.isValid(token)) return
      // it may have been renewed or become an orphan since its page was read
      const now = await tokens.tokenByHash(hash)
      if (now === undefined || !(await tokens.isInvalid(now.token))) return
      if (await revoker.revokeAsRead(now)) count.ended += 1
    } catch (err) {
      count.failed += 1
      log.error({ event: 'work_failed', err }, 'could not remove an invalid token')
    }
  }

  /** Deletes rows from parent to child if either no longer exists. */
  async #tidyChildRows(count: Count, ended: AbortSignal): Promise<void> {
    const { view } = this.#parts
    for await (const page of view.keyPages(childFolder)) {
      if (ended.aborted) return
      const stale: string[] = []
      for (const row of page) if (await this.#isStale(row)) stale.push(row)
      if (stale.length > 0)
        await view.write(stale.map((key) => ({ key, value: undefined, isUncopied: true })))
      count.rows += stale.length
    }
  }

  async #isStale(row: string): Promise<boolean> {
    const { parent, child } = readChildKey(row)
    const [above, below] = await Promise.all([this.#exists(parent), this.#exists(child)])
    return !above || !below
  }

  /** An unreadable record exists too. */
  async #exists(hash: string): Promise<boolean> {
    const key = tokenKey(hash)
    return (await this.#parts.view.listKeys(key, { limit: 1 })).includes(key)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#forgetRetry()
    await this.#running
  }
}
