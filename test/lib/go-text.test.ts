import { expect, test } from 'vitest'
import { excerpt, goText, quoted } from '../../src/lib/go-text.ts'
import { parseLossless } from '../../src/lib/json.ts'

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
])('a %s value is shown in part', (_, json) => {
  expect(goText(parseLossless(json)).length).toBeLessThan(300)
})

test('texts of a caller are quoted and cut', () => {
  expect(quoted('a"b\\c\n')).toBe('"a\\"b\\\\c\\n"')
  expect(quoted('x'.repeat(1000)).length).toBeLessThan(300)
  expect(excerpt('short')).toBe('short')
})
