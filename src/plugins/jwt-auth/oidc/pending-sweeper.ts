export type PendingSweeperParts = {
  sweep(): Promise<void>
  readonly intervalMs: number
  onError(error: unknown): void
}

/** Removes logins nobody came back for, now and then. Disposing waits for the sweep at hand. */
export class PendingSweeper implements AsyncDisposable {
  readonly #parts: PendingSweeperParts
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(parts: PendingSweeperParts) {
    this.#parts = parts
  }

  start(): void {
    if (this.#stopped) return
    this.#timer = setTimeout(() => void this.#sweep(), this.#parts.intervalMs)
    this.#timer.unref()
  }

  async #sweep(): Promise<void> {
    this.#running = this.#parts.sweep().catch((error: unknown) => this.#parts.onError(error))
    await this.#running
    this.start()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#running
  }
}
