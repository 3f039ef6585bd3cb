import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TokenRevoker } from './token-revoker.ts'

export type TokenSweeperParts = {
  readonly revoker: TokenRevoker
  /** Pause between two sweeps. */
  readonly intervalMs: number
  onError(error: unknown): void
}

/**
 * Deletes expired tokens in the background, page by page; requests run between pages. Disposal waits for the
 * current page.
 */
export class TokenSweeper implements AsyncDisposable {
  readonly #parts: TokenSweeperParts
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(parts: TokenSweeperParts) {
    this.#parts = parts
  }

  start(): void {
    if (this.#stopped) return
    this.#timer = setTimeout(() => void this.sweep().finally(() => this.start()), this.#parts.intervalMs)
    this.#timer.unref()
  }

  /**
   * Deletes all tokens that are due; joins a sweep in progress. Reports failures to `onError` and never
   * rejects; the next sweep retries.
   */
  sweep(): Promise<void> {
    this.#running ??= this.#sweep().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #sweep(): Promise<void> {
    try {
      let after: string | undefined
      while (!this.#stopped) {
        const page = await this.#parts.revoker.sweepPage(after)
        if (page === undefined) return
        for (const failure of page.failures) this.#parts.onError(failure)
        after = page.last
        await nextTurn()
      }
    } catch (error) {
      this.#parts.onError(error)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#running
  }
}
