import { expect, test } from 'vitest'
import type { Mount } from '../../../src/core/mounts/mount.ts'
import { effectiveDefaultTtl, effectiveMaxTtl, tuneInfo } from '../../../src/core/mounts/mount-info.ts'
import { type TuneRequest, tuned } from '../../../src/core/mounts/tune.ts'
import { aMount } from './a-mount.ts'

const system = { defaultTtl: 3600, maxTtl: 2_764_800 }
const auth = aMount('auth/jwt/')
const secret = aMount('cloud/')
const fixed = (path: string, type: Mount['plugin']) => aMount(path, { type, plugin: type })
const withTtls = (default_lease_ttl: number, max_lease_ttl: number) =>
  aMount('auth/jwt/', { config: { default_lease_ttl, max_lease_ttl, force_no_cache: false } })

test.each<{ name: string; mount: Mount; request: TuneRequest; text: string }>([
  {
    name: 'default above a maximum given with it',
    mount: auth,
    request: { default_lease_ttl: '2h', max_lease_ttl: '1h' },
    text: 'backend max lease TTL of 3600 would be less than backend default lease TTL of 7200',
  },
  {
    name: 'default above the mount’s maximum',
    mount: withTtls(1800, 3600),
    request: { default_lease_ttl: '2h' },
    text: 'backend max lease TTL of 3600 would be less than backend default lease TTL of 7200',
  },
  {
    name: 'maximum below the mount’s default',
    mount: withTtls(1800, 3600),
    request: { max_lease_ttl: '10m' },
    text: 'backend max lease TTL of 600 would be less than backend default lease TTL of 1800',
  },
  {
    name: 'default above the system’s maximum where the mount has none',
    mount: auth,
    request: { default_lease_ttl: '9999h' },
    text: 'backend max lease TTL of 2764800 would be less than backend default lease TTL of 35996400',
  },
  {
    name: 'maximum given up while the default needs it',
    mount: withTtls(35_996_400, 35_996_400),
    request: { max_lease_ttl: 'system' },
    text: 'backend max lease TTL of 2764800 would be less than backend default lease TTL of 35996400',
  },
  {
    name: 'default unreadable',
    mount: auth,
    request: { default_lease_ttl: 'x' },
    text: 'time: invalid duration "x"',
  },
  {
    name: 'maximum unreadable',
    mount: auth,
    request: { max_lease_ttl: 'x' },
    text: 'time: invalid duration "x"',
  },
  {
    name: 'negative',
    mount: auth,
    request: { max_lease_ttl: '-5' },
    text: "cannot provide negative value '-5'",
  },
  {
    name: 'token_type unknown',
    mount: auth,
    request: { token_type: 'foo' },
    text: "invalid value for 'token_type'",
  },
  {
    name: 'token_type of a secrets mount',
    mount: secret,
    request: { token_type: 'batch' },
    text: "'token_type' can only be modified on auth mounts",
  },
  {
    name: 'token_type of auth/token',
    mount: fixed('auth/token/', 'token'),
    request: { token_type: 'batch' },
    text: "'token_type' cannot be set for 'token' or 'ns_token' auth mounts",
  },
  {
    name: 'visibility',
    mount: auth,
    request: { listing_visibility: 'foo' },
    text: 'invalid listing_visibility foo',
  },
  {
    name: 'lockout',
    mount: auth,
    request: { user_lockout_config: { lockout_threshold: '5' } },
    text: 'tuning of user lockout configuration for auth type "jwt" not allowed',
  },
  {
    name: 'lockout of a secrets mount',
    mount: secret,
    request: { user_lockout_config: {} },
    text: "'user_lockout_config' can only be modified on auth mounts",
  },
  {
    name: 'plugin version',
    mount: auth,
    request: { plugin_version: 'x' },
    text: 'version "x" is not a valid semantic version: malformed version: x',
  },
  {
    name: 'sys',
    mount: fixed('sys/', 'system'),
    request: { max_lease_ttl: '1h' },
    text: 'cannot tune parameter max_lease_ttl of sys/',
  },
  {
    name: 'sys',
    mount: fixed('sys/', 'system'),
    request: { description: 'x' },
    text: 'cannot tune parameter description of sys/',
  },
  {
    name: 'cubbyhole',
    mount: fixed('cubbyhole/', 'cubbyhole'),
    request: { options: {} },
    text: 'cannot tune parameter options of cubbyhole/',
  },
  {
    name: 'identity',
    mount: fixed('identity/', 'identity'),
    request: { listing_visibility: 'unauth' },
    text: 'cannot tune parameter listing_visibility of identity/',
  },
])('tune is refused: $name', ({ mount, request, text }) => {
  expect(() => tuned(mount, request, system)).toThrow(
    expect.objectContaining({ kind: 'invalid', wrapped: false, message: text }),
  )
})

test.each([
  { request: { max_lease_ttl: '1h' }, after: [0, 3600] },
  { request: { default_lease_ttl: '30m' }, after: [1800, 0] },
  { request: { default_lease_ttl: '2764800' }, after: [2_764_800, 0] },
  { request: { default_lease_ttl: '9999h', max_lease_ttl: '9999h' }, after: [35_996_400, 35_996_400] },
  { from: [600, 1200], request: { default_lease_ttl: '', max_lease_ttl: '' }, after: [600, 1200] },
  { from: [600, 1200], request: { default_lease_ttl: 'system' }, after: [0, 1200] },
  { from: [600, 1200], request: { default_lease_ttl: '0', max_lease_ttl: '0' }, after: [0, 0] },
  { from: [600, 1200], request: {}, after: [600, 1200] },
])(
  'tuning TTLs of $from with $request leaves $after',
  ({ from: [before = 0, longest = 0] = [], request, after }) => {
    const { config } = tuned(withTtls(before, longest), request, system)

    expect([config.default_lease_ttl, config.max_lease_ttl]).toEqual(after)
  },
)

test.each<{ request: TuneRequest; shown: object; from?: Partial<Mount['config']> }>([
  {
    request: { audit_non_hmac_request_keys: ['a', 'b'] },
    shown: { audit_non_hmac_request_keys: ['a', 'b'] },
  },
  {
    from: { audit_non_hmac_request_keys: ['a'] },
    request: { audit_non_hmac_request_keys: ['c'] },
    shown: { audit_non_hmac_request_keys: ['c'] },
  },
  { from: { audit_non_hmac_request_keys: ['a'] }, request: { audit_non_hmac_request_keys: [] }, shown: {} },
  {
    from: { allowed_response_headers: ['X-C'] },
    request: { passthrough_request_headers: ['X-A'] },
    shown: { allowed_response_headers: ['X-C'], passthrough_request_headers: ['X-A'] },
  },
  { request: { listing_visibility: 'hidden' }, shown: { listing_visibility: 'hidden' } },
  { from: { listing_visibility: 'hidden' }, request: { listing_visibility: '' }, shown: {} },
  {
    from: { listing_visibility: 'hidden' },
    request: { description: '' },
    shown: { listing_visibility: 'hidden' },
  },
  { request: { token_type: 'batch' }, shown: { token_type: 'batch' } },
  { from: { token_type: 'batch' }, request: { token_type: '' }, shown: { token_type: 'default-service' } },
  { request: { options: { k: 'v' } }, shown: { options: { k: 'v' } } },
  { request: { options: { k: '' } }, shown: {} },
  { request: { options: null }, shown: {} },
  { request: { user_lockout_config: null }, shown: {} },
  { request: { description: 'd' }, shown: { description: 'd' } },
])('tuning $from with $request shows $shown', ({ request, shown, from = {} }) => {
  const mount = aMount('auth/jwt/', { config: { ...auth.config, ...from } })

  const after = tuneInfo(tuned(mount, request, system), system)

  expect(after).toEqual({
    default_lease_ttl: 3600,
    description: '',
    force_no_cache: false,
    max_lease_ttl: 2_764_800,
    token_type: 'default-service',
    ...shown,
  })
})

test('options are merged, and an empty value deletes its key', () => {
  const mount = aMount('cloud/', { options: { a: '1', b: '2' } })

  expect(tuned(mount, { options: { a: '', c: '3' } }, system).options).toEqual({ b: '2', c: '3' })
})

test('the server’s own mounts take the audit lists', () => {
  expect(
    tuned(fixed('sys/', 'system'), { audit_non_hmac_request_keys: ['a'] }, system).config
      .audit_non_hmac_request_keys,
  ).toEqual(['a'])
})

test('tuning does not alter the mount it was given', () => {
  const mount = aMount('auth/jwt/', {
    config: { ...auth.config, listing_visibility: 'unauth', allowed_response_headers: ['X'] },
  })
  const before = structuredClone(mount)

  tuned(
    mount,
    { listing_visibility: '', allowed_response_headers: [], max_lease_ttl: '1h', options: { a: 'b' } },
    system,
  )

  expect(mount).toEqual(before)
})

test.each([
  { own: [0, 0], effective: [3600, 2_764_800] },
  { own: [60, 0], effective: [60, 2_764_800] },
  { own: [0, 600], effective: [3600, 600] },
  { own: [60, 35_996_400], effective: [60, 35_996_400] },
])('the effective TTLs of a mount with $own are $effective', ({ own: [own = 0, longest = 0], effective }) => {
  const mount = withTtls(own, longest)

  expect([effectiveDefaultTtl(mount, system), effectiveMaxTtl(mount, system)]).toEqual(effective)
})
