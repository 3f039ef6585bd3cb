import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  canonicalAddress,
  countedAddress,
  isLoopbackHost,
  parseAddress,
  reachableAddresses,
} from '../../../src/lib/net/address.ts'
import { networkSet } from '../../../src/lib/net/cidr.ts'

const shown = (text: string) => parseAddress(text)?.toString()

test.each([
  ['10.1.2.3', '10.1.2.3'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['::FFFF:A01:203', '10.1.2.3'],
  ['0:0:0:0:0:ffff:10.1.2.3', '10.1.2.3'],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['64:ff9b::10.1.2.3', '64:ff9b::a01:203'],
])('%s is the address %s', (text, address) => {
  expect(shown(text)).toBe(address)
  expect(canonicalAddress(text)).toBe(address)
})

test.each([
  '',
  'localhost',
  '1',
  '0x7f.1',
  '010.0.0.1',
  '1.2.3',
  '1.2.3.4.5',
  '256.1.1.1',
  ':',
  ':::1',
  '1::2::3',
  '[::1]',
  '10.0.0.1:80',
  ' ::1',
])('%j is not an address and stays unchanged', (text) => {
  expect(parseAddress(text)).toBeUndefined()
  expect(canonicalAddress(text)).toBe(text)
})

describe('a client is counted', () => {
  test.each([
    { name: 'an IPv4 address by itself', address: '10.1.2.3', counted: '10.1.2.3' },
    { name: 'a mapped IPv4 address as that address', address: '::ffff:10.1.2.3', counted: '10.1.2.3' },
    { name: 'an IPv6 address by its /64', address: '2001:db8:1:2:3:4:5:6', counted: '2001:db8:1:2::/64' },
    { name: 'another spelling the same way', address: '2001:0DB8:1:2::', counted: '2001:db8:1:2::/64' },
    { name: 'a neighbouring network apart', address: '2001:db8:1:3::', counted: '2001:db8:1:3::/64' },
    { name: 'a link-local address whatever its zone', address: 'fe80::1%eth0', counted: 'fe80::/64' },
    { name: 'NAT64 by the IPv4 address behind it', address: '64:ff9b::10.1.2.3', counted: '10.1.2.3' },
    {
      name: 'NAT64 of a network of its own by the whole address',
      address: '64:ff9b:1::a01:203',
      counted: '64:ff9b:1::a01:203',
    },
    {
      name: '6to4 by its IPv4 address, whatever the subnet',
      address: '2002:a01:203:ffff::1',
      counted: '10.1.2.3',
    },
    {
      name: 'Teredo by the IPv4 address of its client',
      address: '2001:0:808:808:0:1:f5fe:fdfc',
      counted: '10.1.2.3',
    },
    { name: 'a text that is not an address, unchanged', address: '', counted: '' },
  ])('$name', ({ address, counted }) => {
    expect(countedAddress(address)).toBe(counted)
  })
})

describe('rules that withhold', () => {
  const denied = networkSet(['10.1.0.0/16', '127.0.0.1', '::1', '2001:db8::/32'])
  const isDenied = (text: string) => reachableAddresses(parseAddress(text) ?? expect.fail(text)).some(denied)

  test.each([
    ...[
      '10.1.2.3',
      '::ffff:10.1.2.3',
      '::10.1.2.3',
      '::ffff:0:10.1.2.3',
      '64:ff9b::10.1.2.3',
      '2002:a01:203::',
      '2001:0:a01:203::',
    ],
    ...['64:ff9b:1::10.1.2.3', '64:ff9b:1:a01:2:300::', '64:ff9b:1:a:1:203::', '64:ff9b:1:1:a:102:300:0'],
    ...['2001:0:808:808:0:1:f5fe:fdfc', '2003::5efe:10.1.2.3', '2003::200:5efe:10.1.2.3'],
    ...['0.0.0.0', '::', '::ffff:0:0', '64:ff9b::', '2002::1', '2001:db8::a'],
  ])('reach %s', (text) => {
    expect(isDenied(text)).toBe(true)
  })

  test.each([
    ...[
      '10.2.2.3',
      '::ffff:10.2.2.3',
      '64:ff9b::8.8.8.8',
      '2002:808:808::a01:203',
      '2001:0:808:808:0:1:a01:203',
      '2003::a01:203',
    ],
    ...['2003::5eff:10.1.2.3', '2001:db9::1', '::2', '65:ff9b::10.1.2.3', '64:ff9c::10.1.2.3'],
  ])('leave %s alone', (text) => {
    expect(isDenied(text)).toBe(false)
  })
})

test('a translated address is granted nothing that its embedded IPv4 address is granted', () => {
  const granted = networkSet(['10.0.0.0/8'])
  for (const text of ['64:ff9b::10.1.2.3', '2002:a01:203::', '::10.1.2.3', '2001:0:808:808:0:1:f5fe:fdfc']) {
    expect(granted(parseAddress(text) ?? expect.fail(text)), text).toBe(false)
  }
})

test.each([
  ...(['localhost', '127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'] as const).map(
    (host) => [host, true] as const,
  ),
  ...(
    [
      '',
      '128.0.0.1',
      '127.0.0.1.example',
      '::2',
      '0.0.0.0',
      'localhost.example',
      '127.1',
      '2130706433',
    ] as const
  ).map((host) => [host, false] as const),
])('%j is a loopback host: %s', (host, expected) => {
  expect(isLoopbackHost(host)).toBe(expected)
})

test('every IPv4 address is denied in every form that can carry it', () => {
  fc.assert(
    fc.property(fc.ipV4(), (text) => {
      const isDenied = networkSet([text])
      for (const form of [
        `::ffff:${text}`,
        `64:ff9b::${text}`,
        `64:ff9b:1:2:3:4:${text}`,
        `::${text}`,
        `2001:db8::5efe:${text}`,
      ]) {
        expect(reachableAddresses(parseAddress(form) ?? expect.fail(form)).some(isDenied), form).toBe(true)
      }
    }),
  )
})
