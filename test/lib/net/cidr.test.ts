import { describe, expect, test } from 'vitest'
import { addressMatches, parseBoundCidr } from '../../../src/lib/net/cidr.ts'

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['127.0.0.1/32', '127.0.0.1'],
  ['1.2.3.4/8', '1.2.3.4/8'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['::1', '::1'],
  ['::1/128', '::1'],
  ['2001:DB8::1/32', '2001:DB8::1/32'],
  ['::ffff:10.0.0.1', '::ffff:10.0.0.1'],
  ['999.0.0.0/8', '999.0.0.0/8'],
  ['1.2.3.4/33', '1.2.3.4/33'],
  ['/run/agent.sock', '/run/agent.sock'],
  ['.sock', '.sock'],
])('%s is kept as %s', (text, cidr) => {
  expect(parseBoundCidr(text)).toEqual({ cidr })
})

test.each([
  '',
  'host',
  'localhost',
  '1.2.3',
  '256.1.1.1',
  '010.0.0.1',
  '0x7f000001',
  '2130706433',
  ':::1',
  ' 1.2.3.4',
  'fe80::1%eth0',
])('%j is refused', (text) => {
  expect(parseBoundCidr(text)).toEqual({
    error: `error parsing address "${text}": Unable to convert "${text}" to an IPv4 or IPv6 address, or a UNIX Socket`,
  })
})

describe('a peer', () => {
  test.each([
    [['127.0.0.1'], '127.0.0.1', true],
    [['127.0.0.1'], '127.0.0.2', false],
    [['1.2.3.4/8'], '1.255.0.9', true],
    [['1.2.3.4/8'], '2.0.0.1', false],
    [['10.0.0.0/8', '192.168.0.0/16'], '192.168.7.7', true],
    [['127.0.0.1'], '::ffff:127.0.0.1', true],
    [['127.0.0.1'], '::ffff:7f00:1', true],
    [['::ffff:10.0.0.0/104'], '10.1.2.3', true],
    [['::ffff:10.0.0.0/104'], '11.1.2.3', false],
    [['0.0.0.0/0'], '8.8.8.8', true],
    [['0.0.0.0/0'], '::1', false],
    [['::/0'], '::1', true],
    [['::/0'], '8.8.8.8', false],
    [['2001:db8::/32'], '2001:db8:1::2', true],
    [['2001:db8::/32'], '2001:db9::2', false],
    [['2001:DB8:0:0::1'], '2001:db8::1', true],
    [['999.0.0.0/8', '/run/agent.sock', '.sock'], '9.9.9.9', false],
    [['fe80::/10'], 'fe80::1%eth0', true],
    [['fe80::1%eth0/64'], 'fe80::1%eth1', false],
    [['127.0.0.1'], '', false],
    [['127.0.0.1'], 'localhost', false],
    [['0.0.0.0/0'], '2130706433', false],
  ])('bound to %j, from %s: %s', (cidrs, address, expected) => {
    expect(addressMatches(cidrs, address)).toBe(expected)
  })

  test('may have any address if nothing is bound', () => {
    for (const none of [[], null, undefined]) expect(addressMatches(none, 'anywhere')).toBe(true)
  })
})
