import { type Client, LoginQueue, type LoginQueueLimits } from '../../../core/tokens/acts/login-queue.ts'
import { Disconnected } from '../../../lib/concurrency/channel.ts'
import { Thread } from '../../../lib/concurrency/thread.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import type { CelAnswers } from './cel-worker.ts'
import { LimitError } from './language/values.ts'
import type { Evaluated, Input, Program } from './program.ts'

/**
 * Threads that evaluate programs beside other work. An evaluation stops by itself after 100 ms of computing; one that does
 * not, because it is inside a single function, ends with its thread. docs/limits.md#cel-programs
 */
const threads = new Thread<CelAnswers>({
  program: new URL('./cel-worker.ts', import.meta.url),
  name: 'cel',
  niceness: 10,
  most: 2,
  memoryMb: 256,
  limits: { most: 1_000, ms: 5_000, refusal: () => new LimitError('the program took too long') },
})

/** Most programs take a millisecond, so many may wait. */
const limits: LoginQueueLimits = { atOnce: 2, waiting: 2_000, reserved: 500, waitingOfClient: 500 }

/** Evaluates programs, a few at once, in turns between client addresses. */
export class CelEvaluator {
  readonly #queue: LoginQueue

  constructor(clock: Clock) {
    this.#queue = new LoginQueue({ limits, clock })
  }

  /** Of a login. Throws `throttled` if too many wait. */
  async evaluate(client: Client, program: Program, input: Input): Promise<Evaluated> {
    const evaluated = await this.#queue.login(client, () => asked(program, input, false))
    if (evaluated.outcome.kind === 'auth') this.#queue.noteSuccess(client)
    return evaluated
  }

  /** For an operator, with the values of all variables. */
  trace(program: Program, input: Input): Promise<Evaluated> {
    return this.#queue.write(() => asked(program, input, true))
  }
}

async function asked(program: Program, input: Input, isTraced: boolean): Promise<Evaluated> {
  try {
    return await threads.ask('evaluate', program, input, isTraced)
  } catch (error) {
    if (error instanceof LimitError) return { variables: [], outcome: { kind: 'limit', text: error.message } }
    if (!(error instanceof Disconnected)) throw error
    // the thread had no memory left
    return { variables: [], outcome: { kind: 'limit', text: 'the program made too large a value' } }
  }
}
