import { describe, expect, test } from 'vitest'
import { parseStrictObject } from '../../../src/jwt/jws/strict-json.ts'
import type { JsonObject } from '../../../src/lib/text/json.ts'
import { parseLossless } from '../../../src/lib/text/json.ts'
import {
  type BoundClaimsType,
  checkBoundClaim,
  readyBoundClaims,
} from '../../../src/plugins/jwt-auth/checks/bound-claims.ts'

/** Both sides as JSON text: what a role stores and what a token has. */
function verdict(bound: string, claims: string, type: BoundClaimsType = 'string'): string {
  const ready = readyBoundClaims(parseLossless(bound) as JsonObject, type)
  const refusals = ready.map((entry) => checkBoundClaim(parseStrictObject(claims) ?? {}, entry)?.text)
  return refusals.find((text) => text !== undefined) ?? 'ok'
}

const mismatch = 'claim "c" does not match any associated bound claim values'

describe('exact values', () => {
  test.each([
    ['"a"', '"a"', true],
    ['"a"', '"b"', false],
    ['"a"', '"A"', false],
    ['"a"', '["a","b"]', true],
    ['"c"', '["a","b"]', false],
    ['["a","b"]', '"b"', true],
    ['["a","b"]', '["b","z"]', true],
    ['["a","b","c"]', '"d"', false],
    ['123', '123', true],
    ['123', '456', false],
    ['123', '"123"', false],
    ['"123"', '123', false],
    ['123', '123.9', true],
    ['-3', '-3.7', true],
    ['0', '-0.5', true],
    ['123.5', '123.5', false],
    ['123.0', '123', false],
    ['1e2', '100', false],
    ['100', '1e2', true],
    ['123', '[123]', false],
    ['[5,6]', '5', true],
    ['true', 'true', true],
    ['true', '"true"', false],
    ['"true"', 'true', false],
    ['false', 'false', true],
    ['[false]', '[false]', true],
    ['1', 'true', false],
    ['[]', '"a"', false],
    ['"a"', '[]', false],
    ['""', '""', true],
    ['0', '0', true],
    ['"a,b"', '"a"', false],
    ['[["a"]]', '[["a"]]', false],
    ['[null]', '[null]', false],
    ['9007199254740993', '9007199254740993', true],
    ['9007199254740993', '9007199254740992', false],
    ['12345678901234567890', '12345678901234567891', false],
    ['100000000000000000000', '1e20', true],
    ['100000000000000000000000', '1e23', true],
    ['99999999999999991611392', '1e23', false],
    ['-120000000000000000000000', '-1.2e23', true],
    ['9007199254740993', '9007199254740993.5', true],
    ['9007199254740994', '9007199254740993.5', false],
    ['-9007199254740993', '-9007199254740993.9', true],
    ['1000000000000000', '1000000000000000.5', true],
    ['9007199254740993', '[9007199254740993]', false],
  ])('bound %s, claim %s: %s', (bound, claim, ok) => {
    expect(verdict(`{"c":${bound}}`, `{"c":${claim}}`)).toBe(ok ? 'ok' : mismatch)
  })

  test.each([
    ['{"c":"a"}', '{}', 'claim "c" is missing'],
    ['{"c":"a"}', '{"c":null}', 'claim "c" is missing'],
    ['{"c":"a"}', '{"C":"a"}', 'claim "c" is missing'],
    ['{"c":"a"}', '{"c":{"a":1}}', 'received claim is not a string, bool, int or list: map[a:1]'],
    ['{"c":{"a":1}}', '{"c":"a"}', 'bound claim is not a string, bool, int or list: map[a:1]'],
    ['{"c":null}', '{"c":"a"}', 'bound claim is not a string, bool, int or list: <nil>'],
    ['{"a":"1","b":"2"}', '{"a":"1","b":"2"}', 'ok'],
    ['{"/bar/baz/1":"y"}', '{"bar":{"baz":["x","y","z"]}}', 'ok'],
    [
      '{"/bar/baz/1":"q"}',
      '{"bar":{"baz":["x","y","z"]}}',
      'claim "/bar/baz/1" does not match any associated bound claim values',
    ],
    ['{"/bar/nope":"q"}', '{"bar":{"baz":["x"]}}', 'claim "/bar/nope" is missing'],
    ['{"constructor":"x"}', '{}', 'claim "constructor" is missing'],
    ['{"toString":"x"}', '{}', 'claim "toString" is missing'],
    ['{"__proto__":"x"}', '{}', 'claim "__proto__" is missing'],
    ['{"__proto__":"x"}', '{"__proto__":"x"}', 'ok'],
    ['{"/__proto__/a":"x"}', '{"__proto__":{"a":"x"}}', 'ok'],
    ['{"a":"x"}', '{"__proto__":{"a":"x"}}', 'claim "a" is missing'],
  ])('bound %s, claims %s: %s', (bound, claims, text) => {
    expect(verdict(bound, claims)).toBe(text)
  })
})

describe('globs', () => {
  test.each([
    ['"4*"', '"42"', true],
    ['"4*"', '"d42"', false],
    ['"*2"', '"42x"', false],
    ['["4*d","42*"]', '"42x"', true],
    ['["4*d","42*"]', '"43x"', false],
    ['"*@*.com"', '"test@example.com"', true],
    ['"r*@*.com"', '"test@example.com"', false],
    ['"*"', '""', true],
    ['""', '""', true],
    ['""', '"a"', false],
    ['"A*"', '"abc"', false],
    ['"a?"', '"ab"', false],
    ['"4*"', '[1,true,"42"]', true],
    ['"*"', '5', false],
    ['42', '[]', false],
  ])('bound %s, claim %s: %s', (bound, claim, ok) => {
    expect(verdict(`{"c":${bound}}`, `{"c":${claim}}`, 'glob')).toBe(ok ? 'ok' : mismatch)
  })

  test('in string mode a star is an ordinary character', () => {
    expect(verdict('{"c":"r*@*.com"}', '{"c":"rest@example.com"}', 'string')).toBe(mismatch)
  })

  test('an expected value that is not a string is an error', () => {
    expect(verdict('{"c":42}', '{"c":"42x"}', 'glob')).toBe('received claim is not a glob string: 42')
  })

  test('a hostile pattern against a long claim is decided in one pass', () => {
    const pattern = '*a'.repeat(50_000)
    expect(
      verdict(JSON.stringify({ c: `${pattern}*b` }), JSON.stringify({ c: 'a'.repeat(100_000) }), 'glob'),
    ).toBe(mismatch)
  })
})
