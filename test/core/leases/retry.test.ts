import { describe, expect, test } from 'vitest'
import type { Lease } from '../../../src/core/leases/lease.ts'
import { afterFailure, endedNow, queuedNow, retryDelayMs } from '../../../src/core/leases/retry.ts'
import { fail, refuse } from '../../../src/errors.ts'

const aLease: Lease = {
  id: 'practice/creds/ci/abc',
  namespace: 'root',
  path: 'practice/creds/ci',
  plugin: 'practice',
  mount_accessor: 'practice_1',
  owner: '',
  issue_time: 0,
  expire_time: 5000,
  renewable: true,
  internal: {},
}
const now = 10_000
const down = fail('upstream', 'the provider is down')

test.each([
  { failure: 1, least: 10, most: 30 },
  { failure: 2, least: 20, most: 60 },
  { failure: 3, least: 40, most: 120 },
  { failure: 4, least: 80, most: 240 },
  { failure: 5, least: 160, most: 480 },
])('failure $failure is retried after $least to $most seconds', ({ failure, least, most }) => {
  expect(retryDelayMs(failure, 0)).toBe(least * 1000)
  expect(retryDelayMs(failure, 1)).toBe(most * 1000)
})

describe('a lease after a failure', () => {
  test('waits for its retry', () => {
    expect(afterFailure(aLease, down, now, 0.5)).toEqual({
      ...aLease,
      ended: true,
      retry: { at: now + 20_000, failures: 1 },
    })
  })

  test('is irrevocable after the sixth failure', () => {
    const after = afterFailure({ ...aLease, retry: { at: 1, failures: 5 } }, down, now, 0.5)

    expect(after).toMatchObject({ revoke_error: 'out of retries: the provider is down' })
    expect(after?.retry).toBeUndefined()
  })

  test.each([
    { name: 'an invalid request', cause: refuse('invalid', 'no'), error: 'no' },
    {
      name: 'an unsupported operation',
      cause: fail('unsupported', 'unsupported operation'),
      error: 'unsupported operation',
    },
    { name: 'an unsupported path', cause: fail('missing', 'unsupported path'), error: 'unsupported path' },
  ])('is irrevocable at once by $name', ({ cause, error }) => {
    expect(afterFailure(aLease, cause, now, 0.5)).toMatchObject({ revoke_error: error })
  })

  test('is retried when permission was denied', () => {
    expect(afterFailure(aLease, refuse('denied', 'permission denied'), now, 0.5)).toMatchObject({
      retry: { failures: 1 },
    })
  })

  test('keeps at most 240 characters of the error', () => {
    expect(afterFailure(aLease, refuse('invalid', 'x'.repeat(1000)), now, 0)?.revoke_error).toBe(
      'x'.repeat(240),
    )
  })

  test('does not show the text of a bug', () => {
    expect(
      afterFailure({ ...aLease, retry: { at: 1, failures: 5 } }, new TypeError('secret'), now, 0)
        ?.revoke_error,
    ).toBe('out of retries: internal error')
  })

  test('that is irrevocable does not change', () => {
    expect(afterFailure({ ...aLease, revoke_error: 'first' }, down, now, 0.5)).toBeUndefined()
  })
})

test('ending a lease moves its expiry, and leaves an expired one to its retries', () => {
  expect(endedNow({ ...aLease, expire_time: 20_000 }, now)?.expire_time).toBe(now)
  expect(endedNow(aLease, now)).toBeUndefined()
})

test('queuing a lease restarts its retries, and an irrevocable one stays irrevocable', () => {
  expect(queuedNow({ ...aLease, retry: { at: 99_000, failures: 3 } }, now)).toEqual({
    ...aLease,
    retry: undefined,
    expire_time: now,
    ended: true,
  })
  expect(queuedNow({ ...aLease, revoke_error: 'no' }, now)).toMatchObject({
    expire_time: now,
    revoke_error: 'no',
  })
})
