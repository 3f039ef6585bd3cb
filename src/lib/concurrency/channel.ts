/** What one end answers, by question. Arguments and answers must be values that can be cloned. */
export type Answers = { readonly [question: string]: (...args: never[]) => unknown }

/** An end of a connection to another process (`process`, or a `ChildProcess`) or to a thread. */
export type Port = {
  send?(message: unknown, sent: (error: Error | null) => void): unknown
  on(event: 'message', listener: (message: unknown) => void): unknown
  once(event: 'disconnect', listener: (cause?: Error) => void): unknown
}

/** The other end is gone. Nobody knows whether it did what it was asked. */
export class Disconnected extends Error {
  override readonly name = 'Disconnected'
}

type Question = { readonly id: number; readonly question: string; readonly args: readonly unknown[] }
type Message =
  | Question
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly failure: string }

type Waiting = { resolve(answer: unknown): void; reject(error: Error): void }

/** Questions and answers between two processes, or threads. Each end answers those of the other. */
export class Channel<Theirs extends Answers> {
  readonly #port: Port
  readonly #answers: Answers
  readonly #answerMs: number | undefined
  readonly #waiting = new Map<number, Waiting>()
  #last = 0

  /** `answerMs`: how long an answer of the other end may take; any time by default. */
  constructor(port: Port, answers: Answers, answerMs?: number) {
    this.#port = port
    this.#answers = answers
    this.#answerMs = answerMs
    // only the other end's `Channel` writes here
    port.on('message', (message) => this.#receive(message as Message))
    port.once('disconnect', (cause) => this.close(new Disconnected('the other end is gone', { cause })))
  }

  close(cause: Error): void {
    for (const { reject } of this.#waiting.values()) reject(cause)
  }

  /** Rejects if the other end is gone, fails to answer, or takes too long. */
  async ask<Name extends string & keyof Theirs>(
    question: Name,
    ...args: Parameters<Theirs[Name]>
  ): Promise<Awaited<ReturnType<Theirs[Name]>>> {
    const id = ++this.#last
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const late = () => reject(new Error(`no answer to ${question}`))
    const limit = this.#answerMs === undefined ? undefined : setTimeout(late, this.#answerMs)
    this.#waiting.set(id, { resolve, reject })
    try {
      this.#send({ id, question, args })
      // the answer to a question of this name
      return (await promise) as Awaited<ReturnType<Theirs[Name]>>
    } finally {
      clearTimeout(limit)
      this.#waiting.delete(id)
    }
  }

  /** Asks without waiting. An end that is gone hears nothing. */
  tell<Name extends string & keyof Theirs>(question: Name, ...args: Parameters<Theirs[Name]>): void {
    void this.ask(question, ...args).catch(() => {})
  }

  #receive(message: Message): void {
    if ('question' in message) void this.#answer(message)
    else if ('failure' in message) this.#waiting.get(message.id)?.reject(new Error(message.failure))
    else this.#waiting.get(message.id)?.resolve(message.answer)
  }

  async #answer({ id, question, args }: Question): Promise<void> {
    try {
      this.#send({ id, answer: await this.#answers[question]?.(...(args as never[])) })
    } catch (error) {
      this.#send({ id, failure: error instanceof Error ? error.message : String(error) })
    }
  }

  #send(message: Message): void {
    this.#port.send?.(message, (error) => {
      if (error !== null) this.#waiting.get(message.id)?.reject(error)
    })
  }
}
