import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isBase64 } from '../../../src/lib/text/base64.ts'

test('what Buffer writes is base64, even with line breaks, but not with a missing or foreign character', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 40 }),
      fc.nat(),
      fc.constantFrom('-', '_', ' ', '\t', '=', 'é', '\u0000'),
      (bytes, place, foreign) => {
        const text = Buffer.from(bytes).toString('base64')
        const at = place % (text.length + 1)

        expect(isBase64(text)).toBe(true)
        expect(isBase64(`${text.slice(0, at)}\r\n${text.slice(at)}`)).toBe(true)
        expect(isBase64(text.slice(0, at) + foreign + text.slice(at))).toBe(false)
        if (text !== '') expect(isBase64(text.slice(1))).toBe(false)
      },
    ),
  )
})

test('even the longest text is checked quickly', () => {
  expect(isBase64('QUJD'.repeat(8 * 1024 * 1024))).toBe(true)
  expect(isBase64(`${'QUJD'.repeat(8 * 1024 * 1024)}===*`)).toBe(false)
})
