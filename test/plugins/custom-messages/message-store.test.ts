import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { type JsonValue, jsonNumber } from '../../../src/lib/text/json.ts'
import { MessageStore } from '../../../src/plugins/custom-messages/message-store.ts'
import { messageSize, NamespaceMessages } from '../../../src/plugins/custom-messages/namespace-messages.ts'
import { openCoreView } from '../../support/core-view.ts'
import { aMessage } from './message-builder.ts'

const mebibyte = 1024 * 1024
const taken = (entityId: string, time = '2026-01-01T00:00:00Z') => ({
  entityId,
  entity_name: `name of ${entityId}`,
  time,
})

test('a message is read from storage as it was written, with all its fields', async () => {
  await using core = await openCoreView()
  const store = new MessageStore({ view: core.view, random: systemRandom })
  const draft = aMessage({
    start: 1_700_000_000_123_456_789n,
    end: 1_800_000_000_000_000_001n,
    link: { title: '__proto__', href: 'https://x' },
    options: { n: jsonNumber('2.50') },
    severity: 'critical',
    priority: -7,
    dismissible: false,
    acknowledge_required: true,
    audience: { policies: ['ops'], group_ids: [] },
  })
  const { id } = await store.create('root', draft)

  const fresh = new MessageStore({ view: core.view, random: systemRandom })

  expect(await fresh.find('root', id)).toEqual({ ...draft, id })
  expect(await fresh.find('other', id)).toBeUndefined()
})

test('later starts come first, then ids decide', async () => {
  await using core = await openCoreView()
  const store = new MessageStore({ view: core.view, random: systemRandom })
  const starts = [5n, 7n, 5n, 6n, 5n]
  for (const start of starts) await store.create('root', aMessage({ start }))

  const list = await store.listOf('root')

  expect(list.map(({ start }) => start)).toEqual([7n, 6n, 5n, 5n, 5n])
  const ids = list.slice(2).map(({ id }) => id)
  expect(ids).toEqual([...ids].sort())
})

describe("versions of a namespace's messages", () => {
  test('each change of a namespace is announced afterwards and gives it a later version', async () => {
    await using core = await openCoreView()
    const store = new MessageStore({ view: core.view, random: systemRandom })
    const told: { id: string; version: number; list: ReturnType<typeof store.listOf> }[] = []
    const end = store.onChange((id = '') =>
      told.push({ id, version: store.version(id), list: store.listOf(id) }),
    )
    const before = store.version('a')

    const { id } = await store.create('a', aMessage())
    await store.update('a', id, (old) => ({ ...old, title: 'new' }))
    await store.create('b', aMessage())
    await store.delete('a', id)
    await store.delete('a', id)
    end()
    await store.create('b', aMessage())

    const seen = await Promise.all(told.map(async ({ id: name, list }) => [name, (await list).length]))
    expect(seen).toEqual([
      ['a', 1],
      ['a', 1],
      ['b', 1],
      ['a', 0],
    ])
    const versions = [before, ...told.map(({ version }) => version)]
    expect(versions).toEqual([...new Set(versions)].sort((x, y) => x - y))
  })

  test('a failed change does not change the version', async () => {
    await using core = await openCoreView()
    const store = new MessageStore({ view: core.view, random: systemRandom })
    const { id } = await store.create('a', aMessage())
    const before = store.version('a')

    const refused = store.update('a', id, () => {
      throw new Error('no')
    })
    await expect(refused).rejects.toThrow('no')
    await expect(store.create('a', aMessage({ start: 1n << 70n }))).rejects.toThrow(
      'year outside of range [0,9999]',
    )

    expect(store.version('a')).toBe(before)
    expect(await store.listOf('a')).toHaveLength(1)
  })

  test('a namespace that is removed has a later version than before, and no record', async () => {
    await using core = await openCoreView()
    const store = new MessageStore({ view: core.view, random: systemRandom })
    const { id } = await store.create('a', aMessage())
    await store.acknowledge('a', id, taken('e1'))
    const other = await store.create('ab', aMessage())
    const before = store.version('a')

    await store.removeNamespace('a')

    expect(store.version('a')).toBeGreaterThan(before)
    expect(await store.listOf('a')).toEqual([])
    const keys = await core.view.listKeys('')
    expect(keys.filter((key) => key.startsWith('message'))).toEqual([
      'message-change/ab',
      `message/ab/${other.id}`,
    ])
  })
})

describe('acknowledgements', () => {
  test('acknowledgements keep their first time and are deleted with the message', async () => {
    await using core = await openCoreView()
    const store = new MessageStore({ view: core.view, random: systemRandom })
    const { id } = await store.create('a', aMessage())
    for (const entity of ['e2', 'e1', 'e3'])
      expect(await store.acknowledge('a', id, taken(entity))).toBe(true)
    await store.acknowledge('a', id, taken('e1', '2027-01-01T00:00:00Z'))

    expect(await store.acknowledgements('a', id)).toEqual([taken('e1'), taken('e2'), taken('e3')])
    expect(await store.acknowledgements('a', id, { after: 'e1', limit: 1 })).toEqual([taken('e2')])
    await store.delete('a', id)
    expect(await store.acknowledgements('a', id)).toBeUndefined()
    expect(await store.acknowledge('a', id, taken('e1'))).toBe(false)
    expect(await core.view.listKeys('message-ack/')).toEqual([])
  })

  test('a delete during many acknowledgements leaves none of them', async () => {
    await using core = await openCoreView()
    const store = new MessageStore({ view: core.view, random: systemRandom })
    const { id } = await store.create('a', aMessage())

    const crowd = Array.from({ length: 40 }, (_, index) =>
      index === 20 ? store.delete('a', id) : store.acknowledge('a', id, taken(`e${index}`)),
    )
    await Promise.all(crowd)

    expect(await core.view.listKeys('message-ack/')).toEqual([])
  })
})

test('concurrent creates, updates, deletes and reads always show the stored state, even when memory evicts namespaces', async () => {
  await using core = await openCoreView()
  const store = new MessageStore({ view: core.view, random: systemRandom })
  const filler = 'A'.repeat(9 * mebibyte)
  for (let index = 0; index < 8; index += 1)
    await store.create(`filler-${index}`, aMessage({ message: filler }))
  const first = await Promise.all(Array.from({ length: 20 }, () => store.create('a', aMessage())))

  const work = first.flatMap(({ id }, index) => [
    store.listOf(`filler-${index % 8}`),
    index % 2 === 0 ? store.delete('a', id) : store.update('a', id, (old) => ({ ...old, title: 'new' })),
    store.create('a', aMessage({ title: 'more' })),
    store.listOf('a'),
  ])
  await Promise.all(work)

  const told = await store.listOf('a')
  expect(told).toEqual(await new MessageStore({ view: core.view, random: systemRandom }).listOf('a'))
  expect(told.map(({ title }) => title).sort()).toEqual(
    [...Array(20).fill('more'), ...Array(10).fill('new')].sort(),
  )
})

describe('the memory that messages may take', () => {
  const heavy = (id: string, size: number) => aMessage({ id, message: 'A'.repeat(size) })

  test('one message of the largest size fits and a second does not', () => {
    const one = new NamespaceMessages(new Map()).with(heavy('1', 32 * mebibyte))

    expect(() => one.with(heavy('2', 32 * mebibyte))).toThrow(
      'the messages of this namespace take too much space',
    )
    expect(() => one.with(heavy('1', 33 * mebibyte))).not.toThrow()
    expect(one.with(aMessage({ id: '1' })).size).toBe(messageSize(aMessage({ id: '1' })))
  })

  test('every part of a message counts, however deep', () => {
    let deep: JsonValue = 'x'.repeat(1000)
    for (let level = 0; level < 9000; level += 1) deep = [deep]

    const least = messageSize(aMessage())
    expect(messageSize(aMessage({ title: 'x'.repeat(1000) }))).toBe(least + 999)
    expect(messageSize(aMessage({ options: { deep } }))).toBeGreaterThan(least + 9000 * 48 + 1000)
    expect(messageSize(aMessage({ audience: { policies: ['x'.repeat(1000)] } }))).toBeGreaterThan(
      least + 1000,
    )
  })
})
