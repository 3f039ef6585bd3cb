import { expect, test } from 'vitest'
import {
  hourMs,
  nothingSeen,
  type Observation,
  observed,
  type SeenKey,
  type Timeline,
} from '../../../../src/jwt/observatory/timeline.ts'

const start = Date.UTC(2026, 0, 1)
const keyOf = (thumbprint: string): SeenKey => ({
  thumbprint,
  kid: thumbprint,
  type: 'EC',
  algorithms: ['ES256'],
  size: 256,
})
const set = (at: number, ...names: string[]): Observation => ({
  set: { at: start + at, keys: names.map(keyOf) },
  document: undefined,
  logins: [],
})
const login = (name: string, at: number): Observation => ({
  set: undefined,
  document: undefined,
  logins: [{ key: keyOf(name), first: start + at, last: start + at }],
})
const after = (...observations: Observation[]): Timeline => observations.reduce(observed, nothingSeen)
const kinds = ({ alerts }: Timeline) => alerts.map(({ kind }) => kind)
const day = 24 * hourMs

test('a key that leaves the set is gone since then, and one that returns is there', () => {
  const gone = after(set(1, 'a', 'b', 'c'), set(2, 'b', 'c'))

  expect(gone.keys.find(({ kid }) => kid === 'a')).toMatchObject({ firstSeen: start + 1, goneAt: start + 2 })
  expect(observed(gone, set(3, 'a', 'b', 'c')).keys.every(({ goneAt }) => goneAt === undefined)).toBe(true)
})

test('an unchanged set and a login by a known key are written once an hour', () => {
  const first = after(set(1, 'a'), login('a', 2))

  expect(observed(first, set(hourMs - 1, 'a'))).toBe(first)
  expect(observed(first, login('a', hourMs - 1))).toBe(first)
  expect(observed(first, set(hourMs + 1, 'a'))).not.toBe(first)
  expect(observed(first, login('a', hourMs + 2)).keys[0]).toMatchObject({
    firstLogin: start + 2,
    lastLogin: start + hourMs + 2,
  })
})

test('a server with an older set does not bring back a key that is gone', () => {
  const gone = after(set(1, 'a', 'b', 'c'), set(10, 'b', 'c'))

  expect(observed(gone, set(5, 'a', 'b', 'c'))).toBe(gone)
})

test('a login by a key that has been gone for an hour is an alert, one before is none', () => {
  const gone = after(set(1, 'a', 'b', 'c'), set(10, 'b', 'c'))

  expect(kinds(observed(gone, login('a', hourMs)))).toEqual([])
  expect(kinds(observed(gone, login('a', hourMs + 10)))).toEqual(['used_after_removal'])
})

test.each([
  { names: ['a'], found: ['single_key'] },
  { names: [], found: ['single_key'] },
  { names: ['a', 'c'], found: [] },
])('a set of several keys that shrinks to one or none is an alert: $names', ({ names, found }) => {
  expect(kinds(after(set(1, 'a', 'b'), set(2, ...names)))).toEqual(found)
})

test('a key that comes much sooner than usual is an alert, once three rotations are known', () => {
  const rotations = [set(1, 'a', 'b'), set(day, 'b', 'c'), set(2 * day, 'c', 'd')]
  const third = set(3 * day, 'd', 'e')

  expect(kinds(after(...rotations, set(2 * day + hourMs, 'd', 'x')))).toEqual([])
  expect(kinds(after(...rotations, third, set(4 * day, 'e', 'f')))).toEqual([])
  expect(kinds(after(...rotations, third, set(3 * day + hourMs, 'e', 'x')))).toEqual(['unusual_key'])
})

test('a source that shows a hundred other keys each time fills neither timeline nor alerts', () => {
  const names = (turn: number) => Array.from({ length: 100 }, (_, at) => `${turn}-${at}`)
  let timeline = after(set(1, 'used', 'b'), login('used', 2))
  for (let turn = 1; turn <= 60; turn++) timeline = observed(timeline, set(turn * 60_000, ...names(turn)))

  expect(timeline.keys.length).toBeLessThanOrEqual(100)
  expect(timeline.keys.some(({ kid }) => kid === 'used')).toBe(true)
  expect(timeline.alerts.length).toBeLessThanOrEqual(3)
  expect(timeline.arrivals.length).toBeLessThanOrEqual(10)
})

test('a document with other endpoints, or of another issuer, is an alert', () => {
  const document = (at: number, seen: object): Observation => ({
    set: undefined,
    document: { at: start + at, seen: { issuer: 'https://a', ...seen } },
    logins: [],
  })
  const known = after(document(1, { jwks_uri: 'https://a/1', token_endpoint: 'https://a/t' }))

  expect(
    kinds(observed(known, document(2, { jwks_uri: 'https://a/1', token_endpoint: 'https://a/t' }))),
  ).toEqual([])
  expect(
    observed(known, document(2, { jwks_uri: 'https://b/1', token_endpoint: 'https://a/t' })).alerts,
  ).toEqual([
    { time: start + 2, kind: 'document_changed', text: 'jwks_uri was "https://a/1", is "https://b/1"' },
  ])
  expect(observed(known, document(2, { issuer: 'https://evil' })).alerts[0]?.text).toBe(
    'issuer was "https://a", is "https://evil"',
  )
})
