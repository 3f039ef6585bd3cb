import { readFileSync } from 'node:fs'
import { answerFromThread } from '../../../src/lib/concurrency/thread-worker.ts'

/** A thread for tests of `Thread`. */
const answersWith = (greeting: string, tell: (question: 'ended', ...args: []) => void) => ({
  greet: (name: string) => `${greeting} ${name}`,
  lengthOf: (bytes: ArrayBuffer) => bytes.byteLength,
  fail: () => {
    throw new Error('no such thing')
  },
  crash: () => {
    setImmediate(() => {
      throw new Error('a bug')
    })
    return new Promise<string>(() => {})
  },
  exit: (): void => process.exit(),
  never: () => new Promise<string>(() => {}),
  /** Answers when the memory is set: this thread is blocked meanwhile. */
  wait: (until: SharedArrayBuffer) => void Atomics.wait(new Int32Array(until), 0, 0),
  /** On Linux, each thread has one of its own. */
  niceness: () => Number(readFileSync('/proc/thread-self/stat', 'utf8').split(') ')[1]?.split(' ')[16]),
  stop: () => tell('ended'),
})

export type GreetingAnswers = ReturnType<typeof answersWith>

answerFromThread<string, { ended(): void }>(answersWith)
