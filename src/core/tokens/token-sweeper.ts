import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TokenRevoker } from './token-revoker.ts'

export type TokenSweeperParts = {
  readonly revoker: TokenRevoker
  /** Pause between two sweeps. */
  readonly intervalMs: number
  onError(error: unknown): void
}

/** Deletes expired tokens in the background, one range scan at a time, giving way to requests after each page. Disposing waits for the page at hand. */
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

  /** One sweep over all that is due; joins the one under way. Failures are reported, never thrown; what failed is tried again by the next sweep. */
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
