type Caller<Asked, Answer> = {
  readonly asked: Asked
  resolve(answer: Answer): void
  reject(cause: unknown): void
}

const maxRunning = 3
const maxBatch = 256
/** The next query waits so long for the one under way: questions that share a query cost much less. */
const longestWaitMs = 5

/**
 * Answers many questions with one query: those of one turn of the event loop, or of the time that the query
 * before takes.
 */
export class Batches<Asked, Answer> {
  readonly #query: (asked: readonly Asked[]) => Promise<readonly Answer[]>
  #waiting: Caller<Asked, Answer>[] = []
  #running = 0
  #isWaking = false
  #began = 0
  #timer: NodeJS.Timeout | undefined

  /** `query` returns one answer for each question, in order. */
  constructor(query: (asked: readonly Asked[]) => Promise<readonly Answer[]>) {
    this.#query = query
  }

  ask(asked: Asked): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asked, resolve, reject })
      this.#wake()
    })
  }

  #wake(): void {
    if (this.#isWaking || this.#running === maxRunning) return
    this.#isWaking = true
    setImmediate(() => {
      this.#isWaking = false
      this.#start()
    })
  }

  #start(): void {
    while (this.#waiting.length > 0 && this.#running < maxRunning) {
      if (this.#running > 0 && performance.now() < this.#began + longestWaitMs) {
        this.#timer ??= setTimeout(() => {
          this.#timer = undefined
          this.#start()
        }, longestWaitMs)
        return
      }
      void this.#run()
    }
  }

  async #run(): Promise<void> {
    this.#running += 1
    this.#began = performance.now()
    const batch = this.#waiting.splice(0, maxBatch)
    try {
      const answers = await this.#query(batch.map(({ asked }) => asked))
      for (const [at, { resolve }] of batch.entries()) {
        // `query` returns as many answers as it was asked questions
        resolve(answers[at] as Answer)
      }
    } catch (cause) {
      for (const { reject } of batch) reject(cause)
    }
    this.#running -= 1
    if (this.#waiting.length > 0) this.#wake()
  }
}
