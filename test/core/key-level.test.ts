import { expect, test } from 'vitest'
import type { View } from '../../src/core/barrier/view.ts'
import { levelOf } from '../../src/core/key-level.ts'
import { openCoreView } from '../support/core-view.ts'

const giveWay = () => Promise.resolve()

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

test('the content of a folder is skipped, and a page reads no more than it needs', async () => {
  await using core = await openCoreView()
  const entries = Array.from({ length: 9000 }, (_, at) => ({
    key: `x/${at % 3 === 0 ? 'b/' : at % 3 === 1 ? 'd/e/' : 'f'}${at}`,
    value: true,
  }))
  for (let from = 0; from < entries.length; from += 3000)
    await core.view.write(entries.slice(from, from + 3000))
  await core.view.write(['x/a', 'x/b', 'x/c'].map((key) => ({ key, value: true })))
  const { view, given } = counting(core.view)

  const first = await levelOf(view, 'x/', { after: '', limit: 5, giveWay })
  expect(first).toEqual(['a', 'b', 'b/', 'c', 'd/'])
  expect(given()).toBeLessThanOrEqual(3000)

  const all = await levelOf(view, 'x/', { after: '', limit: 0, giveWay })
  expect(all).toHaveLength(5 + 3000)
  expect(await levelOf(view, 'x/', { after: 'd/', limit: 0, giveWay })).toEqual(all.slice(5))
  expect(await levelOf(view, 'x/', { after: 'b/77', limit: 2, giveWay })).toEqual(['c', 'd/'])
  expect(await levelOf(view, 'x/', { after: 'b', limit: 1, giveWay })).toEqual(['b/'])
})

test('consecutive pages contain the same as one list', async () => {
  await using core = await openCoreView()
  const names = ['a', 'a/x', 'a/y/z', 'a-b', 'B', 'ä', '\u{1f600}/x', '\u{ffee}', 'a/', 'zz/1', 'zz/2', 'zz0']
  await core.view.write(
    names.filter((name) => !name.endsWith('/')).map((name) => ({ key: `x/${name}`, value: true })),
  )
  const all = await levelOf(core.view, 'x/', { after: '', limit: 0, giveWay })

  const paged: string[] = []
  for (let after = ''; ; ) {
    const [next] = await levelOf(core.view, 'x/', { after, limit: 1, giveWay })
    if (next === undefined) break
    paged.push(next)
    after = next
  }

  expect(paged).toEqual(all)
  expect(new Set(all)).toEqual(new Set(['B', 'a', 'a-b', 'a/', 'zz/', 'zz0', 'ä', '\u{ffee}', '\u{1f600}/']))
})
