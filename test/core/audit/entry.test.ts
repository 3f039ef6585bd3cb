import { expect, test } from 'vitest'
import { Entries } from '../../../src/core/audit/entry.ts'
import { hashingWith } from '../../../src/core/audit/hashing.ts'
import type { Caller } from '../../../src/core/callers/access.ts'
import type { Mount } from '../../../src/core/mounts/mount.ts'
import { rootAcl } from '../../../src/core/policies/acl.ts'
import type { Token } from '../../../src/core/tokens/store/token.ts'

const now = Date.UTC(2026, 10, 21, 6, 11, 24, 123)
/** Texts are shown as they are, so that lines can be read. */
const raw = hashingWith('salt', { logRaw: true, hmacAccessor: true, elideListResponses: false })

const token: Token = {
  accessor: 'acc',
  parent: '',
  namespace: 'root',
  policies: ['default', 'dev'],
  path: 'auth/jwt/login',
  meta: { role: 'dev' },
  display_name: 'jwt-alice',
  num_uses: 4,
  granted_uses: 5,
  entity_id: 'e1',
  creation_time: 0,
  ttl: 2764800,
  granted_ttl: 2764800,
  explicit_max_ttl: 0,
  period: 0,
  bound_cidrs: [],
  type: 'service',
  cubbyhole_id: 'c',
  renewable: true,
  internal: {},
  issue_time: Date.UTC(2026, 10, 21, 5, 0, 0, 999),
  expire_time: null,
  mount_accessor: 'auth_jwt_1',
}
const mount: Mount = {
  table: 'secret',
  namespace: 'root',
  path: 'cloud/',
  type: 'cloud',
  plugin: 'cloud',
  accessor: 'cloud_1a2b3c4d',
  uuid: 'u',
  description: '',
  options: null,
  local: false,
  seal_wrap: false,
  external_entropy_access: false,
  tainted: false,
  moves: 0,
  config: { default_lease_ttl: 0, max_lease_ttl: 0, force_no_cache: false },
}
const group = { namespace: 'aB3xY9', names: ['y'], groups: [] }
const caller: Caller = {
  token,
  tokenId: 'hvs.a',
  identityPolicies: ['x'],
  acl: rootAcl,
  // only these members are shown
  identity: { policiesByNamespace: [group] } as unknown as NonNullable<Caller['identity']>,
}

const entries = new Entries(
  {
    id: 'r1',
    operation: 'update',
    namespace: { id: 'n1', path: 'team/' },
    mount,
    path: 'cloud/roles/dev',
    data: { ttl: 'hour', persist_app: true },
    alwaysHashed: false,
    isCarried: false,
    secrets: { fields: new Set<string>() },
    wrapTtl: 60.5,
    remoteAddress: '127.0.0.1',
    remotePort: 51324,
    tokenId: 'hvs.a',
    caller,
    headers: [{ name: 'x-foo', values: ['a', 'b'], hmac: true }],
    clientCertificateSerialNumber: '4711',
    verdict: {
      allowed: true,
      granting: [
        { name: 'dev', namespace: 'root', namespacePath: '' },
        { name: 'y', namespace: 'aB3xY9', namespacePath: 'team/' },
      ],
    },
  },
  { version: '1.16.3+ent' },
)

const auth =
  '{"client_token":"hvs.a","accessor":"acc","display_name":"jwt-alice","policies":["default","dev","x"],' +
  '"token_policies":["default","dev"],"identity_policies":["x"],"external_namespace_policies":{"aB3xY9":["y"]},' +
  '"policy_results":{"allowed":true,"granting_policies":[{"name":"dev","namespace_id":"root","type":"acl"},' +
  '{"name":"y","namespace_id":"aB3xY9","namespace_path":"team/","type":"acl"}]},"metadata":{"role":"dev"},' +
  '"remaining_uses":4,"entity_id":"e1","token_type":"service","token_ttl":2764800,' +
  '"token_issue_time":"2026-11-21T05:00:00Z"}'
const request =
  '{"id":"r1","client_id":"e1","operation":"update","mount_point":"cloud/","mount_type":"cloud",' +
  '"mount_accessor":"cloud_1a2b3c4d","mount_running_version":"v1.16.3+builtin.vault","mount_class":"secret",' +
  '"client_token":"hvs.a","client_token_accessor":"acc","namespace":{"id":"n1","path":"team/"},' +
  '"path":"cloud/roles/dev","data":{"ttl":"hour","persist_app":true},"remote_address":"127.0.0.1",' +
  '"remote_port":51324,"wrap_ttl":60,"headers":{"x-foo":["a","b"]},' +
  '"client_certificate_serial_number":"4711"}'

test('a request entry has all members in their order', async () => {
  expect(await entries.requestLine(raw, now, 'refused')).toBe(
    `{"time":"2026-11-21T06:11:24.123Z","type":"request","auth":${auth},"request":${request},"error":"refused"}`,
  )
})

test('a response entry has all members in their order', async () => {
  const reply = {
    leaseId: 'cloud/roles/dev/l1',
    data: { a: 1 },
    warnings: ['w'],
    correlationId: 'r1',
    auth: {
      client_token: 'hvs.b',
      accessor: 'acc2',
      policies: ['default', 'y'],
      token_policies: ['default'],
      identity_policies: ['y'],
      metadata: { role: 'ci' },
      lease_duration: 60,
      renewable: true,
      entity_id: 'e2',
      token_type: 'service' as const,
      orphan: true,
      mfa_requirement: null,
      num_uses: 3,
    },
    issued: { token: { ...token, display_name: 'jwt-bob' }, entityCreated: false },
    wrapInfo: {
      token: 'hvs.w',
      accessor: 'acc3',
      ttl: 60,
      creation_time: '2026-01-01T00:00:00Z',
      creation_path: 'a/b',
      wrapped_accessor: 'acc2',
    },
  }
  const response =
    '{"auth":{"client_token":"hvs.b","accessor":"acc2","display_name":"jwt-bob","policies":["default","y"],' +
    '"token_policies":["default"],"identity_policies":["y"],"metadata":{"role":"ci"},"num_uses":3,' +
    '"entity_id":"e2","token_type":"service","token_ttl":60,"token_issue_time":"2026-11-21T05:00:00Z"},' +
    '"mount_point":"cloud/","mount_type":"cloud","mount_accessor":"cloud_1a2b3c4d",' +
    '"mount_running_plugin_version":"v1.16.3+builtin.vault","mount_class":"secret",' +
    '"secret":{"lease_id":"cloud/roles/dev/l1"},"data":{"a":1},"warnings":["w"],' +
    '"wrap_info":{"ttl":60,"token":"hvs.w","accessor":"acc3","creation_time":"2026-01-01T00:00:00Z",' +
    '"creation_path":"a/b","wrapped_accessor":"acc2"}}'

  expect(await entries.responseLine(raw, now, { reply, error: 'e', reason: 'role_unknown' })).toBe(
    `{"time":"2026-11-21T06:11:24.123Z","type":"response","auth":${auth},"request":${request},` +
      `"response":${response},"error":"e","reason":"role_unknown","correlation_id":"r1"}`,
  )
})

test('members without a value are omitted', async () => {
  const nothing = new Entries(
    {
      id: 'r2',
      operation: 'read',
      namespace: { id: 'root', path: '' },
      mount: undefined,
      path: 'none/x',
      data: {},
      alwaysHashed: false,
      isCarried: false,
      secrets: { fields: new Set<string>() },
      wrapTtl: 0,
      remoteAddress: '',
      remotePort: undefined,
      clientCertificateSerialNumber: undefined,
      headers: [],
      tokenId: '',
      caller: undefined,
      verdict: { allowed: false, granting: [] },
    },
    { version: '1.16.3' },
  )

  expect(await nothing.responseLine(raw, now, { reply: {}, error: '', reason: '' })).toBe(
    '{"time":"2026-11-21T06:11:24.123Z","type":"response","auth":{"policy_results":{"allowed":false},' +
      '"token_type":"default"},"request":{"id":"r2","operation":"read","namespace":{"id":"root"},' +
      '"path":"none/x"},"response":{}}',
  )
})
