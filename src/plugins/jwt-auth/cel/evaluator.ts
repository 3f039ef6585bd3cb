import { type Client, LoginQueue, type LoginQueueLimits } from '../../../core/tokens/acts/login-queue.ts'
import { refuse } from '../../../errors.ts'
import { Thread } from '../../../lib/concurrency/thread.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import type { CelAnswers } from './cel-worker.ts'
import type { Evaluated, Input, Program } from './program.ts'

/**
 * Threads that evaluate programs without delaying other work. An evaluation stops itself at its limits, so a thread that
 * does not answer has no processor, or a fault. docs/limits.md#cel-programs
 */
const sharedThreads = new Thread<CelAnswers>({
  program: new URL('./cel-worker.ts', import.meta.url),
  name: 'cel',
  niceness: 10,
  most: 2,
  memoryMb: 256,
  limits: { ms: 5_000, refusal: () => refuse('overloaded', 'CEL programs take too long') },
})

/** Most programs take a millisecond, so many may wait. */
const limits: LoginQueueLimits = { atOnce: 2, waiting: 2_000, reserved: 500, waitingOfClient: 500 }

/** A program, and what it is about. */
export type Evaluation = { readonly program: Program; readonly input: Input }

/**
 * Evaluates programs, a few at once, in turns between client addresses. `atTurn` is called when it is the client's turn.
 * Throws `throttled` if too many wait.
 */
export class CelEvaluator {
  readonly #queue: LoginQueue
  readonly #threads: Pick<Thread<CelAnswers>, 'ask'>

  constructor(clock: Clock, threads: Pick<Thread<CelAnswers>, 'ask'> = sharedThreads) {
    this.#queue = new LoginQueue({ limits, clock })
    this.#threads = threads
  }

  /** Of a login. */
  async evaluate(client: Client, atTurn: () => Promise<Evaluation>): Promise<Evaluated> {
    const evaluated = await this.#run(client, atTurn, false)
    if (evaluated.outcome.kind === 'auth') this.#queue.noteSuccess(client)
    return evaluated
  }

  /** For an operator, with the values of all variables. */
  trace(client: Client, atTurn: () => Promise<Evaluation>): Promise<Evaluated> {
    return this.#run(client, atTurn, true)
  }

  #run(client: Client, atTurn: () => Promise<Evaluation>, isTraced: boolean): Promise<Evaluated> {
    return this.#queue.login(client, async () => {
      const { program, input } = await atTurn()
      return this.#threads.ask('evaluate', program, input, isTraced)
    })
  }
}
