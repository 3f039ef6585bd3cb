import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from '../../simulators/openid-provider/browser.ts'
import { startOpenIdProvider } from '../../simulators/openid-provider/openid-provider.ts'
import {
  callback,
  clientId,
  clientSecret,
  formsOf,
  postForm,
  startSmallProvider,
  verdict,
} from '../plugins/jwt-auth/oidc/small-provider.ts'
import { jwksOf, startProvider } from '../plugins/jwt-auth/provider.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { query } from '../support/postgres.ts'
import type { TestServer } from '../support/start-server.ts'
import { startTwoServers, type TwoServers } from '../support/two-servers.ts'

let servers: TwoServers
beforeAll(async () => {
  // some tests send more wrong secret ids than a role id may have
  servers = await startTwoServers({ settings: { USER_LOCKOUT: 'off' } })
})
afterAll(() => servers[Symbol.asyncDispose]())

const signer = aSigner('ES256', { kid: 'a' })
const now = () => Math.floor(Date.now() / 1000)
const jwtRole = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'alice' }
const claims = (jti?: string) => ({ iss: 'https://ci', sub: 'alice', iat: now(), exp: now() + 600, jti })

async function addMount(path: string, config: object, role: object): Promise<void> {
  const { root } = servers.one
  await root.write(`sys/auth/${path}`, { type: 'jwt' })
  await root.write(`auth/${path}/config`, config)
  await root.write(`auth/${path}/role/r`, role)
  await expect.poll(async () => (await servers.other.root.read(`auth/${path}/role/r`)).status).toBe(200)
}

const logIn = async ({ anonymous }: TestServer, path: string, jwt = signer.sign(claims())) =>
  anonymous.write(`auth/${path}/login`, { role: 'r', jwt })

const redirectUri = 'https://gatehouse.example/ui/vault/auth/oidc/oidc/callback'

test('a login that began at one server finishes at the other, and only one of several callbacks wins', async () => {
  const client = {
    client_id: 'gatehouse',
    client_secret: 'hush',
    redirect_uris: [redirectUri],
    scope: 'openid',
  }
  await using provider = await startOpenIdProvider({ clients: [client], person: () => ({}) })
  await addMount(
    'oidc',
    { oidc_discovery_url: provider.url, oidc_client_id: 'gatehouse', oidc_client_secret: 'hush' },
    { user_claim: 'sub', allowed_redirect_uris: [redirectUri] },
  )
  const begun = await servers.one.anonymous.write('auth/oidc/oidc/auth_url', {
    role: 'r',
    redirect_uri: redirectUri,
    client_nonce: 'mine',
  })
  const { url } = await new Browser().visit(String(begun.body.data?.['auth_url']), {
    login: 'ada',
    password: 'any',
  })
  const back = {
    state: url.searchParams.get('state'),
    code: url.searchParams.get('code'),
    client_nonce: 'mine',
  }

  const answers = await Promise.all(
    [servers.other, servers.one, servers.other, servers.one].map(({ anonymous }) =>
      callback(anonymous, back),
    ),
  )

  const verdicts = answers.map(verdict)
  expect(verdicts.filter((one) => one === 'ok')).toHaveLength(1)
  expect(new Set(verdicts.filter((one) => one !== 'ok')).size).toBe(1)
})

test('a login of mode direct begins at one server, is confirmed at the other, and one of the polls at both gets the token', async () => {
  await using provider = await startSmallProvider()
  const own = 'https://gatehouse.example/v1/auth/direct/oidc/callback'
  await addMount(
    'direct',
    { oidc_discovery_url: provider.url, oidc_client_id: clientId, oidc_client_secret: clientSecret },
    { user_claim: 'sub', callback_mode: 'direct', allowed_redirect_uris: [own] },
  )
  const { one, other } = servers
  const begun = await one.anonymous.write('auth/direct/oidc/auth_url', {
    role: 'r',
    redirect_uri: own,
    client_nonce: 'mine',
  })
  const login = new URLSearchParams(String(begun.body.data?.['auth_url']).split('?')[1])
  const state = login.get('state') ?? ''
  const path = 'auth/direct/oidc/callback'
  const poll = ({ anonymous }: TestServer) =>
    anonymous.write('auth/direct/oidc/poll', { state, client_nonce: 'mine' })

  const query = new URLSearchParams({ state, code: provider.codeFor(login) })
  const [confirm = {}] = formsOf(await other.anonymous.read(`${path}?${query}`))
  const early = await poll(other)
  const clicks = await Promise.all([one, other].map(({ anonymous }) => postForm(anonymous, confirm, path)))
  const polls = await Promise.all([one, other, one, other].map(poll))

  expect(verdict(early)).toBe('400 authorization_pending')
  expect(clicks.map(({ status }) => status).sort()).toEqual([200, 400])
  expect(polls.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
})

test('a one-time JWT that reaches both servers at the same time logs in once', async () => {
  await addMount(
    'once',
    { jwt_validation_pubkeys: [signer.pem] },
    { ...jwtRole, token_replay_protection: true },
  )
  for (const round of ['a', 'b', 'c']) {
    const jwt = signer.sign(claims(round))

    const answers = await Promise.all(
      [servers.one, servers.other, servers.one, servers.other].map((server) => logIn(server, 'once', jwt)),
    )

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
  }
})

test('neither a first login nor a later one, with one-time JWTs, writes what other servers must hear of', async () => {
  await addMount(
    'quiet',
    { jwt_validation_pubkeys: [signer.pem] },
    { ...jwtRole, token_replay_protection: true },
  )
  const version = async () =>
    (await query(servers.database, 'SELECT version FROM cache_version'))[0]?.['version']
  const before = await version()

  const answers = [
    await logIn(servers.one, 'quiet', signer.sign(claims('first'))),
    await logIn(servers.one, 'quiet', signer.sign(claims('second'))),
  ]

  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(await version()).toBe(before)
})

test('a role that one server writes or deletes decides the logins at the other', async () => {
  await addMount('roles', { jwt_validation_pubkeys: [signer.pem] }, jwtRole)
  expect((await logIn(servers.other, 'roles')).status).toBe(200)

  await servers.one.root.write('auth/roles/role/r', { ...jwtRole, bound_subject: 'bob' })
  await expect.poll(async () => (await logIn(servers.other, 'roles')).status).toBe(400)
  await servers.one.root.write('auth/roles/role/r', jwtRole)
  await expect.poll(async () => (await logIn(servers.other, 'roles')).status).toBe(200)
  await servers.one.root.delete('auth/roles/role/r')

  await expect
    .poll(async () => (await logIn(servers.other, 'roles')).body.errors)
    .toEqual(['role "r" could not be found'])
})

test('a configuration that one server writes makes the other fetch the keys again', async () => {
  const withdrawn = aSigner('ES256', { kid: 'a' })
  await using issuer = await startProvider({ '/keys': jwksOf(withdrawn) })
  const config = { jwks_url: `${issuer.url}/keys` }
  await addMount('keys', config, jwtRole)
  const old = withdrawn.sign(claims())
  expect((await logIn(servers.other, 'keys', old)).status).toBe(200)

  issuer.routes.set('/keys', jwksOf(signer))
  expect((await logIn(servers.other, 'keys', old)).status).toBe(200)
  await servers.one.root.write('auth/keys/config', config)

  await expect.poll(async () => (await logIn(servers.other, 'keys', old)).status).toBe(400)
  expect((await logIn(servers.other, 'keys')).status).toBe(200)
})

describe('a role of an approle mount', () => {
  const path = 'auth/machines'
  const at = (server: TestServer, secretId: string) =>
    server.anonymous.write(`${path}/login`, { role_id: 'rid', secret_id: secretId })
  const newSecretId = async (fields: object) =>
    String((await servers.one.root.write(`${path}/role/r/secret-id`, fields)).body.data?.['secret_id'])

  /** Creates them once; every other server knows them soon. */
  const prepare = async () => {
    await servers.one.root.write(`sys/${path}`, { type: 'approle' })
    await servers.one.root.write(`${path}/role/r`, { role_id: 'rid' })
    await expect.poll(async () => (await servers.other.root.read(`${path}/role/r`)).status).toBe(200)
  }

  test.each([1, 7])('gives as many tokens as a secret id has uses: %s', async (uses) => {
    await prepare()
    const secretId = await newSecretId({ num_uses: uses })

    const logins = await Promise.all(
      Array.from({ length: 24 }, (_, index) => at(index % 2 === 0 ? servers.one : servers.other, secretId)),
    )

    expect(logins.filter(({ status }) => status === 200)).toHaveLength(uses)
    expect(logins.filter(({ status }) => status === 400)).toHaveLength(24 - uses)
  })

  test('refuses logins at all servers from the moment it is deleted, also if it is created again', async () => {
    await prepare()
    const secretId = await newSecretId({})
    expect((await at(servers.other, secretId)).status).toBe(200)

    await servers.one.root.delete(`${path}/role/r`)
    const refused = await at(servers.other, secretId)
    await servers.one.root.write(`${path}/role/r`, { role_id: 'rid' })

    expect([refused.status, (await at(servers.other, secretId)).status]).toEqual([400, 400])
    const anew = await newSecretId({ num_uses: 1 })
    expect((await at(servers.other, anew)).status).toBe(200)
  })
})

test('a token with a scope has it at both servers, and so has a child that the other makes', async () => {
  const { one, other } = servers
  await addMount(
    'scoped',
    { jwt_validation_pubkeys: [signer.pem] },
    { ...jwtRole, token_policies: ['reader'], token_ttl: '1h' },
  )
  const policy = `path "sys/mounts" { capabilities = ["read"] } path "sys/auth" { capabilities = ["read"] }
    path "auth/token/create" { capabilities = ["update"] }`
  await one.root.write('sys/policies/acl/reader', { policy })
  await expect.poll(async () => (await other.root.read('sys/policies/acl/reader')).status).toBe(200)
  const { body } = await one.anonymous.write('auth/scoped/login', {
    role: 'r',
    jwt: signer.sign(claims()),
    scope_paths: ['sys/mounts', 'auth/token/create'],
    scope_ttl: '10m',
  })
  const token = String(body.auth?.client_token)

  const child = await other.as(token).write('auth/token/create', { ttl: '50m' })
  const renewed = await other.as(token).write('auth/token/renew-self')

  expect(child.body.auth).toMatchObject({ scope_paths: ['sys/mounts', 'auth/token/create'] })
  expect(Number(child.body.auth?.lease_duration)).toBeLessThanOrEqual(600)
  expect(Number(renewed.body.auth?.lease_duration)).toBeLessThanOrEqual(600)
  for (const server of [one, other])
    for (const held of [token, String(child.body.auth?.client_token)]) {
      const client = server.as(held)
      expect((await client.read('sys/mounts')).status).toBe(200)
      expect((await client.read('sys/auth')).status).toBe(403)
    }
})

test('a refused login is explained by the server that refused it, and a name has the same hash at both', async () => {
  const { one, other } = servers
  await one.root.write('sys/auth/people', { type: 'userpass' })
  await one.root.write('auth/people/users/bob', { password: 'pw' })
  await expect.poll(async () => (await other.root.read('auth/people/users/bob')).status).toBe(200)

  const refused = await one.anonymous.write('auth/people/login/bob', { password: 'x' })
  await other.anonymous.write('auth/people/login/bob', { password: 'x' })

  const explained = async ({ root }: TestServer) =>
    (await root.read(`auth/people/explain?request_id=${String(refused.body['request_id'])}`)).status
  const listedBy = async ({ root }: TestServer) =>
    (await root.read('auth/people/failures')).body.data?.['failures'] as unknown as { subject: string }[]
  expect([await explained(one), await explained(other)]).toEqual([200, 404])
  expect([await listedBy(one), await listedBy(other)]).toMatchObject([
    [{ subject: 'bob' }],
    [{ subject: 'bob' }],
  ])
  const hashOf = async ({ root }: TestServer) =>
    (await root.write('auth/people/failures/hash', { input: 'bob' })).body.data?.['hash']
  expect(await hashOf(one)).toBe(await hashOf(other))
})
