import { afterAll, describe, expect, test } from 'vitest'
import type { Answer, Json } from '../../../support/client.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { shared } from '../../../support/shared.ts'
import type { TestServer } from '../../../support/start-server.ts'
import {
  callback,
  clientId,
  configure,
  redirectUri,
  type SmallProvider,
  startSmallProvider,
  withFlow,
  writeRole,
} from '../oidc/small-provider.ts'
import { aSigner, signedWithSecret } from '../signer.ts'
import { checksOf } from './checks.ts'

type Fixture = { readonly provider: SmallProvider; readonly server: TestServer; readonly clock: FakeClock }
type Given = Readonly<Record<string, unknown>>

type Case = {
  /** As people describe it. */
  readonly name: string
  readonly config?: (fixture: Fixture) => Given
  readonly role?: Given
  /** The request to auth_url. */
  readonly asked?: Given
  readonly claims?: Given
  /** Replaces members of the discovery document. */
  readonly metadata?: Given
  /** Changes the provider's responses. */
  readonly spoil?: (fixture: Fixture) => void
  /** Sent back instead of `state` and `code`; undefined: those two. */
  readonly back?: (
    login: URLSearchParams,
    code: string,
    fixture: Fixture,
  ) => Promise<Record<string, string>> | Record<string, string>
  readonly idToken?: (fixture: Fixture, login: URLSearchParams) => string
  readonly reason: string
  /** A part of what must be shown on either side. */
  readonly expected: unknown
  readonly seen: unknown
  readonly hint?: string
  readonly detail?: unknown
}

const has = (...texts: string[]): unknown =>
  expect.toSatisfy((value: unknown) => texts.every((text) => JSON.stringify(value).includes(text)))
const aadstsSecret =
  "AADSTS7000215: Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '6731de76-14a6-49ae-97bc-6eba6914391e'. Trace ID: 3d1c7a1e Correlation ID: 01a7"
const aadstsAssignment =
  "AADSTS50105: Your administrator has configured the application vault ('6731de76') to block users unless they are specifically granted access to the application."

/** Broken configurations, as people report them in public. */
const cases: readonly Case[] = [
  // refused by auth_url
  {
    name: 'the UI sends a redirect URI for another mount path than the role allows',
    role: {
      allowed_redirect_uris: [
        'https://vault.example:8200/ui/vault/auth/myerror/oidc/callback',
        'http://localhost:8250/oidc/callback',
      ],
    },
    asked: { redirect_uri: 'https://vault.example:8200/ui/vault/auth/google/oidc/callback' },
    reason: 'redirect_uri_refused',
    expected: has('/auth/myerror/oidc/callback', 'http://localhost:8250/oidc/callback'),
    seen: 'https://vault.example:8200/ui/vault/auth/google/oidc/callback',
  },
  {
    name: 'localhost is allowed, the browser is at 127.0.0.1',
    role: { allowed_redirect_uris: ['http://localhost:8200/ui/vault/auth/oidc/oidc/callback'] },
    detail: 'host',
    asked: { redirect_uri: 'http://127.0.0.1:8200/ui/vault/auth/oidc/oidc/callback' },
    reason: 'redirect_uri_refused',
    expected: ['http://localhost:8200/ui/vault/auth/oidc/oidc/callback'],
    seen: 'http://127.0.0.1:8200/ui/vault/auth/oidc/oidc/callback',
  },
  {
    name: 'Terraform wrote all redirect URIs as one text with blanks',
    role: {
      allowed_redirect_uris: [
        'http://localhost:8250/oidc/callback https://vault.example/ui/vault/auth/google/oidc/callback',
      ],
    },
    asked: { redirect_uri: 'http://localhost:8250/oidc/callback' },
    reason: 'redirect_uri_refused',
    expected: [
      'http://localhost:8250/oidc/callback https://vault.example/ui/vault/auth/google/oidc/callback',
    ],
    seen: 'http://localhost:8250/oidc/callback',
  },
  {
    name: 'http behind a proxy that speaks https',
    role: { allowed_redirect_uris: ['https://vault.example/ui/vault/auth/oidc/oidc/callback'] },
    detail: 'scheme',
    asked: { redirect_uri: 'http://vault.example/ui/vault/auth/oidc/oidc/callback' },
    reason: 'redirect_uri_refused',
    expected: ['https://vault.example/ui/vault/auth/oidc/oidc/callback'],
    seen: 'http://vault.example/ui/vault/auth/oidc/oidc/callback',
  },
  {
    name: 'a slash at the end of the redirect URI',
    role: { allowed_redirect_uris: ['https://vault.example/ui/vault/auth/oidc/oidc/callback/'] },
    asked: { redirect_uri: 'https://vault.example/ui/vault/auth/oidc/oidc/callback' },
    reason: 'redirect_uri_refused',
    expected: ['https://vault.example/ui/vault/auth/oidc/oidc/callback/'],
    seen: 'https://vault.example/ui/vault/auth/oidc/oidc/callback',
    hint: 'differs_in_trailing_slash',
  },
  {
    name: 'a role that is misspelt',
    asked: { role: 'tset' },
    reason: 'role_unknown',
    expected: ['test'],
    seen: 'tset',
  },
  {
    name: 'no role named, and no default',
    config: () => ({ default_role: '' }),
    reason: 'role_missing',
    expected: ['test'],
    seen: '',
  },
  {
    name: 'a mount with a discovery URL but no client',
    config: () => ({ oidc_client_id: '', oidc_client_secret: '' }),
    reason: 'oidc_not_configured',
    expected: ['oidc_discovery_url', 'oidc_client_id', 'oidc_client_secret'],
    seen: ['oidc_discovery_url'],
  },
  {
    name: 'the discovery document has gone since',
    spoil: ({ provider }) => provider.web.routes.delete('/.well-known/openid-configuration'),
    reason: 'provider_unreachable',
    expected: has('http://127.0.0.1:'),
    seen: has('404'),
  },
  {
    name: 'a role that is written for JWTs',
    role: { role_type: 'jwt', bound_subject: 'bob', allowed_redirect_uris: [] },
    reason: 'redirect_uri_refused',
    expected: [],
    seen: redirectUri,
    detail: 'role_type is jwt, not oidc',
  },
  {
    name: 'no redirect URI is sent',
    asked: { redirect_uri: '' },
    reason: 'redirect_uri_missing',
    expected: ['redirect_uri'],
    seen: '',
  },
  // sent back by the provider
  {
    name: 'the person is not assigned to the application (Entra ID)',
    back: (login) => ({
      state: login.get('state') ?? '',
      error: 'access_denied',
      error_description: aadstsAssignment,
    }),
    reason: 'provider_refused',
    expected: ['code'],
    seen: ['access_denied', aadstsAssignment],
  },
  {
    name: 'a scope the provider does not know (Okta)',
    role: { oidc_scopes: ['groups'] },
    back: (login) => ({
      state: login.get('state') ?? '',
      error: 'invalid_scope',
      error_description: 'One or more scopes are not configured for the authorization server resource.',
    }),
    reason: 'provider_refused',
    expected: ['code'],
    seen: ['invalid_scope', 'One or more scopes are not configured for the authorization server resource.'],
  },
  {
    name: 'neither code nor error comes back',
    back: (login) => ({ state: login.get('state') ?? '' }),
    reason: 'code_missing',
    expected: ['code'],
    seen: ['state'],
  },
  {
    name: 'the page of the callback is loaded again',
    back: async (login, code, { server }) => {
      await callback(server.anonymous, { state: login.get('state'), code })
      return { state: login.get('state') ?? '', code }
    },
    reason: 'state_unknown',
    expected: has('has not come back yet'),
    seen: expect.stringMatching(/^st_/),
    detail: 'it came back before: used already',
  },
  {
    name: 'a person who takes more than ten minutes to sign in',
    back: (login, code, { clock }) => {
      clock.advance(601)
      return { state: login.get('state') ?? '', code }
    },
    reason: 'state_unknown',
    expected: has('within 10 minutes'),
    seen: expect.stringMatching(/^st_/),
    detail: 'it came back too late: expired',
  },
  {
    name: 'a client that does not cut the namespace off the state',
    asked: { redirect_uri: `${redirectUri}?namespace=team` },
    back: (login, code) => ({ state: login.get('state') ?? '', code }),
    reason: 'state_unknown',
    expected: has('a login that was begun at this mount'),
    seen: has(',ns=team'),
  },
  // refused by the token endpoint
  {
    name: 'the id of the secret in place of its value (Entra ID)',
    spoil: ({ provider }) => {
      provider.token = { status: 401, body: { error: 'invalid_client', error_description: aadstsSecret } }
    },
    reason: 'exchange_failed',
    expected: has(`client_id ${clientId}`),
    seen: has('client_secret_post', 'invalid_client', 'AADSTS7000215', 'not the client secret ID'),
  },
  {
    name: 'a wrong client secret',
    config: () => ({ oidc_client_secret: 'not it' }),
    reason: 'exchange_failed',
    expected: has(`client_id ${clientId}`, `redirect_uri ${redirectUri}`),
    seen: has('client_secret_basic', 'invalid_client'),
  },
  {
    name: 'the application is a public client at the provider (Entra ID)',
    spoil: ({ provider }) => {
      const error_description =
        "AADSTS700025: Client is public so neither 'client_assertion' nor 'client_secret' should be presented."
      provider.token = { status: 401, body: { error: 'invalid_client', error_description } }
    },
    reason: 'exchange_failed',
    expected: has(`client_id ${clientId}`),
    seen: has('AADSTS700025: Client is public'),
  },
  {
    name: 'a code that was redeemed already',
    spoil: ({ provider }) => {
      const error_description =
        'AADSTS54005: OAuth2 Authorization code was already redeemed, please retry with a new valid code.'
      provider.token = { status: 400, body: { error: 'invalid_grant', error_description } }
    },
    reason: 'exchange_failed',
    expected: has(`redirect_uri ${redirectUri}`),
    seen: has('invalid_grant', 'already redeemed'),
  },
  {
    name: 'a proxy that answers for the token endpoint with a page',
    spoil: ({ provider }) => {
      provider.token = { status: 502, type: 'text/html', body: '<html>Bad Gateway</html>' }
    },
    reason: 'exchange_failed',
    expected: has(`client_id ${clientId}`),
    seen: has('502', 'Bad Gateway'),
  },
  {
    name: 'a provider of OAuth 2.0 only: no ID token',
    spoil: ({ provider }) => {
      provider.token = { body: { access_token: 'at', token_type: 'bearer', scope: 'user' } }
    },
    reason: 'exchange_failed',
    expected: ['id_token'],
    seen: ['access_token', 'token_type', 'scope'],
  },
  {
    name: 'a page that asks for a login stands before the token endpoint',
    spoil: ({ provider }) => {
      provider.token = { type: 'text/html', body: '<html>Sign in</html>' }
    },
    reason: 'exchange_failed',
    expected: has(`client_id ${clientId}`),
    seen: has('200 OK, content type text/html'),
  },
  // wrong in the ID token
  {
    name: 'the provider sends no nonce back',
    claims: { nonce: undefined },
    reason: 'nonce_mismatch',
    expected: ['the nonce of this login'],
    seen: null,
  },
  {
    name: 'the keys are at an address of the inner network only',
    metadata: { jwks_uri: 'http://127.0.0.1:1/jwks' },
    reason: 'keys_unavailable',
    expected: has('http://127.0.0.1:'),
    seen: has('http://127.0.0.1:1/jwks', 'connection refused'),
  },
  {
    name: 'the discovery document names no keys',
    metadata: { jwks_uri: undefined },
    reason: 'keys_unavailable',
    expected: has('http://127.0.0.1:'),
    seen: has('names no jwks_uri'),
  },
  {
    name: 'the issuer has a slash at its end, the discovery URL has none',
    idToken: ({ provider }, login) =>
      provider.signer.sign(provider.claims(login, { iss: `${provider.url}/` })),
    reason: 'issuer_mismatch',
    expected: [expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/)],
    seen: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/),
    hint: 'differs_in_trailing_slash',
  },
  {
    name: 'an ID token signed with ES256, while only RS256 is accepted',
    idToken: ({ provider }, login) => es256.sign(provider.claims(login)),
    reason: 'algorithm_not_allowed',
    expected: ['RS256'],
    seen: 'ES256',
  },
  {
    name: 'an ID token signed with the client secret (HS256)',
    idToken: ({ provider }, login) => signedWithSecret('def', provider.claims(login)),
    reason: 'algorithm_unsupported',
    expected: ['RS256'],
    seen: 'HS256',
  },
  {
    name: 'the provider has rotated its keys and does not publish the new one',
    idToken: ({ provider }, login) => aSigner('RS256', { kid: 'k9' }).sign(provider.claims(login)),
    reason: 'key_unknown',
    expected: ['k1'],
    seen: 'k9',
  },
  {
    name: 'the clock of the server is late',
    claims: { iat: Math.floor(Date.now() / 1000) + 600, exp: Math.floor(Date.now() / 1000) + 900 },
    reason: 'issued_in_future',
    expected: has('now '),
    seen: has('iat '),
  },
  {
    name: 'bound_audiences names another application',
    role: { bound_audiences: ['vault-prod'] },
    reason: 'audience_mismatch',
    expected: ['vault-prod'],
    seen: [clientId],
  },
  {
    name: 'the ID token is for another client of the realm',
    claims: { aud: 'account' },
    reason: 'authorized_party_mismatch',
    expected: [clientId],
    seen: ['account'],
  },
  {
    name: 'a person who has to sign in again: max_age',
    role: { max_age: '1m' },
    claims: { auth_time: Math.floor(Date.now() / 1000) - 3600 },
    reason: 'login_too_old',
    expected: has('signed in after'),
    seen: expect.stringMatching(/^auth_time 20/),
  },
  // refused by the role
  {
    name: 'the groups claim is not sent: the mapper is missing (Keycloak)',
    role: { groups_claim: 'groups' },
    claims: { roles: ['dev'], email: 'ada@example.com' },
    reason: 'groups_unavailable',
    expected: ['groups'],
    seen: has('roles', 'email', 'sub'),
  },
  {
    name: 'groups come as objects',
    role: { groups_claim: 'groups' },
    claims: { groups: [{ id: 1, name: 'dev' }] },
    reason: 'groups_invalid',
    expected: ['a list of texts'],
    seen: has('dev'),
    hint: 'differs_in_type',
  },
  {
    name: 'the groups claim in other letters',
    role: { groups_claim: 'Groups' },
    claims: { groups: ['dev'] },
    reason: 'groups_unavailable',
    expected: ['Groups'],
    seen: has('groups'),
    hint: 'differs_in_case',
  },
  {
    name: 'user_claim email without the scope email',
    role: { user_claim: 'email' },
    reason: 'user_claim_missing',
    expected: ['email'],
    seen: has('sub', 'aud'),
  },
  {
    name: 'userinfo cannot be read, so the claim is missing',
    role: { user_claim: 'email', oidc_scopes: ['email'] },
    spoil: ({ provider }) => {
      provider.userInfo = { status: 403, body: 'no' }
    },
    reason: 'user_claim_missing',
    expected: ['email'],
    seen: has('sub'),
    detail: 'email; userinfo was left out: answered 403',
  },
  {
    name: 'bound to email_verified as a text',
    role: { bound_claims: { email_verified: 'true' } },
    claims: { email_verified: true },
    reason: 'bound_claim_mismatch',
    expected: ['true'],
    seen: true,
    hint: 'differs_in_type',
  },
  {
    name: 'bound to a group with a star, in string mode',
    role: { bound_claims: { groups: ['dev-*'] } },
    claims: { groups: ['dev-eu'] },
    reason: 'bound_claim_mismatch',
    expected: ['dev-*'],
    seen: ['dev-eu'],
    hint: 'glob_in_string_mode',
  },
  {
    name: 'a bound claim that the token does not have',
    role: { bound_claims: { hd: 'example.com' } },
    claims: { email: 'ada@example.com' },
    reason: 'bound_claim_missing',
    expected: ['example.com'],
    seen: has('email', 'sub'),
  },
  {
    name: 'bound to a subject in other letters',
    role: { bound_subject: 'Bob' },
    reason: 'subject_mismatch',
    expected: ['Bob'],
    seen: 'bob',
    hint: 'differs_in_case',
  },
  {
    name: 'more groups than a token holds, and no provider_config (Entra ID)',
    role: { groups_claim: 'groups' },
    claims: {
      _claim_names: { groups: 'src1' },
      _claim_sources: { src1: { endpoint: 'https://graph.example/getMemberObjects' } },
    },
    reason: 'groups_unavailable',
    expected: ['groups'],
    seen: has('_claim_names'),
    detail: has('too many for the token', 'provider_config of azure'),
  },
  {
    name: 'too many groups for an ID token that is posted, and no provider_config (Entra ID)',
    role: { groups_claim: 'groups' },
    claims: { hasgroups: true },
    reason: 'groups_unavailable',
    expected: ['groups'],
    seen: has('hasgroups'),
    detail: has('too many for the token', 'provider_config of azure'),
  },
  {
    name: 'more groups than a token holds, and a directory that does not answer (Entra ID)',
    config: () => ({ provider_config: { provider: 'azure' } }),
    role: { groups_claim: 'groups' },
    claims: {
      _claim_names: { groups: 'src1' },
      _claim_sources: { src1: { endpoint: 'http://127.0.0.1:1/getMemberObjects' } },
    },
    reason: 'groups_unavailable',
    expected: ['groups'],
    seen: has('Microsoft Graph', 'connection refused'),
    detail: expect.not.stringContaining('set provider_config'),
  },
  {
    name: 'roles of a client, looked for at the top (Keycloak)',
    role: { bound_claims: { roles: ['admin'] } },
    claims: { resource_access: { vault: { roles: ['admin'] } } },
    reason: 'bound_claim_missing',
    expected: ['admin'],
    seen: has('resource_access'),
    detail: has('roles; there is one at /resource_access/vault/roles'),
  },
  {
    name: 'groups under a name of their own (Auth0)',
    role: { groups_claim: 'groups' },
    claims: { 'https://acme.example/groups': ['dev'] },
    reason: 'groups_unavailable',
    expected: ['groups'],
    seen: has('https://acme.example/groups'),
  },
  {
    name: 'groups with their path (Keycloak)',
    role: { bound_claims: { groups: ['dev'] } },
    claims: { groups: ['/dev'] },
    reason: 'bound_claim_mismatch',
    expected: ['dev'],
    seen: ['/dev'],
  },
  {
    name: 'a time as a text',
    claims: { iat: '2026-01-01T00:00:00Z' },
    reason: 'claim_type_invalid',
    expected: ['a number'],
    seen: '2026-01-01T00:00:00Z',
    hint: 'differs_in_type',
  },
  {
    name: 'a role for another network',
    role: { token_bound_cidrs: ['10.0.0.0/8'] },
    reason: 'address_not_bound',
    expected: ['10.0.0.0/8'],
    seen: '127.0.0.1',
  },
  {
    name: 'the role gives the policy root',
    role: { token_policies: ['root'] },
    reason: 'policy_forbidden',
    expected: has('neither root'),
    seen: ['root'],
  },
]

const es256 = aSigner('ES256', { kid: 'k1' })
const table: string[] = []

/** Begins a login, signs in and returns; yields the response of the step that refused. */
async function refusedLogin(one: Case, fixture: Fixture): Promise<Answer> {
  const { provider, server } = fixture
  const begun = await server.anonymous.write('auth/oidc/oidc/auth_url', {
    redirect_uri: redirectUri,
    ...one.asked,
  })
  const url = String(begun.body.data?.['auth_url'] ?? '')
  if (begun.status !== 200 || url === '') return begun
  const login = new URLSearchParams(url.split('?')[1])
  const idToken = one.idToken?.(fixture, login)
  const code = provider.codeFor(login, {
    ...(one.claims === undefined ? {} : { claims: one.claims }),
    ...(idToken === undefined ? {} : { idToken }),
  })
  return callback(
    server.anonymous,
    (await one.back?.(login, code, fixture)) ?? { state: login.get('state') ?? '', code },
  )
}

describe('one request names the mistake in a browser login, with both sides', () => {
  const aFixture = shared(async () => {
    const stack = new AsyncDisposableStack()
    const provider = stack.use(await startSmallProvider())
    const clock = new FakeClock()
    const server = stack.use(await withFlow(provider, { clock }))
    return { provider, server, clock, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  })
  afterAll(() => {
    if (process.env['SHOW_TABLE'] === 'true') process.stdout.write(`${table.join('\n')}\n`)
  })

  test.each(cases)('$name', async (one) => {
    const fixture = await aFixture()
    const { provider, server } = fixture
    const document = provider.web.routes.get('/.well-known/openid-configuration') ?? {}
    try {
      provider.web.routes.set('/.well-known/openid-configuration', { ...Object(document), ...one.metadata })
      const stored = one.metadata !== undefined && 'jwks_uri' in one.metadata ? 200 : 204
      expect((await configure(server, provider, one.config?.(fixture))).status).toBe(stored)
      await server.root.delete('auth/oidc/role/test')
      expect((await writeRole(server, one.role)).status).toBe(204)
      one.spoil?.(fixture)

      const refused = await refusedLogin(one, fixture)
      const id = String(refused.body.request_id)
      const explained = (await server.root.write('auth/oidc/explain', { request_id: id })).body.data

      const failed = checksOf(explained).find(({ verdict }) => verdict === 'fail')
      table.push(rowOf(one.name, explained, failed))
      expect(failed).toMatchObject({
        reason: one.reason,
        expected: one.expected,
        seen: one.seen,
        ...pick(one, 'hint'),
        ...pick(one, 'detail'),
      })
      expect(explained).toMatchObject({ allowed: false, reason: one.reason, request_id: id })
      const { failures } = (await server.root.read(`auth/oidc/failures?request_id=${id}`)).body.data ?? {}
      expect(failures).toMatchObject([
        { reason: one.reason, check: failed?.name, expected: one.expected, seen: one.seen },
      ])
      // and none of it contains a secret of the login
      const told = JSON.stringify([explained, failures])
      for (const secret of [
        '"def"',
        'code-',
        ...provider.tokenCalls.map(({ form }) => form.get('code_verifier') ?? '-none-'),
      ])
        expect(told).not.toContain(secret)
    } finally {
      fixture.clock.advance((Date.now() - fixture.clock.now()) / 1000)
      provider.token = undefined
      provider.userInfo = undefined
      provider.web.routes.set('/.well-known/openid-configuration', document)
    }
  })

  test('the table has at least thirty mistakes', () => {
    expect(cases.length).toBeGreaterThanOrEqual(30)
  })
})

const pick = (one: Case, name: 'hint' | 'detail') => (one[name] === undefined ? {} : { [name]: one[name] })

const rowOf = (
  name: string,
  explained: Json | undefined,
  failed: ReturnType<typeof checksOf>[number] | undefined,
): string =>
  [
    name,
    String(explained?.['path']),
    `${failed?.name}: ${failed?.reason}`,
    JSON.stringify(failed?.expected),
    JSON.stringify(failed?.seen),
  ].join(' | ')
