import { expect, test } from 'vitest'
import { excerpt, goText, quoted } from '../../../src/lib/text/go-text.ts'
import { parseLossless } from '../../../src/lib/text/json.ts'

test.each([
  ['null', '<nil>'],
  ['true', 'true'],
  ['"a b"', 'a b'],
  ['1.50', '1.50'],
  ['[]', '[]'],
  ['["a",1,null,["b"]]', '[a 1 <nil> [b]]'],
  ['{"b":1,"a":{"c":false}}', 'map[a:map[c:false] b:1]'],
])('%s is shown as %s', (json, text) => {
  expect(goText(parseLossless(json))).toBe(text)
})

test.each([
  ['long', `["${'x'.repeat(1_000_000)}"]`],
  ['wide', `[${'1,'.repeat(100_000)}1]`],
  ['deep', `${'[1,'.repeat(100_000)}1${']'.repeat(100_000)}`],
  ['bushy', `${'['.repeat(6)}${'[1],'.repeat(50_000)}1${']'.repeat(6)}`],
])('only a part of a %s value is shown', (_, json) => {
  expect(goText(parseLossless(json)).length).toBeLessThan(300)
})

test('texts of a caller are quoted and truncated', () => {
  expect(quoted('a"b\\c\n')).toBe('"a\\"b\\\\c\\n"')
  expect(quoted('x'.repeat(1000)).length).toBeLessThan(300)
  expect(excerpt('short')).toBe('short')
})

test.each([
  ['letters, marks, signs and blanks', 'é “x” ☕ 😀 a b', '"é “x” ☕ 😀 a b"'],
  ['quotes and backslashes', '"\\', String.raw`"\"\\"`],
  ['what has a letter of its own', '\u0007\b\f\n\r\t\v', String.raw`"\a\b\f\n\r\t\v"`],
  ['other control characters', '\0\u001b\u007f', String.raw`"\x00\x1b\x7f"`],
  ['blanks but the usual one', '\u00a0\u2028\u3000', String.raw`"\u00a0\u2028\u3000"`],
  ['what cannot be seen', '\u0080\u00ad\u200b\ufeff\u202e', String.raw`"\u0080\u00ad\u200b\ufeff\u202e"`],
  ['the same of the upper planes', '\u{e0001}', String.raw`"\U000e0001"`],
  ['half a character', '\ud83d', '"\ufffd"'],
])('%s is quoted as Go does', (_, text, written) => {
  expect(quoted(text)).toBe(written)
})
