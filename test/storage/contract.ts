import { describe, expect, test } from 'vitest'
import { keep, type Storage } from '../../src/storage/storage.ts'
import { shared } from '../support/shared.ts'

/** A separate storage for one test, and the operations that the suite needs. */
export type StorageUnderTest = AsyncDisposable & {
  storage: Storage
  /** Makes the next commit fail as on a full disk. */
  failNextCommit(): void | Promise<void>
  /** Closes it and opens the same data again; undefined if nothing survives a close. */
  reopen: (() => Promise<Storage>) | undefined
}

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (value: Uint8Array | undefined) =>
  value === undefined ? undefined : new TextDecoder().decode(value)
const count = (value: Uint8Array | undefined) => Number(text(value) ?? 0)

async function fill(storage: Storage, keys: readonly string[]): Promise<void> {
  await storage.write(keys.map((key) => ({ key, value: bytes(key) })))
}

async function revisionOf(storage: Storage, key: string): Promise<number> {
  const record = await storage.get(key)
  if (record === undefined) throw new Error(`${key} is absent`)
  return record.revision
}

/** The promises of src/storage/storage.ts, for any adapter. */
export function describeStorage(name: string, open: () => Promise<StorageUnderTest>): void {
  describe(`storage: ${name}`, () => {
    const one = shared(open)
    /** What tests share that neither close it nor make it fail: to open one takes longer than most tests. */
    const emptied = async () => {
      const opened = await one()
      await opened.storage.deletePrefix('')
      return opened
    }

    test('a write may keep the revision it expects, and is refused on any other', async () => {
      const opened = await emptied()
      await fill(opened.storage, ['a', 'b'])
      const [a, b] = [await revisionOf(opened.storage, 'a'), await revisionOf(opened.storage, 'b')]

      const kept = await opened.storage.write([
        { key: 'a', value: bytes('again'), expect: a, keepsRevision: true },
      ])
      const refused = await opened.storage.write([
        { key: 'b', value: bytes('again'), expect: a, keepsRevision: true },
      ])

      expect([kept, refused]).toEqual([true, false])
      expect(await opened.storage.get('a')).toMatchObject({
        revision: a,
        value: expect.objectContaining({ length: 5 }),
      })
      expect(await revisionOf(opened.storage, 'b')).toBe(b)
      expect(await opened.storage.listKeys('')).toEqual(['a', 'b'])
      await opened.storage.write([{ key: 'a', value: bytes('new'), expect: a }])
      expect([a, b]).not.toContain(await revisionOf(opened.storage, 'a'))
    })

    test('a write that keeps a revision may share a commit with others', async () => {
      const opened = await emptied()
      const { storage } = opened
      await fill(storage, ['a', 'b', 'c'])
      const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((key) => revisionOf(storage, key)))
      const keeping = (key: string, expect = 0) =>
        storage.write([{ key, value: bytes(`${key} kept`), expect, keepsRevision: true }])

      const results = await Promise.all([
        keeping('a', a),
        storage.update('a', () => bytes('a later')),
        storage.update('b', () => bytes('b first')),
        keeping('b', b),
        keeping('c', c),
        storage.update('d', () => bytes('d')),
      ])

      expect(results.filter((result) => typeof result === 'boolean')).toEqual([true, false, true])
      expect((await storage.list('')).map(({ key, value }) => [key, text(value)])).toEqual([
        ['a', 'a later'],
        ['b', 'b first'],
        ['c', 'c kept'],
        ['d', 'd'],
      ])
      expect(await revisionOf(storage, 'c')).toBe(c)
      expect([a, b, c]).not.toContain(await revisionOf(storage, 'a'))
    })

    test('a key of 2,600 bytes is stored, and a longer one is absent and refused', async () => {
      const opened = await emptied()
      const { storage } = opened
      const longest = `${'é'.repeat(1_299)}ab`
      const tooLong = `${longest}c`
      await fill(storage, ['a', longest])
      const refusal = 'a name is too long: at most 2600 bytes can be stored'

      await expect(
        storage.write([
          { key: 'b', value: bytes('b') },
          { key: tooLong, value: bytes('x') },
        ]),
      ).rejects.toThrow(refusal)
      await expect(storage.update(tooLong, () => bytes('x'))).rejects.toThrow(refusal)
      expect(await storage.get(tooLong)).toBeUndefined()
      await storage.write([{ key: tooLong, value: undefined }])
      await storage.deletePrefix(tooLong)
      expect(await storage.listKeys(tooLong)).toEqual([])
      expect(await storage.listKeys('', { after: tooLong })).toEqual([])
      expect(await storage.listKeys('')).toEqual(['a', longest])
    })

    test('a record that was never written is absent', async () => {
      const opened = await emptied()

      expect(await opened.storage.get('a')).toBeUndefined()
    })

    test('a written record has its key, its bytes and a revision', async () => {
      const opened = await emptied()
      await opened.storage.update('a/b', () => bytes('one'))

      const record = await opened.storage.get('a/b')

      expect(record?.key).toBe('a/b')
      expect(text(record?.value)).toBe('one')
      expect(record?.revision).toBeGreaterThan(0)
    })

    test.each([
      ['empty', new Uint8Array(0)],
      ['with zero bytes', Uint8Array.from([0, 1, 0, 255, 0])],
      ['of 1 MiB', Uint8Array.from({ length: 1024 * 1024 }, (_, index) => index % 251)],
    ])('a value %s comes back byte for byte', async (_, value) => {
      const opened = await emptied()
      await opened.storage.update('a', () => value)

      const record = await opened.storage.get('a')

      expect(record !== undefined && Buffer.compare(record.value, value)).toBe(0)
    })

    test('keys that are no well-formed text are refused', async () => {
      const opened = await emptied()

      await expect(opened.storage.update('a/\ud800', () => bytes('x'))).rejects.toMatchObject({
        kind: 'invalid',
      })
      await expect(opened.storage.get('a/\ud800')).rejects.toMatchObject({ kind: 'invalid' })
    })

    describe('list', () => {
      const ordered = [
        '',
        'a',
        'a ',
        'a!',
        'a/',
        'a/B',
        'a/a',
        'a/a/b',
        'a/é',
        'a/\uffff',
        'a/\u{1f600}',
        'a/\u{10ffff}',
        'a/\u{10ffff}z',
        'a0',
        'b',
        '\u{10ffff}',
      ]

      test('gives everything in byte order of the key, whatever the order of writing', async () => {
        const opened = await emptied()
        await fill(opened.storage, [...ordered].reverse())

        expect(await opened.storage.listKeys('')).toEqual(ordered)
        expect((await opened.storage.list('')).map(({ key, value }) => [key, text(value)])).toEqual(
          ordered.map((key) => [key, key]),
        )
      })

      test.each(['', 'a', 'a/', 'a/a', 'a0', 'a/\u{10ffff}', 'a/\ud7ff', 'é', 'zz', '\u{10ffff}'])(
        'gives exactly the keys that start with %j',
        async (prefix) => {
          const opened = await emptied()
          await fill(opened.storage, ordered)

          expect(await opened.storage.listKeys(prefix)).toEqual(
            ordered.filter((key) => key.startsWith(prefix)),
          )
        },
      )

      test.each([
        { after: '', expected: ['a/', 'a/B', 'a/a'] },
        { after: 'a', expected: ['a/', 'a/B', 'a/a'] },
        { after: 'a/', expected: ['a/B', 'a/a', 'a/a/b'] },
        { after: 'a/Z', expected: ['a/a', 'a/a/b', 'a/é'] },
        { after: 'a/\u{1f600}', expected: ['a/\u{10ffff}', 'a/\u{10ffff}z'] },
        { after: 'a/\u{10ffff}z', expected: [] },
        { after: 'b', expected: [] },
      ])('goes on after $after, also when that key is not there', async ({ after, expected }) => {
        const opened = await emptied()
        await fill(opened.storage, ordered)

        expect(await opened.storage.listKeys('a/', { after, limit: 3 })).toEqual(expected)
        expect((await opened.storage.list('a/', { after, limit: 3 })).map(({ key }) => key)).toEqual(expected)
      })

      test('of more rows than are read at once is complete, in order, and paged without gap or repeat', async () => {
        const opened = await emptied()
        const keys = Array.from({ length: 2_500 }, (_, index) => `n/${String(index).padStart(5, '0')}`)
        await fill(opened.storage, keys)

        const pages: string[][] = []
        for (let page = await opened.storage.listKeys('n/', { limit: 1_100 }); page.length > 0; ) {
          pages.push(page)
          page = await opened.storage.listKeys('n/', { limit: 1_100, after: page.at(-1) ?? '' })
        }

        expect((await opened.storage.list('n/')).map(({ key }) => key)).toEqual(keys)
        expect(pages.flat()).toEqual(keys)
        expect(await opened.storage.listKeys('n/', { limit: 0 })).toEqual([])
      })
    })

    test('a revision changes with each write and does not come back after a delete', async () => {
      const opened = await emptied()
      const seen: number[] = []
      for (const value of ['one', 'one', undefined, 'two', undefined, 'three']) {
        await opened.storage.update('a', () => (value === undefined ? undefined : bytes(value)))
        if (value !== undefined) seen.push(await revisionOf(opened.storage, 'a'))
      }

      expect(new Set(seen).size).toBe(4)
    })

    describe('update', () => {
      test('gets the current value, and nothing of an absent record', async () => {
        const opened = await emptied()
        const seen: (string | undefined)[] = []
        for (const next of ['one', 'two']) {
          await opened.storage.update('a', (current) => {
            seen.push(text(current))
            return bytes(next)
          })
        }

        expect(seen).toEqual([undefined, 'one'])
      })

      test('that keeps leaves value and revision as they were', async () => {
        const opened = await emptied()
        await fill(opened.storage, ['a'])
        const before = await opened.storage.get('a')

        await opened.storage.update('a', () => keep)

        expect(await opened.storage.get('a')).toEqual(before)
      })

      test('that gives undefined deletes', async () => {
        const opened = await emptied()
        await fill(opened.storage, ['a'])

        await opened.storage.update('a', () => undefined)

        expect(await opened.storage.get('a')).toBeUndefined()
      })

      test('of one key by 32 callers at once counts each of them', async () => {
        const opened = await emptied()
        const increment = () => opened.storage.update('n', (current) => bytes(String(count(current) + 1)))

        await Promise.all(Array.from({ length: 32 }, increment))

        expect(count((await opened.storage.get('n'))?.value)).toBe(32)
      })

      test('that throws rejects alone with what it threw: 31 of 32 are written', async () => {
        const opened = await emptied()
        const steps = Array.from({ length: 32 }, (_, index) =>
          opened.storage.update(`n/${index}`, () => {
            if (index === 7) throw new Error('the seventh')
            return bytes(String(index))
          }),
        )

        const outcomes = await Promise.allSettled(steps)

        expect(
          outcomes.flatMap((outcome, index) =>
            outcome.status === 'rejected' ? [[index, outcome.reason.message]] : [],
          ),
        ).toEqual([[7, 'the seventh']])
        expect(await opened.storage.listKeys('n/')).toHaveLength(31)
      })
    })

    test('a write of an absent record lets one of several callers write', async () => {
      const opened = await emptied()

      const written = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          opened.storage.write([{ key: 'a', value: bytes(String(index)), expect: 'absent' }]),
        ),
      )

      expect(written.filter(Boolean)).toHaveLength(1)
      expect(text((await opened.storage.get('a'))?.value)).toBe(String(written.indexOf(true)))
    })

    describe('write', () => {
      test('puts and deletes in one step', async () => {
        const opened = await emptied()
        await fill(opened.storage, ['a', 'b'])

        const written = await opened.storage.write([
          { key: 'a', value: undefined },
          { key: 'b', value: bytes('new') },
          { key: 'c', value: bytes('c') },
        ])

        expect(written).toBe(true)
        expect((await opened.storage.list('')).map(({ key, value }) => [key, text(value)])).toEqual([
          ['b', 'new'],
          ['c', 'c'],
        ])
      })

      test.each([
        { name: 'absent, and it is there', key: 'a', expected: 'absent' as const },
        { name: 'a revision, and it is absent', key: 'z', expected: 1 },
        { name: 'another revision', key: 'a', expected: 999_999 },
      ])('writes nothing when it expects $name', async ({ key, expected }) => {
        const opened = await emptied()
        await fill(opened.storage, ['a'])
        const before = await opened.storage.list('')

        const written = await opened.storage.write([
          { key: 'b', value: bytes('b') },
          { key, value: bytes('x'), expect: expected },
        ])

        expect(written).toBe(false)
        expect(await opened.storage.list('')).toEqual(before)
      })

      test('goes through when every expectation holds', async () => {
        const opened = await emptied()
        await fill(opened.storage, ['a'])

        const written = await opened.storage.write([
          { key: 'a', value: bytes('new'), expect: await revisionOf(opened.storage, 'a') },
          { key: 'b', value: bytes('b'), expect: 'absent' },
        ])

        expect(written).toBe(true)
      })

      test('with the same expected revision succeeds for one of several callers', async () => {
        const opened = await emptied()
        await fill(opened.storage, ['a'])
        const revision = await revisionOf(opened.storage, 'a')

        const written = await Promise.all(
          Array.from({ length: 8 }, () =>
            opened.storage.write([{ key: 'a', value: bytes('x'), expect: revision }]),
          ),
        )

        expect(written.filter(Boolean)).toHaveLength(1)
      })

      test('of nothing succeeds', async () => {
        const opened = await emptied()

        expect(await opened.storage.write([])).toBe(true)
      })
    })

    test('steps asked for at the same time see each other in the order they were asked for', async () => {
      const opened = await emptied()
      const { storage } = opened

      const outcomes = await Promise.all([
        storage.write([{ key: 'a', value: bytes('1'), expect: 'absent' }]),
        storage.update('a', () => undefined),
        storage.update('a', () => undefined),
        storage.write([{ key: 'a', value: bytes('2'), expect: 'absent' }]),
        storage.write([{ key: 'a', value: bytes('3'), expect: 'absent' }]),
        storage.deletePrefix('a'),
        storage.write([{ key: 'a', value: bytes('4'), expect: 'absent' }]),
      ])

      expect(outcomes).toEqual([true, undefined, undefined, true, false, undefined, true])
      expect(text((await storage.get('a'))?.value)).toBe('4')
    })

    test('deletePrefix deletes everything under the prefix and nothing beside it', async () => {
      const opened = await emptied()
      const inside = Array.from({ length: 1_234 }, (_, index) => `p/${index}`)
      await fill(opened.storage, [...inside, 'p', 'p0', 'o/1', 'p.'])

      await opened.storage.deletePrefix('p/')

      expect(await opened.storage.listKeys('')).toEqual(['o/1', 'p', 'p.', 'p0'])
    })

    test('a failed commit rejects its whole group and writes nothing; the next one works', async () => {
      await using opened = await open()
      const { storage } = opened
      await fill(storage, ['a', 'b'])
      await opened.failNextCommit()

      const outcomes = await Promise.allSettled([
        storage.update('a', () => bytes('lost')),
        storage.update('b', () => undefined),
        storage.update('c', () => bytes('c')),
        storage.update('a', () => keep),
      ])

      expect(
        outcomes.map(
          (outcome) => outcome.status === 'rejected' && [outcome.reason.kind, outcome.reason.message],
        ),
      ).toEqual(Array.from({ length: 4 }, () => ['unavailable', 'storage is full']))
      expect((await storage.list('')).map(({ key, value }) => [key, text(value)])).toEqual([
        ['a', 'a'],
        ['b', 'b'],
      ])
      expect(await storage.write([{ key: 'c', value: bytes('c'), expect: 'absent' }])).toBe(true)
      expect(text((await storage.get('c'))?.value)).toBe('c')
    })

    test('closing finishes what was asked for before, and refuses what comes after', async () => {
      await using opened = await open()
      const writing = Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          opened.storage.write([{ key: `n/${index}`, value: bytes('x'), expect: 'absent' }]),
        ),
      )

      await opened.storage[Symbol.asyncDispose]()

      expect(await writing).not.toContain(false)
      for (const late of [
        opened.storage.get('n/1'),
        opened.storage.list('n/'),
        opened.storage.write([{ key: 'm', value: bytes('x'), expect: 'absent' }]),
      ]) {
        await expect(late).rejects.toMatchObject({ kind: 'unavailable', message: 'storage is unavailable' })
      }
    })

    test('records and revisions outlive a close', async (context) => {
      await using opened = await open()
      if (opened.reopen === undefined) return context.skip()
      await fill(opened.storage, ['a', 'b', 'c'])
      const deleted = await opened.storage.get('c')
      await opened.storage.write([{ key: 'c', value: undefined }])
      const before = await opened.storage.list('')

      const storage = await opened.reopen()
      const after = await storage.list('')
      await storage.write([{ key: 'c', value: bytes('again'), expect: 'absent' }])

      expect(after).toEqual(before)
      expect(deleted).not.toBeUndefined()
      expect([deleted?.revision, ...before.map(({ revision }) => revision)]).not.toContain(
        await revisionOf(storage, 'c'),
      )
    })
  })
}
