import { describe, expect, test } from 'vitest'
import { Waits } from '../../src/core/servers/waits.ts'

const address = '192.0.2.1'
const long = 3_600_000

/** Resolves with the current state of a promise, after everything that is due has run. */
async function isPending(promise: Promise<void>): Promise<boolean> {
  await new Promise(setImmediate)
  return Promise.race([promise.then(() => false), Promise.resolve(true)])
}

function begun(waits: Waits, topics: string[], { from = address, waitMs = long } = {}) {
  const wait = waits.begin({ address: from, topics, waitMs })
  if (wait === undefined) throw new Error('there is no place left')
  return wait
}

describe('waiting for a change of messages', () => {
  test('the first check is immediate, the next one comes after a change', async () => {
    const waits = new Waits({ maxPerAddress: 1 })
    using wait = begun(waits, ['root'])

    await wait.pause(long)
    const next = wait.pause(long)
    expect(await isPending(next)).toBe(true)
    waits.changed('other')
    expect(await isPending(next)).toBe(true)
    waits.changed('root')
    await next

    expect(wait.hasEnded).toBe(false)
  })

  test('a change between two checks is not lost', async () => {
    const waits = new Waits({ maxPerAddress: 1 })
    using wait = begun(waits, ['child', 'root'])

    await wait.pause(long)
    waits.changed('root')

    await wait.pause(long)
    expect(await isPending(wait.pause(long))).toBe(true)
  })

  test('a waiter checks again when a message starts or ends', async () => {
    const waits = new Waits({ maxPerAddress: 1 })
    using wait = begun(waits, ['root'])

    await wait.pause(long)
    await wait.pause(1)

    expect(wait.hasEnded).toBe(false)
  })

  test('a wait ends when its time is up', async () => {
    const waits = new Waits({ maxPerAddress: 1 })
    using wait = begun(waits, ['root'], { waitMs: 1 })

    await wait.pause(long)
    await wait.pause(long)
    expect(wait.hasEnded).toBe(true)
    await wait.pause(long)
  })

  test('an address has a limited number of places, and gets each back once', () => {
    const waits = new Waits({ maxPerAddress: 2 })
    const first = begun(waits, ['root'])
    using _second = begun(waits, ['child', 'root'])

    expect(waits.begin({ address, topics: ['root'], waitMs: long })).toBeUndefined()
    using _other = begun(waits, ['root'], { from: '192.0.2.2' })
    first[Symbol.dispose]()
    using _third = begun(waits, ['root'])
    expect(waits.begin({ address, topics: ['root'], waitMs: long })).toBeUndefined()
  })

  test('a limit of zero disables waiting', () => {
    expect(new Waits({ maxPerAddress: 0 }).begin({ address, topics: ['root'], waitMs: long })).toBeUndefined()
  })

  test('deleting a namespace ends the waits in it and below, and no others', async () => {
    const waits = new Waits({ maxPerAddress: 3 })
    using below = begun(waits, ['below', 'gone', 'root'])
    using inside = begun(waits, ['gone', 'root'])
    using above = begun(waits, ['root'])

    waits.endTopic('gone')

    expect([below, inside, above].map((wait) => wait.hasEnded)).toEqual([true, true, false])
  })

  test('when the server stops, all waits end, and later ones end at once', async () => {
    const waits = new Waits({ maxPerAddress: 2 })
    using early = begun(waits, ['root'])
    await early.pause(long)
    const paused = early.pause(long)

    waits.endAll()
    await paused
    using late = begun(waits, ['root'])

    expect([early.hasEnded, late.hasEnded]).toEqual([true, true])
  })

  test('all waiters check again', async () => {
    const waits = new Waits({ maxPerAddress: 1 })
    using wait = begun(waits, ['child', 'root'])
    await wait.pause(long)
    const paused = wait.pause(long)

    waits.wakeAll()

    await paused
  })
})
