import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { insteadOfEngine, insteadOfMethod } from '../../src/commands/import/instead.ts'
import { Pace } from '../../src/commands/import/pace.ts'

describe('the pace of requests', () => {
  test('is the time that the server asks for, and slower from then on', () => {
    const pace = new Pace()
    const before = [pace.turn(0), pace.turn(0), pace.turn(0)]

    pace.tooFast(0, 5000)
    const after = [pace.turn(0), pace.turn(0), pace.turn(0)]

    expect(before).toEqual([0, 0, 0])
    expect(after).toEqual([5000, 5050, 5100])
  })

  test('counts one refusal of several requests that were under way together, and waits a minute at most', () => {
    const pace = new Pace()

    for (let refused = 0; refused < 16; refused += 1) pace.tooFast(refused, 3_600_000)

    expect([pace.turn(1), pace.turn(1)]).toEqual([59_999, 60_049])
  })

  test('pauses longer while nothing is answered, and eases with answers', () => {
    const pace = new Pace()
    pace.tooFast(0, 0)
    const pauses = [pace.turn(0)]
    for (const now of [1000, 2000, 4000]) {
      pace.tooFast(now + 100, 0)
      pauses.push(pace.turn(now + 100))
    }

    for (let answers = 0; answers < 200; answers += 1) pace.answered()

    expect(pauses).toEqual([1000, 1000, 2000, 4000])
    expect([pace.turn(60_000), pace.turn(60_000)]).toEqual([0, 0])
  })
})

describe('the plan says what serves instead of each type that the page lists as not offered', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/compatibility.md'), 'utf8')
  const missing = (section: string) =>
    (page.split(`## ${section}\n`)[1]?.split('\n## ')[0] ?? '')
      .split('\n')
      .filter((row) => row.includes('| not offered |'))
      .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([a-z]+)`/g)].map(([, type = '']) => type))

  test.each([
    ['Login methods', insteadOfMethod, 'saml'],
    ['Secrets engines', insteadOfEngine, 'transit'],
  ] as const)('%s', (section, insteadOf, one) => {
    const types = missing(section)

    expect(types).toContain(one)
    for (const type of types) expect(insteadOf(type), type).not.toBe(insteadOf('nobody knows it'))
  })
})
