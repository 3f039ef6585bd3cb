import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lifetime, mountTtl } from '../../../src/core/tokens/store/lifetime.ts'

const hour = 3600
const bounds = { defaultTtl: 768 * hour, maxTtl: 768 * hour }
const now = Date.UTC(2026, 0, 2, 3, 4, 5, 900)
const ttlCut = (wanted: string, left: string) =>
  `TTL of "${wanted}" exceeded the effective max_ttl of "${left}"; TTL value is capped accordingly`
const periodCut = (wanted: string, cap: string) =>
  `period of "${wanted}" exceeded the effective max_ttl of "${cap}"; period value is capped accordingly`

test.each([
  { name: 'nothing asked gives the mount default', terms: {}, ttl: 768 * hour },
  { name: 'a TTL', terms: { ttl: hour }, ttl: hour },
  {
    name: 'a TTL above the mount maximum',
    terms: { ttl: 800 * hour },
    ttl: 768 * hour,
    warnings: [ttlCut('800h', '768h')],
  },
  {
    name: 'a TTL above the explicit maximum',
    terms: { ttl: hour, explicitMaxTtl: 1800 },
    ttl: 1800,
    warnings: [ttlCut('1h', '30m')],
  },
  { name: 'a TTL below the explicit maximum', terms: { ttl: hour, explicitMaxTtl: 2 * hour }, ttl: hour },
  { name: 'a period', terms: { period: 24 * hour }, ttl: 24 * hour },
  {
    name: 'a period beats ttl and increment',
    terms: { period: 24 * hour, ttl: hour, increment: 60 },
    ttl: 24 * hour,
  },
  {
    name: 'a period above the mount maximum',
    terms: { period: 800 * hour },
    ttl: 768 * hour,
    warnings: [periodCut('800h', '768h')],
  },
  {
    name: 'a period above the explicit maximum',
    terms: { period: 5, explicitMaxTtl: 4 },
    ttl: 4,
    warnings: [periodCut('5s', '4s')],
  },
  {
    name: 'max_ttl lowers a period',
    terms: { period: 600, maxTtl: 400 },
    ttl: 400,
    warnings: [periodCut('10m', '6m40s')],
  },
  {
    name: 'the default is cut with a warning too',
    terms: { explicitMaxTtl: 5400 },
    ttl: 5400,
    warnings: [ttlCut('768h', '1h30m')],
  },
  {
    name: 'an explicit maximum above the mount maximum causes no warning',
    terms: { explicitMaxTtl: 800 * hour },
    ttl: 768 * hour,
  },
  {
    name: 'max_ttl above the mount maximum is ignored',
    terms: { ttl: 800 * hour, maxTtl: 900 * hour },
    ttl: 768 * hour,
    warnings: [ttlCut('800h', '768h')],
  },
  {
    name: 'max_ttl cuts a TTL',
    terms: { ttl: 3605, maxTtl: hour },
    ttl: hour,
    warnings: [ttlCut('1h5s', '1h')],
  },
  { name: 'an increment beats the TTL', terms: { ttl: hour, increment: 60 }, ttl: 60 },
  {
    name: 'a late renewal gets the rest',
    terms: { ttl: 600, maxTtl: 1200 },
    age: 960,
    ttl: 240,
    warnings: [ttlCut('10m', '4m')],
  },
  {
    name: 'a periodic token has no end',
    terms: { period: 24 * hour, increment: 60 },
    age: 9999 * hour,
    ttl: 24 * hour,
  },
  {
    name: 'an explicit maximum ends a periodic token',
    terms: { period: 5, explicitMaxTtl: 4 },
    age: 2,
    ttl: 2,
    warnings: [periodCut('5s', '4s'), ttlCut('4s', '2s')],
  },
  {
    name: 'an increment past the end',
    terms: { increment: 900 * hour },
    age: hour,
    ttl: 767 * hour,
    warnings: [ttlCut('900h', '767h')],
  },
])('$name', ({ terms, age = 0, ttl, warnings = [] }) => {
  expect(lifetime(bounds, terms, now, now - age * 1000)).toEqual({ ok: true, ttl, warnings })
})

test.each([
  { name: 'at the hard end', terms: { maxTtl: 1200 }, age: 1200 },
  { name: 'after it', terms: { maxTtl: 1200 }, age: 1300 },
  { name: 'in the last second before it', terms: { maxTtl: 1200 }, age: 1199.95 },
  { name: 'at the explicit end of a periodic token', terms: { period: 60, explicitMaxTtl: 100 }, age: 100 },
])('nothing is left $name', ({ terms, age }) => {
  expect(lifetime(bounds, terms, now, now - age * 1000)).toEqual({
    ok: false,
    reason: 'past the max TTL, cannot renew',
  })
})

test.each([
  { tuned: [0, 0], ttl: bounds },
  { tuned: [60, 0], ttl: { defaultTtl: 60, maxTtl: 768 * hour } },
  { tuned: [0, 60], ttl: { defaultTtl: 768 * hour, maxTtl: 60 } },
  { tuned: [900 * hour, 1000 * hour], ttl: { defaultTtl: 900 * hour, maxTtl: 1000 * hour } },
])('a mount tuned to $tuned has the bounds $ttl', ({ tuned, ttl }) => {
  const [default_lease_ttl = 0, max_lease_ttl = 0] = tuned
  expect(mountTtl({ default_lease_ttl, max_lease_ttl }, bounds)).toEqual(ttl)
})

test('no grant ever exceeds a hard limit', () => {
  const seconds = fc.nat({ max: 1000 * hour })
  const terms = fc.record({
    increment: seconds,
    ttl: seconds,
    period: seconds,
    maxTtl: seconds,
    explicitMaxTtl: seconds,
  })
  fc.assert(
    fc.property(terms, seconds, (asked, age) => {
      const life = lifetime(bounds, asked, now, now - age * 1000)
      if (!life.ok) return
      expect(life.ttl).toBeGreaterThan(0)
      expect(life.ttl).toBeLessThanOrEqual(bounds.maxTtl)
      if (asked.explicitMaxTtl > 0) expect(age + life.ttl).toBeLessThanOrEqual(asked.explicitMaxTtl)
      if (asked.period === 0) expect(age + life.ttl).toBeLessThanOrEqual(bounds.maxTtl)
    }),
  )
})
