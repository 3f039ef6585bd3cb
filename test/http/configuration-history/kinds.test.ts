import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CloudFixture, guids, startCloudFixture } from '../../plugins/cloud/cloud-fixture.ts'
import type { Client, Json } from '../../support/client.ts'

let server: CloudFixture
beforeAll(async () => {
  server = await startCloudFixture()
  for (const type of ['approle', 'userpass', 'kubernetes', 'oidc'])
    expect((await server.root.write(`sys/auth/${type}`, { type })).status).toBe(204)
})
afterAll(() => server[Symbol.asyncDispose]())

const pem = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEGzU7+bC09zmGKXXyYAr3zxVQBRr6
8aCcOdblTVB0bdDd/s/3SCnHHLUkBgsaDdhdDtYAxL7dtKJMg91fDcMWlA==
-----END PUBLIC KEY-----`

const aMessage = (fields: object) => ({ message: 'aGk=', start_time: '2026-01-01T00:00:00Z', ...fields })
const ids = {
  tenant_id: '0d8f4f0a-7a55-4c55-9c58-5a3f1d0f9b21',
  subscription_id: '6f1d3c52-6c0e-4d0f-9a3b-0c1f5f0c9d11',
  client_id: '5f2d9c1e-1d0b-4b7e-8f7a-2a3d1c9e7b10',
}

type Kind = {
  /** How it is called here, if the path is found out only when it exists. */
  readonly name?: string
  readonly path: string
  readonly made?: () => Promise<string>
  readonly first: object
  readonly second: object
  /** A field that a read shows, and that the second write changes. */
  readonly differs: string
  readonly isNeverDeleted?: true
  /** What a revert that brings it back sends too. */
  readonly sent?: object
}

const tokenFields = { token_policies: ['a'], token_ttl: '1h', token_bound_cidrs: ['10.0.0.0/8'] }
const otherTokenFields = { token_policies: ['b'], token_ttl: 0, token_bound_cidrs: [], token_num_uses: 3 }

const kinds: readonly Kind[] = [
  {
    path: 'auth/jwt/role/ci',
    first: {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: ['a'],
      bound_claims: { repo: 'x', n: 1.5 },
      ...tokenFields,
    },
    second: {
      role_type: 'jwt',
      user_claim: 'email',
      bound_audiences: [],
      bound_claims: { team: ['y'] },
      groups_claim: 'g',
      max_age: '1h',
      ...otherTokenFields,
    },
    differs: 'bound_claims.repo',
  },
  {
    path: 'auth/oidc/role/people',
    first: { user_claim: 'sub', allowed_redirect_uris: ['https://a.example/cb'], ...tokenFields },
    second: {
      user_claim: 'sub',
      allowed_redirect_uris: ['https://b.example/cb'],
      callback_mode: 'direct',
      poll_interval: 7,
      claim_mappings: { a: 'b' },
    },
    differs: 'poll_interval',
  },
  {
    path: 'auth/jwt/cel/role/rules',
    first: {
      cel_program: { expression: "claims.a == 'b' ? pb.Auth{policies: ['shop']} : false" },
      bound_audiences: ['x'],
    },
    second: { cel_program: { expression: 'false' }, message: 'no' },
    differs: 'message',
  },
  {
    path: 'auth/jwt/config',
    first: { jwt_validation_pubkeys: [pem], bound_issuer: 'https://one.example' },
    second: { jwt_validation_pubkeys: [pem], default_role: 'ci', jwt_supported_algs: ['ES256'] },
    differs: 'bound_issuer',
    isNeverDeleted: true,
  },
  {
    path: 'auth/kubernetes/role/web',
    first: {
      bound_service_account_names: ['web'],
      bound_service_account_namespaces: ['shop'],
      audience: 'a',
      ...tokenFields,
    },
    second: {
      bound_service_account_names: ['*'],
      bound_service_account_namespaces: ['ops'],
      audience: '',
      ...otherTokenFields,
    },
    differs: 'audience',
  },
  {
    path: 'auth/kubernetes/config',
    first: {
      kubernetes_host: 'https://10.0.0.1:6443',
      disable_local_ca_jwt: true,
      token_reviewer_jwt: 'one',
    },
    second: { kubernetes_host: 'https://10.0.0.2:6443', disable_local_ca_jwt: true, issuer: 'x' },
    differs: 'kubernetes_host',
    isNeverDeleted: true,
  },
  {
    path: 'auth/approle/role/deploy',
    first: { secret_id_ttl: '10m', secret_id_bound_cidrs: ['10.0.0.0/8'], ...tokenFields },
    second: { secret_id_ttl: 0, secret_id_bound_cidrs: [], ...otherTokenFields },
    differs: 'secret_id_ttl',
  },
  {
    path: 'auth/token/roles/batch',
    first: { allowed_policies: ['a'], orphan: true, token_period: '1h' },
    second: {
      allowed_policies: [],
      orphan: false,
      token_period: 0,
      disallowed_policies: ['b'],
      path_suffix: 'abc',
    },
    differs: 'orphan',
  },
  {
    path: 'auth/userpass/users/ada',
    first: { password: 'one', ...tokenFields },
    second: otherTokenFields,
    differs: 'token_policies',
    sent: { password: 'three' },
  },
  {
    path: 'sys/policies/acl/shop',
    first: { policy: 'path "a" { capabilities = ["read"] }' },
    second: { policy: 'path "b" { capabilities = ["read"] }', allow_slashes_in_identity_templates: true },
    differs: 'policy',
  },
  {
    path: 'sys/policies/password/shop',
    first: { policy: 'length = 20\nrule "charset" { charset = "abc" }' },
    second: { policy: 'length = 30\nrule "charset" { charset = "abc" }' },
    differs: 'policy',
  },
  {
    path: 'sys/auth/approle/tune',
    first: {
      default_lease_ttl: '1h',
      description: 'machines',
      audit_non_hmac_request_keys: ['a'],
      token_type: 'batch',
      user_lockout_config: { lockout_threshold: '9' },
    },
    second: {
      default_lease_ttl: '0',
      description: '',
      listing_visibility: 'unauth',
      token_type: 'default-service',
      user_lockout_config: { lockout_threshold: '3' },
    },
    differs: 'default_lease_ttl',
    isNeverDeleted: true,
  },
  {
    path: 'sys/mounts/cloud/tune',
    first: { max_lease_ttl: '10h', allowed_response_headers: ['x-a'] },
    second: { max_lease_ttl: 'system', allowed_response_headers: [], options: { a: 'b' } },
    differs: 'max_lease_ttl',
    isNeverDeleted: true,
  },
  {
    path: 'sys/config/cors',
    first: { allowed_origins: ['https://a.example'], allowed_headers: ['X-A'] },
    second: { allowed_origins: ['*'], allow_credentials: true },
    differs: 'allowed_origins',
  },
  {
    path: 'sys/config/ui/headers/X-Mine',
    first: { values: ['a', 'b'] },
    second: { values: ['c'] },
    differs: 'values',
  },
  {
    path: 'sys/config/auditing/request-headers/x-team',
    first: { hmac: true },
    second: { hmac: false },
    differs: 'hmac',
  },
  {
    path: 'sys/quotas/rate-limit/logins',
    first: { path: 'auth/jwt', rate: 1000, role: 'ci' },
    second: { path: 'auth/jwt/role', rate: 2000, block_interval: 60, group_by: 'none' },
    differs: 'rate',
  },
  {
    path: 'sys/quotas/lease-count/many',
    first: { path: 'auth/jwt', max_leases: 1000 },
    second: { path: 'cloud', max_leases: 10 },
    differs: 'max_leases',
  },
  {
    path: 'sys/quotas/config',
    first: { rate_limit_exempt_paths: ['sys/health'], enable_rate_limit_response_headers: true },
    second: { rate_limit_exempt_paths: [] },
    differs: 'rate_limit_exempt_paths',
    isNeverDeleted: true,
  },
  {
    path: 'identity/oidc/key/signs',
    first: { allowed_client_ids: ['*'], rotation_period: '48h' },
    second: { allowed_client_ids: [], rotation_period: '24h', algorithm: 'ES256' },
    differs: 'rotation_period',
  },
  {
    path: 'identity/oidc/role/named',
    first: { key: 'default', client_id: 'one', ttl: '1h' },
    second: { client_id: 'two', ttl: '2h', template: '{"a":{{identity.entity.name}}}' },
    differs: 'client_id',
  },
  {
    path: 'identity/oidc/config',
    first: { issuer: 'https://one.example' },
    second: { issuer: '' },
    differs: 'issuer',
    isNeverDeleted: true,
  },
  {
    name: 'identity/group/id/<id>',
    path: '',
    made: async () =>
      `identity/group/id/${(await server.root.write('identity/group', { name: 'g' })).body.data?.id}`,
    first: { name: 'shop', policies: ['a'], metadata: { a: 'b' } },
    second: { name: 'store', policies: [], metadata: {} },
    differs: 'policies',
  },
  {
    name: 'sys/config/ui/custom-messages/<id>',
    path: '',
    made: async () => {
      const made = await server.root.write('sys/config/ui/custom-messages', aMessage({ title: 'zero' }))
      return `sys/config/ui/custom-messages/${made.body.data?.id}`
    },
    first: aMessage({ title: 'one', options: { n: 1.0 }, link: { a: 'https://a.example' }, priority: 3 }),
    second: aMessage({
      title: 'two',
      type: 'modal',
      audience: { policies: ['p'] },
      end_time: '2037-01-01T00:00:00Z',
    }),
    differs: 'title',
  },
  {
    path: 'cloud/config',
    first: { ...ids, client_secret: 'first secret', root_password_ttl: '100d' },
    second: { ...ids, client_secret: 'second secret', root_password_ttl: '50d', rotation_period: '30d' },
    differs: 'client_secret',
  },
  {
    name: 'azure/config, which signs in with identity tokens',
    path: 'azure/config',
    first: { ...ids, client_secret: '', identity_token_audience: 'a' },
    second: { ...ids, identity_token_audience: '', client_secret: 'a secret' },
    differs: 'client_secret',
  },
]

const dataOf = async (root: Client, path: string): Promise<Json> => {
  const { data } = (await root.read(path)).body
  // policies and groups count their changes
  const volatile = [
    'version',
    'modified',
    'modify_index',
    'last_update_time',
    'creation_time',
    'counter',
    'last_vault_rotation',
    'next_vault_rotation',
  ]
  const rest = Object.fromEntries(Object.entries({ ...data }).filter(([name]) => !volatile.includes(name)))
  return rest as unknown as Json
}
const versionsOf = async (root: Client, path: string): Promise<Json[]> => {
  const answer = await root.read(`${path}?history=true`)
  expect(answer.text).toContain('versions')
  return answer.body.data?.versions as unknown as Json[]
}

const named = kinds.map((kind) => ({ ...kind, name: kind.name ?? kind.path }))

test.each(named)('$name: a change is kept with its differences, and is taken back', (kind) => check(kind))

test('cloud roles are looked up again when they are taken back', async () => {
  await server.root.write('cloud/config', server.config())
  const entry = (guid: string) =>
    JSON.stringify([{ role_id: server.definition(guid), scope: server.scope('web') }])
  await check({
    path: 'cloud/roles/web',
    first: { cloud_roles: entry(guids.owner), ttl: '1h', tags: ['a:b'], metadata: { b: 'c' } },
    second: {
      cloud_roles: entry(guids.contributor),
      ttl: '2h',
      permanently_delete: true,
      metadata: { a: 'b' },
    },
    differs: 'cloud_roles',
  })
})

test('a static role that is brought back gets a new password', async () => {
  await server.root.write('cloud/config', server.config())
  const { id } = server.directory.admin.addApplication({ displayName: 'static' })
  await check({
    path: 'cloud/static-roles/billing',
    first: { application_object_id: id, rotation_period: '30d', metadata: { team: 'a' } },
    second: {
      rotation_period: '60d',
      metadata: { team: 'b' },
      allowed_scopes: ['https://graph.microsoft.com/.default'],
    },
    differs: 'rotation_period',
  })
})

async function check({
  path: known,
  made,
  first,
  second,
  differs,
  isNeverDeleted,
  sent,
}: Kind): Promise<void> {
  const { root } = server
  const path = made === undefined ? known : await made()
  const wrote = await root.write(path, first)
  expect([wrote.status, wrote.text]).toEqual([expect.toBeOneOf([200, 204]), expect.anything()])
  const before = await dataOf(root, path)
  const [{ version }] = (await versionsOf(root, path)) as [Json]

  const changed = await root.write(path, second)
  expect([changed.status, changed.text]).toEqual([expect.toBeOneOf([200, 204]), expect.anything()])
  const [latest] = (await versionsOf(root, path)) as [Json]
  expect(latest).toMatchObject({
    version: Number(version) + 1,
    operation: 'update',
    by: { display_name: 'token', entity_id: '' },
  })
  expect(Object.keys({ ...latest.changes })).toContain(differs)
  expect(await dataOf(root, path)).not.toEqual(before)

  const reverted = await root.write(`${path}?revert=${version}`)
  expect([reverted.status, reverted.text]).toEqual([expect.toBeOneOf([200, 204]), expect.anything()])
  expect(await dataOf(root, path)).toEqual(before)
  const [last] = (await versionsOf(root, path)) as [Json]
  expect(last).toMatchObject({ version: Number(version) + 2, operation: 'update', restored: Number(version) })
  if (isNeverDeleted) return

  expect((await root.delete(path)).status).toBeLessThan(300)
  const [gone] = (await versionsOf(root, path)) as [Json]
  expect(gone).toMatchObject({ version: Number(version) + 3, operation: 'delete' })
  const { deleted } = (await root.read('sys/history/deleted')).body.data ?? {}
  expect(deleted).toContainEqual(expect.objectContaining({ path, version: Number(version) + 3 }))

  const back = await root.write(`${path}?revert=${Number(version) + 2}`, sent)
  expect([back.status, back.text]).toEqual([expect.toBeOneOf([200, 204]), expect.anything()])
  expect(await dataOf(root, path)).toEqual(before)
  expect((await root.read('sys/history/deleted')).body.data?.deleted).not.toContainEqual(
    expect.objectContaining({ path }),
  )
}
