import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { type Answers, Channel, type Port } from './channel.ts'
import type { ThreadData } from './thread.ts'

/**
 * Answers the questions of a `Thread`, until it ends this one: then `stop` is asked, if there is one. `answersWith` gets
 * the data of the start, and a way to tell the caller what it has not asked for.
 */
export function answerFromThread<Data, Theirs extends Answers = Record<never, never>>(
  answersWith: (data: Data, tell: Channel<Theirs>['tell']) => Answers,
): void {
  // a test may import the program
  if (parentPort === null) return
  const port = parentPort
  // a `Thread` starts all programs that call this
  const { niceness, data } = workerData as ThreadData
  if (niceness > 0) yieldToOthers(niceness)
  // an unanswered question would wait for ever: the thread ends instead
  port.on('messageerror', (cause) => {
    throw cause
  })
  const end: Port = {
    send: (message) => port.postMessage(message),
    on: (event, listener) => port.on(event, listener),
    // this thread does not outlive its caller
    once: () => {},
  }
  const tell: Channel<Theirs>['tell'] = (...told) => channel.tell(...told)
  const channel = new Channel<Theirs>(end, answersWith(data as Data, tell))
}

/**
 * Lowers the priority of this thread: 10 leaves another thread that is as busy 9 times its share of a processor, 15
 * leaves it 28 times. On Linux, each thread has a priority of its own; elsewhere it would be that of the process, so
 * nothing happens.
 */
function yieldToOthers(niceness: number): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(niceness)
  } catch {
    // a sandbox forbids it: the thread has the priority of the others
  }
}
