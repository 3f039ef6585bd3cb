import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client, Json } from '../../support/client.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  for (const type of ['approle', 'userpass', 'kubernetes', 'oidc'])
    expect((await server.root.write(`sys/auth/${type}`, { type })).status).toBe(204)
})
afterAll(() => server[Symbol.asyncDispose]())

const pem = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEGzU7+bC09zmGKXXyYAr3zxVQBRr6
8aCcOdblTVB0bdDd/s/3SCnHHLUkBgsaDdhdDtYAxL7dtKJMg91fDcMWlA==
-----END PUBLIC KEY-----`

type Kind = {
  readonly path: string
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
    first: { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['a'], bound_claims: { repo: 'x', n: 12345678901234567890 }, ...tokenFields },
    second: { role_type: 'jwt', user_claim: 'email', bound_audiences: [], bound_claims: { team: ['y'] }, groups_claim: 'g', max_age: '1h', ...otherTokenFields },
    differs: 'bound_claims.repo',
  },
  {
    path: 'auth/oidc/role/people',
    first: { user_claim: 'sub', allowed_redirect_uris: ['https://a.example/cb'], ...tokenFields },
    second: { user_claim: 'sub', allowed_redirect_uris: ['https://b.example/cb'], callback_mode: 'direct', poll_interval: 7, claim_mappings: { a: 'b' } },
    differs: 'poll_interval',
  },
  {
    path: 'auth/jwt/cel/role/rules',
    first: { cel_program: { expression: "claims.a == 'b' ? pb.Auth{policies: ['shop']} : false" }, bound_audiences: ['x'] },
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
    first: { bound_service_account_names: ['web'], bound_service_account_namespaces: ['shop'], audience: 'a', ...tokenFields },
    second: { bound_service_account_names: ['*'], bound_service_account_namespaces: ['ops'], audience: '', ...otherTokenFields },
    differs: 'audience',
  },
  {
    path: 'auth/kubernetes/config',
    first: { kubernetes_host: 'https://10.0.0.1:6443', disable_local_ca_jwt: true, token_reviewer_jwt: 'one' },
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
    second: { allowed_policies: [], orphan: false, token_period: 0, disallowed_policies: ['b'], path_suffix: 'abc' },
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
    first: { default_lease_ttl: '1h', description: 'machines', audit_non_hmac_request_keys: ['a'], token_type: 'batch' },
    second: { default_lease_ttl: '0', description: '', listing_visibility: 'unauth', token_type: 'default-service', user_lockout_config: { lockout_threshold: '3' } },
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
]

const dataOf = async (root: Client, path: string): Promise<Json> => {
  const { data } = (await root.read(path)).body
  // policies and groups count their changes
  const { version: _, modified: __, modify_index: ___, last_update_time: ____, ...rest } = { ...data }
  return rest as unknown as Json
}
const versionsOf = async (root: Client, path: string): Promise<Json[]> => {
  const answer = await root.read(`${path}?history=true`)
  expect(answer.text).toContain('versions')
  return answer.body.data?.versions as unknown as Json[]
}

test.each(kinds)('$path: a change is kept with its differences, and is taken back', async (kind) => {
  const { root } = server
  const { path, first, second, differs, isNeverDeleted, sent } = kind
  expect((await root.write(path, first)).status).toBeLessThan(300)
  const before = await dataOf(root, path)
  const [{ version }] = (await versionsOf(root, path)) as [Json]

  expect((await root.write(path, second)).status).toBeLessThan(300)
  const [latest] = (await versionsOf(root, path)) as [Json]
  expect(latest).toMatchObject({ version: Number(version) + 1, operation: 'update', by: { display_name: 'token', entity_id: '' } })
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
})
