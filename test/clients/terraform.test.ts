import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CloudFixture, startCloudFixture } from '../plugins/cloud/cloud-fixture.ts'
import type { Json } from '../support/client.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

/*
 * What Terraform's Vault provider sends for its resources, through Go's client library: PUT with every field
 * of the resource, even empty ones, then a read. Each plan shows a difference from what was written as a
 * change; the provider cannot accept null or a value of another type.
 */

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  for (const type of ['approle', 'userpass']) await server.root.write(`sys/auth/${type}`, { type })
})
afterAll(() => server[Symbol.asyncDispose]())

const put = (path: string, data: object) =>
  server.root.call('PUT', path, data, { headers: { 'X-Vault-Request': 'true' } })

type Fields = Readonly<Record<string, unknown>>

/** Only the written fields; the provider treats lists as sets, and a missing list as empty. */
function asWritten(fields: Fields, data: Json | undefined): Fields {
  const emptyOf = (value: unknown) => (Array.isArray(value) ? [] : typeof value === 'object' ? {} : undefined)
  const sorted = (value: unknown) => (Array.isArray(value) ? [...value].toSorted() : value)
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, sorted(data?.[name] ?? emptyOf(value))]),
  )
}

type Resource = { readonly name: string; readonly path: string; readonly full: Fields; readonly bare: Fields }

const resources: readonly Resource[] = [
  {
    name: 'vault_jwt_auth_backend_role',
    path: 'auth/jwt/role/deploy',
    full: {
      role_type: 'jwt',
      bound_audiences: ['a', 'b'],
      user_claim: '/sub/x',
      user_claim_json_pointer: true,
      allowed_redirect_uris: ['http://localhost:8250/oidc/callback'],
      oidc_scopes: ['email', 'profile'],
      bound_claims_type: 'glob',
      bound_subject: 's',
      bound_claims: { one: ['v'], ref: ['refs/heads/*', 'x,y'] },
      claim_mappings: { '/a/b': 'ab', lang: 'language' },
      groups_claim: '/groups',
      clock_skew_leeway: -1,
      expiration_leeway: 30,
      not_before_leeway: 60,
      verbose_oidc_logging: true,
      max_age: 300,
      token_ttl: 3600,
      token_max_ttl: 7200,
      token_explicit_max_ttl: 7200,
      token_period: 0,
      token_num_uses: 7,
      token_type: 'service',
      token_policies: ['dev', 'prod'],
      token_bound_cidrs: ['10.0.0.0/8'],
      token_no_default_policy: true,
    },
    bare: {
      role_type: 'jwt',
      bound_audiences: ['a'],
      user_claim: 'sub',
      user_claim_json_pointer: false,
      allowed_redirect_uris: [],
      oidc_scopes: [],
      bound_claims_type: 'string',
      bound_subject: '',
      bound_claims: {},
      claim_mappings: {},
      groups_claim: '',
      clock_skew_leeway: 0,
      expiration_leeway: 0,
      not_before_leeway: 0,
      verbose_oidc_logging: false,
      max_age: 0,
      token_ttl: 0,
      token_max_ttl: 0,
      token_explicit_max_ttl: 0,
      token_period: 0,
      token_num_uses: 0,
      token_type: 'default',
      token_policies: [],
      token_bound_cidrs: [],
      token_no_default_policy: false,
    },
  },
  {
    name: 'vault_approle_auth_backend_role',
    path: 'auth/approle/role/deploy',
    full: {
      bind_secret_id: true,
      secret_id_bound_cidrs: ['10.0.0.0/8', '192.168.0.0/16'],
      secret_id_num_uses: 5,
      secret_id_ttl: 600,
      token_ttl: 3600,
      token_max_ttl: 7200,
      token_explicit_max_ttl: 7200,
      token_period: 0,
      token_num_uses: 7,
      token_type: 'service',
      token_policies: ['dev', 'prod'],
      token_bound_cidrs: ['10.0.0.0/8'],
      token_no_default_policy: true,
    },
    bare: {
      bind_secret_id: true,
      secret_id_bound_cidrs: [],
      secret_id_num_uses: 0,
      secret_id_ttl: 0,
      token_ttl: 0,
      token_max_ttl: 0,
      token_explicit_max_ttl: 0,
      token_period: 0,
      token_num_uses: 0,
      token_type: 'default',
      token_policies: [],
      token_bound_cidrs: [],
      token_no_default_policy: false,
    },
  },
  {
    name: 'vault_token_auth_backend_role',
    path: 'auth/token/roles/deploy',
    full: {
      allowed_policies: ['dev', 'test'],
      allowed_policies_glob: ['x/*'],
      disallowed_policies: ['default'],
      disallowed_policies_glob: ['y*'],
      orphan: true,
      renewable: false,
      path_suffix: 'suffix',
      allowed_entity_aliases: ['ci-*'],
      token_period: 86_400,
      token_explicit_max_ttl: 115_200,
      token_type: 'service',
      token_no_default_policy: true,
    },
    bare: {
      allowed_policies: [],
      allowed_policies_glob: [],
      disallowed_policies: [],
      disallowed_policies_glob: [],
      orphan: false,
      renewable: true,
      path_suffix: '',
      allowed_entity_aliases: [],
      token_period: 0,
      token_explicit_max_ttl: 0,
      token_type: 'default-service',
      token_no_default_policy: false,
    },
  },
  {
    name: 'vault_identity_oidc_key',
    path: 'identity/oidc/key/deploy',
    full: {
      algorithm: 'ES256',
      rotation_period: 3600,
      verification_ttl: 6000,
      allowed_client_ids: ['a', 'b'],
    },
    bare: { algorithm: 'ES256', rotation_period: 86_400, verification_ttl: 86_400, allowed_client_ids: [] },
  },
  {
    name: 'vault_namespace',
    path: 'sys/namespaces/deploy',
    full: { custom_metadata: { team: 'shop' } },
    bare: { custom_metadata: {} },
  },
]

describe.each(resources)('$name', ({ path, full, bare }) => {
  test('is read back as written, with every field and with none', async () => {
    expect((await server.root.read(path)).status).toBe(404)
    for (const fields of [full, bare, full]) {
      expect((await put(path, fields)).status).toBeLessThan(300)
      const read = (await server.root.read(path)).body.data
      expect(asWritten(fields, read)).toEqual(fields)
      await put(path, fields)
      expect((await server.root.read(path)).body.data).toEqual(read)
    }
    expect((await server.root.delete(path)).status).toBeLessThan(300)
  })
})

const identities = [
  {
    kind: 'entity',
    full: { name: 'deploy', metadata: { a: 'b' }, policies: ['p', 'q'], disabled: true },
    bare: { name: 'deploy two', metadata: {}, policies: [], disabled: false },
  },
  {
    kind: 'group',
    full: {
      name: 'deploy',
      type: 'internal',
      metadata: { a: 'b' },
      policies: ['p', 'q'],
      member_group_ids: [],
    },
    bare: { name: 'deploy two', type: 'internal', metadata: {}, policies: [], member_entity_ids: [] },
  },
]

test.each(identities)(
  'vault_identity_$kind is created by name and changed by id, and an empty response reveals a duplicate name',
  async ({ kind, full, bare }) => {
    const made = await put(`identity/${kind}`, full)
    expect(made.body.data).toMatchObject({ name: 'deploy' })
    const path = `identity/${kind}/id/${String(made.body.data?.['id'])}`
    expect((await put(`identity/${kind}`, full)).status).toBe(204)
    for (const fields of [full, bare, full]) {
      expect((await put(path, fields)).status).toBe(204)
      expect(asWritten(fields, (await server.root.read(path)).body.data)).toEqual(fields)
    }
    // a resource does not send what it leaves to others
    await put(path, { name: 'deploy', metadata: { c: 'd' } })
    expect((await server.root.read(path)).body.data).toMatchObject({
      metadata: { c: 'd' },
      policies: ['p', 'q'],
    })
    expect((await server.root.delete(path)).status).toBe(204)
    expect((await server.root.read(path)).status).toBe(404)
  },
)

test.each([
  'path "x" {\n  capabilities = ["read"]\n}\n',
  '# nothing\n',
  '  path "ü/*" { capabilities = ["list"] }\r\n\n',
])('vault_policy: %j comes back unchanged', async (policy) => {
  await put('sys/policies/acl/deploy', { policy })

  expect((await server.root.read('sys/policies/acl/deploy')).body.data).toMatchObject({ policy })
})

test('vault_mount is created, tuned through sys/mounts, moved and deleted', async () => {
  const config = { options: null, default_lease_ttl: '3600s', max_lease_ttl: '86400s', force_no_cache: false }
  const input = {
    type: 'azure',
    description: 'x',
    config,
    local: true,
    seal_wrap: false,
    external_entropy_access: false,
    options: null,
  }
  expect((await server.root.write('sys/mounts/deploy', input)).status).toBe(204)
  const tuned = {
    options: { max_in_flight: '4' },
    default_lease_ttl: '60s',
    description: '',
    max_lease_ttl: '120s',
    force_no_cache: false,
  }
  expect((await server.root.write('sys/mounts/deploy/tune', tuned)).status).toBe(204)

  const { body } = await server.root.read('sys/mounts/deploy')
  expect(body.data).toMatchObject({
    type: 'azure',
    description: '',
    local: true,
    options: { max_in_flight: '4' },
  })
  expect(body.data?.['config']).toMatchObject({ default_lease_ttl: 60, max_lease_ttl: 120 })

  expect((await server.root.delete('sys/mounts/deploy')).status).toBe(204)
  // the text from which the provider concludes that it no longer exists
  expect((await server.root.read('sys/mounts/deploy')).text).toContain('No secret engine mount at')
})

test('vault_token is described by its accessor, including its times', async () => {
  const wanted = {
    policies: ['default'],
    ttl: '24h',
    explicit_max_ttl: '48h',
    no_parent: true,
    display_name: 'deploy',
    num_uses: 0,
    type: '',
    entity_alias: '',
  }
  const { accessor } = (await server.root.write('auth/token/create', wanted)).body.auth ?? {}

  const { data } = (await server.root.write('auth/token/lookup-accessor', { accessor })).body

  expect(data).toMatchObject({
    display_name: 'token-deploy',
    orphan: true,
    renewable: true,
    num_uses: 0,
    explicit_max_ttl: 172_800,
    creation_ttl: 86_400,
  })
  for (const time of [data?.['issue_time'], data?.['expire_time']])
    expect(String(time)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/)
  expect((await server.root.write('auth/token/revoke-accessor', { accessor })).status).toBe(204)
  expect((await server.root.write('auth/token/lookup-accessor', { accessor })).text).toContain(
    'invalid accessor',
  )
})

test('vault_approle_auth_backend_role_secret_id is read and removed by its accessor', async () => {
  const role = 'auth/approle/role/secret-ids'
  await put(role, { token_policies: ['dev'] })
  await put(`${role}/role-id`, { role_id: 'deploy-1' })
  expect((await server.root.read(`${role}/role-id`)).body.data).toEqual({ role_id: 'deploy-1' })
  const sent = { cidr_list: '127.0.0.0/8', metadata: '{"build":"7"}', ttl: '600', num_uses: 3 }
  const { secret_id, secret_id_accessor } = (await put(`${role}/secret-id`, sent)).body.data ?? {}
  const lookup = () => put(`${role}/secret-id-accessor/lookup`, { secret_id_accessor })

  const found = (await lookup()).body.data
  const login = await server.anonymous.write('auth/approle/login', { role_id: 'deploy-1', secret_id })

  expect(found).toMatchObject({ cidr_list: ['127.0.0.0/8'], metadata: { build: '7' }, secret_id_ttl: 600 })
  expect(login.body.auth).toMatchObject({ policies: ['default', 'dev'], metadata: { build: '7' } })
  expect((await put(`${role}/secret-id-accessor/destroy`, { secret_id_accessor })).status).toBe(204)
  // the texts from which the provider concludes that it no longer exists
  expect((await lookup()).text).toContain('failed to find accessor entry')
  await server.root.delete(role)
  expect([(await lookup()).status, (await lookup()).text]).toEqual([
    500,
    expect.stringContaining('role \\"secret-ids\\" does not exist'),
  ])
})

test('vault_approle_auth_backend_role_secret_id with a wrapping TTL keeps only the accessors', async () => {
  await put('auth/approle/role/wrapped', {})

  const { body } = await server.root.call(
    'PUT',
    'auth/approle/role/wrapped/secret-id',
    {},
    { headers: { 'X-Vault-Wrap-TTL': '60s' } },
  )

  const secret_id_accessor = body.wrap_info?.['wrapped_accessor']
  const found = await put('auth/approle/role/wrapped/secret-id-accessor/lookup', { secret_id_accessor })
  expect(found.body.data).toMatchObject({ secret_id_accessor })
})

test('vault_generic_endpoint writes a user, whose password it does not read', async () => {
  const user = { password: 'correct horse', token_policies: ['dev'], token_ttl: 600 }

  expect((await put('auth/userpass/users/ada', user)).status).toBe(204)
  const read = await server.root.read('auth/userpass/users/ada')

  expect(read.body.data).toMatchObject({ token_policies: ['dev'], token_ttl: 600 })
  expect(read.text).not.toContain('horse')
})

describe('secrets', () => {
  const mount = 'team/kv'
  beforeAll(() => put(`sys/mounts/${mount}`, { type: 'kv', options: { version: '2' } }))

  test('vault_kv_secret_backend_v2 sends seconds and reads text', async () => {
    const config = { max_versions: 5, cas_required: true, delete_version_after: 3600 }

    expect((await put(`${mount}/config`, config)).status).toBe(204)
    const { data } = (await server.root.read(`${mount}/config`)).body
    await put(`${mount}/config`, { max_versions: 0, cas_required: false, delete_version_after: 0 })

    expect(data).toMatchObject({ max_versions: 5, cas_required: true, delete_version_after: '1h0m0s' })
    expect((await server.root.read(`${mount}/config`)).body.data).toMatchObject({
      delete_version_after: '0s',
      max_versions: 0,
    })
  })

  test('vault_kv_secret_v2 writes data and metadata, and a deleted one is no longer there', async () => {
    const [at, metadata] = [`${mount}/data/shop/db`, `${mount}/metadata/shop/db`]
    const own = { max_versions: 3, cas_required: false, delete_version_after: 0, custom_metadata: { a: 'b' } }
    expect((await server.root.read(at)).status).toBe(404)

    expect((await put(at, { data: { n: 1, s: 'x' }, options: { cas: 0 } })).status).toBe(200)
    expect((await put(metadata, own)).status).toBe(204)

    const read = (await server.root.read(at)).body.data
    expect(read).toMatchObject({ data: { n: 1, s: 'x' }, metadata: { version: 1, destroyed: false } })
    expect((await server.root.read(metadata)).body.data).toMatchObject({ ...own, delete_version_after: '0s' })
    expect((await server.root.delete(at)).status).toBe(204)
    // Go's library returns the body of such a 404, and the provider then compares `data`
    expect((await server.root.read(at)).body.data?.['data']).toBeNull()
    expect((await server.root.delete(metadata)).status).toBe(204)
    expect((await server.root.read(at)).body).toEqual({ errors: [] })
  })

  test('vault_generic_secret finds out the version of a mount from the path of a secret', async () => {
    await put('sys/mounts/old', { type: 'kv' })
    const version = async (path: string) =>
      (await server.root.read(`sys/internal/ui/mounts/${path}`)).body.data

    expect(await version(`${mount}/shop/db`)).toMatchObject({
      path: `${mount}/`,
      type: 'kv',
      options: { version: '2' },
    })
    expect((await version('old/shop'))?.['options']?.['version']).toBeUndefined()
    await put('old/shop', { data_json: 'x', ttl: '1h' })
    expect((await server.root.read('old/shop')).body).toMatchObject({
      data: { data_json: 'x', ttl: '1h' },
      lease_duration: 3600,
      lease_id: '',
    })
  })
})

describe('the cloud engine', () => {
  let fixture: CloudFixture
  beforeAll(async () => {
    fixture = await startCloudFixture({ configured: false, settings: { REPORTED_VERSION: '1.21.0+ent' } })
  })
  afterAll(() => fixture[Symbol.asyncDispose]())

  const write = (path: string, data: object) =>
    fixture.root.call('PUT', path, data, { headers: { 'X-Vault-Request': 'true' } })
  const dataOf = async (path: string) => (await fixture.root.read(path)).body.data

  test('vault_azure_secret_backend writes the rotation it does not use, and reads what it wrote', async () => {
    const rotation = { rotation_schedule: '', rotation_period: 0, rotation_window: 0 }
    const secret = fixture.config({ environment: 'AzurePublicCloud' })
    const sent = { ...secret, ...rotation, disable_automated_rotation: false }

    expect((await write('azure/config', sent)).status).toBe(204)

    const { client_secret: _writeOnly, ...shown } = sent as typeof sent & { client_secret: string }
    expect(await dataOf('azure/config')).toMatchObject(shown)
    expect((await fixture.root.read('sys/seal-status')).body).toMatchObject({ version: '1.21.0+ent' })
    expect((await write('azure/config', { ...rotation, root_password_ttl: 86_400 })).status).toBe(204)
    expect(await dataOf('azure/config')).toMatchObject({ ...shown, root_password_ttl: 86_400 })
  })

  test('vault_azure_secret_backend changes from a secret to an audience, and names a key', async () => {
    await write('identity/oidc/key/azure', { allowed_client_ids: ['*'], algorithm: 'RS256' })
    const wif = {
      client_secret: '',
      identity_token_audience: 'api://AzureADTokenExchange',
      identity_token_ttl: 1800,
    }

    expect((await write('sys/mounts/azure/tune', { identity_token_key: 'azure' })).status).toBe(204)
    expect((await write('azure/config', wif)).status).toBe(204)

    const { client_secret: _writeOnly, ...shown } = wif
    expect(await dataOf('azure/config')).toMatchObject(shown)
    expect((await dataOf('sys/mounts/azure'))?.['config']).toMatchObject({ identity_token_key: 'azure' })
    expect((await write('azure/config', fixture.config({ identity_token_audience: '' }))).status).toBe(204)
  })

  test('vault_azure_secret_backend_role reads the roles and groups that it wrote as text', async () => {
    const role = {
      azure_roles: JSON.stringify([{ role_id: '', role_name: 'Reader', scope: fixture.scope() }]),
      azure_groups: JSON.stringify([{ group_name: 'foo', object_id: '' }]),
      permanently_delete: false,
      ttl: '3600',
      max_ttl: '7200',
      explicit_max_ttl: '86400',
      sign_in_audience: 'AzureADMyOrg',
      tags: ['a', 'b'],
    }

    expect((await write('azure/roles/deploy', role)).status).toBe(204)

    expect(await dataOf('azure/roles/deploy')).toMatchObject({
      azure_roles: [{ role_name: 'Reader', scope: fixture.scope(), role_id: expect.stringContaining('/') }],
      azure_groups: [{ group_name: 'foo', object_id: expect.any(String) }],
      permanently_delete: false,
      ttl: 3600,
      max_ttl: 7200,
      explicit_max_ttl: 86_400,
      sign_in_audience: 'AzureADMyOrg',
      tags: ['a', 'b'],
      persist_app: false,
      application_object_id: '',
    })
  })

  test('vault_azure_access_credentials has texts and a lease; static credentials have none', async () => {
    const { id: application_object_id, appId } = fixture.directory.admin.addApplication({
      displayName: 'theirs',
    })
    await write('azure/roles/existing', { application_object_id, ttl: '3600' })
    await write('azure/static-roles/billing', {
      application_object_id,
      ttl: 31_536_000,
      metadata: { a: 'b' },
    })

    const dynamic = (await fixture.root.read('azure/creds/existing')).body
    const fixed = (await fixture.root.read('azure/static-creds/billing')).body

    expect(dynamic).toMatchObject({
      renewable: true,
      lease_duration: 3600,
      lease_id: expect.stringMatching('.'),
    })
    expect(dynamic.data).toEqual({ client_id: appId, client_secret: expect.any(String) })
    expect(fixed).toMatchObject({ renewable: false, lease_duration: 0, lease_id: '' })
    expect(fixed.data).toMatchObject({
      client_id: appId,
      metadata: { a: 'b' },
      secret_id: expect.any(String),
    })
  })
})
