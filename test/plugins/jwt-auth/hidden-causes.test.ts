import { describe, expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import type { Answer } from '../../support/client.ts'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { startDirectoryLogin } from './directory-login.ts'
import { begin, callback, configure, logIn, startSmallProvider, withFlow } from './oidc/small-provider.ts'
import { operatorVerdict } from './operator-verdict.ts'
import { startProvider } from './provider.ts'
import { aSigner } from './signer.ts'

const signer = aSigner('ES256', { kid: 'k1' })
const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'bob' }
const aToken = (header: Record<string, unknown> = {}) =>
  signer.sign({ sub: 'bob', iat: Math.floor(Date.now() / 1000) }, header)
const unavailable = 'error verifying token: keys of the provider are unavailable'
const well = '/.well-known/openid-configuration'

/** Responses that reveal the internal network, and a server that is not there. */
const inside = '<html>Traceback: db-7.corp.example refused 10.11.12.13</html>'
const leaks = /127\.0\.0\.1|Traceback|corp\.example|10\.11\.12\.13|50[03]|Internal Server|refused|html|http:/

/** The stranger's response contains none of it; what the operator sees has all of it. */
async function expectDiscreet(answer: Answer, operatorReads: string, known: RegExp): Promise<void> {
  // the address of the mount's own provider is in every authorization URL, so only texts count
  expect(JSON.stringify([answer.body.errors, answer.body.warnings])).not.toMatch(leaks)
  expect(answer.text).not.toMatch(/Traceback|10\.11\.12\.13/)
  expect(operatorReads).toMatch(known)
}

describe('a refused login does not reveal the internal network to strangers', () => {
  testOfOneServer.each([
    { name: 'of one URL', configOf: (url: string) => ({ jwks_url: `${url}/keys` }), header: {} },
    {
      name: 'of several URLs, by key id',
      configOf: (url: string) => ({ jwks_pairs: [{ jwks_url: `${url}/keys` }] }),
      header: {},
    },
    {
      name: 'of several URLs, without key id',
      configOf: (url: string) => ({ jwks_pairs: [{ jwks_url: `${url}/keys` }] }),
      header: { kid: undefined },
    },
    { name: 'found by discovery', configOf: (url: string) => ({ oidc_discovery_url: url }), header: {} },
  ])(
    'hides why keys $name cannot be fetched: an error, a page instead of keys, no connection',
    async ({ configOf, header }) => {
      await using provider = await startProvider({ '/keys': { keys: [] } })
      provider.routes.set(well, { issuer: provider.url, jwks_uri: `${provider.url}/keys` })
      await using server = await borrowServer()
      const stored = await server.root.write('auth/jwt/config', configOf(provider.url))
      // a write that fetches the keys warns that there are none
      expect(stored.status).toBe(200)
      await server.root.write('auth/jwt/role/ci', role)
      const logInOnce = () => server.anonymous.write('auth/jwt/login', { role: 'ci', jwt: aToken(header) })
      const operatorReads = (answer: Answer) => operatorVerdict(server.root, 'auth/jwt', answer)

      provider.routes.set('/keys', (answer) =>
        answer.writeHead(503, { 'content-type': 'text/html' }).end(inside),
      )
      const ill = await logInOnce()
      await expectDiscreet(
        ill,
        await operatorReads(ill),
        /Get "http:\/\/127\.0\.0\.1:\d+\/keys": get keys failed: 503 Service Unavailable .*10\.11\.12\.13/,
      )
      provider.routes.set('/keys', inside)
      const page = await logInOnce()
      await expectDiscreet(
        page,
        await operatorReads(page),
        /Get "http:\/\/127\.0\.0\.1:\d+\/keys": failed to decode keys: .*Traceback/,
      )
      await provider.stop()
      const gone = await logInOnce()
      await expectDiscreet(
        gone,
        await operatorReads(gone),
        /Get "http:\/\/127\.0\.0\.1:\d+\/keys": dial tcp: connect: connection refused/,
      )
      if (!('jwks_pairs' in configOf('')))
        expect([ill, page, gone].map(({ body }) => body.errors)).toEqual(Array(3).fill([unavailable]))
      const { body } = await server.root.read('auth/jwt/status')
      expect(body.data?.['sources']?.['0']?.['last_error']?.['text']).toMatch(/connection refused/)
    },
  )

  test('hides why a discovery document cannot be fetched', async () => {
    await using provider = await startProvider()
    provider.routes.set(well, { issuer: provider.url, jwks_uri: `${provider.url}/keys` })
    await using server = await borrowServer()
    await server.root.write('auth/jwt/config', { oidc_discovery_url: provider.url })
    await server.root.write('auth/jwt/role/ci', role)
    provider.routes.set(well, (answer) => answer.writeHead(500, { 'content-type': 'text/html' }).end(inside))

    const refused = await server.anonymous.write('auth/jwt/login', { role: 'ci', jwt: aToken() })

    expect(refused).toMatchObject({ status: 400, body: { errors: [unavailable] } })
    await expectDiscreet(
      refused,
      await operatorVerdict(server.root, 'auth/jwt', refused),
      /keyset configuration error: Get "http:.*\/openid-configuration": 500 .*10\.11\.12\.13/,
    )
    const explained = await server.root.write('auth/jwt/explain', { role: 'ci', jwt: aToken() })
    expect(explained.body.data).toMatchObject({
      error: unavailable,
      cause: expect.stringMatching(/Traceback/),
    })
  })

  test('hides why a provider is unreachable at auth_url and callback', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const login = await begin(server.anonymous)
    await configure(server, provider)
    provider.web.routes.set(well, (answer) => answer.writeHead(500).end(inside))

    const begun = await server.anonymous.write('auth/oidc/oidc/auth_url', {
      redirect_uri: 'https://example.com/oidc/callback',
    })
    expect(begun.body).toMatchObject({
      data: { auth_url: '' },
      warnings: [expect.stringMatching(/: the provider is unavailable$/)],
    })
    await expectDiscreet(
      begun,
      await operatorVerdict(server.root, 'auth/oidc', begun),
      /unable to create provider: Get "http:.*\/openid-configuration": 500 .*10\.11\.12\.13/,
    )
    const returned = await callback(server.anonymous, { state: login.get('state'), code: 'c' })
    expect(returned.status).toBe(500)
    await expectDiscreet(
      returned,
      await operatorVerdict(server.root, 'auth/oidc', returned),
      /unable to create provider: Get "http:.*\/openid-configuration": 500 .*10\.11\.12\.13/,
    )
  })

  test.each([
    {
      name: 'a page',
      reply: { status: 500, type: 'text/html', body: inside },
      known: /500 Internal Server Error.*10\.11\.12\.13/,
    },
    {
      name: 'its own words',
      reply: { status: 400, body: { error: 'invalid_grant', error_description: inside } },
      known: /invalid_grant.*Traceback/,
    },
    {
      name: 'words of nobody',
      reply: { status: 400, body: { error: inside } },
      known: /oauth2: .*Traceback/,
    },
  ])('hides the response of a token endpoint with $name', async ({ reply, known }) => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    provider.token = reply

    const refused = await logIn(server, provider)

    expect(refused.body.errors?.[0]).toMatch(
      name(reply) === 'invalid_grant'
        ? /with provider: oauth2: \\"invalid_grant\\""\.$/
        : /with provider: oauth2: cannot fetch token"\.$/,
    )
    await expectDiscreet(refused, await operatorVerdict(server.root, 'auth/oidc', refused), known)
  })

  test('hides why keys for an ID token cannot be fetched', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    provider.web.routes.set('/jwks', (answer) => answer.writeHead(500).end(inside))

    const refused = await logIn(server, provider)

    await expectDiscreet(
      refused,
      await operatorVerdict(server.root, 'auth/oidc', refused),
      /fetching keys oidc: Get \\"http:.*\/jwks\\": .*500 .*10\.11\.12\.13/,
    )
  })

  const elsewhere = {
    _claim_names: { groups: 's' },
    _claim_sources: { s: { endpoint: 'https://graph.microsoft.com/v1.0/me/getMemberObjects' } },
  }
  test.each([
    { host: 'graph.microsoft.com', config: { provider: 'azure', fetch_groups: true } },
    { host: 'graph.microsoft.com', config: { provider: 'azure' }, claims: elsewhere },
    {
      host: 'example.okta.com',
      config: { provider: 'okta', org_url: 'https://example.okta.com', api_token: 'x', fetch_groups: true },
    },
  ])('hides why a directory cannot be used: $host', async ({ host, config, claims = {} }) => {
    await using login = await startDirectoryLogin()
    const { hosts } = login.providers
    await login.configure(config)
    const jwt = login.sign(claims)
    const logInOnce = () =>
      login.server.anonymous.write('auth/jwt/login', { role: 'r', jwt, distributed_claim_access_token: 'at' })
    const operatorReads = (answer: Answer) => operatorVerdict(login.server.root, 'auth/jwt', answer)

    hosts.misbehave(host, { kind: 'answer', answer: { status: 500, body: inside } }, 1)
    const ill = await logInOnce()
    expect(ill.body.errors?.[0]).toMatch(
      /^failed to fetch groups: .*: the directory of the provider is unavailable$/,
    )
    await expectDiscreet(ill, await operatorReads(ill), /^400 failed to fetch groups: .*10\.11\.12\.13/)
    hosts.misbehave(host, { kind: 'cut' }, 1)
    const cut = await logInOnce()
    expect(cut.body.errors).toEqual(ill.body.errors)
    await expectDiscreet(cut, await operatorReads(cut), /^400 failed to fetch groups: .*(?:Get|Post) "https:/)
  })

  test("does not repeat values of a directory's response", async () => {
    await using login = await startDirectoryLogin()
    await login.configure({ provider: 'azure', fetch_groups: true })
    login.providers.hosts.misbehave(
      'graph.microsoft.com',
      { kind: 'answer', answer: { status: 200, body: { value: [{ at: inside }] } } },
      1,
    )

    const refused = await login.server.anonymous.write('auth/jwt/login', {
      role: 'r',
      jwt: login.sign(),
      distributed_claim_access_token: 'at',
    })

    expect(refused.body.errors).toEqual([
      'failed to fetch groups: the directory of the provider is unavailable',
    ])
    await expectDiscreet(
      refused,
      await operatorVerdict(login.server.root, 'auth/jwt', refused),
      /value map\[at:.*10\.11\.12\.13/,
    )
  })
})

const name = ({ body }: { body: object | string }): unknown =>
  typeof body === 'object' && 'error' in body ? body.error : undefined
