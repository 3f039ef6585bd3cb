import { describe, expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import {
  begin,
  callback,
  logIn,
  startSmallProvider,
  verdict,
  withFlow,
  writeRole,
} from './oidc/small-provider.ts'
import { operatorVerdict } from './operator-verdict.ts'
import { jwksOf, startProvider } from './provider.ts'
import { aSigner } from './signer.ts'

const azure = { provider_config: { provider: 'azure' } }
const elsewhere = (url: string) => ({
  _claim_names: { groups: 'src1' },
  _claim_sources: { src1: { endpoint: `${url}/graph` } },
})
const missing = '400 failed to fetch groups: "groups" claim not found in token: '

describe('groups that a token only refers to', () => {
  test('groups are requested with the access token, and those in the token take precedence', async () => {
    await using provider = await startSmallProvider()
    const asked: {
      method: string | undefined
      authorization: string | undefined
      type: string | undefined
      body: string
    }[] = []
    provider.web.routes.set('/graph', async (answer, request) => {
      const body = (await request.toArray()).join('')
      asked.push({
        method: request.method,
        authorization: request.headers.authorization,
        type: request.headers['content-type'],
        body,
      })
      answer.writeHead(200, { 'content-type': 'application/json' }).end('{"value":["g1","g2"]}')
    })
    await using server = await withFlow(provider, {
      config: azure,
      role: { groups_claim: 'groups', bound_claims: { groups: 'g2' } },
    })

    expect(verdict(await logIn(server, provider, elsewhere(provider.url)))).toBe('ok')
    expect(asked).toEqual([
      {
        method: 'POST',
        authorization: expect.stringMatching(/^Bearer at-code-/),
        type: 'application/json',
        body: '{"securityEnabledOnly": false}',
      },
    ])
    expect(verdict(await logIn(server, provider, { ...elsewhere(provider.url), groups: ['g2'] }))).toBe('ok')
    expect(verdict(await logIn(server, provider, { ...elsewhere(provider.url), groups: ['g1'] }))).toMatch(
      /does not match any associated bound claim/,
    )
    expect(asked).toHaveLength(1)
  })

  test.each<[string, number, string]>([
    ['{"value":[]}', 200, 'ok'],
    ['{}', 200, 'ok'],
    ['{"error":"no"}', 401, `${missing}failed to get groups: {"error":"no"}`],
    ['{', 200, `${missing}unabled to decode response: not a JSON object`],
    ['{"value":"g1"}', 200, `${missing}unabled to decode response: not a JSON object`],
    ['{"value":[5]}', 200, '400 value 5 in groups claim could not be parsed as string'],
  ])('the response %s with status %i is handled', async (body, status, wanted) => {
    await using provider = await startSmallProvider()
    provider.web.routes.set('/graph', (answer) =>
      answer.writeHead(status, { 'content-type': 'application/json' }).end(body),
    )
    await using server = await withFlow(provider, { config: azure, role: { groups_claim: 'groups' } })

    const answer = await logIn(server, provider, elsewhere(provider.url))
    expect(await operatorVerdict(server.root, 'auth/oidc', answer)).toBe(wanted)
  })

  test('any malformed group source of a token is refused', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config: azure, role: { groups_claim: 'groups' } })
    const source = (endpoint: unknown) => ({
      _claim_names: { groups: 's' },
      _claim_sources: { s: { endpoint } },
    })

    expect(verdict(await logIn(server, provider))).toBe(
      `400 failed to fetch groups: unable to get claim sources: unable to locate groups claim "groups" in _claim_names`,
    )
    expect(verdict(await logIn(server, provider, source(undefined)))).toBe(
      `400 failed to fetch groups: unable to get claim sources: unable to locate /_claim_sources/s/endpoint in claims`,
    )
    for (const endpoint of ['', 'file:///etc/passwd', 'nonsense', 'http://127.0.0.1:1/']) {
      const answer = await logIn(server, provider, source(endpoint))
      expect(await operatorVerdict(server.root, 'auth/oidc', answer)).toMatch(
        `${missing}unable to call Microsoft Graph API: `,
      )
    }
  })

  test('an ID token without a code comes without an access token', async () => {
    await using provider = await startSmallProvider()
    const page = 'https://h/v1/auth/oidc/oidc/callback'
    const config = { ...azure, oidc_response_mode: 'form_post', oidc_response_types: 'id_token' }
    await using server = await withFlow(provider, { config })
    await writeRole(server, {
      groups_claim: 'groups',
      allowed_redirect_uris: page,
      oidc_disable_confirmation: true,
    })
    const login = await begin(server.anonymous, { redirect_uri: page })
    const id_token = provider.signer.sign(provider.claims(login, elsewhere(provider.url)))

    await server.anonymous.write('auth/oidc/oidc/callback', { state: login.get('state'), id_token })

    expect(verdict(await callback(server.anonymous, { state: login.get('state') }))).toBe(
      `${missing}token unavailable to call Microsoft Graph API`,
    )
  })

  test('a JWT login may send an access token', async () => {
    const signer = aSigner('RS256', { kid: 'k1' })
    await using provider = await startProvider({ '/jwks': jwksOf(signer), '/graph': { value: ['g1'] } })
    await using server = await borrowServer()
    await server.root.write('auth/jwt/config', { jwks_url: `${provider.url}/jwks`, ...azure })
    await server.root.write('auth/jwt/role/ci', {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_subject: 'bob',
      groups_claim: 'groups',
    })
    const jwt = signer.sign({ sub: 'bob', iat: Math.floor(Date.now() / 1000), ...elsewhere(provider.url) })
    const go = async (more: object) =>
      verdict(await server.anonymous.write('auth/jwt/login', { role: 'ci', jwt, ...more }))

    expect(await go({})).toBe(`${missing}access token is empty. Cannot call Microsoft Graph API`)
    expect(await go({ distributed_claim_access_token: 'at' })).toBe('ok')
    expect(provider.hits.filter((hit) => hit === '/graph')).toHaveLength(1)
  })
})
