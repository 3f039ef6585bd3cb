import { setImmediate as nextTurn } from 'node:timers/promises'
import { cachedDataVersionTag } from 'node:v8'
import { expect, test } from 'vitest'
import { collector } from '../../src/lib/garbage.ts'

test('garbage is collected in a process that was started without --expose-gc, whose compiled code stays valid', async () => {
  const before = cachedDataVersionTag()
  const dropped = new WeakRef({})
  await nextTurn()

  collector()({ type: 'major', execution: 'sync', flavor: 'last-resort' })

  expect(dropped.deref()).toBeUndefined()
  // code compiled with other options of the engine is not used
  expect(cachedDataVersionTag()).toBe(before)
})
