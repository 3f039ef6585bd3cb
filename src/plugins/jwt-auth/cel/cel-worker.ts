import { answerFromThread } from '../../../lib/concurrency/thread-worker.ts'
import { Cache } from '../../../lib/data/cache.ts'
import {
  checkedProgram,
  type Evaluated,
  type Input,
  type ParsedProgram,
  type Program,
  ProgramError,
  run,
} from './program.ts'

/* A thread that evaluates programs. evaluator.ts starts it. */

const programs = new Cache<ParsedProgram>({
  name: 'cel programs',
  most: 10_000,
  mostWeight: 16 * 1024 * 1024,
})

/** Programs are the same if their texts are. */
function parsedOnce(program: Program): ParsedProgram {
  const key = JSON.stringify(program)
  const known = programs.get(key)
  if (known !== undefined) return known
  const parsed = checkedProgram(program)
  programs.set(key, parsed)
  return parsed
}

/** Milliseconds that this thread has computed. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

const answers = {
  /** `isTraced`: with the values of variables. */
  evaluate: (program: Program, input: Input, isTraced: boolean): Evaluated => {
    try {
      const parsed = parsedOnce(program)
      const began = threadMs()
      return run(parsed, input, { isTraced, spentMs: () => threadMs() - began })
    } catch (error) {
      // an earlier version accepted what this one does not; the linter says why
      if (error instanceof ProgramError)
        return { variables: [], outcome: { kind: 'error', variable: '', text: 'the program is not valid' } }
      throw error
    }
  },
}

export type CelAnswers = typeof answers

answerFromThread(() => answers)
