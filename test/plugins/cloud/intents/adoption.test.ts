import { expect, test } from 'vitest'
import type { View } from '../../../../src/core/barrier/view.ts'
import { Intents } from '../../../../src/plugins/cloud/intents/intents.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { systemRandom } from '../../../../src/lib/random.ts'
import { openCoreView } from '../../../support/core-view.ts'

test('what is being taken over from an earlier start is debris the whole time', async () => {
  await using core = await openCoreView()
  const written = Promise.withResolvers<void>()
  const heard = Promise.withResolvers<void>()
  const open = (ownId: string, view: View) =>
    new Intents({
      ...{ view, mount: 'cloud/', clock: systemClock, random: systemRandom, log: { warn: () => {} } },
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
