import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { CheckQueue } from '../../../src/jwt/jws/check-queue.ts'

const [forger, caller] = ['192.0.2.1', '192.0.2.2']

/** Starts checks on the pool that end on demand; `started` has their names. */
function onDemand(queue: CheckQueue) {
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
  const { started, check, end } = onDemand(new CheckQueue(8))
  const all = [1, 2, 3].map((count) => check(forger, `forged ${count}`))
  all.push(check(caller, 'a login'))
  expect(started).toEqual(['forged 1'])

  for (const _ of all) await end()

  expect(started).toEqual(['forged 1', 'forged 2', 'a login', 'forged 3'])
  expect(await Promise.all(all)).toEqual([true, true, true, true])
})

test('light checks do not overtake a heavy one that waits', async () => {
  const { started, check, end } = onDemand(new CheckQueue(8))
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
  const queue = new CheckQueue(8)
  const done: string[] = []
  const check = (client: string, name: string) => queue.cheap(client, () => done.push(name) > 0)

  await Promise.all([
    ...['forged 1', 'forged 2', 'forged 3'].map((name) => check(forger, name)),
    check(caller, 'a login'),
  ])

  expect(done).toEqual(['forged 1', 'a login', 'forged 2', 'forged 3'])
})

test('two addresses of one IPv6 network are one client', async () => {
  const queue = new CheckQueue(8)
  const done: string[] = []
  const check = (client: string) => queue.cheap(client, () => done.push(client) > 0)

  await Promise.all([check('2001:db8::1'), check('2001:db8::2'), check(caller)])

  expect(done).toEqual(['2001:db8::1', caller, '2001:db8::2'])
})

test('many checks on the main thread leave time for everything else', async () => {
  const queue = new CheckQueue(8)
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
