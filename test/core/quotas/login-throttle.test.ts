import { expect, test } from 'vitest'
import { LoginThrottle } from '../../../src/core/quotas/login-throttle.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const aThrottle = () => {
  const clock = new FakeClock()
  return { clock, throttle: new LoginThrottle({ count: 1, durationMs: 60_000 }, clock) }
}

test('memory stays bounded: the addresses that were refused first are forgotten, never the others shut out', () => {
  const { throttle } = aThrottle()
  for (let host = 0; host <= 50_000; host += 1) throttle.note('m', `client ${host}`)

  expect(throttle.waitOf('m', 'client 0')).toBeUndefined()
  expect(throttle.waitOf('m', 'client 1')).toBe(60)
  expect(throttle.waitOf('m', 'another')).toBeUndefined()
})

test('a clock that is set back ends the wait', () => {
  const { clock, throttle } = aThrottle()
  throttle.note('m', 'client')
  expect(throttle.waitOf('m', 'client')).toBe(60)

  clock.advance(-10)

  expect(throttle.waitOf('m', 'client')).toBeUndefined()
})

test('an IPv6 network of 64 bits is one client', () => {
  const { throttle } = aThrottle()
  throttle.note('m', '2001:db8:1:2::1')

  expect(throttle.waitOf('m', '2001:db8:1:2:ffff::9')).toBe(60)
  expect(throttle.waitOf('m', '2001:db8:1:3::1')).toBeUndefined()
})
