import { expect, test } from 'vitest'
import { Disconnected } from '../../../src/lib/concurrency/channel.ts'
import { Thread, type ThreadOptions } from '../../../src/lib/concurrency/thread.ts'
import type { GreetingAnswers } from './answering-thread.ts'

function aThread(options: Partial<ThreadOptions> = {}) {
  const thread = new Thread<GreetingAnswers>({
    program: new URL('./answering-thread.ts', import.meta.url),
    name: 'greetings',
    data: () => 'hello',
    ...options,
  })
  return Object.assign(thread, { [Symbol.asyncDispose]: () => thread.stop() })
}

const tooMany = () => new Error('too many')
const limits = { most: 2, ms: 60_000, refusal: tooMany }

/** A thread that waits for this answers once it is released. */
function aGate() {
  const until = new SharedArrayBuffer(4)
  const release = () => {
    Atomics.store(new Int32Array(until), 0, 1)
    Atomics.notify(new Int32Array(until), 0)
  }
  return { until, release }
}

test('each question gets its own answer, made with the data of the start', async () => {
  await using thread = aThread()

  const all = ['Ann', 'Bob', 'Cid'].map((name) => thread.ask('greet', name))

  expect(await Promise.all(all)).toEqual(['hello Ann', 'hello Bob', 'hello Cid'])
})

test('a handler that fails rejects its question only', async () => {
  await using thread = aThread()
  const failed = thread.ask('fail')
  const greeting = thread.ask('greet', 'Ann')

  await expect(failed).rejects.toThrow('no such thing')
  expect(await greeting).toBe('hello Ann')
})

test('a buffer moves to the thread instead of being copied', async () => {
  await using thread = aThread()
  const bytes = new ArrayBuffer(8)

  expect(await thread.ask('lengthOf', bytes)).toBe(8)
  expect(bytes.byteLength).toBe(0)
})

test.each(['crash', 'exit'] as const)(
  'when a thread ends (%s), what waits for it fails and the next question starts another with new data',
  async (end) => {
    const starts: string[] = []
    await using thread = aThread({ data: () => `start ${starts.push('')}:` })
    const waiting = [thread.ask('never'), thread.ask(end)]

    for (const one of waiting) await expect(one).rejects.toBeInstanceOf(Disconnected)

    expect(await thread.ask('greet', 'Ann')).toBe('start 2: Ann')
  },
)

test('the cause of a crash is that of the failure', async () => {
  await using thread = aThread()

  await expect(thread.ask('crash')).rejects.toMatchObject({ cause: { message: 'a bug' } })
})

test('more questions than may wait are refused, and there is room again once they are answered', async () => {
  await using thread = aThread({ limits })
  const gate = aGate()
  const waiting = [thread.ask('wait', gate.until), thread.ask('greet', 'Ann')]

  await expect(thread.ask('greet', 'Bob')).rejects.toThrow('too many')
  gate.release()
  await Promise.all(waiting)

  expect(await thread.ask('greet', 'Bob')).toBe('hello Bob')
})

test('a thread that takes too long is ended, and another one answers the next question', async () => {
  const starts: string[] = []
  const patience = { ...limits, ms: 1 }
  await using thread = aThread({ limits: patience, data: () => `start ${starts.push('')}:` })
  await expect(thread.ask('never')).rejects.toThrow('too many')
  patience.ms = 60_000

  expect(await thread.ask('greet', 'Ann')).toBe('start 2: Ann')
})

test('a question that finds all threads busy starts one more, up to the limit', async () => {
  const starts: string[] = []
  await using thread = aThread({ most: 2, data: () => `thread ${starts.push('')}:` })
  const gate = aGate()
  const waiting = thread.ask('wait', gate.until)

  expect(await thread.ask('greet', 'Ann')).toBe('thread 2: Ann')
  expect(await thread.ask('greet', 'Bob')).toBe('thread 2: Bob')
  const second = thread.ask('wait', gate.until)
  const third = thread.ask('greet', 'Cid')
  gate.release()

  expect(await third).toMatch(/^thread [12]: Cid$/)
  await Promise.all([waiting, second])
  expect(starts).toHaveLength(2)
})

test('a thread answers what it was asked before it is stopped, and is told', async () => {
  const told: string[] = []
  const thread = aThread({ answers: { ended: () => void told.push('ended') } })
  const greeting = thread.ask('greet', 'Ann')

  await thread.stop()

  expect(await greeting).toBe('hello Ann')
  expect(told).toEqual(['ended'])
  await expect(thread.ask('greet', 'Bob')).rejects.toBeInstanceOf(Disconnected)
})

test('a blocked thread is not waited for longer than asked', async () => {
  const thread = aThread()
  const gate = aGate()
  const waiting = thread.ask('wait', gate.until)

  await thread.stop(1)
  gate.release()

  await waiting.catch(() => {})
})

test.runIf(process.platform === 'linux')('a thread yields to others as far as it should', async () => {
  await using thread = aThread({ niceness: 15 })
  await using other = aThread()

  expect(await thread.ask('niceness')).toBe(15)
  expect(await other.ask('niceness')).toBe(0)
})
