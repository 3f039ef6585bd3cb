import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { combineShares, readShare, splitKey } from '../../../src/core/seal/shares.ts'

/** Multiplication in GF(2^8) with the polynomial 0x11B, bit by bit: no table that could share an error. */
function product(a: number, b: number): number {
  let result = 0
  for (let left = a, right = b; right > 0; right >>= 1) {
    if (right & 1) result ^= left
    left = left & 0x80 ? (left << 1) ^ 0x11b : left << 1
  }
  return result
}

const inverse = (a: number): number => {
  for (let b = 1; b < 256; b++) if (product(a, b) === 1) return b
  throw new Error('0 has no inverse')
}

/** Lagrange's formula at 0 over y bytes that are followed by x. */
function combinedBySchoolbook(shares: readonly Uint8Array[]): Buffer {
  const places = shares.map((share) => share.at(-1) ?? 0)
  const weights = places.map((x, i) =>
    places.reduce(
      (weight, other, j) => (i === j ? weight : product(weight, product(other, inverse(other ^ x)))),
      1,
    ),
  )
  const length = (shares[0]?.length ?? 1) - 1
  return Buffer.from(
    Array.from({ length }, (_, at) =>
      shares.reduce((sum, share, i) => sum ^ product(share[at] ?? 0, weights[i] ?? 0), 0),
    ),
  )
}

/** Evaluates, for each byte of the key, the polynomial whose further coefficients are in `rest`. */
const shareAt = (key: Uint8Array, rest: readonly Uint8Array[], x: number): Buffer =>
  Buffer.from([
    ...key.map((byte, at) => rest.reduceRight((y, row) => product(y ^ (row[at] ?? 0), x), 0) ^ byte),
    x,
  ])

describe('splitting', () => {
  test.each([
    { shares: 5, threshold: 3 },
    { shares: 2, threshold: 2 },
    { shares: 255, threshold: 255 },
    { shares: 255, threshold: 2 },
  ])('$shares shares of which $threshold are needed have the documented format', async (counts) => {
    const key = randomBytes(32)

    const shares = await splitKey(key, counts)

    expect(shares).toHaveLength(counts.shares)
    expect(new Set(shares.map(({ length }) => length))).toEqual(new Set([33]))
    const places = shares.map((share) => share.at(-1))
    expect(new Set(places).size).toBe(counts.shares)
    expect(places).not.toContain(0)
    expect(combinedBySchoolbook(shares.slice(-counts.threshold))).toEqual(key)
    expect(combinedBySchoolbook(shares.slice(1, counts.threshold))).not.toEqual(key)
  })

  test('the only share of one is the key, in memory of its own', async () => {
    const key = randomBytes(32)

    const [share, ...others] = await splitKey(key, { shares: 1, threshold: 1 })

    expect(others).toEqual([])
    expect(share).toEqual(key)
    expect(share?.buffer).not.toBe(key.buffer)
    expect(await combineShares([share ?? Buffer.alloc(0)])).toEqual(key)
  })

  test('shares are buffers outside of the pool', async () => {
    const shares = await splitKey(randomBytes(32), { shares: 3, threshold: 2 })

    expect(shares.map(({ buffer }) => buffer.byteLength)).toEqual([33, 33, 33])
  })
})

describe('combining', () => {
  test('rebuilds a key from shares that the reference format defines', async () => {
    // y = key + 1·x (+ 3·x² for the second): worked by hand for the first byte, 0x53·0xCA = 1 in this field
    const key = Buffer.concat([Buffer.from([0x53, 0xca, 0x01]), Buffer.alloc(29, 0xff)])
    const ones = Buffer.alloc(32, 1)
    const threes = Buffer.alloc(32, 3)
    expect(product(0x53, 0xca)).toBe(1)
    expect(shareAt(key, [ones], 2)[0]).toBe(0x53 ^ 2)

    expect(await combineShares([2, 255].map((x) => shareAt(key, [ones], x)))).toEqual(key)
    expect(await combineShares([1, 7, 128].map((x) => shareAt(key, [ones, threes], x)))).toEqual(key)
  })

  test('any threshold of shares, in any order, rebuilds the key', async () => {
    const counts = fc
      .integer({ min: 2, max: 12 })
      .chain((shares) =>
        fc.record({ shares: fc.constant(shares), threshold: fc.integer({ min: 2, max: shares }) }),
      )
    await fc.assert(
      fc.asyncProperty(
        counts,
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.gen(),
        async (counted, bytes, gen) => {
          const shares = await splitKey(Buffer.from(bytes), counted)
          const chosen = gen(fc.shuffledSubarray, shares, {
            minLength: counted.threshold,
            maxLength: counted.threshold,
          })

          expect(await combineShares(chosen)).toEqual(Buffer.from(bytes))
        },
      ),
      { numRuns: 50 },
    )
  })

  test.each([
    ['none', []],
    ['one of 33 bytes', [Buffer.alloc(33, 1)]],
    ['one of 31 bytes', [Buffer.alloc(31, 1)]],
    ['two of different lengths', [Buffer.alloc(33, 1), Buffer.alloc(32, 2)]],
    ['two keys', [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]],
    ['two of one place', [Buffer.alloc(33, 1), Buffer.concat([Buffer.alloc(32, 2), Buffer.of(1)])]],
    ['one of place 0', [Buffer.alloc(33), Buffer.alloc(33, 1)]],
  ])('%s cannot be combined', async (_, shares) => {
    expect(await combineShares(shares)).toBeUndefined()
  })
})

describe('reading a share', () => {
  const bytes = Buffer.from(Array.from({ length: 33 }, (_, at) => at * 7))

  test.each([
    ['hexadecimal', bytes.toString('hex')],
    ['upper-case hexadecimal', bytes.toString('hex').toUpperCase()],
    ['base64', bytes.toString('base64')],
    [
      'base64 in lines',
      `${bytes.toString('base64').slice(0, 20)}\r\n${bytes.toString('base64').slice(20)}\n`,
    ],
  ])('%s', (_, text) => {
    const share = readShare(text)

    expect(share).toEqual(bytes)
    expect(share.buffer.byteLength).toBe(33)
  })

  test('16 bytes are enough, and hexadecimal is tried first', () => {
    expect(readShare('ab'.repeat(16))).toEqual(Buffer.alloc(16, 0xab))
  })

  test('hexadecimal of another length is read as base64', () => {
    // 24 digits are 12 bytes, or 18 in base64
    expect(readShare('ab'.repeat(12))).toEqual(Buffer.from('ab'.repeat(12), 'base64'))
  })

  test.each([
    ['not!', "'key' must be a valid hex or base64 string"],
    ['abcdef0123', "'key' must be a valid hex or base64 string"],
    [bytes.toString('base64').replace(/.$/, ''), "'key' must be a valid hex or base64 string"],
    ['abcd', 'key is shorter than minimum 16 bytes'],
    [Buffer.alloc(34).toString('base64'), 'key is longer than maximum 33 bytes'],
    [Buffer.alloc(1000).toString('hex'), 'key is longer than maximum 33 bytes'],
  ])('%s is refused', (text, reason) => {
    expect(() => readShare(text)).toThrow(reason)
    expect(() => readShare(text, 'invalid key: ')).toThrow(
      reason.startsWith('key') ? `invalid key: ${reason}` : reason,
    )
  })
})
