import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { keyringKey, openRing, sealRing } from '../../../src/core/barrier/keyring-record.ts'
import { openValue, sealValue } from '../../../src/core/barrier/sealed-value.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'

const rootKey = randomBytes(32)
const sealed = (ring: object) =>
  sealValue({ term: 0, key: rootKey, random: systemRandom }, keyringKey, Buffer.from(JSON.stringify(ring)))

/** A keyring as JSON, which is also what version 0.2.0 writes and reads. */
const aRing = (count: number) => ({
  terms: Array.from({ length: count }, (_, index) => ({
    term: index + 1,
    key: randomBytes(32).toString('base64'),
    install_time: '2026-01-02T03:04:05.000Z',
    reserved: 1_000_000 * index,
    ...(index === 0 ? {} : { out_until: index }),
  })),
  rotation: { enabled: true, interval: 0, max_operations: 1_000_000 },
})

const withBuffers = (ring: ReturnType<typeof aRing>) => ({
  ...ring,
  terms: ring.terms.map((term) => ({ ...term, key: Buffer.from(term.key, 'base64') })),
})

test.each([1, 2, 12, 300])('a keyring of %i terms that an older version wrote opens', (count) => {
  const ring = aRing(count)

  expect(openRing(sealed(ring), rootKey)).toEqual(withBuffers(ring))
})

test.each([1, 2, 12, 300])('an older version can read a keyring of %i terms', (count) => {
  const ring = aRing(count)

  const plain = openValue(rootKey, keyringKey, sealRing(withBuffers(ring), rootKey, systemRandom))

  expect(JSON.parse(plain.toString())).toEqual(ring)
})

test('members of a later version are kept, even if their text looks like a key', () => {
  const confusing = { note: `{"key":"${'A'.repeat(44)}"}`, '"key":"': '"key":"' }
  const ring = { ...aRing(2), ...confusing, rotation: { ...aRing(1).rotation, ...confusing } }

  const written = sealRing(openRing(sealed(ring), rootKey), rootKey, systemRandom)

  expect(JSON.parse(openValue(rootKey, keyringKey, written).toString())).toEqual(ring)
})

test('a term without its key is refused', () => {
  const [term] = aRing(1).terms

  expect(() => openRing(sealed({ terms: [{ ...term, key: 'short' }] }), rootKey)).toThrow(
    'barrier/keyring lacks a key',
  )
})
