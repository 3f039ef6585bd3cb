import { expect, test } from 'vitest'
import type { View } from '../../../../src/core/barrier/view.ts'
import { systemClock } from '../../../../src/lib/system/clock.ts'
import { systemRandom } from '../../../../src/lib/system/random.ts'
import { Intents } from '../../../../src/plugins/cloud/intents/intents.ts'
import { openCoreView } from '../../../support/core-view.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

test('what is being taken over from an earlier start is debris the whole time', async () => {
  await using core = await openCoreView()
  const written = Promise.withResolvers<void>()
  const heard = Promise.withResolvers<void>()
  const open = (ownId: string, view: View) =>
    new Intents({
      view,
      mount: 'cloud/',
      clock: systemClock,
      random: systemRandom,
      log: { warn: () => {} },
      retryMs: 500,
      servers: { ownId, isAlone: true, live: async () => new Set([ownId]) },
      undo: async () => ({ done: false, later: 'not yet' }),
    })
  await using earlier = open('earlier', core.view)
  await earlier.record({ kind: 'purge', object_id: 'left' }, undefined)
  const write: View['write'] = async (batch) => {
    const isWritten = await core.view.write(batch)
    written.resolve()
    await heard.promise
    return isWritten
  }
  const slow: View = new Proxy(core.view, {
    get: (view, name: keyof View) =>
      name === 'write' ? write : name === 'view' ? () => slow : view[name].bind(view),
  })
  await using now = open('now', slow)

  const adopting = now.adopt('gone')
  await written.promise

  expect(await now.debris()).toMatchObject([{ intent: { object_id: 'left' } }])
  heard.resolve()
  await adopting
  expect(await now.debris()).toMatchObject([{ intent: { object_id: 'left' } }])
})

/** The intents of two servers that are alive, and the attempts to undo them. */
async function openTwo() {
  await using stack = new AsyncDisposableStack()
  const core = stack.use(await openCoreView())
  const clock = new FakeClock()
  const attempts: { server: string; underwayMs: number | undefined }[] = []
  let attempted: Promise<void> = Promise.resolve()
  const isDone = new Set<string>()
  const open = (ownId: string) =>
    stack.use(
      new Intents({
        view: core.view,
        mount: 'cloud/',
        clock,
        random: systemRandom,
        log: { warn: () => {} },
        retryMs: 500,
        servers: { ownId, isAlone: false, live: async () => new Set(['one', 'other']) },
        undo: async (_, { underwayMs }) => {
          attempts.push({ server: ownId, underwayMs })
          await attempted
          return isDone.has(ownId) ? { done: true } : { done: false, later: 'not yet' }
        },
      }),
    )
  const [one, other] = [open('one'), open('other')]
  const held = stack.move()
  return {
    one,
    other,
    clock,
    attempts,
    isDone,
    /** Attempts end when the returned function is called. */
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      attempted = promise
      return resolve
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

test('what a server has begun to undo is debris to another before the first attempt has ended', async () => {
  await using two = await openTwo()
  const { one, other } = two
  const resolve = two.hold()
  const id = await one.record({ kind: 'purge', object_id: 'left' }, undefined)
  expect(await other.debris()).toEqual([])

  await one.undo([id])

  await expect.poll(() => other.debris()).toMatchObject([{ id, tries: 0, error: '' }])
  resolve()
  await expect.poll(() => other.debris()).toMatchObject([{ id, tries: 1, error: 'not yet' }])
})

test('attempts that alternate between servers continue the time in which a call may still take effect', async () => {
  await using two = await openTwo()
  const { one, other, clock, attempts } = two
  const id = await one.record({ kind: 'purge', object_id: 'left' }, undefined)
  await one.undo([id], { isUnderway: true })
  await one.undoAll()

  for (const server of [other, one, other]) {
    clock.advance(30)
    await server.undoAll()
  }

  const bySeconds = (name: string) =>
    attempts.flatMap(({ server, underwayMs = -1 }) => (server === name ? [underwayMs / 1000] : []))
  expect(new Set(bySeconds('one'))).toEqual(new Set([0, 60]))
  expect(bySeconds('other')).toEqual([30, 90])
  const [left] = await other.debris()
  expect(left?.tries).toBe(attempts.length)
})

test('a server that takes over an undo knows whether a call may still take effect', async () => {
  await using two = await openTwo()
  const { one, other, attempts } = two
  const [answered = '', cutOff = ''] = await one.recordAll(
    ['answered', 'cut off'].map((object_id) => ({ kind: 'purge' as const, object_id })),
    undefined,
  )
  await one.undo([answered])
  await one.undo([cutOff], { isUnderway: true })

  await other.undoAll()

  const taken = attempts.filter(({ server }) => server === 'other').map(({ underwayMs }) => underwayMs)
  expect(new Set(taken)).toEqual(new Set([undefined, 0]))
})

test('an undo that succeeds while another server takes it over is complete', async () => {
  await using two = await openTwo()
  const { one, other } = two
  const id = await one.record({ kind: 'purge', object_id: 'left' }, undefined)
  two.isDone.add('one')
  const resolve = two.hold()
  await one.undo([id])
  await other.adopt('undone')

  resolve()

  await expect.poll(() => other.debris()).toEqual([])
})
