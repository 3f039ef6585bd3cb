import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { base64Bytes, hexBytes, readKey, writeBase64, writeHex } from '../../../src/core/barrier/key-text.ts'

const keys = [Buffer.alloc(32), Buffer.alloc(32, 0xff), ...Array.from({ length: 200 }, () => randomBytes(32))]

test('keys are written and read as Node writes and reads base64 and hexadecimal', () => {
  for (const key of keys) {
    const [base64, hex] = [Buffer.alloc(base64Bytes), Buffer.alloc(hexBytes)]
    writeBase64(key, base64)
    writeHex(key, hex)

    expect([base64.toString(), hex.toString()]).toEqual([key.toString('base64'), key.toString('hex')])
    expect(readKey(base64)).toEqual(key)
    expect(readKey(base64.subarray(0, -1))).toEqual(key)
    expect(readKey(hex)).toEqual(key)
    expect(readKey(Buffer.from(hex.toString().toUpperCase()))).toEqual(key)
  }
})

test.each([
  '',
  'g'.repeat(64),
  `${'0'.repeat(63)}é`,
  `${'A'.repeat(42)}-`,
  `${'A'.repeat(43)}A`,
  `=${'A'.repeat(43)}`,
  '0'.repeat(65),
])('no key is read from %j', (text) => {
  expect(readKey(Buffer.from(text))).toBeUndefined()
})
