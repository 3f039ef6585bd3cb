import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hmacWith } from '../../src/lib/hmac.ts'

const encodings = ['hex', 'base64url', 'latin1'] as const
const expected = (key: Buffer, text: string) =>
  encodings.map((encoding) => createHmac('sha256', key).update(text).digest(encoding))

test('the HMAC-SHA-256 of any text under keys in turn is that of Node.js', () => {
  const keys = [0, 1, 32, 63, 64, 65, 200].map((length) => Buffer.alloc(length, 'key'))
  const hmacs = keys.map((key) => ({ key, hmac: hmacWith(key) }))
  const text = fc.string({ unit: 'binary', maxLength: 3000 })

  fc.assert(
    fc.property(text, fc.constantFrom(...hmacs), (message, { key, hmac }) => {
      expect(encodings.map((encoding) => hmac(message, encoding))).toEqual(expected(key, message))
    }),
  )
})

test.each([0, 1, 55, 56, 64, 1299, 1300, 1301, 5000])('%i characters of three bytes', (length) => {
  const key = Buffer.from('0c2a8f4e-5d5b-4c1e-9a53-7f9d3d1b8c11')

  const hmac = hmacWith(key)

  const text = '€'.repeat(length)
  expect(encodings.map((encoding) => hmac(text, encoding))).toEqual(expected(key, text))
})
