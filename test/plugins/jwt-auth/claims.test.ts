import { describe, expect, test } from 'vitest'
import {
  asList,
  checkAudience,
  checkUnboundAudience,
  readGroups,
  readMetadata,
  readUserClaim,
  type TokenRules,
  checkToken as walkToken,
} from '../../../src/jwt/checks/claims.ts'
import { lookupClaim } from '../../../src/lib/text/json-pointer.ts'

const now = 1_800_000_000
const nowMs = now * 1000

function rules(given: Partial<TokenRules> = {}): TokenRules {
  return {
    bound_issuer: '',
    bound_subject: '',
    bound_audiences: [],
    expiration_leeway: 0,
    not_before_leeway: 0,
    clock_skew_leeway: 0,
    ...given,
  }
}

/** The first check that fails. */
function checkToken(claims: Parameters<typeof walkToken>[0], given: TokenRules, at: number) {
  const refusals: ReturnType<typeof checkAudience>[] = []
  walkToken(claims, given, at, (_name, refused) => refusals.push(refused))
  return refusals.find((refused) => refused !== undefined)
}

const valid = { iat: now - 5, nbf: now - 5, exp: now + 600 }

describe('times', () => {
  type Row = [
    iat: number | undefined,
    nbf: number | undefined,
    exp: number | undefined,
    S: number,
    E: number,
    N: number,
    reason: string,
  ]
  const rows: Row[] = [
    [-205, undefined, undefined, 0, 0, 0, 'ok'],
    [-215, undefined, undefined, 0, 0, 0, 'expired'],
    [-150, undefined, undefined, 10, 0, 0, 'ok'],
    [-165, undefined, undefined, 10, 0, 0, 'expired'],
    [-145, undefined, undefined, -1, 0, 0, 'ok'],
    [-155, undefined, undefined, -1, 0, 0, 'expired'],
    [undefined, -205, undefined, 0, 0, 0, 'ok'],
    [undefined, -215, undefined, 0, 0, 0, 'expired'],
    [undefined, -145, undefined, 10, 0, 0, 'ok'],
    [undefined, -165, undefined, 10, 0, 0, 'expired'],
    [undefined, -145, undefined, -1, 0, 0, 'ok'],
    [undefined, -155, undefined, -1, 0, 0, 'expired'],
    [-65, undefined, undefined, 0, 10, 0, 'ok'],
    [-75, undefined, undefined, 0, 10, 0, 'expired'],
    [-5, undefined, undefined, 10, 10, 0, 'ok'],
    [-25, undefined, undefined, 10, 10, 0, 'expired'],
    [-5, undefined, undefined, 10, -1, 0, 'ok'],
    [-15, undefined, undefined, 10, -1, 0, 'expired'],
    [undefined, -65, undefined, 0, 10, 0, 'ok'],
    [undefined, -75, undefined, 0, 10, 0, 'expired'],
    [undefined, -5, undefined, 10, 10, 0, 'ok'],
    [undefined, -25, undefined, 10, 10, 0, 'expired'],
    [undefined, -5, undefined, 10, -1, 0, 'ok'],
    [undefined, -15, undefined, 10, -1, 0, 'expired'],
    [undefined, -5, undefined, 10, -100, 0, 'ok'],
    [undefined, -15, undefined, 10, -100, 0, 'expired'],
    [55, undefined, -now, 0, 0, -1, 'ok'],
    [65, undefined, -now, 0, 0, -1, 'not_yet_valid'],
    [5, undefined, undefined, 10, 0, -1, 'ok'],
    [15, undefined, undefined, 10, 0, -1, 'not_yet_valid'],
    [0, undefined, undefined, -1, 0, 5, 'ok'],
    [6, undefined, undefined, -1, 0, 5, 'not_yet_valid'],
    [undefined, undefined, 205, 0, 0, 0, 'ok'],
    [undefined, undefined, 215, 0, 0, 0, 'not_yet_valid'],
    [undefined, undefined, 150, 10, 0, 0, 'ok'],
    [undefined, undefined, 165, 10, 0, 0, 'not_yet_valid'],
    [undefined, undefined, 145, -1, 0, 0, 'ok'],
    [undefined, undefined, 152, -1, 0, 0, 'not_yet_valid'],
    [undefined, undefined, 65, 0, 0, 10, 'ok'],
    [undefined, undefined, 75, 0, 0, 10, 'not_yet_valid'],
    [undefined, undefined, 15, 10, 0, 10, 'ok'],
    [undefined, undefined, 25, 10, 0, 10, 'not_yet_valid'],
    [undefined, undefined, 3, -1, 0, 5, 'ok'],
    [undefined, undefined, 7, -1, 0, 5, 'not_yet_valid'],
    [undefined, undefined, 3, -100, 0, 5, 'ok'],
    [undefined, undefined, 7, -100, 0, 5, 'not_yet_valid'],
    [-600, undefined, -100, -1, -1, 0, 'expired'],
  ]
  const at = (offset: number | undefined) => (offset === undefined ? undefined : now + offset)
  const verdict = ([iat, nbf, exp, S, E, N]: Row) => {
    const leeways = rules({ clock_skew_leeway: S, expiration_leeway: E, not_before_leeway: N })
    return checkToken({ iat: at(iat), nbf: at(nbf), exp: at(exp) }, leeways, nowMs)?.reason ?? 'ok'
  }

  test.each(rows)('iat %s nbf %s exp %s, S %s E %s N %s: %s', (...row) => {
    expect(verdict(row)).toBe(row[6])
  })

  test('a present exp is extended by its own leeway', () => {
    expect(verdict([-600, undefined, -100, 0, 0, 0, 'ok'])).toBe('ok')
  })

  test.each([
    { name: 'end, to the second', claims: { exp: now - 210 }, reason: undefined },
    { name: 'past the end', claims: { exp: now - 211 }, reason: 'expired' },
    { name: 'start, to the second', claims: { nbf: now + 210, exp: now + 600 }, reason: undefined },
    { name: 'before the start', claims: { nbf: now + 211, exp: now + 600 }, reason: 'not_yet_valid' },
    { name: 'issued at the edge', claims: { iat: now + 60, nbf: now, exp: now + 600 }, reason: undefined },
    {
      name: 'issued in the future',
      claims: { iat: now + 61, nbf: now, exp: now + 600 },
      reason: 'issued_in_future',
    },
  ])('a time on the boundary is valid: $name', ({ claims, reason }) => {
    const leeways = rules()
    expect(checkToken(claims, leeways, nowMs)?.reason).toBe(reason)
  })

  test('a fraction of a second after the expiry is too late', () => {
    expect(checkToken({ exp: now - 210 }, rules(), nowMs + 1)?.reason).toBe('expired')
  })

  test.each([{}, { iat: 0 }, { iat: 0, nbf: 0, exp: 0 }, { exp: null }])(
    'a token without any time is refused: %j',
    (claims) => {
      expect(checkToken(claims, rules(), nowMs)?.text).toBe(
        'no issued at (iat), not before (nbf), or expiration time (exp) claims in token',
      )
    },
  )
})

describe('registered claims', () => {
  test.each([
    { iss: 1 },
    { sub: 1 },
    { sub: ['a'] },
    { sub: true },
    { jti: {} },
    { aud: 1 },
    { aud: ['a', 1] },
    { aud: { a: 1 } },
    { aud: null },
    { exp: '99999999999' },
    { exp: true },
    { iat: 'x' },
    { nbf: {} },
    { nbf: '0' },
    { exp: Number.POSITIVE_INFINITY },
  ])('a wrong type is refused before anything else: %j', (wrong) => {
    expect(checkToken({ ...valid, ...wrong }, rules({ bound_issuer: 'x' }), nowMs)?.reason).toBe(
      'claim_type_invalid',
    )
  })

  test.each([
    { ...valid, exp: now + 600.5 },
    { ...valid, iat: now - 5 + 0.9 },
    { ...valid, jti: 'x' },
    { ...valid, nbf: 0 },
    { ...valid, iat: null, iss: null, sub: null, jti: null },
    { ...valid, exp: 10n ** 20n },
  ])('a valid type is accepted: row %#', (claims) => {
    expect(checkToken(claims, rules(), nowMs)).toBeUndefined()
  })

  const demanding = rules({ bound_issuer: 'i', bound_subject: 's', bound_audiences: ['a'] })
  test.each([
    { claims: { iss: 'x', sub: 'x', aud: 'x' }, text: 'invalid issuer (iss) claim' },
    { claims: { iss: 'I', sub: 's', aud: 'a' }, text: 'invalid issuer (iss) claim' },
    { claims: { ISS: 'i', sub: 's', aud: 'a' }, text: 'invalid issuer (iss) claim' },
    { claims: { iss: 'i', sub: 'x', aud: 'x' }, text: 'invalid subject (sub) claim' },
    { claims: { iss: 'i', aud: 'a' }, text: 'invalid subject (sub) claim' },
    {
      claims: { iss: 'i', sub: 's', aud: 'x' },
      text: 'invalid audience (aud) claim: audience claim does not match any expected audience',
    },
    {
      claims: { iss: 'i', sub: 's', aud: 'a', exp: 1 },
      text: 'invalid expiration time (exp) claim: token is expired',
    },
  ])('iss, sub, aud and the times are checked in that order, exactly: $claims', ({ claims, text }) => {
    expect(checkToken({ ...valid, ...claims }, demanding, nowMs)?.text).toBe(text)
  })
})

describe('the audience', () => {
  test.each([
    { aud: ['a'], bound: ['a'], ok: true },
    { aud: ['b'], bound: ['a'], ok: false },
    { aud: [''], bound: ['a'], ok: false },
    { aud: ['a', 'b', 'c'], bound: ['a', 'b'], ok: true },
    { aud: ['c', 'd'], bound: ['a', 'b'], ok: false },
    { aud: undefined, bound: ['a'], ok: false },
    { aud: [], bound: ['a'], ok: false },
    { aud: ['a,b'], bound: ['a', 'b'], ok: false },
  ])('$aud against $bound', ({ aud, bound, ok }) => {
    expect(checkAudience(aud, bound) === undefined).toBe(ok)
  })

  test.each([
    { aud: undefined, ok: true },
    { aud: '', ok: true },
    { aud: [], ok: true },
    { aud: 'a', ok: false },
    { aud: ['a'], ok: false },
    { aud: ['a', 'b', 'c'], ok: false },
  ])('a role without bound_audiences is checked against aud $aud', ({ aud, ok }) => {
    const claims = aud === undefined ? {} : { aud }
    expect(checkUnboundAudience(claims, []) === undefined).toBe(ok)
    expect(checkUnboundAudience(claims, ['other'])).toBeUndefined()
  })
})

describe('identity', () => {
  test.each([
    { claims: { sub: 'jeff' }, name: 'sub', pointer: false, result: 'jeff' },
    { claims: { '/a/b': 'literal', a: { b: 'nested' } }, name: '/a/b', pointer: false, result: 'literal' },
    { claims: { '/a/b': 'literal', a: { b: 'nested' } }, name: '/a/b', pointer: true, result: 'nested' },
    { claims: { sub: 'jeff' }, name: 'sub', pointer: true, result: 'jeff' },
    { claims: {}, name: 'user', pointer: false, result: 'claim "user" not found in token' },
    { claims: { user: null }, name: 'user', pointer: false, result: 'claim "user" not found in token' },
    {
      claims: { user: 5 },
      name: 'user',
      pointer: false,
      result: 'claim "user" could not be converted to string',
    },
    {
      claims: { user: ['a'] },
      name: 'user',
      pointer: false,
      result: 'claim "user" could not be converted to string',
    },
    { claims: {}, name: 'constructor', pointer: false, result: 'claim "constructor" not found in token' },
    {
      claims: {},
      name: '/__proto__/constructor',
      pointer: true,
      result: 'claim "/__proto__/constructor" not found in token',
    },
  ])('user claim $name, pointer $pointer, in $claims', ({ claims, name, pointer, result }) => {
    const read = readUserClaim(claims, name, pointer)
    expect(typeof read === 'string' ? read : read.text).toBe(result)
  })

  test('mapped claims that are present become metadata, and the role comes last', () => {
    const claims = { data1: 'foo', data2: { child: 'bar' }, empty: '', gone: null }
    const mappings = { data1: 'val1', '/data2/child': 'val2', nope: 'val3', gone: 'val4', empty: 'val5' }
    expect(readMetadata(claims, { mappings, isTextOnly: true }, 'r')).toEqual({
      metadata: { val1: 'foo', val2: 'bar', val5: '', role: 'r' },
    })
    expect(readMetadata(claims, { mappings: null, isTextOnly: false }, 'r')).toEqual({
      metadata: { role: 'r' },
    })
  })

  test('a mapped claim that is not a string is refused, where only texts are mapped', () => {
    expect(readMetadata({ x: 42 }, { mappings: { x: 'y' }, isTextOnly: true }, 'r')).toMatchObject({
      text: "error converting claim 'x' to string",
      reason: 'mapping_invalid',
    })
  })

  test('a metadata key named __proto__ is a key like any other', () => {
    const metadata = readMetadata({ a: 'b' }, { mappings: { a: '__proto__' }, isTextOnly: false }, 'r')
    expect(JSON.stringify(metadata)).toBe('{"metadata":{"__proto__":"b","role":"r"}}')
  })

  const claims = {
    list: ['a', 'b'],
    one: 'a',
    none: [],
    mixed: ['a', 1],
    number: 5,
    flag: true,
    object: { a: 1 },
    deep: { 'x/y': { t: ['q'] } },
    holes: ['', 'a', ''],
    nested: [['a']],
    empty: '',
    half: ['a', null],
    fraction: ['a', 1.5],
  }
  test.each([
    { name: 'list', result: ['a', 'b'] },
    { name: 'one', result: ['a'] },
    { name: 'none', result: [] },
    { name: 'mixed', result: 'value 1 in groups claim could not be parsed as string' },
    { name: 'number', result: 'value 5 in groups claim could not be parsed as string' },
    { name: 'flag', result: 'value true in groups claim could not be parsed as string' },
    { name: 'object', result: '"object" claim could not be converted to string list' },
    { name: '/deep/x~1y/t', result: ['q'] },
    { name: '/deep/x~1y', result: '"/deep/x~1y" claim could not be converted to string list' },
    { name: 'holes', result: ['a'] },
    { name: 'nested', result: 'value [a] in groups claim could not be parsed as string' },
    { name: 'empty', result: [] },
    { name: 'half', result: 'value <nil> in groups claim could not be parsed as string' },
    { name: 'fraction', result: 'value 1.5 in groups claim could not be parsed as string' },
    { name: 'absent', result: 'failed to fetch groups: "absent" claim not found in token' },
    { name: '/deep/nope', result: 'failed to fetch groups: "/deep/nope" claim not found in token' },
  ])('groups claim $name', ({ name, result }) => {
    const groups = readGroups(lookupClaim(claims, name), name)
    expect(Array.isArray(groups) ? groups : groups.text).toEqual(result)
  })

  test.each([
    { value: ['green', 42], list: ['green', 42] },
    { value: ['green'], list: ['green'] },
    { value: [], list: [] },
    { value: 'green', list: ['green'] },
    { value: '', list: [''] },
    { value: 5, list: [5] },
    { value: null, list: undefined },
    { value: {}, list: undefined },
  ])('$value as a list', ({ value, list }) => {
    expect(asList(value)).toEqual(list)
  })
})
