import { describe, expect, test } from 'vitest'
import type { Lease } from '../../../../src/core/leases/lease.ts'
import { issueTerms, renewalTerms, roleOf } from '../../../../src/plugins/cloud/credentials/lease-terms.ts'
import { emptyRole } from '../../../../src/plugins/cloud/roles/role-record.ts'

const issued = Date.UTC(2026, 0, 2)
const at = (seconds: number) => issued + seconds * 1000
const endingAt = (seconds: number) => ({ role: 'ci', key_end_date: new Date(at(seconds)).toISOString() })

const aLease = (internal: Record<string, unknown>): Lease => ({
  id: 'cloud/creds/ci/x',
  namespace: 'root',
  path: 'cloud/creds/ci',
  plugin: 'cloud',
  mount_accessor: 'cloud_1',
  owner: '',
  issue_time: issued,
  expire_time: at(100),
  renewable: true,
  internal,
})

const tenYears = 10 * 365 * 24 * 3600

// docs/contract/cloud.md#renewal; spans count from the issue.
describe('renewal', () => {
  test.each([
    {
      name: 'the role’s terms',
      role: { ttl: 20, max_ttl: 30 },
      end: tenYears,
      now: 5,
      ttl: 20,
      maxTtl: 30,
      renewable: true,
    },
    {
      name: 'only the end of the secret, without other terms',
      role: {},
      end: 60,
      now: 5,
      ttl: 0,
      maxTtl: 60,
      renewable: true,
    },
    {
      name: 'a ttl beyond the end of the secret',
      role: { ttl: 50 },
      end: 60,
      now: 20,
      ttl: 40,
      maxTtl: 60,
      renewable: false,
    },
    {
      name: 'a ttl that just fits, which is the last renewal',
      role: { ttl: 40 },
      end: 60,
      now: 20,
      ttl: 40,
      maxTtl: 60,
      renewable: false,
    },
    {
      name: 'a max ttl beyond the end of the secret',
      role: { ttl: 10, max_ttl: 100 },
      end: 60,
      now: 20,
      ttl: 10,
      maxTtl: 60,
      renewable: true,
    },
  ])('follows $name', ({ role, end, now, ttl, maxTtl, renewable }) => {
    expect(renewalTerms(aLease(endingAt(end)), { ...emptyRole, ...role }, at(now))).toEqual({
      ttl,
      maxTtl,
      renewable,
    })
  })

  test('sets the end of the secret to ten years after the issue if the lease does not store it', () => {
    const terms = renewalTerms(aLease({ role: 'ci', app_object_id: 'a' }), { ...emptyRole, ttl: 20 }, at(5))

    expect(terms).toEqual({
      ttl: 20,
      maxTtl: tenYears,
      renewable: true,
      internal: { role: 'ci', app_object_id: 'a', key_end_date: new Date(at(tenYears)).toISOString() },
    })
  })

  test.each([
    [
      'an end that is no time',
      { role: 'ci', key_end_date: 'soon' },
      5,
      "cannot parse 'key_end_date' to timestamp",
    ],
    ['a secret that has ended', endingAt(60), 60, 'past the end of the secret, cannot renew'],
    ['data that are not the engine’s', { role: 7 }, 5, 'internal data of the lease cannot be read'],
  ])('is refused for %s', (_name, internal, now, message) => {
    expect(() => renewalTerms(aLease(internal), emptyRole, at(now))).toThrow(message)
  })

  test('is refused for a lease without a role', () => {
    expect(() => roleOf(aLease({ app_object_id: 'a' }))).toThrow("internal data 'role' not found")
    expect(roleOf(aLease({ role: 'ci' }))).toBe('ci')
  })
})

// The secret was created `made` seconds ago, and works for the explicit limit or ten years.
// docs/cloud.md#credentials
test.each([
  { role: { ttl: 20, max_ttl: 30 }, made: 0, terms: { ttl: 20, maxTtl: 30 } },
  { role: { ttl: 20, explicit_max_ttl: 60 }, made: 0, terms: { ttl: 20, maxTtl: 60 } },
  { role: { ttl: 20, max_ttl: 90, explicit_max_ttl: 60 }, made: 0, terms: { ttl: 20, maxTtl: 60 } },
  { role: { ttl: 20, max_ttl: 30, explicit_max_ttl: 60 }, made: 0, terms: { ttl: 20, maxTtl: 30 } },
  { role: { ttl: 20, explicit_max_ttl: 60 }, made: 15, terms: { ttl: 20, maxTtl: 45 } },
  { role: {}, made: 15, terms: { ttl: 0, maxTtl: tenYears - 15 } },
])('a lease for $role is issued $made s after its secret with the right terms', ({ role, made, terms }) => {
  const whole = { ...emptyRole, ...role }
  const end = endingAt((whole.explicit_max_ttl || tenYears) - made)

  expect(issueTerms(whole, end, at(0))).toEqual(terms)
})
