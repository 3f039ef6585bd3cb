import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { verdict } from '../../identity/login-mount.ts'
import { type CloudFixture, startCloudFixture } from '../cloud-fixture.ts'

const scope = 'https://graph.microsoft.com/.default'
const denied = '403 permission denied'
const tooManyScopes = 'allowed_scopes: at most 100 scopes of at most 512 characters'

let house: CloudFixture
let issuer: string
let made = 0

beforeAll(async () => {
  house = await startCloudFixture({ configured: false })
  issuer = `${house.server.url}/v1/identity/oidc/plugins`
  // no client id, no secret: the mount signs in nowhere itself
  for (const mount of ['cloud', 'azure'])
    await house.root.write(`${mount}/config`, {
      subscription_id: house.directory.subscriptionId,
      tenant_id: house.directory.tenantId,
    })
})
afterAll(() => house[Symbol.asyncDispose]())

async function subjectOf(role: string, mount = 'cloud'): Promise<string> {
  const { body } = await house.root.read(`sys/mounts/${mount}`)
  return `plugin-identity:root:secret:${String(body.data?.accessor)}:role:${role}`
}

/** A client of the directory that trusts a role of the mount. */
async function aTrusting(role: string, trust: { subject?: string; audience?: string; issuer?: string } = {}) {
  const subject = trust.subject ?? (await subjectOf(role))
  const { admin } = house.directory
  const { id, appId } = admin.addApplication({ displayName: role })
  admin.addTrust(id, { issuer, ...trust, subject })
  return appId
}

async function aRole(fields: object = {}): Promise<{ role: string; clientId: string }> {
  const role = `job-${++made}`
  const clientId = await aTrusting(role)
  const written = await house.root.write(`cloud/roles/${role}`, {
    credential_type: 'federated',
    federated_client_id: clientId,
    ...fields,
  })
  expect(verdict(written)).toBe('204')
  return { role, clientId }
}

const tokenOf = (role: string, body: object = { scope }, mount = 'cloud') =>
  house.root.write(`${mount}/token/${role}`, body)

describe('a federated role of a client that trusts it', () => {
  test('is read as written, gives tokens and assertions, and makes the engine call no directory', async () => {
    const { role, clientId } = await aRole({ allowed_scopes: `${scope}, https://vault.azure.net/.default` })
    const calls = () => house.directory.journal.entries().filter(({ service }) => service !== 'login').length
    const before = calls()

    const read = await house.root.read(`cloud/roles/${role}`)
    const issued = await house.root.read(`cloud/creds/${role}`)
    const posted = await tokenOf(role)
    const fetched = await house.root.read(`cloud/token/${role.toUpperCase()}?scope=${scope}`)

    expect(read.body.data).toMatchObject({
      credential_type: 'federated',
      federated_client_id: clientId,
      allowed_scopes: [scope, 'https://vault.azure.net/.default'],
    })
    expect(issued.body).toMatchObject({ lease_id: '', renewable: false, lease_duration: 0 })
    expect(issued.body.data).toEqual({
      client_id: clientId,
      tenant_id: house.directory.tenantId,
      client_assertion: expect.any(String),
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      token_endpoint: `${house.directory.authorityUrl}/${house.directory.tenantId}/oauth2/v2.0/token`,
      expires_in: 3600,
    })
    expect(decodeJwt(String(issued.body.data?.client_assertion))).toMatchObject({
      iss: issuer,
      sub: await subjectOf(role),
      aud: ['api://AzureADTokenExchange'],
    })
    expect(posted.body).toMatchObject({ lease_id: '', renewable: false })
    expect(posted.body.data).toEqual({
      token_type: 'Bearer',
      expires_in: 3599,
      ext_expires_in: 3599,
      access_token: expect.any(String),
    })
    expect(fetched.body.data).toEqual(posted.body.data)
    expect(decodeJwt(String(posted.body.data?.access_token)).appid).toBe(clientId)
    expect(calls()).toBe(before)
  })

  test('shows none of the new fields on a role that never had them', async () => {
    await using other = await startCloudFixture()
    await other.root.write('azure/roles/plain', {
      azure_roles: JSON.stringify([{ role_name: 'Reader', scope: other.scope() }]),
    })

    const { body } = await other.root.read('azure/roles/plain')

    expect(
      Object.keys(body.data ?? {}).filter((name) => /credential_type|federated|scopes/.test(name)),
    ).toEqual([])
    expect(verdict(await other.root.write('azure/token/plain', { scope }))).toBe(
      "400 role 'plain' has no federated credential",
    )
    expect(verdict(await other.root.write('azure/token/none', { scope }))).toBe(
      "400 role 'none' does not exist",
    )
  })

  test.each([
    { ttl: 600, identity_token_ttl: 0, lives: 600 },
    { ttl: 600, identity_token_ttl: 300, lives: 300 },
    { ttl: 0, identity_token_ttl: 300, lives: 300 },
  ])('lives as long as the role and the tokens of the mount allow (%o)', async (times) => {
    const { ttl, identity_token_ttl, lives } = times
    const { role } = await aRole({ ttl })
    await house.root.write('cloud/config', { identity_token_ttl })

    const { body } = await house.root.read(`cloud/creds/${role}`)
    await house.root.write('cloud/config', { identity_token_ttl: 0 })

    const { iat = 0, exp = 0 } = decodeJwt(String(body.data?.client_assertion))
    expect([exp - iat, body.data?.expires_in]).toEqual([lives, lives])
  })

  test('wait=ready exchanges the assertion first', async () => {
    const { role } = await aRole()

    const { body } = await house.root.read(`cloud/creds/${role}?wait=ready`)

    expect(body.warnings).toEqual(['credentials were ready after 0 s'])
  })
})

// docs/contract/identity-tokens.md#tokens-of-mounts
describe('an identity token', () => {
  const place = { subscription_id: 's', tenant_id: 't' }
  const role = { credential_type: 'federated', federated_client_id: 'c' }
  const aMount = async (path: string) => {
    await house.root.write(`far/sys/mounts/${path}`, { type: 'cloud' })
    await house.root.write(`far/${path}/config`, place)
    expect(verdict(await house.root.write(`far/${path}/roles/Deploy`, role))).toBe('204')
  }
  const tokenAt = async (path: string) => {
    // not the one of a second ago
    house.clock.advance(2)
    return String((await house.root.read(`far/${path}/creds/DEPLOY`)).body.data?.client_assertion)
  }
  beforeAll(() => house.root.write('sys/namespaces/far', {}))

  test('of a namespace names the mount and the role, and verifies with what the namespace publishes', async () => {
    await aMount('first')
    const { body } = await house.root.read('far/sys/mounts/first')
    const { id } = (await house.root.read('sys/namespaces/far')).body.data as { id?: unknown }

    const token = await tokenAt('first')

    const keys = await house.server.anonymous.read('far/identity/oidc/plugins/.well-known/keys')
    const published = createLocalJWKSet(keys.body as unknown as JSONWebKeySet)
    const currentDate = new Date(house.clock.now())
    const { payload, protectedHeader } = await jwtVerify(token, published, { currentDate })
    const now = Math.floor(house.clock.now() / 1000)
    expect(protectedHeader).toEqual({ alg: 'RS256', kid: expect.any(String) })
    expect(payload).toEqual({
      iss: `${house.server.url}/v1/far/identity/oidc/plugins`,
      sub: `plugin-identity:${String(id)}:secret:${String(body.data?.accessor)}:role:deploy`,
      aud: ['api://AzureADTokenExchange'],
      iat: now,
      nbf: now,
      exp: now + 3600,
      jti: expect.any(String),
      'vaultproject.io': {
        accessor: body.data?.accessor,
        class: 'secret',
        path: 'first/',
        namespace_id: id,
        namespace_path: 'far/',
      },
    })
  })

  test('keeps its subject when the mount moves; a mount that is made anew has another one', async () => {
    await aMount('here')
    const before = decodeJwt(await tokenAt('here'))
    await house.root.write('far/sys/remount', { from: 'here', to: 'there' })
    await expect.poll(async () => (await house.root.read('far/there/creds/deploy')).status).toBe(200)
    const moved = decodeJwt(await tokenAt('there'))
    await aMount('here')

    const anew = decodeJwt(await tokenAt('here'))

    expect([moved.sub, moved['vaultproject.io']]).toMatchObject([before.sub, { path: 'there/' }])
    expect(anew.sub).not.toBe(before.sub)
  })

  test.each([
    ['AzureUSGovernmentCloud', 'api://AzureADTokenExchangeUSGov'],
    ['CloudChinaCloud', 'api://AzureADTokenExchangeChina'],
    ['AzurePublicCloud', 'api://AzureADTokenExchange'],
  ])('in %s is for %s, unless the configuration names another audience', async (environment, audience) => {
    await aMount('cloudy')
    await house.root.write('far/cloudy/config', { environment })

    const usual = decodeJwt(await tokenAt('cloudy')).aud
    await house.root.write('far/cloudy/config', { identity_token_audience: 'api://own' })
    const own = decodeJwt(await tokenAt('cloudy')).aud
    await house.root.write('far/cloudy/config', { identity_token_audience: '' })

    expect([usual, own]).toEqual([[audience], ['api://own']])
  })
})

describe('kept tokens', () => {
  const asked = () => house.directory.journal.entries({ service: 'login', method: 'POST' }).length

  test('are given again while half of their life is left, except fresh ones', async () => {
    const { role } = await aRole()
    const get = async (body: object = { scope }) => (await tokenOf(role, body)).body.data
    const first = await get()

    house.clock.advance(1799)
    expect(await get()).toMatchObject({ access_token: first?.access_token, expires_in: 1800 })
    const fresh = await get({ scope, fresh: true })
    expect(fresh?.access_token).not.toBe(first?.access_token)
    expect((await get())?.access_token).toBe(fresh?.access_token)
    house.clock.advance(1800)
    expect((await get())?.access_token).not.toBe(fresh?.access_token)
  })

  test('are asked for once by many callers at a time', async () => {
    const { role } = await aRole()
    const before = asked()

    const tokens = await Promise.all(Array.from({ length: 8 }, () => tokenOf(role)))

    expect(new Set(tokens.map(({ body }) => body.data?.access_token)).size).toBe(1)
    expect(asked()).toBe(before + 1)
  })

  test.each([
    ['role', (role: string) => house.root.write(`cloud/roles/${role}`, { max_ttl: 3600 })],
    ['configuration', () => house.root.write('cloud/config', { environment: 'AzurePublicCloud' })],
  ])('are dropped when the %s is written', async (_what, write) => {
    const { role } = await aRole()
    const before = (await tokenOf(role)).body.data?.access_token

    expect((await write(role)).status).toBe(204)

    expect((await tokenOf(role)).body.data?.access_token).not.toBe(before)
  })
})

describe('the scope of a token', () => {
  test.each([
    [{}, "400 missing required field 'scope'"],
    [{ scope: '' }, "400 missing required field 'scope'"],
    [
      { scope: 'https://graph.microsoft.com/User.Read' },
      '400 scope must be one resource followed by /.default',
    ],
    [{ scope: `${scope} ${scope}` }, '400 scope must be one resource followed by /.default'],
    [
      { scope: `https://${'a'.repeat(512)}/.default` },
      '400 scope must be one resource followed by /.default',
    ],
    [{ scope: 'https://management.azure.com/.default' }, denied],
    [{ scope: scope.toUpperCase() }, '400 scope must be one resource followed by /.default'],
  ])('%o is refused', async (body, expected) => {
    const { role } = await aRole({ allowed_scopes: scope })

    expect(verdict(await tokenOf(role, body))).toBe(expected)
  })
})

test('a resource that the directory does not know is no failure of the server', async () => {
  const { role } = await aRole()

  const said = verdict(await tokenOf(role, { scope: 'https://unknown.example/.default' }))

  expect(said).toMatch(/^400 error getting an access token: AADSTS500011: /)
})

describe('a write of a role is refused', () => {
  let configured: CloudFixture
  beforeAll(async () => {
    configured = await startCloudFixture()
  })
  afterAll(() => configured[Symbol.asyncDispose]())
  const both = 'federated_client_id cannot be set together with'
  test.each([
    [
      { credential_type: 'federated' },
      'credential_type federated requires persist_app, application_object_id or federated_client_id',
      400,
    ],
    [{ credential_type: 'secret' }, 'unknown credential_type "secret"', 400],
    [{ allowed_scopes: Array.from({ length: 101 }, (_, at) => `s${at}`) }, tooManyScopes, 400],
    [{ allowed_scopes: ['s'.repeat(513)] }, tooManyScopes, 400],
    [{ federated_client_id: 'c' }, 'credential_type password cannot be used with federated_client_id', 400],
    [{ federated_client_id: 'c', application_object_id: 'a' }, `${both} application_object_id`, 400],
    [{ federated_client_id: 'c', persist_app: true }, `${both} persist_app`, 400],
    [
      { federated_client_id: 'c', cloud_roles: '[{"role_name":"Reader","scope":"/subscriptions/s"}]' },
      `${both} cloud_roles`,
      400,
    ],
    [{ federated_client_id: 'c', cloud_groups: '[{"group_name":"g"}]' }, `${both} cloud_groups`, 400],
    [
      { federated_client_id: 'c', cloud_app_roles: '[{"app_id":"a","role_name":"r"}]' },
      `${both} cloud_app_roles`,
      400,
    ],
    [
      { federated_client_id: 'c', credential_type: 'certificate' },
      'credential_type certificate cannot be used with federated_client_id',
      400,
    ],
    [
      { federated_client_id: 'a b', credential_type: 'federated' },
      'federated_client_id must be a client id',
      400,
    ],
  ])('%o', async (fields, text, status) => {
    expect(verdict(await configured.root.write('cloud/roles/refused', fields))).toBe(`${status} ${text}`)
    expect((await configured.root.read('cloud/roles/refused')).status).toBe(404)
  })

  test('if its subject is too long for verifiers', async () => {
    const role = 'r'.repeat(600)

    expect(
      verdict(
        await house.root.write(`cloud/roles/${role}`, {
          credential_type: 'federated',
          federated_client_id: 'c',
        }),
      ),
    ).toBe('400 subject must have at most 600 characters')
  })

  test.each([
    [{ algorithm: 'ES256' }, 'key "unfit" must use RS256'],
    [
      { rotation_period: 3600, verification_ttl: 3599 },
      'identity_token_ttl cannot be longer than the verification_ttl of key "unfit"',
    ],
  ])('if the key of the mount has %o, as a write of the audience is', async (settings, text) => {
    const role = { credential_type: 'federated', federated_client_id: 'c' }
    await house.root.write('identity/oidc/key/unfit', { allowed_client_ids: '*', ...settings })
    await house.root.write('sys/mounts/unfit', { type: 'azure', config: { identity_token_key: 'unfit' } })
    await house.root.write('unfit/config', { subscription_id: 's', tenant_id: 't' })

    const refused = [
      await house.root.write('unfit/config', { identity_token_audience: 'api://cloud' }),
      await house.root.write('unfit/roles/r', role),
    ]
    await house.root.delete('sys/mounts/unfit')
    await house.root.delete('identity/oidc/key/unfit')

    expect(refused.map(verdict)).toEqual([`400 ${text}`, `400 ${text}`])
  })

  test('if the key of the mount does not list its audience', async () => {
    await house.root.write('identity/oidc/key/narrow', { allowed_client_ids: 'other' })
    await house.root.write('sys/mounts/narrow', { type: 'azure', config: { identity_token_key: 'narrow' } })
    await house.root.write('narrow/config', { subscription_id: 's', tenant_id: 't' })
    const role = { credential_type: 'federated', federated_client_id: 'c' }

    expect(verdict(await house.root.write('narrow/roles/r', role))).toBe(
      '400 the key "narrow" does not list the audience "api://AzureADTokenExchange" as an allowed client ID',
    )
    await house.root.write('identity/oidc/key/narrow', { allowed_client_ids: '*' })
    expect(verdict(await house.root.write('narrow/roles/r', role))).toBe('204')
    expect(verdict(await house.root.write('identity/oidc/key/narrow', { algorithm: 'ES256' }))).toBe(
      '400 unable to update key "narrow" because it is currently referenced by these mounts: narrow/',
    )
  })
})

describe('a trust that does not fit is explained', () => {
  test.each([
    ['issuer', { issuer: 'https://other' }, 'AADSTS700211', 'the issuer is not trusted'],
    ['subject', { subject: 'plugin-identity:other' }, 'AADSTS70021', 'the subject is not trusted'],
    ['audience', { audience: 'other' }, 'AADSTS700212', 'the audience is not trusted'],
  ])('%s', async (_what, trust, code, cause) => {
    const role = `untrusted-${++made}`
    const clientId = await aTrusting(role, trust)
    await house.root.write(`cloud/roles/${role}`, {
      credential_type: 'federated',
      federated_client_id: clientId,
    })

    const said = verdict(await tokenOf(role))

    expect(said).toMatch(new RegExp(`^400 ${code}`))
    expect(said).toContain(`: ${cause}; fix: az ad app federated-credential `)
    expect(said).toContain(`az ad app federated-credential create --id '${clientId}' --parameters '{`)
    expect(said).toContain(JSON.stringify(await subjectOf(role)))
  })
})

describe('attacks', () => {
  test('the subject of another mount, role or namespace is not accepted', async () => {
    const { clientId } = await aRole()
    const role = { credential_type: 'federated', federated_client_id: clientId }
    await house.root.write('azure/roles/thief', role)
    await house.root.write('cloud/roles/thief', role)
    await house.root.write('sys/namespaces/team', {})
    await house.root.write('team/sys/mounts/cloud', { type: 'cloud' })
    await house.root.write('team/cloud/config', {
      subscription_id: house.directory.subscriptionId,
      tenant_id: house.directory.tenantId,
    })
    await house.root.write('team/cloud/roles/thief', role)

    for (const mount of ['azure', 'cloud', 'team/cloud'])
      expect(verdict(await tokenOf('thief', { scope }, mount))).toMatch(/^400 AADSTS7002?1[13]?/)
  })

  test('a role of identity/oidc cannot imitate a mount: sub is reserved, and the issuer is another one', async () => {
    const template = JSON.stringify({ sub: await subjectOf('deploy') })

    expect(
      verdict(await house.root.write('identity/oidc/role/imitation', { key: 'default', template })),
    ).toMatch(/^400 top level key "sub" not allowed/)
    const { body } = await house.server.anonymous.read('identity/oidc/.well-known/openid-configuration')
    expect(body.issuer).not.toBe(issuer)
  })

  test('no role gives out a token for the application that the engine uses', async () => {
    await using configured = await startCloudFixture()
    const { root, directory } = configured
    const own = '400 federated_client_id must not refer to the application used by this engine'
    const write = (clientId: string) =>
      root.write('cloud/roles/own', { credential_type: 'federated', federated_client_id: clientId })

    expect(verdict(await write(directory.rootClientId))).toBe(own)
    expect(verdict(await write(directory.rootClientId.toUpperCase()))).toBe(own)
    // the engine signs in as that client only later
    await root.write('cloud/config', { client_id: 'another' })
    expect(verdict(await write(directory.rootClientId))).toBe('204')
    await root.write('cloud/config', { client_id: directory.rootClientId })
    const refused = '400 application_object_id must not refer to the application used by this engine'
    expect(verdict(await root.read('cloud/creds/own'))).toBe(refused)
    expect(verdict(await root.write('cloud/token/own', { scope }))).toBe(refused)
  })

  test('no role gives out the identity of the host that the mount signs in with', async () => {
    await using hosted = await startCloudFixture({
      configured: false,
      host: ({ metadataUrl }) => ({ CLOUD_METADATA_ENDPOINT: metadataUrl }),
    })
    const { root, directory } = hosted
    const { clientId } = directory.systemAssignedIdentity
    const refused = '400 application_object_id must not refer to the application used by this engine'
    const ids = { subscription_id: directory.subscriptionId, tenant_id: directory.tenantId }
    await root.write('cloud/config', hosted.config())
    const role = { credential_type: 'federated', federated_client_id: clientId }

    expect(verdict(await root.write('cloud/roles/host', role))).toBe('204')
    await root.write('cloud/config', { auth_type: 'msi', client_id: '', client_secret: '' })

    expect(verdict(await root.read('cloud/creds/host'))).toBe(refused)
    expect(verdict(await root.write('cloud/token/host', { scope }))).toBe(refused)
    await root.write('azure/config', { ...ids, managed_identity_client_id: clientId })
    expect(verdict(await root.write('azure/roles/host', role))).toBe(
      '400 federated_client_id must not refer to the application used by this engine',
    )
  })

  test('a scope that the login service does not know is the mistake of the caller', async () => {
    const { role } = await aRole()

    expect(verdict(await tokenOf(role, { scope: 'https://nowhere.example/.default' }))).toMatch(
      /^400 error getting an access token: AADSTS/,
    )
  })
})

test('a mount has a limited number of federated roles', async () => {
  await using own = await startCloudFixture({ cloudTimes: { limits: { federatedRoles: 2 } } })
  const write = (name: string, fields: object) => own.root.write(`cloud/roles/${name}`, fields)
  const federated = { credential_type: 'federated', federated_client_id: 'client' }
  const { id } = own.directory.admin.addApplication({ displayName: 'theirs' })
  for (const name of ['one', 'two']) expect(verdict(await write(name, federated))).toBe('204')
  expect(verdict(await write('other', { application_object_id: id }))).toBe('204')

  const refused = [await write('three', federated), await write('other', { credential_type: 'federated' })]

  expect(refused.map(verdict)).toEqual(refused.map(() => '400 a mount can have at most 2 federated roles'))
  expect(own.directory.journal.entries({ operation: 'updateFederatedCredential' })).toEqual([])
  expect(verdict(await write('two', { ...federated, ttl: 60 }))).toBe('204')
  expect(verdict(await own.root.delete('cloud/roles/one'))).toBe('204')
  expect(verdict(await write('three', federated))).toBe('204')
})
