import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hashedCopy, hashingWith } from '../../../src/core/audit/hashing.ts'
import { parseLossless, stringifyJson } from '../../../src/lib/json.ts'

const plain = { logRaw: false, hmacAccessor: true, elideListResponses: false }
const hmac = (salt: string, text: string) =>
  `hmac-sha256:${createHmac('sha256', salt).update(text).digest('hex')}`

describe('the hash of a text', () => {
  const salt = '0c2a8f4e-5d5b-4c1e-9a53-7f9d3d1b8c11'
  const { hash } = hashingWith(salt, plain)

  test('is its HMAC-SHA-256, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 3000 }),
        (text) => hash(text) === hmac(salt, text),
      ),
    )
  })

  test.each([0, 1, 55, 56, 64, 1299, 1300, 1301, 5000])(
    'is right for %i characters of three bytes',
    (length) => {
      const text = '€'.repeat(length)

      expect(hash(text)).toBe(hmac(salt, text))
    },
  )

  test.each([1, 63, 64, 65, 200])('is right for a salt of %i characters', (length) => {
    const long = 's'.repeat(length)

    expect(hashingWith(long, plain).hash('a')).toBe(hmac(long, 'a'))
  })
})

describe('a copy of data', () => {
  const copied = (json: string, clear: string[] = []) =>
    stringifyJson(hashedCopy(Object(parseLossless(json)), (text) => `#${text}`, new Set(clear)))

  test.each([
    { name: 'texts', json: '{"a":"b"}', copy: '{"a":"#b"}' },
    { name: 'elements', json: '{"a":["b",["c"]]}', copy: '{"a":["#b",["#c"]]}' },
    { name: 'texts further down', json: '{"a":{"b":{"c":"d"}}}', copy: '{"a":{"b":{"c":"#d"}}}' },
    { name: 'empty texts', json: '{"a":""}', copy: '{"a":"#"}' },
    { name: 'values of keys like __proto__', json: '{"__proto__":"a"}', copy: '{"__proto__":"#a"}' },
  ])('hashes $name', ({ json, copy }) => {
    expect(copied(json)).toBe(copy)
  })

  test.each([
    { name: 'numbers, with their text', json: '{"a":1.50,"b":[1e400]}' },
    { name: 'booleans and null', json: '{"a":true,"b":null,"c":{},"d":[]}' },
    { name: 'times', json: '{"a":"2026-01-02T03:04:05.123456789Z","b":"2026-01-02T03:04:05+01:00"}' },
  ])('keeps $name', ({ json }) => {
    expect(copied(json)).toBe(json)
  })

  test.each([
    '2026-01-02',
    '2026-01-02T03:04:05',
    '2026-01-02T03:04:05Z ',
    '2026-13-02T03:04:05Z',
    '1770000000',
  ])('hashes %s, which is no RFC 3339 time', (text) => {
    expect(copied(JSON.stringify({ a: text }))).toBe(JSON.stringify({ a: `#${text}` }))
  })

  test('keeps values of a clear key, also in its lists, but not below another key', () => {
    const json = '{"open":["a",["b"],{"shut":"c","open":"d"}],"shut":{"open":"e"}}'

    expect(copied(json, ['open'])).toBe('{"open":["a",["b"],{"shut":"#c","open":"d"}],"shut":{"open":"e"}}')
  })

  test('has any depth', () => {
    const json = `${'{"a":'.repeat(10_000)}"b"${'}'.repeat(10_000)}`

    expect(copied(json)).toBe(json.replace('"b"', '"#b"'))
  })
})
