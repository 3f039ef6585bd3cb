import { expect, test } from 'vitest'
import { metadataProblem, sameMetadata, shownOfLogin } from '../../../src/core/identity/metadata.ts'

const pair = (key: string, value: string, problem: string) =>
  `failed to load metadata pair (${JSON.stringify(key)}, ${JSON.stringify(value)}): ${problem}`

test.each([
  { key: '', value: 'v', problem: 'key cannot be blank' },
  { key: 'a b', value: 'v', problem: 'key contains invalid characters' },
  { key: 'ä', value: 'v', problem: 'key contains invalid characters' },
  { key: 'a\n', value: 'v', problem: 'key contains invalid characters' },
  { key: 'k'.repeat(129), value: 'v', problem: 'key is too long (limit: 128 characters)' },
  { key: 'vault-x', value: 'v', problem: 'key prefix "vault-" is reserved for internal use' },
  { key: 'k', value: 'v'.repeat(513), problem: 'value is too long (limit: 512 characters)' },
])('a pair is refused: $problem', ({ key, value, problem }) => {
  expect(metadataProblem({ [key]: value })).toBe(pair(key, value, problem))
})

test('the error repeats only part of a value that is far too long', () => {
  expect(metadataProblem({ k: 'v'.repeat(100_000) })?.length).toBeLessThan(1200)
})

const pairs = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`aZ0=/+_-${at}`.padEnd(128, 'x'), 'v'.repeat(512)]),
  )

test('64 pairs at the limits are accepted, 65 are refused', () => {
  expect(metadataProblem(pairs(64))).toBeUndefined()
  expect(metadataProblem(pairs(65))).toBe('metadata cannot contain more than 64 key/value pairs')
})

test.each<{ a: Record<string, string> | null; b: Record<string, string>; same: boolean }>([
  { a: null, b: {}, same: true },
  { a: {}, b: { k: 'v' }, same: false },
  { a: { k: 'v', l: 'w' }, b: { l: 'w', k: 'v' }, same: true },
  { a: { k: 'v' }, b: { k: 'w' }, same: false },
  { a: { k: 'v' }, b: { l: 'v' }, same: false },
  { a: { k: 'v' }, b: { k: 'v', l: 'w' }, same: false },
])('$a and $b are the same: $same', ({ a, b, same }) => {
  expect(sameMetadata(a, b)).toBe(same)
})

test('of a value that a login brings, the error repeats less', () => {
  expect(metadataProblem({ k: 'v'.repeat(513) }, { shown: shownOfLogin })).toBe(
    `failed to load metadata pair ("k", "${'v'.repeat(64)}…"): value is too long (limit: 512 characters)`,
  )
})

test('metadata with any keys has the same lengths', () => {
  const any = { anyKey: true }

  expect(metadataProblem({ 'a b': '', '': 'x', 'vault-x': 'é'.repeat(256) }, any)).toBeUndefined()
  expect(metadataProblem({ ['k'.repeat(129)]: '' }, any)).toMatch(
    /key is too long \(limit: 128 characters\)$/,
  )
  expect(metadataProblem({ k: 'é'.repeat(257) }, any)).toMatch(/value is too long \(limit: 512 characters\)$/)
  expect(metadataProblem(pairs(65), any)).toBe('metadata cannot contain more than 64 key/value pairs')
})
