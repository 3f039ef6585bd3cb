import { expect, test } from 'vitest'
import { patchedMetadata, readMetadata } from '../../../src/core/namespaces/custom-metadata.ts'

const notTexts = 'metadata patch can only have string or null values'

test.each<{ name: string; patch: Record<string, string | null> | null | undefined; after: object }>([
  { name: 'nothing keeps all', patch: undefined, after: { a: '1', b: '2' } },
  { name: 'an empty patch keeps all', patch: {}, after: { a: '1', b: '2' } },
  { name: 'null for the whole clears it', patch: null, after: {} },
  { name: 'null deletes a key', patch: { a: null }, after: { b: '2' } },
  { name: 'a text replaces or adds', patch: { a: 'x', c: '' }, after: { a: 'x', b: '2', c: '' } },
])('$name', ({ patch, after }) => {
  expect({ ...patchedMetadata({ a: '1', b: '2' }, patch) }).toEqual(after)
})

test.each([[{ a: true }], [{ a: ['x'] }], [{ a: {} }]])('a patch of %j is refused', (patch) => {
  expect(() => patchedMetadata({}, patch)).toThrow(notTexts)
})

test.each([[{ a: null }], [{ a: false }], [{ a: ['x'] }]])('metadata %j is refused', (given) => {
  expect(() => readMetadata(given)).toThrow('custom_metadata values must be strings')
})

test('metadata is limited in size, and any key is allowed', () => {
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, '']))

  expect(Object.keys(readMetadata(keys(64)))).toHaveLength(64)
  expect(() => readMetadata(keys(65))).toThrow('cannot have more than 64 keys')
  expect(() => readMetadata({ ['k'.repeat(129)]: '' })).toThrow('keys cannot be longer')
  expect(() => readMetadata({ k: 'v'.repeat(513) })).toThrow('values cannot be longer')
  expect(() => patchedMetadata(keys(64), { more: '' })).toThrow('cannot have more than 64 keys')
  expect(Object.keys(readMetadata(JSON.parse('{"__proto__":"x"}')))).toEqual(['__proto__'])
})
