import { describe, expect, test } from 'vitest'
import type { Barrier } from '../../../src/core/barrier/barrier.ts'
import { keyringKey } from '../../../src/core/barrier/keyring-record.ts'
import { rootKeyKey } from '../../../src/core/barrier/root-key.ts'
import { openMemory } from '../../../src/storage/sqlite/sqlite.ts'
import { aBarrierFixture, type BarrierFixture, sealKey } from './barrier-fixture.ts'

const wrongKey = { exitCode: 5, message: 'seal key does not open this store' }

/** Opens and writes first records, as the first start of a server does. */
async function firstStart(
  fixture: BarrierFixture,
  fill: (barrier: Barrier) => Promise<void>,
): Promise<Barrier> {
  await using staging = await openMemory()
  return await fixture.open({ first: { staging, fill } })
}

describe('the first start', () => {
  test('creates the keys and the first records in one write', async () => {
    await using fixture = await aBarrierFixture()

    const barrier = await firstStart(fixture, async (staged) => {
      await staged.view('core/').update('mounts', () => ['jwt'])
      await staged.view('core/').update('token', () => 'root')
    })

    expect(barrier.initialized).toBe(true)
    expect(await fixture.storage.listKeys('')).toEqual(
      [keyringKey, rootKeyKey, 'core/mounts', 'core/token'].sort(),
    )
    expect(await barrier.view('core/').get('mounts')).toEqual(['jwt'])
  })

  test('that fails while writing the first records leaves the store empty', async () => {
    await using fixture = await aBarrierFixture()

    const start = firstStart(fixture, async (staged) => {
      await staged.view('core/').update('mounts', () => ['jwt'])
      throw new Error('no disk for the token file')
    })

    await expect(start).rejects.toThrow('no disk for the token file')
    expect(await fixture.storage.listKeys('')).toEqual([])
  })

  test('that cannot write leaves the store empty', async () => {
    await using fixture = await aBarrierFixture()
    fixture.faults.arm('storage.before-commit', 'full')

    await expect(firstStart(fixture, async () => {})).rejects.toMatchObject({
      exitCode: 2,
      message: 'cannot initialize the store: storage is full',
    })

    expect(await fixture.storage.listKeys('')).toEqual([])
  })

  test('of several servers is performed by exactly one, and all can use the store', async () => {
    await using fixture = await aBarrierFixture()

    const barriers = await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        firstStart(fixture, (staged) =>
          staged
            .view('')
            .update('who', () => name)
            .then(() => {}),
        ),
      ),
    )
    const seen = await Promise.all(barriers.map((barrier) => barrier.view('').get('who')))

    expect(barriers.filter(({ initialized }) => initialized)).toHaveLength(1)
    expect(new Set(seen)).toEqual(
      new Set([['a', 'b', 'c'][barriers.findIndex(({ initialized }) => initialized)]]),
    )
  })
})

describe('a later start', () => {
  test('opens what was written before, and writes no first records', async () => {
    await using fixture = await aBarrierFixture()
    await (await fixture.open()).view('core/').update('a', () => 'one')

    const barrier = await firstStart(fixture, async () => {
      throw new Error('not empty')
    })

    expect(barrier.initialized).toBe(false)
    expect(await barrier.view('core/').get('a')).toBe('one')
  })

  test.each([
    ['another seal key', async () => {}],
    [
      'a damaged root key',
      async ({ storage }: BarrierFixture) => storage.update(rootKeyKey, () => Buffer.alloc(80)),
    ],
    [
      'a root key that is gone',
      async ({ storage }: BarrierFixture) => storage.update(rootKeyKey, () => undefined),
    ],
  ])('with %s is refused with exit code 5, and nothing is written', async (name, damage) => {
    await using fixture = await aBarrierFixture()
    await fixture.open()
    await damage(fixture)
    const before = await fixture.storage.list('')

    await expect(
      fixture.open({ sealKey: sealKey(name === 'another seal key' ? 2 : 1) }),
    ).rejects.toMatchObject(wrongKey)

    expect(await fixture.storage.list('')).toEqual(before)
  })

  test.each([
    ['gone', () => undefined],
    ['damaged', () => Buffer.alloc(200)],
  ])('with a keyring that is %s is refused with exit code 5', async (_, change) => {
    await using fixture = await aBarrierFixture()
    await fixture.open()
    await fixture.storage.update(keyringKey, change)

    await expect(fixture.open()).rejects.toMatchObject(wrongKey)
  })

  test('on a store that has records but no keys is refused with exit code 5', async () => {
    await using fixture = await aBarrierFixture()
    await fixture.storage.update('core/a', () => Buffer.from('x'))

    await expect(fixture.open()).rejects.toMatchObject(wrongKey)

    expect(await fixture.storage.listKeys('')).toEqual(['core/a'])
  })

  test('on a full disk can still read the store', async () => {
    await using fixture = await aBarrierFixture()
    await (await fixture.open()).view('').update('a', () => 'one')
    fixture.faults.arm('storage.before-commit', 'full')

    const barrier = await fixture.open()

    expect(await barrier.view('').get('a')).toBe('one')
  })
})

describe('a new seal key', () => {
  test('takes over at once, and the old one no longer opens anything', async () => {
    await using fixture = await aBarrierFixture()
    await (await fixture.open()).view('').update('a', () => 'one')

    const barrier = await fixture.open({ sealKey: sealKey(2), previousSealKey: sealKey(1) })

    expect(await barrier.view('').get('a')).toBe('one')
    await expect(fixture.open({ sealKey: sealKey(1) })).rejects.toMatchObject(wrongKey)
    expect(await (await fixture.open({ sealKey: sealKey(2) })).view('').get('a')).toBe('one')
  })

  test('that cannot be stored on a full disk leaves the store open, and the previous one in use', async () => {
    await using fixture = await aBarrierFixture()
    await (await fixture.open()).view('').write([{ key: 'a', value: 'kept' }])
    fixture.faults.arm('storage.before-commit', 'full')

    const barrier = await fixture.open({ sealKey: sealKey(2), previousSealKey: sealKey(1) })

    expect(await barrier.view('').get('a')).toBe('kept')
    expect(fixture.unreadable).toEqual(['barrier/root-key'])
    expect(await (await fixture.open()).view('').get('a')).toBe('kept')
  })

  test('with the previous one still configured changes nothing again', async () => {
    await using fixture = await aBarrierFixture()
    await fixture.open()
    await fixture.open({ sealKey: sealKey(2), previousSealKey: sealKey(1) })
    const before = await fixture.storage.get(rootKeyKey)

    await fixture.open({ sealKey: sealKey(2), previousSealKey: sealKey(1) })

    expect(await fixture.storage.get(rootKeyKey)).toEqual(before)
  })

  test('is refused when neither it nor the previous one opens the store', async () => {
    await using fixture = await aBarrierFixture()
    await fixture.open()

    await expect(fixture.open({ sealKey: sealKey(2), previousSealKey: sealKey(3) })).rejects.toMatchObject(
      wrongKey,
    )
  })
})

test('a sealed barrier answers every call with "Vault is sealed"', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  const view = barrier.view('core/')
  await view.update('a', () => 'one')

  barrier.seal()

  expect(barrier.isSealed()).toBe(true)
  const calls = [
    () => view.get('a'),
    () => view.list(''),
    () => view.listKeys(''),
    () => view.update('a', () => 'two'),
    () => view.take('a'),
    () => view.write([{ key: 'a', value: 'two' }]),
    () => view.write([{ key: 'a', value: undefined }]),
    () => view.putIfAbsent('b', 'two'),
    () => view.deletePrefix(''),
    () => view.view('x/').get('a'),
    () => barrier.rotate(),
    async () => barrier.keyStatus(),
  ]
  for (const call of calls)
    await expect(call()).rejects.toMatchObject({ kind: 'sealed', message: 'Vault is sealed' })
  expect(await (await fixture.open()).view('core/').get('a')).toBe('one')
})

test('an update requested before sealing and decided after it is refused', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  await barrier.view('').update('a', () => 'one')

  const updating = barrier.view('').update('a', () => 'two')
  barrier.seal()

  await expect(updating).rejects.toMatchObject({ kind: 'sealed' })
  expect(await (await fixture.open()).view('').get('a')).toBe('one')
})
