import { expect, test } from 'vitest'
import type { ViewEntry } from '../../../src/core/barrier/view.ts'
import { Changes, type Write, writeAttempts } from '../../../src/core/records/change.ts'
import { fail } from '../../../src/errors.ts'

const tooMany = 'too many changes of a thing'

/** Changes of a store that gives each record a new revision, as another server may do too. */
function aStore() {
  const revisions = new Map<string, number>()
  const writes: string[] = []
  const commit = (key: string) => void revisions.set(key, (revisions.get(key) ?? 0) + 1)
  const write = async (entries: readonly ViewEntry[]) => {
    const fits = entries.every(
      ({ key, expect }) => expect === undefined || expect === (revisions.get(key) ?? 'absent'),
    )
    if (fits) for (const { key } of entries) commit(key)
    if (fits) writes.push(entries.map(({ key, value }) => `${key}=${value}`).join(' '))
    return fits
  }
  const put = (key: string, value: string) => async (written: Write) => {
    const expect = revisions.get(key) ?? 'absent'
    await Promise.resolve()
    await written([{ key, value, expect }])
    return value
  }
  return { changes: new Changes({ view: { write }, tooMany }), writes, commit, put }
}

test('changes of one key are written one after the other, in order of arrival', async () => {
  const { changes, put, writes } = aStore()

  const done = await Promise.all(['1', '2', '3'].map((value) => changes.run('a', put('a', value))))

  expect(done).toEqual(['1', '2', '3'])
  expect(writes).toEqual(['a=1', 'a=2', 'a=3'])
})

test('a change does not wait for one of another key', async () => {
  const { changes, put } = aStore()
  const held = Promise.withResolvers<void>()
  const first = changes.run('a', () => held.promise)

  await expect(changes.run('b', put('b', '1'))).resolves.toBe('1')

  held.resolve()
  await first
})

test('a change that another server has overtaken is decided again', async () => {
  const { changes, commit, put, writes } = aStore()
  let runs = 0
  const overtaken = async (write: Write) => {
    const change = put('a', '1')(write)
    runs += 1
    if (runs < 3) commit('a')
    return await change
  }

  await expect(changes.run('a', overtaken)).resolves.toBe('1')

  expect(runs).toBe(3)
  expect(writes).toEqual(['a=1'])
})

test('a change that is overtaken each time fails, and those after it go on', async () => {
  const { changes, put } = aStore()
  let runs = 0

  const lost = changes.run('a', async (_, overtaken) => {
    runs += 1
    throw overtaken
  })
  const next = changes.run('a', put('a', '1'))

  await expect(lost).rejects.toEqual(fail('unavailable', tooMany))
  expect(runs).toBe(writeAttempts)
  await expect(next).resolves.toBe('1')
})

test('an error of one change is its own, and is not tried again', async () => {
  const { changes, put, writes } = aStore()
  let runs = 0

  const outcomes = await Promise.allSettled([
    changes.run('a', put('a', '1')),
    changes.run('a', async () => {
      runs += 1
      throw new Error('refused')
    }),
    changes.run('a', put('a', '2')),
  ])

  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(runs).toBe(1)
  expect(writes).toEqual(['a=1', 'a=2'])
})

test('a change within another is decided again by the one whose write was overtaken', async () => {
  const { changes, commit, put } = aStore()
  const inner = aStore()
  const runs = { inner: 0, outer: 0 }

  await changes.run('a', (outer) => {
    runs.outer += 1
    return inner.changes.run('b', async () => {
      runs.inner += 1
      const change = put('a', '1')(outer)
      if (runs.outer === 1) commit('a')
      return await change
    })
  })

  expect(runs).toEqual({ inner: 2, outer: 2 })
})

test('a change that finds nothing to do writes nothing', async () => {
  const { changes, writes } = aStore()

  await changes.run('a', (write) => write([]))

  expect(writes).toEqual([])
})
