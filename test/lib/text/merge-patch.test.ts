import { expect, test } from 'vitest'
import { type JsonObject, parseLossless, stringifyJson } from '../../../src/lib/text/json.ts'
import { mergePatched } from '../../../src/lib/text/merge-patch.ts'

// documents of our own JSON reader, which are objects here
const object = (text: string) => parseLossless(text) as JsonObject

// RFC 7396 appendix A, where both are objects, and what its rules mean for other shapes
test.each([
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ['{"a":1.50}', '{"b":1e400}', '{"a":1.50,"b":1e400}'],
  ['{"a":{"b":1}}', '{"a":2.0}', '{"a":2.0}'],
  ['{"a":2}', '{"a":{"b":1}}', '{"a":{"b":1}}'],
  ['{}', '{"__proto__":{"x":1}}', '{"__proto__":{"x":1}}'],
  ['{"__proto__":{"x":1}}', '{"__proto__":{"x":null}}', '{"__proto__":{}}'],
])('%s patched by %s is %s', (document, patch, result) => {
  const before = object(document)

  expect(stringifyJson(mergePatched(before, object(patch)))).toBe(result)
  expect(stringifyJson(before)).toBe(document)
})

test('any depth is safe', () => {
  const deep = (value: string) => `${'{"a":'.repeat(9000)}${value}${'}'.repeat(9000)}`

  expect(stringifyJson(mergePatched(object(deep('1')), object(deep('2'))))).toBe(deep('2'))
})
