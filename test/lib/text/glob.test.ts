import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { edgeGlobMatches, globMatches } from '../../../src/lib/text/glob.ts'

/** The same rule in its simplest form: slow, but right. */
function matchesPlainly(pattern: string, text: string): boolean {
  if (pattern === '') return text === ''
  const rest = pattern.slice(1)
  if (pattern.startsWith('*'))
    return Array.from({ length: text.length + 1 }).some((_, at) => matchesPlainly(rest, text.slice(at)))
  return text !== '' && text[0] === pattern[0] && matchesPlainly(rest, text.slice(1))
}

test.each([
  ['', '', true],
  ['', 'a', false],
  ['*', '', true],
  ['*', 'anything', true],
  ['**', 'a', true],
  ['4*', '42', true],
  ['4*', 'd42', false],
  ['*2', '42x', false],
  ['4*d', '42x', false],
  ['42*', '42x', true],
  ['*@*.com', 'test@example.com', true],
  ['r*@*.com', 'test@example.com', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['*ab*ab*', 'abab', true],
  ['*ab*ab*', 'aab', false],
  ['a?c', 'abc', false],
  ['a.c', 'abc', false],
  ['[a]', 'a', false],
  ['A*', 'abc', false],
  ['*\u{1f600}*', 'x\u{1f600}', true],
  ['a*\n*b', 'a\n\nb', true],
])('%j against %j: %s', (pattern, text, expected) => {
  expect(globMatches(pattern, text)).toBe(expected)
})

test('a star matches any run of characters, anywhere', () => {
  const letters = (maxLength: number, ...of: string[]) =>
    fc.array(fc.constantFrom(...of), { maxLength }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(letters(8, '*', 'a', 'b'), letters(10, 'a', 'b'), (pattern, text) => {
      expect(globMatches(pattern, text)).toBe(matchesPlainly(pattern, text))
    }),
    { numRuns: 5000 },
  )
})

test('long literal parts are found', () => {
  const letters = fc
    .array(fc.constantFrom('a', 'b'), { minLength: 33, maxLength: 40 })
    .map((parts) => parts.join(''))
  const around = fc.array(fc.constantFrom('a', 'b'), { maxLength: 60 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(letters, around, around, (piece, before, after) => {
      expect(globMatches(`*${piece}*`, before + piece + after)).toBe(true)
      expect(globMatches(`*${piece}*`, before + after)).toBe((before + after).includes(piece))
      expect(edgeGlobMatches(`*${piece}*`, before + after)).toBe((before + after).includes(piece))
    }),
  )
})

describe('no pattern is slow', () => {
  const text = 'a'.repeat(500_000)

  test.each([
    ['many stars', `${'*a'.repeat(50_000)}*b`],
    ['a long piece that nearly fits', `*${'a'.repeat(100_000)}b*`],
    ['a long piece that fits but for its start', `*b${'a'.repeat(100_000)}*`],
    ['only stars', `${'*'.repeat(200_000)}b`],
  ])('%s', (_, pattern) => {
    expect(globMatches(pattern, text)).toBe(false)
    expect(edgeGlobMatches(pattern, text)).toBe(false)
  })
})

test.each([
  ['good*', 'goodness', true],
  ['good*', 'no good', false],
  ['*good', 'no good', true],
  ['*good', 'goodness', false],
  ['*good*', 'some goodness', true],
  ['good', 'good', true],
  ['good', 'goods', false],
  ['go*d', 'good', false],
  ['go*d', 'go*d', true],
  ['*', '*', true],
  ['*', 'x', false],
  ['**', 'x', true],
  ['', '', true],
  ['', 'x', false],
])('with stars at the ends only, %j against %j: %s', (pattern, text, expected) => {
  expect(edgeGlobMatches(pattern, text)).toBe(expected)
})
