import { describe, expect, test } from 'vitest'
import { SourceHistory } from '../../../../src/jwt/keys/source-history.ts'
import { jsonNumber } from '../../../../src/lib/text/json.ts'
import { nearMiss } from '../../../../src/logins/refusals/hints.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

describe('how two values differ', () => {
  test.each<{ expected: unknown[]; seen: unknown[]; isLiteral?: boolean; hint: string }>([
    { expected: ['a'], seen: ['b'], hint: '' },
    { expected: [], seen: ['b'], hint: '' },
    { expected: ['a'], seen: [], hint: '' },
    { expected: ['x', 'a'], seen: ['y', 'A'], hint: 'differs_in_case' },
    { expected: ['a b'], seen: ['ab'], hint: 'differs_in_white_space' },
    { expected: ['https://a/'], seen: ['https://a'], hint: 'differs_in_trailing_slash' },
    { expected: [jsonNumber('5')], seen: ['5'], hint: 'differs_in_type' },
    { expected: ['5'], seen: [5], hint: 'differs_in_type' },
    {
      expected: [jsonNumber('123456789012345678901')],
      seen: [123456789012345678901n],
      hint: 'differs_in_type',
    },
    { expected: ['true'], seen: [true], hint: 'differs_in_type' },
    { expected: [true], seen: [false], hint: '' },
    { expected: ['a,b'], seen: ['b'], hint: 'differs_in_type' },
    { expected: ['["a", "b"]'], seen: ['a'], hint: 'differs_in_type' },
    { expected: ['a'], seen: ['a, b'], hint: 'differs_in_type' },
    { expected: ['refs/*'], seen: ['refs/x'], hint: 'glob_in_string_mode' },
    { expected: ['refs/*'], seen: ['refs/x'], isLiteral: false, hint: '' },
    { expected: [{}], seen: [null], hint: '' },
  ])('$expected and $seen: $hint', ({ expected, seen, isLiteral = true, hint }) => {
    expect(nearMiss({ expected, seen, isLiteral })).toBe(hint)
  })

  test('only a part of long or many values is examined', () => {
    const many = Array.from({ length: 100_000 }, (_, index) => `${index}`)
    const long = `${'x'.repeat(1_000_000)}`

    expect(nearMiss({ expected: many, seen: many.map((one) => `${one}-`), isLiteral: true })).toBe('')
    expect(nearMiss({ expected: [long], seen: [long.toUpperCase()], isLiteral: true })).toBe(
      'differs_in_case',
    )
  })
})

describe('the clock of another server', () => {
  const now = Date.UTC(2026, 0, 2, 3, 4, 5)
  const ignore = () => {}
  test.each([
    { name: 'the same', date: now, took: 0, offset: 0 },
    { name: 'three seconds behind', date: now - 3000, took: 0, offset: -3 },
    { name: 'a minute ahead', date: now + 60_000, took: 0, offset: 60 },
    { name: 'half the round trip is the way back', date: now + 2000, took: 4, offset: 0 },
  ])('$name', async ({ date, took, offset }) => {
    const clock = new FakeClock(now)
    const fetches: boolean[] = []
    const history = new SourceHistory(clock)

    await history.of(
      async (note) => {
        note.date = new Date(date).toUTCString()
        clock.advance(took)
      },
      (succeeded) => void fetches.push(succeeded),
    )

    expect(history.offset).toEqual({
      seconds: offset,
      measuredAt: now + took * 1000,
      isEstimate: false,
      isCertain: true,
    })
    expect(history).toMatchObject({
      fetches: 1,
      isReachable: true,
      fetchedAt: now + took * 1000,
      lastError: undefined,
    })
    expect(fetches).toEqual([true])
  })

  test('a response without a date, and a failed one, keep the previous offset', async () => {
    const clock = new FakeClock(now)
    const history = new SourceHistory(clock)
    await history.of(async (note) => {
      note.date = new Date(now).toUTCString()
    }, ignore)
    await history.of(async () => undefined, ignore)

    await expect(history.of(() => Promise.reject(new Error('down')), ignore)).rejects.toThrow('down')

    expect(history).toMatchObject({
      fetches: 3,
      isReachable: false,
      fetchedAt: now,
      lastError: { time: now, text: 'down' },
      offset: { seconds: 0 },
    })
  })
})
