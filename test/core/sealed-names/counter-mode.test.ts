import { createCipheriv, createSecretKey, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { counterMode } from '../../../src/core/sealed-names/counter-mode.ts'

const bytes = (limits: { minLength: number; maxLength: number }) => fc.uint8Array(limits)
/** Many end in bytes that carry into the next ones. */
const vectors = fc
  .tuple(bytes({ minLength: 16, maxLength: 16 }), fc.nat({ max: 16 }))
  .map(([vector, ones]) => vector.fill(0xff, 16 - ones))

test('one cipher for all texts does what AES-256-CTR of Node.js does', () => {
  const key = createSecretKey(randomBytes(32))
  const { crypt } = counterMode(key)

  fc.assert(
    fc.property(vectors, bytes({ minLength: 0, maxLength: 100 }), (vector, text) => {
      expect(crypt(vector, text)).toEqual(createCipheriv('aes-256-ctr', key, vector).update(text))
    }),
  )
})

test('many texts are decrypted together, in place', () => {
  const key = createSecretKey(randomBytes(32))
  const { cryptAll } = counterMode(key)
  const texts = fc.array(fc.tuple(vectors, bytes({ minLength: 1, maxLength: 600 })), { maxLength: 40 })

  fc.assert(
    fc.property(texts, (all) => {
      const ends: number[] = []
      for (const [vector, text] of all) ends.push((ends.at(-1) ?? 0) + vector.length + text.length)
      const both = Buffer.concat(all.flat())
      cryptAll(both, ends)

      const expected = all.flatMap(([vector, text]) => [
        vector,
        createCipheriv('aes-256-ctr', key, vector).update(text),
      ])
      expect(both).toEqual(Buffer.concat(expected))
    }),
  )
})
