import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test } from 'vitest'
import { type AccompaniedWrite, accompanied, type Companion } from '../../../src/core/barrier/companion.ts'
import type { ViewRecord } from '../../../src/core/barrier/view.ts'
import { isJsonNumber, numberText } from '../../../src/lib/text/json.ts'
import { keep } from '../../../src/storage/storage.ts'
import { aBarrierFixture } from './barrier-fixture.ts'

describe('a view', () => {
  test('keeps its records under its prefix and names keys without it', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    const view = barrier.view('mount/1/')
    await barrier.view('mount/10/').update('role/x', () => 'not ours')
    await view.write([
      { key: 'role/b', value: 2 },
      { key: 'role/a', value: 1 },
      { key: 'config', value: {} },
    ])

    expect(await view.listKeys('')).toEqual(['config', 'role/a', 'role/b'])
    expect((await view.list('role/')).map(({ key, value }) => [key, value])).toEqual([
      ['role/a', 1],
      ['role/b', 2],
    ])
    expect(await view.listKeys('role/', { after: 'role/a', limit: 5 })).toEqual(['role/b'])
    expect(await view.view('role/').get('a')).toBe(1)
    expect(await fixture.storage.listKeys('mount/1/')).toEqual([
      'mount/1/config',
      'mount/1/role/a',
      'mount/1/role/b',
    ])
  })

  test('writes to several places in one step', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    const mount = barrier.view('mount/1/', { numbers: 'literal' })
    const core = barrier.view('core/')
    await mount.write([{ key: 'intent/a', value: 1 }])
    const elsewhere = [
      mount.fromRoot({ key: 'intent/a', value: undefined }),
      mount.view('row/').fromRoot({ key: 'b', value: 2 }),
    ]

    const refused = await core.write([{ key: 'lease/b', value: true, expect: 7 }, ...elsewhere])
    expect([refused, await mount.listKeys('')]).toEqual([false, ['intent/a']])
    const written = await core.write([
      { key: 'lease/b', value: true, expect: 'absent' },
      ...elsewhere.map((entry) => core.fromRoot(entry)),
    ])

    expect([written, await mount.listKeys(''), await core.listKeys('')]).toEqual([
      true,
      ['row/b'],
      ['lease/b'],
    ])
    expect(await mount.view('', { numbers: 'plain' }).get('row/b')).toBe(2)
  })

  test.each([[null], [false], [0], [''], ['é😀\u0000'], [[1, [2]]], [{ a: { b: [] } }]])(
    'returns what was written: %j',
    async (value) => {
      await using fixture = await aBarrierFixture()
      const view = (await fixture.open()).view('')
      await view.update('a', () => value)

      expect(await view.get('a')).toEqual(value)
    },
  )

  test('stores nothing in clear text', async () => {
    await using fixture = await aBarrierFixture()
    await (await fixture.open()).view('').update('a', () => ({ password: 'hunter2-hunter2' }))

    const record = await fixture.storage.get('a')

    expect(Buffer.from(record?.value ?? []).toString('latin1')).not.toContain('hunter2')
  })

  test('seals the same value differently each time', async () => {
    await using fixture = await aBarrierFixture()
    const view = (await fixture.open()).view('')
    await view.write([
      { key: 'a', value: 'same' },
      { key: 'b', value: 'same' },
    ])

    const stored = await fixture.storage.list('')
    const bodies = stored
      .filter(({ key }) => key === 'a' || key === 'b')
      .map(({ value }) => Buffer.from(value).toString('hex'))

    expect(new Set(bodies).size).toBe(2)
  })

  test('with literal numbers reads and writes numbers as they were written', async () => {
    await using fixture = await aBarrierFixture()
    const view = (await fixture.open()).view('', { numbers: 'literal' })
    await view.update('a', () => ({ n: [JSON.rawJSON('1e3'), JSON.rawJSON('12345678901234567890')] }))
    await view.update('a', (current) => current)

    const value = await view.get('a')

    expect(JSON.stringify(value)).toBe('{"n":[1e3,12345678901234567890]}')
    expect(await fixture.open().then((barrier) => barrier.view('').get('a'))).toEqual({
      n: [1000, 12345678901234567000],
    })
    expect(await view.view('', { numbers: 'plain' }).get('a')).toEqual({ n: [1000, 12345678901234567000] })
  })

  test('passes its handling of numbers to narrower views', async () => {
    await using fixture = await aBarrierFixture()
    const view = (await fixture.open()).view('', { numbers: 'literal' }).view('x/')
    await view.update('a', () => JSON.rawJSON('1.0'))

    const value = await view.get('a')

    expect(isJsonNumber(value) && numberText(value)).toBe('1.0')
  })

  test('update returns the value after the step', async () => {
    await using fixture = await aBarrierFixture()
    const view = (await fixture.open()).view('')

    expect(await view.update('a', (current) => [current ?? 'none'])).toEqual(['none'])
    expect(await view.update('a', () => keep)).toEqual(['none'])
    expect(await view.update('a', () => undefined)).toBeUndefined()
    expect(await view.update('a', () => keep)).toBeUndefined()
    expect(await view.get('a')).toBeUndefined()
  })

  test('update rethrows what its change throws', async () => {
    await using fixture = await aBarrierFixture()
    const view = (await fixture.open()).view('')
    const refusal = new Error('no')

    await expect(
      view.update('a', () => {
        throw refusal
      }),
    ).rejects.toBe(refusal)
  })

  test('take gives the value to one of several callers', async () => {
    await using fixture = await aBarrierFixture()
    const view = (await fixture.open()).view('')
    await view.update('a', () => 'once')

    const taken = await Promise.all([view.take('a'), view.take('a'), view.take('a')])

    expect(taken.filter((value) => value !== undefined)).toEqual(['once'])
  })

  test('write and putIfAbsent keep their conditions', async () => {
    await using fixture = await aBarrierFixture()
    const view = (await fixture.open()).view('')

    expect(await view.putIfAbsent('a', 1)).toBe(true)
    expect(await view.putIfAbsent('a', 2)).toBe(false)
    const [record] = await view.list('a')
    expect(await view.write([{ key: 'a', value: 3, expect: record?.revision ?? 0 }])).toBe(true)
    expect(await view.write([{ key: 'a', value: 4, expect: record?.revision ?? 0 }])).toBe(false)
    expect(await view.write([{ key: 'a', value: undefined }])).toBe(true)
    expect(await view.get('a')).toBeUndefined()
  })

  test('deletePrefix stays inside the view', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    const view = barrier.view('m/')
    await view.write(['a/1', 'a/2', 'b'].map((key) => ({ key, value: 1 })))
    await barrier.view('a/').update('1', () => 'outside')

    await view.deletePrefix('a/')

    expect(await view.listKeys('')).toEqual(['b'])
    expect(await barrier.view('a/').get('1')).toBe('outside')
  })
})

describe.each([
  ['moved from another key', async (value: Uint8Array) => value, true],
  [
    'with a flipped bit',
    async (value: Uint8Array) => Buffer.from(value.map((byte, index) => (index === 20 ? byte ^ 1 : byte))),
    false,
  ],
  ['cut short', async (value: Uint8Array) => value.subarray(0, -1), false],
  ['empty', async () => new Uint8Array(0), false],
  ['never sealed', async () => Buffer.from('{"policies":["root"],"padding":"long enough for a tag"}'), false],
  [
    'of an unknown term',
    async (value: Uint8Array) => Buffer.from(value.map((byte, index) => (index === 3 ? 9 : byte))),
    false,
  ],
])('a record %s', (_, tamper, isMoved) => {
  test('is an internal error named in the log, for every call, and stays where it is', async () => {
    await using fixture = await aBarrierFixture()
    const view = (await fixture.open()).view('core/')
    await view.update('a', () => ({ policies: ['default'] }))
    const stored = await fixture.storage.get('core/a')
    if (stored === undefined) throw new Error('absent')
    const target = isMoved ? 'core/b' : 'core/a'
    const tampered = await tamper(stored.value)
    await fixture.storage.update(target, () => tampered)
    const before = await fixture.storage.list('core/')
    const key = target.slice('core/'.length)

    const calls = [
      () => view.get(key),
      () => view.list(''),
      () => view.update(key, () => 'new'),
      () => view.take(key),
    ]
    for (const call of calls)
      await expect(call()).rejects.toMatchObject({ kind: 'internal', message: 'internal error' })

    expect(fixture.unreadable).toEqual([target, target, target, target])
    expect(await view.putIfAbsent(key, 'new')).toBe(false)
    expect(await fixture.storage.list('core/')).toEqual(before)
  })
})

describe('many records', () => {
  const count = 900
  const keyOf = (number: number) => `many/${String(number).padStart(4, '0')}`

  /** A view with so many values, of which the last are sealed under a newer term than the first. */
  async function aFullView() {
    await using opened = new AsyncDisposableStack()
    const fixture = opened.use(await aBarrierFixture())
    const { storage } = fixture
    const barrier = await fixture.open({ storage })
    const view = barrier.view('mount/', { numbers: 'literal' })
    const entries = Array.from({ length: count }, (_, number) => ({
      key: keyOf(number),
      value: { number: JSON.rawJSON(`${number}.0`), text: 'é' },
    }))
    await view.write(entries.slice(0, 700))
    await barrier.rotate()
    await view.write(entries.slice(700))
    await view.write([{ key: 'many0', value: 'not ours' }])
    const opening = opened.move()
    return { fixture, barrier, view, [Symbol.asyncDispose]: () => opening.disposeAsync() }
  }

  const numbersOf = (pages: readonly (readonly ViewRecord[])[]) =>
    pages.flat().map(({ value }) => numberText((value as { number: object }).number as never))

  test('come in pages, in the order of their keys', async () => {
    await using full = await aFullView()

    const all = numbersOf(await Array.fromAsync(full.view.pages('many/')))
    const rest = numbersOf(await Array.fromAsync(full.view.pages('many/', keyOf(99))))

    expect(all).toEqual(Array.from({ length: count }, (_, number) => `${number}.0`))
    expect(rest).toEqual(all.slice(100))
  })

  test('are refused if one of them cannot be opened, and the log names it', async () => {
    await using full = await aFullView()
    const key = `mount/${keyOf(800)}`
    await full.fixture.storage.update(key, (sealed) => Buffer.from(sealed ?? []).fill(1, 30))

    await expect(Array.fromAsync(full.view.pages('many/'))).rejects.toMatchObject({ kind: 'internal' })

    expect(full.fixture.unreadable).toEqual([key])
  })

  test('are refused once the barrier is sealed', async () => {
    await using full = await aFullView()
    const pages = full.view.pages('many/')
    const read: unknown[] = []

    const reading = (async () => {
      for await (const page of pages) {
        read.push(...page)
        if (read.length > 512) full.barrier.seal()
      }
    })()

    await expect(reading).rejects.toMatchObject({ kind: 'sealed' })
    expect(read.length).toBeLessThan(count)
  })
})

describe('a write with a companion', () => {
  const companionOf = (entriesFor: Companion['entriesFor']) => {
    const seen: AccompaniedWrite[] = []
    let isWritten = false
    const companion: Companion = {
      concerns: (key) => !isWritten && key === 'a/record',
      entriesFor: async (write) => {
        seen.push(write)
        return await entriesFor(write)
      },
      written: () => {
        isWritten = true
      },
    }
    return { companion, seen, isWritten: () => isWritten }
  }
  const also = () => Promise.resolve([{ key: 'also', value: true, from: 'root' as const }])

  test('is one commit with what the companion adds, once', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    const view = barrier.view('a/')
    await view.write([{ key: 'record', value: 1 }])
    const { companion, seen, isWritten } = companionOf(also)

    await accompanied(companion, async () => {
      await view.write([{ key: 'other', value: 1 }])
      expect(isWritten()).toBe(false)
      await view.update('record', () => 2)
      await view.update('record', () => 3)
    })

    expect(seen).toEqual([{ key: 'a/record', before: 1, after: 2 }])
    expect(await view.get('record')).toBe(3)
    expect(await barrier.view('').get('also')).toBe(true)
  })

  test('writes nothing if an expectation does not hold', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    const view = barrier.view('a/')
    await view.write([{ key: 'record', value: 1 }])
    const { companion, isWritten } = companionOf(also)

    const written = await accompanied(companion, async () => [
      await view.write([{ key: 'record', value: 2, expect: 'absent' }]),
      await view.write([
        { key: 'record', value: 2 },
        { key: 'guard', value: 1, expect: 77 },
      ]),
      await view.update('record', () => keep),
    ])

    expect(written).toEqual([false, false, 1])
    expect(isWritten()).toBe(false)
    expect(await barrier.view('').get('also')).toBeUndefined()
    expect(await view.get('record')).toBe(1)
  })

  test('is decided again if the record was changed meanwhile', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    const view = barrier.view('a/')
    await view.write([{ key: 'record', value: 1 }])
    let changes = 0
    const { companion, seen } = companionOf(async (write) => {
      // as another server does
      if (++changes <= 3) await outside(() => view.write([{ key: 'record', value: 10 + changes }]))
      return await also().then((entries) => [
        ...entries,
        { key: 'before', value: write.before, from: 'root' },
      ])
    })
    const outside = AsyncLocalStorage.snapshot() as <T>(work: () => T) => T

    await accompanied(companion, () => view.update('record', (current) => Number(current) + 100))

    expect(seen.map(({ before, after }) => [before, after])).toEqual([
      [1, 101],
      [11, 111],
      [12, 112],
      [13, 113],
    ])
    expect(await view.get('record')).toBe(113)
    expect(await barrier.view('').get('before')).toBe(13)
  })
})
