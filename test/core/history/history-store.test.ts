import { expect, test } from 'vitest'
import { type HistoryBounds, HistoryStore, type NewChange } from '../../../src/core/history/history-store.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { aBarrierFixture } from '../barrier/barrier-fixture.ts'

const day = 86_400

async function aHistory(bounds: HistoryBounds = { versions: 20, days: 10 }) {
  const fixture = await aBarrierFixture()
  const root = (await fixture.open()).view('')
  const parts = { view: root.view('core/'), clock: fixture.clock, random: systemRandom, bounds }
  const history = await HistoryStore.open({ ...parts, confirmCopies: async () => {} })
  const change = async (changes: Partial<NewChange> = {}) => {
    const entries = await history.entriesFor({
      operation: 'update',
      form: { a: 'b' },
      changed: ['a'],
      path: 'role/a',
      owner: 'mount-uuid',
      object: 'role/a',
      mount: 'mount-uuid',
      namespace: 'root',
      by: { entity_id: '', display_name: 'token', token_accessor_hash: '' },
      request_id: 'request',
      ...changes,
    })
    expect(await root.write(entries)).toBe(true)
  }
  const keys = () => root.listKeys('core/history/')
  return { ...fixture, history, change, keys }
}

const still = new AbortController().signal

test('what is older than the bound is removed, also of deleted objects', async () => {
  await using fixture = await aHistory()
  const { history, change, keys, clock } = fixture
  await change()
  await change({ operation: 'delete' })
  await change({ object: 'role/b', path: 'role/b', namespace: 'child' })
  clock.advance(6 * day)
  await change({ object: 'role/b', path: 'role/b', namespace: 'child' })
  expect(await keys()).toHaveLength(9)

  clock.advance(6 * day)
  await history.sweep(['root', 'child'], still)

  expect(await keys()).toHaveLength(2)
  expect(await history.changesOf({ owner: 'mount-uuid', object: 'role/b' })).toMatchObject([{ version: 2 }])
})

test.each(['removeOwner', 'removeNamespace'] as const)('%s leaves nothing of it', async (removal) => {
  await using fixture = await aHistory()
  const { history, change, keys } = fixture
  for (let number = 0; number < 45; number += 1) {
    await change({ object: `role/${number}`, namespace: 'child' })
    await change({ object: `role/${number}`, namespace: 'child', operation: 'delete' })
  }
  await change({ owner: 'other', mount: 'other' })

  await history[removal](removal === 'removeOwner' ? 'mount-uuid' : 'child')

  expect(await keys()).toHaveLength(2)
})

test('no key tells the name of an object', async () => {
  await using fixture = await aHistory()
  const { change, keys } = fixture
  await change({ object: 'users/ada', path: 'users/ada', operation: 'delete' })

  expect((await keys()).join()).not.toContain('ada')
})

test('however often an object is created and deleted, it has no more records', async () => {
  await using fixture = await aHistory({ versions: 3, days: 10 })
  const { change, keys } = fixture
  const numbers: number[] = []
  for (let number = 0; number < 20; number += 1) {
    await change({ operation: 'create', form: undefined })
    await change({ operation: 'delete' })
    numbers.push((await keys()).length)
  }

  // three changes, each in the history and in the log, and the object among the deleted ones
  expect(Math.max(...numbers)).toBe(7)
})

test('a damaged record keeps nothing from being changed or removed', async () => {
  await using fixture = await aHistory()
  const { history, change, keys, storage } = fixture
  await change()
  await change()
  const [first = ''] = await keys()
  await storage.write([{ key: first, value: Buffer.from('damaged') }])
  await change()

  const found = await history.changesOf({ owner: 'mount-uuid', object: 'role/a' })
  expect(found.map(({ version }) => version)).toEqual([2, 3])
  await history.removeOwner('mount-uuid')
  // the log of the damaged one goes with its time
  expect(await keys()).toHaveLength(1)
})
