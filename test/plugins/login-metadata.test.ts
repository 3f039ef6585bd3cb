import { expect, test } from 'vitest'
import type { Client } from '../support/client.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { aSigner } from './jwt-auth/signer.ts'
import { startPods } from './kubernetes/pods.ts'

const signer = aSigner('ES256')
const now = Math.floor(Date.now() / 1000)
const jwtOf = (scope: string, more: object = {}) =>
  signer.sign({ sub: `of-${scope}`, aud: 'gate', scope, iat: now, exp: now + 600, ...more })

const rule = (name: string) => `path "secret/data/{{${name}}}/*" { capabilities = ["read"] }`

/** A server with secrets of the scopes `a` and `b`, and a role whose tokens have the policy `scoped`. */
async function scoped(policy = rule('login.metadata.scope'), more: object = {}, role: object = {}) {
  const server = await startTestServer()
  const { root } = server
  await root.write('sys/mounts/secret', { type: 'kv', options: { version: '2' } })
  for (const scope of ['a', 'b', 'c/d']) await root.write(`secret/data/${scope}/x`, { data: { scope } })
  await root.write('sys/auth/approle', { type: 'approle' })
  await root.write('auth/approle/role/r', { token_policies: ['scoped', 'makes'], ...role })
  await root.write('sys/policies/acl/scoped', { policy, ...more })
  const makes = ['create', 'create-orphan', 'create/*']
    .map((path) => `path "auth/token/${path}" { capabilities = ["update", "sudo"] }`)
    .join('\n')
  await root.write('sys/policies/acl/makes', { policy: makes })
  const role_id = (await root.read('auth/approle/role/r/role-id')).body.data?.['role_id']
  const logIn = async (scope: string | undefined): Promise<Client> => {
    const metadata = scope === undefined ? {} : { metadata: JSON.stringify({ scope }) }
    const made = await root.write('auth/approle/role/r/secret-id', metadata)
    const secret_id = made.body.data?.['secret_id']
    const { body } = await server.anonymous.write('auth/approle/login', { role_id, secret_id })
    return server.as(String(body.auth?.client_token))
  }
  return Object.assign(server, { logIn, server })
}

/** Which of the secrets the client can read. */
async function opened(client: Client): Promise<string[]> {
  const found: string[] = []
  for (const scope of ['a', 'b', 'c/d'])
    if ((await client.read(`secret/data/${scope}/x`)).status === 200) found.push(scope)
  return found
}

async function made(server: TestServer, by: Client, path: string, input: object): Promise<Client> {
  const { body } = await by.write(`auth/token/${path}`, { policies: ['scoped'], ...input })
  return server.as(String(body.auth?.client_token))
}

test.each(['service', 'batch'])(
  'each %s token opens what the metadata of its own login names',
  async (token_type) => {
    await using server = await scoped(undefined, {}, { token_type })
    const first = await server.logIn('a')
    const second = await server.logIn('b')
    const none = await server.logIn(undefined)

    expect([await opened(first), await opened(second), await opened(none)]).toEqual([['a'], ['b'], []])
    expect(await opened(first)).toEqual(['a'])
  },
)

test('the metadata of an alias is that of its last login', async () => {
  await using server = await scoped()
  const auth = (await server.root.read('sys/auth')).body as unknown as {
    data: Record<string, { accessor: string }>
  }
  const accessor = auth.data['approle/']?.accessor ?? ''
  await server.root.write('sys/policies/acl/scoped', {
    policy: rule(`identity.entity.aliases.${accessor}.metadata.scope`),
  })
  const first = await server.logIn('a')
  await server.logIn('b')

  expect(await opened(first)).toEqual(['b'])
})

test('a child has the metadata of the login that it stems from, whatever its own', async () => {
  await using server = await scoped()
  const parent = await server.logIn('a')
  await server.root.write('auth/token/roles/child', { orphan: false, allowed_policies: ['scoped'] })

  const children = [
    await made(server, parent, 'create', { meta: { scope: 'b' } }),
    await made(server, parent, 'create', { meta: { scope: 'b' }, type: 'batch' }),
    await made(server, parent, 'create/child', { meta: { scope: 'b' } }),
  ]
  const grandchild = await made(
    server,
    await made(server, parent, 'create', { policies: ['scoped', 'makes'] }),
    'create',
    { meta: { scope: 'b' } },
  )

  for (const child of [...children, grandchild]) expect(await opened(child)).toEqual(['a'])
})

test('an orphan has no metadata of a login', async () => {
  await using server = await scoped()
  const parent = await server.logIn('a')
  await server.root.write('auth/token/roles/orphan', { orphan: true, allowed_policies: ['scoped'] })
  const meta = { scope: 'a' }

  const orphans = [
    await made(server, parent, 'create-orphan', { meta }),
    await made(server, parent, 'create', { meta, no_parent: true }),
    await made(server, parent, 'create/orphan', { meta }),
    await made(server, server.root, 'create', { meta }),
  ]
  const left = await made(server, parent, 'create', { meta })
  const { body } = await parent.read('auth/token/lookup-self')
  await server.root.write('auth/token/revoke-orphan', { token: body.data?.['id'] })

  for (const orphan of [...orphans, left]) expect(await opened(orphan)).toEqual([])
})

test('a lookup shows it, after a renewal too, and only where there is some', async () => {
  await using server = await scoped()
  const parent = await server.logIn('a')
  const child = await made(server, parent, 'create', { meta: { scope: 'b' } })
  await parent.write('auth/token/renew-self', {})
  const lookedUp = async (client: Client) => (await client.read('auth/token/lookup-self')).body.data

  const login = {
    login_metadata: { role_name: 'r', scope: 'a' },
    login_accessor: expect.stringMatching(/^auth_approle_/),
  }
  expect(await lookedUp(parent)).toMatchObject({ ...login, meta: { role_name: 'r', scope: 'a' } })
  expect(await lookedUp(child)).toMatchObject({ ...login, meta: { scope: 'b' } })
  expect(Object.keys((await lookedUp(server.root)) ?? {})).not.toContain('login_metadata')
})

test('a template may name the mount of the login', async () => {
  await using server = await scoped(rule('login.auth_approle_11112222.metadata.scope'))
  const client = await server.logIn('a')
  const { data } = (await client.read('auth/token/lookup-self')).body
  const ofAnother = await opened(client)
  await server.root.write('sys/policies/acl/scoped', {
    policy: rule(`login.${String(data?.['login_accessor'])}.metadata.scope`),
  })

  expect([ofAnother, await opened(client)]).toEqual([[], ['a']])
})

test.each(['c/d', '..', '*', '+', 'a*'])('the value %j opens nothing', async (scope) => {
  await using server = await scoped()

  expect(await opened(await server.logIn(scope))).toEqual([])
})

test('a policy may allow slashes in values, but no step up', async () => {
  await using server = await scoped(undefined, { allow_slashes_in_identity_templates: true })
  const shown = await server.root.read('sys/policies/acl/scoped')

  expect(await opened(await server.logIn('c/d'))).toEqual(['c/d'])
  expect(await opened(await server.logIn('c/../a'))).toEqual([])
  expect(await opened(await server.logIn('*'))).toEqual([])
  expect(shown.body.data).toMatchObject({ allow_slashes_in_identity_templates: true })
})

test('a policy may allow wildcards in values, until it is written without', async () => {
  await using server = await scoped(undefined, { allow_wildcards_in_identity_templates: true })
  const client = await server.logIn('+')
  const all = await opened(client)
  await server.root.write('sys/policies/acl/scoped', { policy: rule('login.metadata.scope') })
  const shown = await server.root.read('sys/policies/acl/scoped')

  expect([all, await opened(client)]).toEqual([['a', 'b', 'c/d'], []])
  expect(shown.body.data).not.toHaveProperty('allow_wildcards_in_identity_templates')
})

test('whether values may have slashes is a bool', async () => {
  await using server = await startTestServer()
  const sent = { policy: rule('login.metadata.scope'), allow_slashes_in_identity_templates: 'maybe' }

  const { status, body } = await server.root.write('sys/policies/acl/scoped', sent)

  expect(status).toBe(400)
  expect(body.errors?.[0]).toContain('error converting input for field "allow_slashes_in_identity_templates"')
})

test.each(['token.metadata.scope', 'token.meta.scope'])(
  '{{%s}} fills nothing, and the write of the policy says so',
  async (name) => {
    await using server = await scoped()
    const { body } = await server.root.write('sys/policies/acl/scoped', { policy: rule(name) })

    const text = 'token.metadata is written by whoever makes the token; use login.metadata'
    expect(body.warnings).toEqual([text])
    expect(await opened(await server.logIn('a'))).toEqual([])
  },
)

/** Beside approle, a mount of type jwt that maps the claim `scope`. */
async function withJwt(policy?: string) {
  const server = await scoped(policy)
  await server.root.write('auth/jwt/config', {
    jwt_validation_pubkeys: [signer.pem],
    bound_issuer: 'https://issuer.example',
    accept_as_token: true,
    default_role: 'r',
  })
  await server.root.write('auth/jwt/role/r', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gate',
    claim_mappings: { scope: 'scope' },
    token_policies: 'scoped',
  })
  const jwt = (scope: string) => jwtOf(scope, { iss: 'https://issuer.example' })
  return Object.assign(server, { jwt })
}

test('a JWT as the token, and a login in the headers, have it', async () => {
  await using server = await withJwt()
  const inline = server.anonymous

  const headers = {
    'X-Vault-Inline-Auth-Path': 'auth/jwt/login',
    'X-Vault-Inline-Auth-Parameter-role': Buffer.from(JSON.stringify({ key: 'role', value: 'r' })).toString(
      'base64url',
    ),
    'X-Vault-Inline-Auth-Parameter-jwt': Buffer.from(
      JSON.stringify({ key: 'jwt', value: server.jwt('b') }),
    ).toString('base64url'),
  }

  expect(await opened(server.as(server.jwt('a')))).toEqual(['a'])
  expect((await inline.read('secret/data/b/x', { headers })).status).toBe(200)
  expect((await inline.read('secret/data/a/x', { headers })).status).toBe(403)
})

test('an empty value is a value', async () => {
  await using server = await withJwt(
    'path "secret/data/a{{login.metadata.scope}}/*" { capabilities = ["read"] }',
  )

  expect(await opened(server.as(server.jwt('')))).toEqual(['a'])
  expect(await opened(await server.logIn(undefined))).toEqual([])
})

test('a token without an entity has it', async () => {
  await using server = await withJwt()
  const expression = 'pb.Auth{policies: ["scoped"], metadata: {"scope": "b"}}'
  await server.root.write('auth/jwt/cel/role/c', { cel_program: { expression } })
  const { body } = await server.anonymous.write('auth/jwt/cel/login', { role: 'c', jwt: server.jwt('a') })

  expect(body.auth?.['entity_id']).toBe('')
  expect(await opened(server.as(String(body.auth?.client_token)))).toEqual(['b'])
})

test('identity tokens say it', async () => {
  await using server = await scoped()
  const { root } = server
  await root.write('identity/oidc/key/k', { allowed_client_ids: '*' })
  const template =
    '{"all": {{login.metadata}}, "scope": {{login.metadata.scope}}, "none": {{login.metadata.none}}}'
  await root.write('identity/oidc/role/says', { key: 'k', template })
  await root.write('sys/policies/acl/scoped', {
    policy: 'path "identity/oidc/token/*" { capabilities = ["read"] }',
  })
  const client = await server.logIn('a')
  const made = await client.read('identity/oidc/token/says')
  const payload = String(made.body.data?.['token']).split('.')[1] ?? ''

  expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({
    all: { role_name: 'r', scope: 'a' },
    scope: 'a',
    none: '',
  })
})

test('a pod opens what its namespace names', async () => {
  await using pods = await startPods()
  const { root } = pods.server
  const mount = await pods.mount()
  await root.write('sys/mounts/one', { type: 'kv', options: { version: '1' } })
  for (const namespace of ['dev', 'prod']) await root.write(`one/${namespace}/x`, { a: '1' })
  const policy = 'path "one/{{login.metadata.service_account_namespace}}/*" { capabilities = ["read"] }'
  await root.write('sys/policies/acl/scoped', { policy })
  await mount.role('r', { token_policies: ['scoped'] })
  const { body } = await mount.login()
  const pod = pods.server.as(String(body.auth?.client_token))

  expect([(await pod.read('one/dev/x')).status, (await pod.read('one/prod/x')).status]).toEqual([200, 403])
})
