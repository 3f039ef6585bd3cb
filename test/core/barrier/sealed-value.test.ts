import { createDecipheriv, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { openValue, sealValue, termOf } from '../../../src/core/barrier/sealed-value.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'

const key = randomBytes(32)
const plain = Buffer.from('{"secret":"value"}')
const seal = (place: string, term = 7) => sealValue({ term, key, random: systemRandom }, place, plain)

/** The result of `openValue`, or undefined if it throws. */
function tryOpen(place: string, sealed: Uint8Array, usedKey = key): Buffer | undefined {
  try {
    return openValue(usedKey, place, sealed)
  } catch {
    return undefined
  }
}

test('a sealed value opens under its own key', () => {
  expect(openValue(key, 'a/b', seal('a/b'))).toEqual(plain)
})

test("the layout is term, version 2, nonce, ciphertext, tag, with the record's key as associated data", () => {
  const sealed = seal('a/b', 0x01020304)

  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(5, 17))
  decipher.setAAD(Buffer.from('a/b'))
  decipher.setAuthTag(sealed.subarray(-16))
  const opened = Buffer.concat([decipher.update(sealed.subarray(17, -16)), decipher.final()])

  expect([...sealed.subarray(0, 5)]).toEqual([1, 2, 3, 4, 2])
  expect(opened).toEqual(plain)
  expect(termOf(sealed)).toBe(0x01020304)
})

describe('a sealed value does not open', () => {
  test.each(['a/c', 'a/b/', '', 'A/b'])("under another record's key: %j", (place) => {
    expect(tryOpen(place, seal('a/b'))).toBeUndefined()
  })

  test('with another key', () => {
    expect(tryOpen('a/b', seal('a/b'), randomBytes(32))).toBeUndefined()
  })

  test('with any single bit of nonce, ciphertext or tag flipped', () => {
    const sealed = seal('a/b')
    const opened: number[] = []
    for (let bit = 5 * 8; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed)
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      if (tryOpen('a/b', changed) !== undefined) opened.push(bit)
    }

    expect(opened).toEqual([])
  })

  test('cut to any length', () => {
    const sealed = seal('a/b')
    const lengths = Array.from({ length: sealed.length }, (_, length) => length)

    expect(lengths.filter((length) => tryOpen('a/b', sealed.subarray(0, length)) !== undefined)).toEqual([])
  })
})

test.each([
  ['nothing', Buffer.alloc(0)],
  ['too short for nonce and tag', Buffer.concat([Buffer.from([0, 0, 0, 1, 2]), Buffer.alloc(27)])],
  ['another version', Buffer.concat([Buffer.from([0, 0, 0, 1, 1]), Buffer.alloc(60)])],
  ['plain JSON', Buffer.from('{"a":"something long enough to have a nonce and a tag"}')],
])('is seen to have no term: %s', (_, sealed) => {
  expect(termOf(sealed)).toBeUndefined()
})

test('no nonce of 5,000 consecutive ones is used twice', () => {
  const key = { term: 1, key: Buffer.alloc(32), random: systemRandom }

  const seen = new Set(
    Array.from({ length: 5_000 }, () =>
      sealValue(key, 'a/b', Buffer.from('x')).subarray(5, 17).toString('hex'),
    ),
  )

  expect(seen.size).toBe(5_000)
})
