import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { actAs, askToken, makeCredential, send, type Who } from './client.ts'

test('discovery names the four addresses that clients need, under the tenant asked for', async () => {
  await using directory = await startDirectory()
  const base = `${directory.authorityUrl}/${directory.tenantId}`

  const { status, body } = await send(directory, 'GET', `${base}/v2.0/.well-known/openid-configuration`)
  const keys = await send(directory, 'GET', String(body.jwks_uri))

  expect(status).toBe(200)
  expect(body).toMatchObject({
    issuer: `${base}/v2.0`,
    token_endpoint: `${base}/oauth2/v2.0/token`,
    authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
  })
  expect(keys.body.keys).toMatchObject([{ kty: 'RSA', use: 'sig' }])
})

test('instance discovery knows its own host and no other', async () => {
  await using directory = await startDirectory()
  const ask = (endpoint: string) =>
    send(
      directory,
      'GET',
      `${directory.authorityUrl}/common/discovery/instance?api-version=1.1&authorization_endpoint=${encodeURIComponent(endpoint)}`,
    )

  const own = await ask(`${directory.authorityUrl}/${directory.tenantId}/oauth2/v2.0/authorize`)
  const other = await ask('https://login.example.com/x/oauth2/v2.0/authorize')

  expect(own.body.tenant_discovery_endpoint).toBe(
    `${directory.authorityUrl}/${directory.tenantId}/v2.0/.well-known/openid-configuration`,
  )
  expect(other).toMatchObject({ status: 400, body: { error: 'invalid_instance', error_codes: [50049] } })
})

test('an unknown tenant has no discovery document', async () => {
  await using directory = await startDirectory()

  const answer = await send(
    directory,
    'GET',
    `${directory.authorityUrl}/${crypto.randomUUID()}/v2.0/.well-known/openid-configuration`,
  )

  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request', error_codes: [90002] } })
})

test('a requested refusal has the number of its text', async () => {
  await using directory = await startDirectory()
  directory.fault({
    kind: 'status',
    operation: 'token',
    status: 401,
    code: 'invalid_client',
    message: 'AADSTS7000215: Invalid client secret provided.',
  })

  const answer = await askToken(directory)

  expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client', error_codes: [7000215] } })
})

test('a token names subject, audience, expiry and permissions', async () => {
  const clock = new FakeClock(1_800_000_000_000)
  await using directory = await startDirectory({ now: () => clock.now() })

  const { status, body } = await askToken(directory)

  expect(status).toBe(200)
  expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 3599, ext_expires_in: 3599 })
  expect(decodeJwt(String(body.access_token))).toMatchObject({
    aud: directory.directoryUrl,
    appid: directory.rootClientId,
    oid: directory.rootServicePrincipalId,
    tid: directory.tenantId,
    exp: 1_800_003_599,
    roles: [
      'Application.ReadWrite.All',
      'GroupMember.ReadWrite.All',
      'Organization.Read.All',
      'AppRoleAssignment.ReadWrite.All',
    ],
  })
})

test.each([
  'https://graph.microsoft.com/.default',
  'https://management.core.windows.net//.default',
  'https://management.azure.com/.default',
])('the real resource %s is accepted as its own', async (scope) => {
  await using directory = await startDirectory()

  const { status } = await askToken(directory, { scope })

  expect(status).toBe(200)
})

// simulators/directory/README.md
const refusals: { name: string; who: Who; status: number; error: string; code: number }[] = [
  { name: 'a wrong secret', who: { secret: 'wrong' }, status: 401, error: 'invalid_client', code: 7000215 },
  { name: 'no secret', who: { secret: '' }, status: 401, error: 'invalid_client', code: 7000216 },
  {
    name: 'an unknown application',
    who: { clientId: crypto.randomUUID() },
    status: 400,
    error: 'unauthorized_client',
    code: 700016,
  },
  {
    name: 'an unknown tenant',
    who: { tenant: crypto.randomUUID() },
    status: 400,
    error: 'invalid_request',
    code: 90002,
  },
  {
    name: 'two scopes',
    who: { scope: 'https://graph.microsoft.com/.default openid' },
    status: 400,
    error: 'invalid_scope',
    code: 70011,
  },
  {
    name: 'a scope without /.default',
    who: { scope: 'https://graph.microsoft.com/User.Read' },
    status: 400,
    error: 'invalid_scope',
    code: 1002012,
  },
  {
    name: 'a resource nobody knows',
    who: { scope: 'https://example.com/.default' },
    status: 400,
    error: 'invalid_resource',
    code: 500011,
  },
  { name: 'no scope', who: { scope: '' }, status: 400, error: 'invalid_request', code: 900144 },
  { name: 'no client id', who: { clientId: '' }, status: 400, error: 'invalid_request', code: 900144 },
  {
    name: 'another grant',
    who: { extra: { grant_type: 'password' } },
    status: 400,
    error: 'unsupported_grant_type',
    code: 70003,
  },
]

test.each(refusals)('$name is refused with AADSTS$code', async ({ who, status, error, code }) => {
  await using directory = await startDirectory()

  const answer = await askToken(directory, who)

  expect(answer).toMatchObject({
    status,
    body: { error, error_codes: [code], error_uri: `https://login.microsoftonline.com/error?code=${code}` },
  })
  expect(answer.body.error_description).toMatch(
    new RegExp(`^AADSTS${code}: .* Trace ID: [0-9a-f-]{36} Correlation ID: [0-9a-f-]{36} Timestamp: `),
  )
})

test('a secret works until it expires', async () => {
  const clock = new FakeClock()
  await using directory = await startDirectory({ now: () => clock.now() })
  const { secretText } = directory.admin.addPassword(directory.rootApplicationId, { lifetimeSeconds: 60 })

  clock.advance(59)
  const before = await askToken(directory, { secret: secretText })
  clock.advance(1)
  const after = await askToken(directory, { secret: secretText })

  expect(before.status).toBe(200)
  expect(after).toMatchObject({ status: 401, body: { error: 'invalid_client', error_codes: [7000222] } })
})

test.each(['application', 'service principal'] as const)(
  'a password of the %s signs in until it is removed',
  async (holder) => {
    await using directory = await startDirectory()
    const root = await actAs(directory)
    const made = await makeCredential(root)
    const path =
      holder === 'application' ? `/applications/${made.id}` : `/servicePrincipals/${made.principalId}`
    const { keyId, secretText } = (await root.graph('POST', `${path}/addPassword`, {})).body
    const asked = { clientId: made.appId, secret: String(secretText) }

    const before = await askToken(directory, asked)
    await root.graph('POST', `${path}/removePassword`, { keyId })
    const after = await askToken(directory, asked)

    expect(before.status).toBe(200)
    expect(decodeJwt(String(before.body.access_token))).not.toHaveProperty('roles')
    expect(after).toMatchObject({ status: 401, body: { error_codes: [7000215] } })
  },
)

test.each([
  { gone: 'application', code: 700016 },
  { gone: 'service principal', code: 7000229 },
] as const)('a secret does not work without its $gone', async ({ gone, code }) => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const made = await makeCredential(root)
  directory.admin.addPassword(made.id, { secretText: 'of the application' })

  directory.admin.remove(gone === 'application' ? made.id : made.principalId)
  const answer = await askToken(directory, { clientId: made.appId, secret: 'of the application' })

  expect(answer).toMatchObject({ status: 400, body: { error: 'unauthorized_client', error_codes: [code] } })
})
