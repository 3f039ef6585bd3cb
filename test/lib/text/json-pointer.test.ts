import { describe, expect, test } from 'vitest'
import { parseLossless } from '../../../src/lib/text/json.ts'
import { lookupClaim, setClaim } from '../../../src/lib/text/json-pointer.ts'

const claims = () => ({
  a: 42,
  b: 'bar',
  c: { d: 95, e: ['dog', 'cat', 'bird'], f: { g: 'zebra' } },
  n: null,
  'a~b/c': 'escaped',
  '': 'empty',
})

describe('reading and setting a claim by a JSON pointer', () => {
  test.each([
    ['a', 42],
    ['/a', 42],
    ['b', 'bar'],
    ['/c/d', 95],
    ['/c/e/1', 'cat'],
    ['/c/f/g', 'zebra'],
    ['/a~0b~1c', 'escaped'],
    ['a~b/c', 'escaped'],
    ['', 'empty'],
    ['/', 'empty'],
    ['nope', undefined],
    ['/c/f/h', undefined],
    ['\\', undefined],
    ['c/d', undefined],
    ['n', undefined],
    ['/n', undefined],
    ['/n/x', undefined],
    ['/a/x', undefined],
    ['/b/0', undefined],
    ['/b/length', undefined],
    ['/c/e/3', undefined],
    ['/c/e/-', undefined],
    ['/c/e/-1', undefined],
    ['/c/e/01', undefined],
    ['/c/e/1.0', undefined],
    ['/c/e/length', undefined],
    ['/c/e/', undefined],
    ['__proto__', undefined],
    ['/__proto__/toString', undefined],
    ['constructor', undefined],
    ['/c/constructor/name', undefined],
  ])('%j is %j', (key, value) => {
    expect(lookupClaim(claims(), key)).toEqual(value)
  })

  test.each([
    [{ '': 'y' }, '/', 'y'],
    [{ c: { '': 'x' } }, '/c/', 'x'],
    [{ bar: { baz: ['x', 'y', 'z'] } }, '/bar/baz/1', 'y'],
  ])('%j: %s is %j', (object, key, value) => {
    expect(lookupClaim(object, key)).toBe(value)
  })

  test('a missing empty key is absent', () => {
    expect(lookupClaim({ a: 42 }, '')).toBeUndefined()
  })

  test.each(['a', '/a', 'b', '/c/d', '/c/e/1', '/c/f/g', '/c/new', 'new'])(
    'a value set at %s is found there',
    (key) => {
      const object = claims()

      expect(setClaim(object, key, 'new value')).toBe(true)
      expect(lookupClaim(object, key)).toBe('new value')
    },
  )
})

test.each([
  '/nope/x',
  '/a/x',
  '/c/e/3',
  '/c/e/-',
  '/c/e/length',
  '/n/x',
  '/__proto__/polluted',
  '/constructor/prototype/polluted',
])('nothing can be set at %s', (key) => {
  const object = claims()

  expect(setClaim(object, key, 'x')).toBe(false)
  expect(object).toEqual(claims())
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
})

test('__proto__ is set as a key like any other', () => {
  const object = claims()

  expect(setClaim(object, '/c/__proto__', { polluted: true })).toBe(true)
  expect(Reflect.get(object.c, 'polluted')).toBeUndefined()
  expect(lookupClaim(object, '/c/__proto__/polluted')).toBe(true)
})

test('a claim named __proto__ is found, and a path into a number finds nothing', () => {
  const object = { claims: parseLossless('{"__proto__":{"x":"y"},"n":5}') }

  expect(lookupClaim(object, '/claims/__proto__/x')).toBe('y')
  expect(lookupClaim(object, '/claims/n/rawJSON')).toBeUndefined()
})
