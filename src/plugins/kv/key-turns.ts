/** Work that was accepted for a key, and its promise. */
export type Waiting<Work> = {
  readonly work: Work
  resolve(result: unknown): void
  reject(error: unknown): void
}

const mostAtOnce = 64

/**
 * Collects work for the same key while earlier work for it runs, and then runs it together: many writers of
 * one key share a step of the storage.
 */
export class KeyTurns<Work> {
  readonly #waitingByKey = new Map<string, Waiting<Work>[]>()
  readonly #run: (key: string, group: readonly Waiting<Work>[]) => Promise<void>

  /** `run` settles every member of its group, and never rejects. */
  constructor(run: (key: string, group: readonly Waiting<Work>[]) => Promise<void>) {
    this.#run = run
  }

  /** Resolves with what `run` resolves the work with. */
  add(key: string, work: Work): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const waiting = this.#waitingByKey.get(key)
    if (waiting !== undefined) waiting.push({ work, resolve, reject })
    else {
      const queue = [{ work, resolve, reject }]
      this.#waitingByKey.set(key, queue)
      void this.#runAll(key, queue)
    }
    return promise
  }

  async #runAll(key: string, queue: Waiting<Work>[]): Promise<void> {
    while (queue.length > 0) await this.#run(key, queue.splice(0, mostAtOnce))
    this.#waitingByKey.delete(key)
  }
}
