import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../../support/start-server.ts'
import { verdict } from './oidc/small-provider.ts'
import { jwksOf, startProvider } from './provider.ts'
import { aSigner, newKeys, type Signer } from './signer.ts'

/** For the tests that leave behind nothing that others would notice. */
const sharedServer = shared(() => startTestServer())

const signer = aSigner('ES256')
const issuer = 'https://ci.example.com'

/** Claims that the role below accepts; undefined removes one. */
function someClaims(given: object = {}): object {
  const now = Math.floor(Date.now() / 1000)
  return { iss: issuer, sub: 'alice', aud: 'gate', iat: now - 5, nbf: now - 5, exp: now + 600, ...given }
}

const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' }

/** A mount `auth/jwt` with one static key, and a role `r`. */
async function withRole(
  given: object = {},
  { config = {}, ...options }: TestServerOptions & { config?: object } = {},
): Promise<TestServer> {
  const server = await borrowServer(options)
  const configured = await server.root.write('auth/jwt/config', {
    jwt_validation_pubkeys: [signer.pem],
    ...config,
  })
  const written = await server.root.write('auth/jwt/role/r', { ...role, ...given })
  expect([configured.status, written.status].every((status) => status === 204 || status === 200)).toBe(true)
  return server
}

const invalid = '400 error validating token: '
const login = (server: TestServer, jwt: string, name = 'r') =>
  server.anonymous.write('auth/jwt/login', { role: name, jwt })

describe('the order of refusals', () => {
  test('requests are refused before the token is checked', async () => {
    const server = await sharedServer()
    const go = async (body: object) => verdict(await server.anonymous.write('auth/jwt/login', body))

    expect(await go({ role: 'r', jwt: 'x' })).toBe('400 could not load configuration')
    await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
    expect(await go({})).toBe('400 missing role')
    expect(await go({ jwt: 'x' })).toBe('400 missing role')
    expect(await go({ role: 'No-Such', jwt: '' })).toBe('400 role "no-such" could not be found')
    expect(await go({ role: 'a"b' })).toBe('400 role "a\\"b" could not be found')
    expect(await go({ role: ' dev', jwt: 'x' })).toBe('400 role " dev" could not be found')
    await server.root.write('auth/jwt/role/o', { user_claim: 'sub', allowed_redirect_uris: 'https://x' })
    expect(await go({ role: 'o', jwt: '' })).toBe('400 role with oidc role_type is not allowed')
    await server.root.write('auth/jwt/role/far', { ...role, token_bound_cidrs: '10.1.2.3' })
    expect(await go({ role: 'far' })).toBe('400 missing token')
    expect(await go({ role: 'far', jwt: 'garbage' })).toBe('403 permission denied')
    await server.root.write('auth/jwt/role/r', role)
    for (const jwt of ['', null, undefined]) expect(await go({ role: 'r', jwt })).toBe('400 missing token')
    expect(await go({ role: 'r', jwt: ['x'] })).toMatch(
      '400 Field validation failed: error converting input for field "jwt": ',
    )
  })

  test('the checks of the token run in order', async () => {
    const demands = {
      bound_audiences: '',
      bound_subject: 'alice',
      user_claim: 'user',
      groups_claim: 'groups',
      claim_mappings: { n: 'n' },
      claim_mappings_text_only: true,
      bound_claims: { k: 'v' },
    }
    await using server = await withRole(demands, { config: { bound_issuer: issuer } })
    const past = Math.floor(Date.now() / 1000) - 1000
    let claims = {
      iss: 'x',
      sub: 'y',
      aud: 'z' as string | undefined,
      iat: past,
      nbf: undefined as number | undefined,
      exp: past,
    } as Record<string, unknown>
    const go = async (by: Signer = signer) => verdict(await login(server, by.sign(someClaims(claims))))

    expect(await go(aSigner('ES256'))).toBe(
      `${invalid}error verifying token signature: no known key successfully validated the token signature`,
    )
    expect(await go()).toBe(`${invalid}invalid issuer (iss) claim`)
    claims = { ...claims, iss: issuer }
    expect(await go()).toBe(`${invalid}invalid subject (sub) claim`)
    claims = { ...claims, sub: 'alice' }
    expect(await go()).toBe(`${invalid}invalid expiration time (exp) claim: token is expired`)
    claims = { ...claims, exp: past + 2000 }
    expect(await go()).toBe('400 audience claim found in JWT but no audiences bound to the role')
    claims = { ...claims, aud: undefined }
    expect(await go()).toBe('400 claim "user" not found in token')
    claims = { ...claims, user: 5 }
    expect(await go()).toBe('400 claim "user" could not be converted to string')
    claims = { ...claims, user: 'u', n: 1 }
    expect(await go()).toBe("400 error converting claim 'n' to string")
    claims = { ...claims, n: 'n' }
    expect(await go()).toBe('400 failed to fetch groups: "groups" claim not found in token')
    claims = { ...claims, groups: ['a', 1] }
    expect(await go()).toBe('400 value 1 in groups claim could not be parsed as string')
    claims = { ...claims, groups: ['a'] }
    expect(await go()).toBe('400 error validating claims: claim "k" is missing')
    claims = { ...claims, k: 'w' }
    expect(await go()).toBe(
      '400 error validating claims: claim "k" does not match any associated bound claim values',
    )
    claims = { ...claims, k: ['v'] }
    expect(await go()).toBe('ok')
  })

  test('the list of algorithms is checked after the signature and before the claims', async () => {
    await using server = await withRole()
    const go = async (algorithms: string, token: string) => {
      await server.root.write('auth/jwt/config', {
        jwt_validation_pubkeys: [signer.pem],
        jwt_supported_algs: algorithms,
      })
      return verdict(await login(server, token))
    }
    const refused =
      '400 error validating token: invalid algorithm (alg) header parameter: token signed with unexpected algorithm'

    for (const algorithms of ['', 'ES256', 'RS256,ES256,EdDSA'])
      expect(await go(algorithms, signer.sign(someClaims()))).toBe('ok')
    for (const algorithms of ['RS256', 'RS256,ES512,EdDSA'])
      expect(await go(algorithms, signer.sign(someClaims()))).toBe(refused)
    expect(await go('RS256', signer.sign(someClaims({ iss: 1, exp: 5 })))).toBe(refused)
    expect(await go('RS256', aSigner('ES256').sign(someClaims()))).toMatch(/no known key/)
  })
})

describe('what a login returns', () => {
  test('a login takes alias, metadata, policies and lifetimes from the role', async () => {
    await using server = await withRole({
      user_claim: 'https://vault/user',
      groups_claim: 'https://vault/groups',
      bound_subject: 'alice',
      bound_audiences: 'a,gate',
      claim_mappings: { first_name: 'name', '/org/primary': 'primary_org', absent: 'nope' },
      bound_claims: { color: 'green', pnum: 123 },
      token_policies: 'test',
      token_period: 3,
      token_ttl: 1,
      token_max_ttl: 5,
      token_num_uses: 10,
    })
    const claims = someClaims({
      'https://vault/user': 'jeff',
      'https://vault/groups': ['foo', 'bar'],
      first_name: 'jeff2',
      org: { primary: 'engineering' },
      color: 'green',
      pnum: 123,
    })

    const answer = await login(server, signer.sign(claims))

    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ data: null, lease_id: '', warnings: null, mount_type: 'jwt' })
    expect(answer.body.auth).toMatchObject({
      policies: ['default', 'test'],
      token_policies: ['default', 'test'],
      metadata: { name: 'jeff2', primary_org: 'engineering', role: 'r' },
      lease_duration: 3,
      renewable: true,
      token_type: 'service',
      orphan: true,
      mfa_requirement: null,
      num_uses: 10,
    })
    const looked = await server.as(String(answer.body.auth?.client_token)).read('auth/token/lookup-self')
    expect(looked.body.data).toMatchObject({
      display_name: 'jwt-jeff',
      path: 'auth/jwt/login',
      meta: { name: 'jeff2', role: 'r' },
      period: 3,
      num_uses: 9,
    })
  })

  test('a login accepts a role name in any case, the default role, a token with white space, and a nonsense token header', async () => {
    await using server = await withRole({}, { config: { default_role: 'R' } })
    const jwt = signer.sign(someClaims())
    const spaced = `\n ${jwt.slice(0, 40)}\n${jwt.slice(40)}\u2003\n`

    expect(verdict(await login(server, jwt, 'R'))).toBe('ok')
    expect(verdict(await server.anonymous.write('auth/jwt/login', { jwt }))).toBe('ok')
    expect(verdict(await login(server, spaced))).toBe('ok')
    expect(verdict(await server.as('nonsense').write('auth/jwt/login', { role: 'r', jwt }))).toBe('ok')
    expect(verdict(await server.anonymous.call('PUT', 'auth/jwt/login', { role: 'r', jwt }))).toBe('ok')
  })

  test('unknown fields cause a warning', async () => {
    await using server = await withRole()
    const answer = await server.anonymous.write('auth/jwt/login', {
      role: 'r',
      jwt: signer.sign(someClaims()),
      zzz: 1,
      distributed_claim_access_token: 'x',
    })
    expect(answer.body.warnings).toEqual(['Endpoint ignored these unrecognized parameters: [zzz]'])
  })

  test('each name has its own entity', async () => {
    await using server = await withRole()
    const entityOf = async (sub: string) =>
      String((await login(server, signer.sign(someClaims({ sub })))).body.auth?.entity_id)

    const [first, again, other] = [await entityOf('alice'), await entityOf('ALICE'), await entityOf('bob')]

    expect(first).toMatch(/^[0-9a-f-]{36}$/)
    expect(again).toBe(first)
    expect(other).not.toBe(first)
  })

  test("an empty name is refused as the caller's mistake", async () => {
    await using server = await withRole()
    expect(verdict(await login(server, signer.sign(someClaims({ sub: '' }))))).toBe(
      '400 missing name in alias',
    )
  })

  test.each([
    { name: 'a key with other characters', claim_mappings: { n: 'bad key!' } },
    { name: 'a reserved key', claim_mappings: { n: 'vault-x' } },
    { name: 'an empty key', claim_mappings: { n: '' } },
    {
      name: '64 mappings and the role',
      claim_mappings: Object.fromEntries(
        Array.from({ length: 64 }, (_, index) => [`/many/${index}`, `k${index}`]),
      ),
    },
  ])('$name is refused when the login creates the alias', async ({ claim_mappings }) => {
    await using server = await withRole({ claim_mappings })
    const jwt = signer.sign(someClaims({ n: 'x', many: Array(64).fill('y') }))
    expect(verdict(await login(server, jwt))).toMatch(/^400 invalid alias metadata: /)
  })

  test('a bound address is accepted and kept in the token, and another one is refused', async () => {
    await using server = await withRole({ token_bound_cidrs: '127.0.0.42' })
    const jwt = signer.sign(someClaims())
    const from = (localAddress: string) =>
      server.anonymous.write('auth/jwt/login', { role: 'r', jwt }, { localAddress })

    const near = await from('127.0.0.42')

    expect(verdict(near)).toBe('ok')
    expect(verdict(await from('127.0.0.99'))).toBe('403 permission denied')
    const holder = server.as(String(near.body.auth?.client_token))
    expect((await holder.read('auth/token/lookup-self', { localAddress: '127.0.0.42' })).status).toBe(200)
    expect((await holder.read('auth/token/lookup-self', { localAddress: '127.0.0.99' })).status).toBe(403)
  })

  test.each([
    { bound: [], aud: 'gate', text: '400 audience claim found in JWT but no audiences bound to the role' },
    { bound: [], aud: ['gate'], text: '400 audience claim found in JWT but no audiences bound to the role' },
    {
      bound: [],
      aud: ['a', 'b', 'c'],
      text: '400 audience claim found in JWT but no audiences bound to the role',
    },
    { bound: ['x', 'gate'], aud: 'gate', text: 'ok' },
    { bound: ['gate', 'x'], aud: ['other', 'gate'], text: 'ok' },
    {
      bound: ['x'],
      aud: 'https://foo.com',
      text: `${invalid}invalid audience (aud) claim: audience claim does not match any expected audience`,
    },
    { bound: [], aud: undefined, text: 'ok' },
  ])('bound_audiences $bound, aud $aud: $text', async ({ bound, aud, text }) => {
    await using server = await withRole({ bound_audiences: bound, bound_subject: 'alice' })
    expect(verdict(await login(server, signer.sign(someClaims({ aud }))))).toBe(text)
  })

  test('a token signed by another key is refused, for static and for published keys', async () => {
    await using provider = await startProvider({ '/k': jwksOf(signer) })
    await using server = await withRole()
    const stranger = aSigner('ES256').sign(someClaims())

    expect(verdict(await login(server, stranger))).toBe(
      `${invalid}error verifying token signature: no known key successfully validated the token signature`,
    )
    await server.root.write('auth/jwt/config', { jwks_url: `${provider.url}/k` })
    expect(verdict(await login(server, stranger))).toBe(
      `${invalid}error verifying token signature: failed to verify id token signature`,
    )
    expect(verdict(await login(server, signer.sign(someClaims())))).toBe('ok')
  })

  test('another issuer and another subject are refused', async () => {
    await using server = await withRole({ bound_subject: 'alice' }, { config: { bound_issuer: issuer } })
    const go = async (given: object) => verdict(await login(server, signer.sign(someClaims(given))))

    expect(await go({})).toBe('ok')
    for (const iss of ['https://other', `${issuer}/`, issuer.toUpperCase(), undefined])
      expect(await go({ iss })).toBe(`${invalid}invalid issuer (iss) claim`)
    for (const sub of ['bob', 'Alice', undefined])
      expect(await go({ sub })).toBe(`${invalid}invalid subject (sub) claim`)
  })

  test('the display name of a token contains namespace and mount', async () => {
    const server = await sharedServer()
    await server.root.write('sys/namespaces/ns1', {})
    await server.root.write('ns1/sys/auth/team/oidc', { type: 'jwt' })
    await server.root.write('ns1/auth/team/oidc/config', { jwt_validation_pubkeys: [signer.pem] })
    await server.root.write('ns1/auth/team/oidc/role/r', role)

    const answer = await server.anonymous.write('ns1/auth/team/oidc/login', {
      role: 'r',
      jwt: signer.sign(someClaims()),
    })

    const own = await server.as(String(answer.body.auth?.client_token)).read('ns1/auth/token/lookup-self')
    expect(own.body.data).toMatchObject({
      display_name: 'ns1-auth-team-oidc-alice',
      path: 'auth/team/oidc/login',
      namespace_path: 'ns1/',
    })
  })

  test('each token has the groups of its own login, and a renewal restores them', async () => {
    await using server = await withRole({ groups_claim: 'groups' })
    const made = await server.root.write('identity/group', {
      name: 'eng',
      type: 'external',
      policies: ['build'],
    })
    const mounts = await server.root.read('sys/auth')
    const mount_accessor = Object(mounts.body.data?.['jwt/']).accessor
    await server.root.write('identity/group-alias', {
      name: 'eng',
      mount_accessor,
      canonical_id: made.body.data?.['id'],
    })
    const logIn = async (groups: string[]) =>
      (await login(server, signer.sign(someClaims({ groups })))).body.auth
    const first = await logIn(['eng'])
    const policiesNow = async (id: unknown) =>
      (await server.as(String(id)).read('auth/token/lookup-self')).body.data?.['identity_policies'] ?? []

    expect(first?.['identity_policies']).toEqual(['build'])
    const second = await logIn([])
    expect(second?.['identity_policies'] ?? []).toEqual([])
    expect(await policiesNow(first?.client_token)).toEqual([])
    const renewed = await server.as(String(first?.client_token)).write('auth/token/renew-self')
    expect(renewed.body.auth?.['identity_policies']).toEqual(['build'])
    expect(await policiesNow(second?.client_token)).toEqual(['build'])
  })

  test('policies that auth methods must not grant are refused', async () => {
    await using server = await withRole({ token_policies: 'ROOT,a' })
    expect(verdict(await login(server, signer.sign(someClaims())))).toBe(
      '400 auth methods cannot create root tokens',
    )
  })

  test('groups are read through a JSON pointer, and from a single string', async () => {
    await using server = await withRole({ groups_claim: '/https/~1~1vault~1groups/testing' })
    expect(
      verdict(
        await login(
          server,
          signer.sign(someClaims({ https: { '//vault/groups': { testing: ['foo', 'bar'] } } })),
        ),
      ),
    ).toBe('ok')
    await server.root.write('auth/jwt/role/r', { ...role, groups_claim: 'groups' })
    expect(verdict(await login(server, signer.sign(someClaims({ groups: 'one' }))))).toBe('ok')
  })

  test('a renewal uses the current role, and fails after the role was deleted', async () => {
    await using server = await withRole({ token_ttl: 100 })
    const token = server.as(String((await login(server, signer.sign(someClaims()))).body.auth?.client_token))
    await server.root.write('auth/jwt/role/r', { ...role, token_ttl: 200 })

    expect((await token.write('auth/token/renew-self')).body.auth?.lease_duration).toBe(200)
    await server.root.delete('auth/jwt/role/r')
    expect(verdict(await token.write('auth/token/renew-self'))).toBe(
      '400 failed to renew entry: role r does not exist during renewal',
    )
  })

  test('a written role is used from the next login on', async () => {
    await using server = await withRole()
    const other = aSigner('ES256')
    expect(verdict(await login(server, signer.sign(someClaims())))).toBe('ok')

    await server.root.write('auth/jwt/role/r', { role_type: 'jwt', bound_subject: 'bob' })
    expect(verdict(await login(server, signer.sign(someClaims())))).toMatch(/invalid subject/)
    await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [other.pem] })
    expect(verdict(await login(server, signer.sign(someClaims({ sub: 'bob' }))))).toMatch(/no known key/)
    expect(verdict(await login(server, other.sign(someClaims({ sub: 'bob' }))))).toBe('ok')
    await server.root.delete('auth/jwt/role/r')
    expect(verdict(await login(server, other.sign(someClaims({ sub: 'bob' }))))).toBe(
      '400 role "r" could not be found',
    )
  })

  test("times are checked against the server's clock", async () => {
    const clock = new FakeClock()
    await using server = await withRole({}, { clock })
    const jwt = signer.sign(someClaims())

    clock.advance(600 + 150 + 60 - 2)
    expect(verdict(await login(server, jwt))).toBe('ok')
    clock.advance(5)
    expect(verdict(await login(server, jwt))).toMatch(/token is expired/)
  })
})

describe('keys from elsewhere', () => {
  testOfOneServer(
    'many concurrent logins with a JWKS URL cause one fetch at the write and one at the first login',
    async () => {
      const server = await sharedServer()
      const rs = aSigner('RS256', { kid: 'r', keys: newKeys('RS256') })
      await using provider = await startProvider({ '/k': jwksOf(rs) })
      await server.root.write('auth/jwt/config', { jwks_url: `${provider.url}/k` })
      await server.root.write('auth/jwt/role/r', role)

      const tokens = Array.from({ length: 300 }, (_, index) =>
        rs.sign(someClaims({ sub: `s${index % 100}` })),
      )
      const verdicts = await Promise.all(tokens.map(async (jwt) => verdict(await login(server, jwt))))

      expect(new Set(verdicts)).toEqual(new Set(['ok']))
      expect(provider.hits).toHaveLength(2)
    },
  )

  test('a jwt role works on a mount with an OpenID client, with every algorithm', async () => {
    const server = await sharedServer()
    const [rs, es] = [aSigner('RS256', { kid: 'r', keys: newKeys('RS256') }), aSigner('ES256', { kid: 'e' })]
    await using provider = await startProvider({ '/jwks': jwksOf(rs, es) })
    provider.routes.set('/.well-known/openid-configuration', {
      issuer: provider.url,
      jwks_uri: `${provider.url}/jwks`,
    })
    const client = { oidc_discovery_url: provider.url, oidc_client_id: 'abc', oidc_client_secret: 'def' }
    await server.root.write('auth/jwt/config', client)
    await server.root.write('auth/jwt/role/r', role)

    expect(verdict(await login(server, rs.sign(someClaims())))).toBe('ok')
    expect(verdict(await login(server, es.sign(someClaims({ iss: 'any' }))))).toBe('ok')
    await server.root.write('auth/jwt/config', { ...client, jwt_supported_algs: 'RS256' })
    expect(verdict(await login(server, es.sign(someClaims())))).toMatch(/unexpected algorithm/)
  })

  test('among several key sets the kid selects the key', async () => {
    const server = await sharedServer()
    const [a, b] = [aSigner('ES256', { kid: 'a' }), aSigner('ES256', { kid: 'b' })]
    await using one = await startProvider({ '/k': jwksOf(a) })
    await using two = await startProvider({ '/k': jwksOf(b) })
    await server.root.write('auth/jwt/config', {
      jwks_pairs: [{ jwks_url: `${one.url}/k` }, { jwks_url: `${two.url}/k` }],
    })
    await server.root.write('auth/jwt/role/r', role)

    expect(verdict(await login(server, b.sign(someClaims())))).toBe('ok')
    expect(verdict(await login(server, a.sign(someClaims())))).toBe('ok')
    expect(verdict(await login(server, aSigner('ES256', { kid: 'z' }).sign(someClaims())))).toMatch(
      /no key found with kid z in any JWKS endpoint/,
    )
  })
})

testOfOneServer('writing a configuration drops all cached keys, which are fetched again', async () => {
  const server = await sharedServer()
  const signers = [aSigner('ES256', { kid: 'a' }), aSigner('ES256', { kid: 'b' })]
  const providers = await Promise.all(signers.map((one) => startProvider({ '/k': jwksOf(one) })))
  const jwks_pairs = providers.map(({ url }) => ({ jwks_url: `${url}/k` }))
  await server.root.write('auth/jwt/role/r', role)
  const go = async () =>
    Promise.all(signers.map(async (one) => verdict(await login(server, one.sign(someClaims())))))

  await server.root.write('auth/jwt/config', { jwks_pairs })
  const known = providers.map(({ hits }) => hits.length)
  expect(await go()).toEqual(['ok', 'ok'])
  expect(providers.map(({ hits }) => hits.length)).toEqual(known)
  const asked = providers.map(({ hits }) => hits.length)
  await server.root.write('auth/jwt/config', { jwks_pairs: jwks_pairs.slice(0, 1) })
  expect(await go()).toEqual(['ok', expect.stringMatching(/no key found with kid b in any JWKS endpoint/)])
  await server.root.write('auth/jwt/config', { jwks_pairs })
  expect(await go()).toEqual(['ok', 'ok'])
  expect(providers.map(({ hits }, index) => hits.length > (asked[index] ?? 0))).toEqual([true, true])
  for (const provider of providers) await provider.stop()
})

describe('providers', () => {
  const loginWith = async (provider_config: object, claims: object, given: object = {}) => {
    await using server = await withRole({ groups_claim: 'groups', ...given }, { config: { provider_config } })
    return verdict(await login(server, signer.sign(someClaims(claims))))
  }

  test.each([
    { provider: 'secureauth', groups: 'a-group,another-group', bound: 'another-group', ok: true },
    { provider: 'secureauth', groups: 'a-group another-group', bound: 'another-group', ok: false },
    { provider: 'secureauth', groups: ['a,b'], bound: 'a,b', ok: true },
    { provider: 'secureauth', groups: 'a, b', bound: ' b', ok: true },
    { provider: 'secureauth', groups: 'a, b', bound: 'b', ok: false },
    { provider: 'ibmisam', groups: 'a-group another-group', bound: 'another-group', ok: true },
    { provider: 'ibmisam', groups: 'a-group,another-group', bound: 'another-group', ok: false },
  ])('$provider splits $groups, bound to "$bound": $ok', async ({ provider, groups, bound, ok }) => {
    expect((await loginWith({ provider }, { groups }, { bound_claims: { groups: bound } })) === 'ok').toBe(ok)
  })

  test('the provider azure uses the groups of the token', async () => {
    expect(await loginWith({ provider: 'azure' }, { groups: ['a'], _claim_names: { groups: 'src1' } })).toBe(
      'ok',
    )
  })

  test.each([
    {
      name: 'azure, no groups anywhere',
      config: { provider: 'azure' },
      claims: {},
      text: '400 failed to fetch groups: unable to get claim sources: unable to locate groups claim "groups" in _claim_names',
    },
    {
      name: 'azure, a source that is not there',
      config: { provider: 'azure' },
      claims: { _claim_names: { groups: 'src1' } },
      text: '400 failed to fetch groups: unable to get claim sources: unable to locate /_claim_sources/src1/endpoint in claims',
    },
    {
      name: 'gsuite without fetching',
      config: { provider: 'gsuite' },
      claims: { groups: ['a'] },
      text: '400 failed to fetch groups: "groups" claim not found in token',
    },
    {
      name: 'azure, to be fetched without an access token',
      config: { provider: 'azure', fetch_groups: true },
      claims: { groups: ['a'] },
      text: '400 failed to fetch groups: unable to fetch groups from Microsoft Graph API: access token is empty. Cannot call Microsoft Graph API',
    },
    {
      name: 'okta without fetching',
      config: { provider: 'okta' },
      claims: {},
      text: '400 failed to fetch groups: "groups" claim not found in token',
    },
  ])('a provider configuration is refused, not ignored: $name', async ({ config, claims, text }) => {
    expect(await loginWith(config, claims)).toBe(text)
  })
})

describe('OpenID Connect without a usable provider', () => {
  const url = (server: TestServer, body: object) => server.anonymous.write('auth/jwt/oidc/auth_url', body)

  test('auth_url checks in order, then returns an empty URL with the reason', async () => {
    await using server = await borrowServer()
    await using provider = await startProvider()
    provider.routes.set('/.well-known/openid-configuration', { issuer: provider.url })
    const client = { oidc_discovery_url: provider.url, oidc_client_id: 'abc', oidc_client_secret: 'def' }

    expect(verdict(await url(server, {}))).toBe('400 could not load configuration')
    await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
    expect(verdict(await url(server, {}))).toBe('400 OIDC login is not configured for this mount')
    await server.root.write('auth/jwt/config', client)
    expect(verdict(await url(server, {}))).toBe('400 missing role')
    expect(verdict(await url(server, { role: 'No' }))).toBe('400 missing redirect_uri')
    expect(verdict(await url(server, { role: 'No', redirect_uri: 'https://x' }))).toBe(
      '400 role "no" could not be found',
    )
    await server.root.write('auth/jwt/role/o', { user_claim: 'sub', allowed_redirect_uris: 'https://x' })
    const answer = await url(server, { role: 'O', redirect_uri: 'https://x', client_nonce: 5 })
    expect(answer).toMatchObject({
      status: 200,
      body: {
        data: { auth_url: '' },
        auth: null,
        warnings: ['the metadata of the provider has no usable authorization_endpoint'],
      },
    })
  })

  test('a callback with any state is refused as unknown', async () => {
    await using server = await borrowServer()
    const path = 'auth/jwt/oidc/callback'
    expect(verdict(await server.anonymous.read(`${path}?state=x`))).toBe(
      '400 Vault login failed. Could not load configuration',
    )
    expect(verdict(await server.anonymous.write(path, { state: 'x' }))).toBe(
      '400 Vault login failed. Could not load configuration.',
    )
    await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
    expect(verdict(await server.anonymous.read(`${path}?state=x&code=y&nonce=z`))).toBe(
      '400 Vault login failed. Expired or missing OAuth state.',
    )
    expect(await server.anonymous.write(path, { state: 'x' })).toMatchObject({
      status: 405,
      text: '',
      headers: { 'content-type': 'application/json' },
    })
    await server.root.write('auth/jwt/config', {
      jwt_validation_pubkeys: [signer.pem],
      oidc_response_mode: 'form_post',
    })
    const page = await server.anonymous.write(path, { state: '<script>' })
    expect(page).toMatchObject({
      status: 400,
      headers: { 'content-type': expect.stringMatching(/^text\/html/) },
    })
    expect(page.text).toContain('Expired or missing OAuth state.')
    expect(page.text).not.toContain('script')
  })

  test('other verbs on open paths are refused', async () => {
    await using server = await withRole()
    expect(await server.anonymous.read('auth/jwt/login')).toMatchObject({
      status: 405,
      body: { errors: ['unsupported operation'] },
    })
    expect((await server.anonymous.read('auth/jwt/nope')).status).toBe(403)
    expect(await server.root.read('auth/jwt/nope')).toMatchObject({
      status: 404,
      body: { errors: ['1 error occurred:\n\t* unsupported path\n\n'] },
    })
  })
})

test('a refused login is logged with its reason, without the token or an unknown role', async () => {
  const lines: { event?: string; reason?: string; role?: string }[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  await using server = await withRole({}, { log })

  await login(server, signer.sign(someClaims({ aud: 'other' })))
  await login(server, 'x', 'my-password')
  await server.root.write('auth/jwt/role/forbidden', { ...role, token_policies: 'root' })
  await login(server, signer.sign(someClaims()), 'forbidden')
  await server.root.write('auth/jwt/role/far', { ...role, token_bound_cidrs: '10.0.0.1' })
  await login(server, signer.sign(someClaims()), 'far')

  const refused = lines.filter(({ event }) => event === 'login_refused')
  expect(refused).toMatchObject([
    {
      msg: 'login refused',
      reason: 'audience_mismatch',
      role: 'r',
      mount: 'auth/jwt/',
      namespace: 'root',
      remote_address: '127.0.0.1',
    },
    { reason: 'role_unknown', role: '', status: 400 },
    { reason: 'policy_forbidden', role: 'forbidden', status: 400 },
    { reason: 'address_not_bound', role: 'far', status: 403 },
  ])
  expect(JSON.stringify(refused)).not.toMatch(/eyJ|my-password/)
})
