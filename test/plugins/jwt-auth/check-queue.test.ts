import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { CheckQueue, type Ways } from '../../../src/plugins/jwt-auth/check-queue.ts'

const [forger, caller] = ['192.0.2.1', '192.0.2.2']

/** Checks that are done when they are called. */
const here: Ways<() => boolean> = { here: (check) => check(), timeOf: () => 1 }

/** Starts checks on the pool that end on demand; `started` has their names. */
function onDemand(queue: CheckQueue<() => boolean>) {
  const started: string[] = []
  const ends: (() => void)[] = []
  const check = (client: string, name: string, weight = 8) =>
    queue.inPool(client, weight, () => {
      started.push(name)
      return new Promise((resolve) => ends.push(() => resolve(true)))
    })
  const end = async () => {
    ends.shift()?.()
    await nextTurn()
  }
  return { started, check, end }
}

test('on the pool, one caller does not wait for all tokens that another address has sent', async () => {
  const { started, check, end } = onDemand(new CheckQueue(8, here))
  const all = [1, 2, 3].map((count) => check(forger, `forged ${count}`))
  all.push(check(caller, 'a login'))
  expect(started).toEqual(['forged 1'])

  for (const _ of all) await end()

  expect(started).toEqual(['forged 1', 'forged 2', 'a login', 'forged 3'])
  expect(await Promise.all(all)).toEqual([true, true, true, true])
})

test('light checks do not overtake a heavy one that waits', async () => {
  const { started, check, end } = onDemand(new CheckQueue(8, here))
  void check(forger, 'light', 1)
  void check(caller, 'heavy')
  void check(forger, 'light 2', 1)
  expect(started).toEqual(['light'])

  await end()
  expect(started).toEqual(['light', 'heavy'])
  await end()
  expect(started).toEqual(['light', 'heavy', 'light 2'])
})

test('on the main thread, the addresses take turns too', async () => {
  const queue = new CheckQueue(8, here)
  const done: string[] = []
  const check = (client: string, name: string) => queue.cheap(client, () => done.push(name) > 0)

  await Promise.all([
    ...['forged 1', 'forged 2', 'forged 3'].map((name) => check(forger, name)),
    check(caller, 'a login'),
  ])

  expect(done).toEqual(['forged 1', 'a login', 'forged 2', 'forged 3'])
})

test('two addresses of one IPv6 network are one client', async () => {
  const queue = new CheckQueue(8, here)
  const done: string[] = []
  const check = (client: string) => queue.cheap(client, () => done.push(client) > 0)

  await Promise.all([check('2001:db8::1'), check('2001:db8::2'), check(caller)])

  expect(done).toEqual(['2001:db8::1', caller, '2001:db8::2'])
})

test('many checks on the main thread leave time for everything else', async () => {
  const queue = new CheckQueue(8, here)
  let done = 0
  const slow = () => {
    const until = performance.now() + 0.5
    while (performance.now() < until);
    done += 1
    return true
  }
  const all = Array.from({ length: 50 }, () => queue.cheap(forger, slow))

  await nextTurn()
  await nextTurn()

  expect(done).toBeLessThan(5)
  await Promise.all(all)
  expect(done).toBe(50)
})

/** A thread that is ready once it was started, and answers on demand; `asked` has the sizes of its batches. */
function aThread() {
  const asked: number[] = []
  const answers: (() => void)[] = []
  const thread = {
    isReady: false,
    start: () => {
      thread.isReady = true
    },
    verify: (checks: readonly (() => boolean)[]) => {
      asked.push(checks.length)
      return new Promise<boolean[]>((resolve) => answers.push(() => resolve(checks.map((check) => check()))))
    },
  }
  const answer = async () => {
    answers.shift()?.()
    // the next batch begins in the turn after
    await nextTurn()
    await nextTurn()
  }
  return { thread, asked, answer }
}

const valid = () => true
const forged = () => false

test('a check that is alone is done on the main thread, although there is a thread for many', async () => {
  const { thread, asked } = aThread()
  thread.start()
  const queue = new CheckQueue(8, { ...here, thread })

  expect(await queue.cheap(caller, valid)).toBe(true)
  expect(await queue.cheap(caller, forged)).toBe(false)

  expect(asked).toEqual([])
})

test('checks that wait at the same time are done together, each with its own result', async () => {
  const { thread, asked, answer } = aThread()
  thread.start()
  const queue = new CheckQueue(8, { ...here, thread })
  const all = [queue.cheap(forger, forged), queue.cheap(caller, valid), queue.cheap(forger, forged)]
  await nextTurn()
  expect(asked).toEqual([3])

  await answer()

  expect(await Promise.all(all)).toEqual([false, true, false])
})

test('a flood of one address leaves places for others in each batch', async () => {
  const { thread, asked, answer } = aThread()
  thread.start()
  const queue = new CheckQueue(8, { ...here, thread })
  const flood = Array.from({ length: 100 }, () => queue.cheap(forger, forged))
  const login = queue.cheap(caller, valid)
  await nextTurn()

  await answer()

  expect(await login).toBe(true)
  expect(asked[0]).toBe(16)
  let isOver = false
  const all = Promise.all(flood).finally(() => {
    isOver = true
  })
  while (!isOver) await answer()
  expect(await all).not.toContain(true)
})

test('of checks that take longer, fewer are done together', async () => {
  const { thread, asked } = aThread()
  thread.start()
  const queue = new CheckQueue(8, { ...here, timeOf: () => 4, thread })

  for (let count = 0; count < 10; count += 1) void queue.cheap(caller, valid)
  await nextTurn()

  expect(asked[0]).toBe(4)
})

test('while the thread does not answer, the main thread does the checks that come later', async () => {
  const { thread, asked, answer } = aThread()
  thread.start()
  const queue = new CheckQueue(8, { ...here, thread })
  const held = [queue.cheap(caller, valid), queue.cheap(caller, forged)]
  await nextTurn()

  expect(await Promise.all([queue.cheap(caller, forged), queue.cheap(caller, valid)])).toEqual([false, true])

  expect(asked).toEqual([2])
  await answer()
  expect(await Promise.all(held)).toEqual([true, false])
})

test('the thread is started when the main thread has more checks than it may do in a turn', async () => {
  const { thread, asked, answer } = aThread()
  const queue = new CheckQueue(8, { ...here, thread })
  const slow = () => {
    const until = performance.now() + 0.5
    while (performance.now() < until);
    return true
  }
  await queue.cheap(caller, slow)
  expect(thread.isReady).toBe(false)

  const all = [1, 2, 3, 4].map(() => queue.cheap(caller, slow))
  await nextTurn()
  expect(thread.isReady).toBe(true)
  await nextTurn()
  await answer()

  expect(await Promise.all(all)).toEqual([true, true, true, true])
  expect(asked).toEqual([3])
})
