import { expect, test } from 'vitest'
import type { View } from '../../src/core/barrier/view.ts'
import { levelOf } from '../../src/core/records/key-level.ts'
import { openCoreView } from '../support/core-view.ts'

/** A view that counts the keys it returns. */
function counting(view: View): { view: View; given: () => number } {
  let given = 0
  return {
    view: {
      ...view,
      async listKeys(prefix, range) {
        const keys = await view.listKeys(prefix, range)
        given += keys.length
        return keys
      },
    },
    given: () => given,
  }
}

test('the content of a folder is skipped', async () => {
  await using core = await openCoreView()
  const entries = Array.from({ length: 9000 }, (_, at) => ({
    key: `x/${at % 3 === 0 ? 'b/' : at % 3 === 1 ? 'd/e/' : 'f'}${at}`,
    value: true,
  }))
  for (let from = 0; from < entries.length; from += 3000)
    await core.view.write(entries.slice(from, from + 3000))
  await core.view.write(['x/a', 'x/b', 'x/c'].map((key) => ({ key, value: true })))
  const { view, given } = counting(core.view)

  const all = await levelOf(view, 'x/')

  expect(all.slice(0, 5)).toEqual(['a', 'b', 'b/', 'c', 'd/'])
  expect(all).toHaveLength(5 + 3000)
  // without the 6000 keys in folders, but for what shares a page with others
  expect(given()).toBeLessThanOrEqual(4000)
})

test('names come in byte order, folders once', async () => {
  await using core = await openCoreView()
  const names = ['a', 'a/x', 'a/y/z', 'a-b', 'B', 'ä', '\u{1f600}/x', '\u{ffee}', 'a/', 'zz/1', 'zz/2', 'zz0']
  await core.view.write(
    names.filter((name) => !name.endsWith('/')).map((name) => ({ key: `x/${name}`, value: true })),
  )
  const all = await levelOf(core.view, 'x/')

  expect(all).toEqual(['B', 'a', 'a-b', 'a/', 'zz/', 'zz0', 'ä', '\u{ffee}', '\u{1f600}/'])
})
