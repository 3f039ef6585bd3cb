import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { firstMounts } from '../../../src/core/mounts/first-mounts.ts'
import { mountInfo } from '../../../src/core/mounts/mount-info.ts'
import { mountPointOf } from '../../../src/core/mounts/mount-path.ts'
import { MountIndex } from '../../../src/core/mounts/mount-table.ts'
import { type MountRequest, newMount } from '../../../src/core/mounts/new-mount.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { type JsonObject, parseJson } from '../../../src/lib/text/json.ts'
import { someMountTypes } from '../../support/mount-types.ts'

const system = { defaultTtl: 2_764_800, maxTtl: 2_764_800 }
const types = someMountTypes()
const table = new MountIndex(
  firstMounts({
    random: systemRandom,
    system,
    types,
    defaults: [
      { table: 'auth', path: 'jwt', type: 'jwt' },
      { table: 'auth', path: 'team/b', type: 'jwt' },
      { table: 'secret', path: 'cloud', type: 'cloud' },
      { table: 'secret', path: 'a/b', type: 'cloud' },
    ],
  }),
)
const context = {
  table,
  system,
  types,
  conflictingNamespace: (_: string, path: string) => (path.startsWith('ns1/') ? 'ns1/' : undefined),
}

const enable = (kind: 'auth' | 'secret', path: string, request: Partial<MountRequest>, namespace = 'root') =>
  newMount(mountPointOf(namespace, kind, path), { type: '', ...request }, context, systemRandom)

/** A `config` map as read from a body: numbers keep their text. */
function config(json: string): JsonObject {
  // the tests below only write objects
  return parseJson(Buffer.from(json), { maxStrings: 0, maxMemory: 0, maxDepth: 0 }) as JsonObject
}

test.each<{ name: string; request: Partial<MountRequest>; text: string; kind?: 'auth' | 'secret' }>([
  { name: 'no type', request: {}, text: 'backend type must be specified as a string' },
  {
    name: 'plugin without a name',
    request: { type: 'plugin' },
    text: 'plugin_name must be provided for plugin backend',
  },
  {
    name: 'plugin with an unknown name',
    request: { type: 'plugin', plugin_name: 'x' },
    text: 'plugin not found in the catalog: x',
  },
  { name: 'unknown type', request: { type: 'nope' }, text: 'plugin not found in the catalog: nope' },
  {
    name: 'a type of Vault that another one serves',
    request: { type: 'aws' },
    text: 'plugin not found in the catalog: aws; "jwt" accepts the identity tokens of workloads',
  },
  {
    name: 'a type of Vault for people',
    request: { type: 'plugin', plugin_name: 'ldap' },
    text: 'plugin not found in the catalog: ldap; "oidc" logs people in through an OpenID provider, and "jwt" accepts the tokens of pipelines',
  },
  {
    name: 'a secrets engine of Vault of the same name',
    request: { type: 'ldap' },
    text: 'plugin not found in the catalog: ldap; "kv" stores credentials that something else makes',
    kind: 'secret',
  },
  {
    name: 'a secrets engine that nothing here replaces',
    request: { type: 'transit' },
    text: 'plugin not found in the catalog: transit; no type of this server does the same',
    kind: 'secret',
  },
  { name: 'a secrets type', request: { type: 'cloud' }, text: 'plugin not found in the catalog: cloud' },
  {
    name: 'an auth type',
    request: { type: 'jwt' },
    text: 'plugin not found in the catalog: jwt',
    kind: 'secret',
  },
  {
    name: 'a member every object has',
    request: { type: 'constructor' },
    text: 'plugin not found in the catalog: constructor',
  },
  { name: 'type token', request: { type: 'token' }, text: 'token credential backend cannot be instantiated' },
  { name: 'type system', request: { type: 'system' }, text: 'plugin not found in the catalog: system' },
  {
    name: 'type system',
    request: { type: 'system' },
    text: 'mount type of "system" is not mountable',
    kind: 'secret',
  },
  {
    name: 'type cubbyhole',
    request: { type: 'cubbyhole' },
    text: 'mount type of "cubbyhole" is not mountable',
    kind: 'secret',
  },
  {
    name: 'type identity',
    request: { type: 'identity' },
    text: 'mount type of "identity" is not mountable',
    kind: 'secret',
  },
  {
    name: 'type token',
    request: { type: 'token' },
    text: 'mount type of "token" is not mountable',
    kind: 'secret',
  },
  {
    name: 'type ns_system',
    request: { type: 'ns_system' },
    text: 'mount type of "ns_system" is not mountable',
    kind: 'secret',
  },
  {
    name: 'a version',
    request: { type: 'jwt', options: { version: '2' } },
    text: 'auth method "jwt" does not allow setting a version',
  },
  {
    name: 'a version',
    request: { type: 'cloud', options: { version: '2' } },
    text: 'secrets engine "cloud" does not allow setting a version',
    kind: 'secret',
  },
])('enable $kind: $name is refused', ({ request, text, kind = 'auth' }) => {
  expect(() => enable(kind, 'new', request)).toThrow(
    expect.objectContaining({ kind: 'invalid', wrapped: false, message: text }),
  )
})

const unconvertible = 'unable to convert given auth config information'

test.each([
  { json: '{"default_lease_ttl":"x"}', text: 'unable to parse default TTL of x: time: invalid duration "x"' },
  { json: '{"max_lease_ttl":"x"}', text: 'unable to parse max TTL of x: time: invalid duration "x"' },
  {
    json: '{"max_lease_ttl":1.5}',
    text: 'unable to parse max TTL of 1.5: time: missing unit in duration "1.5"',
  },
  {
    json: '{"default_lease_ttl":"-1h"}',
    text: "unable to parse default TTL of -1h: cannot provide negative value '-3600'",
  },
  {
    json: '{"default_lease_ttl":"2h","max_lease_ttl":"1h"}',
    text: 'given default lease TTL greater than given max lease TTL',
  },
  {
    json: '{"default_lease_ttl":"9999h"}',
    text: 'given default lease TTL greater than system max lease TTL of 2764800',
  },
  {
    json: '{"default_lease_ttl":"9999h","max_lease_ttl":"system"}',
    text: 'given default lease TTL greater than system max lease TTL of 2764800',
  },
  { json: '{"default_lease_ttl":true}', text: unconvertible },
  { json: '{"default_lease_ttl":["1h"]}', text: unconvertible },
  { json: '{"default_lease_ttl":{}}', text: unconvertible },
  { json: '{"force_no_cache":"true"}', text: unconvertible },
  { json: '{"force_no_cache":1}', text: unconvertible },
  { json: '{"passthrough_request_headers":5}', text: unconvertible },
  { json: '{"allowed_response_headers":{}}', text: unconvertible },
  { json: '{"audit_non_hmac_request_keys":[true]}', text: unconvertible },
  { json: '{"audit_non_hmac_response_keys":[["a"]]}', text: unconvertible },
  { json: '{"listing_visibility":true}', text: unconvertible },
  { json: '{"user_lockout_config":{"lockout_threshold":"5"}}', text: unconvertible },
  { json: '{"user_lockout_config":"x"}', text: unconvertible },
  {
    json: '{"user_lockout_config":{"lockout_threshold":5}}',
    text: 'tuning of user lockout configuration for auth type "jwt" not allowed',
  },
  { json: '{"token_type":"foo"}', text: "invalid value for 'token_type'" },
  { json: '{"token_type":5}', text: "invalid value for 'token_type'" },
  { json: '{"listing_visibility":"foo"}', text: 'invalid listing_visibility foo' },
  {
    json: '{"plugin_version":"x"}',
    text: 'version "x" is not a valid semantic version: malformed version: x',
  },
  { json: '{"plugin_version":"v1.2.3"}', text: 'plugin not found in the catalog: jwt' },
])('enable with config $json is refused', ({ json, text }) => {
  expect(() => enable('auth', 'new', { type: 'jwt', config: config(json) })).toThrow(
    expect.objectContaining({ kind: 'invalid', message: text }),
  )
})

test('the text for an unreadable config names the table', () => {
  expect(() => enable('secret', 'new', { type: 'cloud', config: config('{"force_no_cache":1}') })).toThrow(
    'unable to convert given mount config information',
  )
})

test.each<{ kind: 'auth' | 'secret'; path: string; text: string }>([
  { kind: 'auth', path: '', text: 'backend path must be specified' },
  { kind: 'secret', path: '/', text: 'backend path must be specified' },
  ...[
    'auth',
    'sys',
    'audit',
    'cubbyhole',
    'identity',
    'ui',
    'v1',
    'docs',
    'robots.txt',
    '.well-known',
    'metrics',
    'health',
  ].flatMap((name) => [
    { kind: 'secret' as const, path: name, text: `cannot mount "${name}/"` },
    { kind: 'secret' as const, path: `${name}/x`, text: `cannot mount "${name}/x/"` },
  ]),
  { kind: 'auth', path: 'token', text: 'path is already in use at token/' },
  { kind: 'auth', path: 'token/x', text: 'path is already in use at token/' },
  { kind: 'auth', path: 'jwt', text: 'path is already in use at jwt/' },
  { kind: 'auth', path: 'jwt/sub', text: 'path is already in use at jwt/' },
  { kind: 'auth', path: 'team', text: 'path is already in use at team/b/' },
  { kind: 'auth', path: 'team/b/c/d', text: 'path is already in use at team/b/' },
  { kind: 'secret', path: 'cloud', text: 'path is already in use at cloud/' },
  { kind: 'secret', path: 'a', text: 'path is already in use at a/b/' },
  { kind: 'secret', path: 'a/b/c', text: 'path is already in use at a/b/' },
  { kind: 'secret', path: 'ns1', text: 'existing mount at ns1/' },
  { kind: 'secret', path: 'ns1/x', text: 'existing mount at ns1/' },
  { kind: 'secret', path: 'x//y', text: "path 'x//y/' does not match cleaned path 'x/y/'" },
  { kind: 'auth', path: '../y', text: "path 'auth/../y/' does not match cleaned path 'y/'" },
  { kind: 'secret', path: 'x\u0007y', text: 'path cannot contain non-printable characters' },
  { kind: 'secret', path: 'x'.repeat(1024), text: 'path is longer than 1024 characters' },
])('enable $kind at $path is refused', ({ kind, path, text }) => {
  expect(() => enable(kind, path, { type: kind === 'auth' ? 'jwt' : 'cloud' })).toThrow(
    expect.objectContaining({ kind: 'invalid', message: text }),
  )
})

test.each<{ kind: 'auth' | 'secret'; path: string; namespace?: string }>([
  { kind: 'auth', path: 'team/bb' },
  { kind: 'auth', path: 'cloud' },
  { kind: 'auth', path: 'ns1' },
  { kind: 'auth', path: 'docs' },
  { kind: 'secret', path: 'jwt' },
  { kind: 'secret', path: 'a/bb' },
  { kind: 'secret', path: 'team/sys' },
  { kind: 'secret', path: 'system' },
  { kind: 'secret', path: 'x y-_~.ä' },
  { kind: 'secret', path: 'docs', namespace: 'abc123' },
  { kind: 'secret', path: 'cloud', namespace: 'abc123' },
])('enable $kind at $path is allowed', ({ kind, path, namespace }) => {
  expect(enable(kind, path, { type: kind === 'auth' ? 'oidc' : 'azure' }, namespace).path).toBe(
    `${kind === 'auth' ? 'auth/' : ''}${path}/`,
  )
})

const unset = { default_lease_ttl: 0, force_no_cache: false, max_lease_ttl: 0, token_type: 'default-service' }

test.each([
  { json: '{"default_lease_ttl":60}', set: { default_lease_ttl: 60 } },
  { json: '{"default_lease_ttl":"60"}', set: { default_lease_ttl: 60 } },
  { json: '{"default_lease_ttl":"1d"}', set: { default_lease_ttl: 86_400 } },
  { json: '{"default_lease_ttl":"","max_lease_ttl":"0s"}', set: {} },
  {
    json: '{"default_lease_ttl":null,"listing_visibility":null,"token_type":null,"force_no_cache":null}',
    set: {},
  },
  {
    json: '{"default_lease_ttl":"9999h","max_lease_ttl":"9999h"}',
    set: { default_lease_ttl: 35_996_400, max_lease_ttl: 35_996_400 },
  },
  { json: '{"default_lease_ttl":"system","max_lease_ttl":"1h"}', set: { max_lease_ttl: 3600 } },
  { json: '{"force_no_cache":true}', set: {} },
  { json: '{"audit_non_hmac_request_keys":[]}', set: {} },
  { json: '{"audit_non_hmac_request_keys":"a, b"}', set: { audit_non_hmac_request_keys: ['a', 'b'] } },
  { json: '{"audit_non_hmac_response_keys":[1]}', set: { audit_non_hmac_response_keys: ['1'] } },
  {
    json: '{"passthrough_request_headers":["x-a","X-A"]}',
    set: { passthrough_request_headers: ['x-a', 'X-A'] },
  },
  { json: '{"listing_visibility":"unauth"}', set: { listing_visibility: 'unauth' } },
  { json: '{"token_type":"batch"}', set: { token_type: 'batch' } },
  { json: '{"token_type":""}', set: {} },
  { json: '{"user_lockout_config":{}}', set: {} },
  { json: '{"nonsense":true}', set: {} },
  { json: 'null', set: {} },
])('enable with config $json stores it', ({ json, set }) => {
  expect(enable('auth', 'new', { type: 'jwt', config: config(json) }).config).toEqual({ ...unset, ...set })
})

test.each<{ name: string; options: Record<string, string> | null | undefined; kept: object | null }>([
  { name: 'nothing sent', options: undefined, kept: {} },
  { name: 'null', options: null, kept: null },
  { name: 'empty', options: {}, kept: {} },
  { name: 'texts', options: { x: 'y' }, kept: { x: 'y' } },
])('options of a new mount: $name', ({ options, kept }) => {
  expect(enable('auth', 'new', { type: 'jwt', options }).options).toEqual(kept)
})

test('a mount keeps the name of its type, and its ids show it', () => {
  const auth = enable('auth', 'new', { type: 'oidc' })
  const secret = enable('secret', 'new', { type: 'azure' })

  expect(auth).toMatchObject({
    type: 'oidc',
    plugin: 'jwt',
    accessor: expect.stringMatching(/^auth_oidc_[0-9a-f]{8}$/),
  })
  expect(secret).toMatchObject({
    type: 'azure',
    plugin: 'azure',
    accessor: expect.stringMatching(/^azure_[0-9a-f]{8}$/),
  })
  expect(auth.uuid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
})

test('an accessor is never used twice', () => {
  const bytes = [
    [1, 1, 1, 1],
    [1, 1, 1, 1],
    [2, 2, 2, 2],
  ].map((four) => Uint8Array.from(four))
  const random = { bytes: () => bytes.shift() ?? new Uint8Array(4), uuid: systemRandom.uuid }
  const first = newMount(mountPointOf('root', 'auth', 'one'), { type: 'jwt' }, context, random)

  const second = newMount(
    mountPointOf('root', 'auth', 'two'),
    { type: 'jwt' },
    { ...context, table: table.with([first]) },
    random,
  )

  expect([first.accessor, second.accessor]).toEqual(['auth_jwt_01010101', 'auth_jwt_02020202'])
})

test('a secrets mount shows everything that was set and no token type', () => {
  const mount = enable('secret', 'new', {
    type: 'cloud',
    description: 'd',
    seal_wrap: true,
    options: { a: '1' },
    config: config(
      '{"force_no_cache":true,"default_lease_ttl":3600,"max_lease_ttl":"86400","listing_visibility":"unauth","token_type":"batch"}',
    ),
  })

  expect(mountInfo(mount, '1.16.3+ent')).toEqual({
    accessor: mount.accessor,
    config: {
      default_lease_ttl: 3600,
      force_no_cache: true,
      listing_visibility: 'unauth',
      max_lease_ttl: 86_400,
    },
    deprecation_status: 'supported',
    description: 'd',
    external_entropy_access: false,
    local: false,
    options: { a: '1' },
    plugin_version: '',
    running_plugin_version: 'v1.16.3+builtin.vault',
    running_sha256: '',
    seal_wrap: true,
    type: 'cloud',
    uuid: mount.uuid,
  })
})
