import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { testOfOneServer } from '../../../support/of-one-server.ts'
import {
  begin,
  callback,
  configure,
  redirectUri,
  startSmallProvider,
  verdict,
  withFlow,
  writeRole,
} from './small-provider.ts'

const path = 'auth/oidc/oidc/auth_url'

describe('refusals in order', () => {
  test("the caller's mistakes are 400", async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const go = async (body: object) => verdict(await server.anonymous.write(path, body))

    expect(await go({ role: 'not_a_role' })).toBe('400 missing redirect_uri')
    expect(await go({ role: 'Not_a_role', redirect_uri: redirectUri })).toBe(
      '400 role "not_a_role" could not be found',
    )
    await configure(server, provider, { default_role: '' })
    expect(await go({ redirect_uri: redirectUri })).toBe('400 missing role')
    await server.root.write('auth/oidc/config', { oidc_discovery_url: provider.url })
    expect(await go({ role: 'test', redirect_uri: redirectUri })).toBe(
      '400 OIDC login is not configured for this mount',
    )
  })

  test('a login that is not possible is 200 with an empty URL, a warning and a line in the log', async () => {
    const lines: { event?: string; reason?: string }[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) })
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { log })
    const go = async (body: object) => (await server.anonymous.write(path, body)).body

    const notAllowed = {
      data: { auth_url: '' },
      auth: null,
      warnings: ["redirect_uri is not one of the role's allowed_redirect_uris"],
    }
    expect(await go({ redirect_uri: 'https://evil.example' })).toMatchObject(notAllowed)
    expect(await go({ redirect_uri: ':%zz' })).toMatchObject({
      data: { auth_url: '' },
      warnings: ['redirect_uri is no URI'],
    })
    await configure(server, provider)
    provider.web.routes.delete('/.well-known/openid-configuration')
    const unreachable =
      'error creating provider with given values: NewProvider: unable to create provider: the provider is unavailable'
    expect(await go({ redirect_uri: redirectUri })).toMatchObject({
      data: { auth_url: '' },
      warnings: [unreachable],
    })
    expect(lines.filter(({ event }) => event === 'login_refused')).toMatchObject([
      { reason: 'redirect_uri_refused', check: 'redirect_uri', status: 200, role: 'test' },
      { reason: 'redirect_uri_refused' },
      {
        reason: 'provider_unreachable',
        check: 'provider',
        cause: expect.stringMatching(
          /unable to create provider: Get "http:.*\/openid-configuration": 404 Not Found: no$/,
        ),
      },
    ])
  })

  testOfOneServer('a provider that was down is asked again, and never once it is known', async () => {
    await using provider = await startSmallProvider()
    const document = provider.web.routes.get('/.well-known/openid-configuration') ?? {}
    await using server = await withFlow(provider)
    provider.web.routes.delete('/.well-known/openid-configuration')

    expect((await begin(server.anonymous)).get('state')).toBeNull()
    provider.web.routes.set('/.well-known/openid-configuration', document)
    expect((await begin(server.anonymous)).get('state')).toMatch(/^st_/)
    await provider.web.stop()
    expect((await begin(server.anonymous)).get('state')).toMatch(/^st_/)
  })

  test.each(['javascript:alert(1)//', '/authorize', '', 'data:text/html,x'])(
    'an authorization endpoint %j is never returned',
    async (endpoint) => {
      await using provider = await startSmallProvider({ metadata: { authorization_endpoint: endpoint } })
      await using server = await withFlow(provider)

      expect((await server.anonymous.write(path, { redirect_uri: redirectUri })).body.data).toEqual({
        auth_url: '',
      })
    },
  )
})

describe('the URL', () => {
  test('parameters are sorted by name, and the redirect URI is as sent', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      role: { allowed_redirect_uris: ['https://example.com'] },
    })

    for (const [role, redirect] of [
      ['test', 'https://example.com'],
      ['', 'https://EXAMPLE.com'],
    ]) {
      const answer = await server.anonymous.write(path, { role, redirect_uri: redirect })
      const url = String(answer.body.data?.['auth_url'])
      expect(url).toMatch(
        /^http:\/\/127\.0\.0\.1:\d+\/authorize\?client_id=abc&code_challenge=[\w-]{43}&code_challenge_method=S256&nonce=n_\w{20}&redirect_uri=https%3A%2F%2F(example|EXAMPLE)\.com&response_type=code&scope=openid&state=st_[0-9A-Za-z]{20}$/,
      )
      expect(url).toContain(encodeURIComponent(redirect ?? ''))
    }
  })

  test('an existing query of the endpoint is preserved', async () => {
    await using provider = await startSmallProvider({
      metadata: { authorization_endpoint: 'https://idp.example/a?p=B2C%20x&y' },
    })
    await using server = await withFlow(provider)

    const answer = await server.anonymous.write(path, { redirect_uri: redirectUri })

    expect(String(answer.body.data?.['auth_url'])).toMatch(
      /^https:\/\/idp\.example\/a\?p=B2C%20x&y&client_id=abc&/,
    )
  })

  test.each([
    [{ oidc_scopes: ['email', 'openid', 'email'] }, { scope: 'openid email' }],
    [{ oidc_scopes: ['a b', 'c&d'] }, { scope: 'openid a b c&d' }],
    [{ max_age: '2m' }, { max_age: '120' }],
    [{ max_age: '' }, { max_age: null }],
  ])('scopes %j result in %j', async (role, wanted) => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { role })

    const login = await begin(server.anonymous)

    for (const [name, value] of Object.entries(wanted)) expect(login.get(name)).toBe(value)
  })

  test.each([
    [
      { oidc_response_types: ['code'], oidc_response_mode: 'form_post' },
      { response_type: 'code', response_mode: null, pkce: true },
    ],
    [
      { oidc_response_types: ['id_token'], oidc_response_mode: 'form_post' },
      { response_type: 'id_token', response_mode: 'form_post', pkce: false },
    ],
    [
      { oidc_response_types: ['code', 'id_token'], oidc_response_mode: 'form_post' },
      { response_type: 'id_token', response_mode: 'form_post', pkce: false },
    ],
  ])('response types and modes: %j', async (config, { pkce, ...wanted }) => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config })

    const login = await begin(server.anonymous)

    expect({ response_type: login.get('response_type'), response_mode: login.get('response_mode') }).toEqual(
      wanted,
    )
    expect(login.has('code_challenge')).toBe(pkce)
  })

  test('with form_post, the provider posts beside the UI page that the role allows', async () => {
    await using provider = await startSmallProvider()
    const uiPage = 'https://h/ui/vault/auth/oidc/oidc/callback'
    await using server = await withFlow(provider, {
      config: { oidc_response_mode: 'form_post' },
      role: { allowed_redirect_uris: [uiPage] },
    })

    expect((await begin(server.anonymous, { redirect_uri: uiPage })).get('redirect_uri')).toBe(
      'https://h/v1/auth/oidc/oidc/callback',
    )
    expect(
      (await begin(server.anonymous, { redirect_uri: 'https://h/v1/auth/oidc/oidc/callback' })).get('state'),
    ).toBeNull()
  })
})

describe('the namespace in the state', () => {
  const plain = 'https://example.com'
  test.each([
    [
      'off: the namespace in a redirect URI is allowed with it',
      false,
      `${plain}?namespace=test`,
      `${plain}?namespace=test`,
      `${plain}?namespace=test`,
      '',
    ],
    [
      'off: the namespace in a redirect URI is not allowed without it',
      false,
      plain,
      `${plain}?namespace=test`,
      null,
      '',
    ],
    [
      'on: the namespace goes from the redirect URI to the state',
      true,
      plain,
      `${plain}?namespace=test`,
      plain,
      ',ns=test',
    ],
    [
      'on: no redirect URI is allowed by its namespace',
      true,
      `${plain}?namespace=test`,
      `${plain}?namespace=test`,
      null,
      '',
    ],
    [
      'on: the path of a namespace goes to the state',
      true,
      plain,
      `${plain}?namespace=org4321/dev`,
      plain,
      ',ns=org4321/dev',
    ],
    ['on: without a namespace the state has none', true, plain, plain, plain, ''],
    [
      'percent, comma, line end',
      true,
      plain,
      `${plain}?namespace=${encodeURIComponent('%2C,a=b&c\r\nSet-Cookie: x')}`,
      plain,
      ',ns=%2C,a=b&c\r\nSet-Cookie: x',
    ],
    ['1 KiB', true, plain, `${plain}?namespace=${'n'.repeat(1024)}`, plain, `,ns=${'n'.repeat(1024)}`],
    ['a lone surrogate', true, plain, `${plain}?namespace=\ud800`, plain, ',ns=\ufffd'],
  ])('%s', async (_row, namespace_in_state, allowed, asked, redirect, suffix) => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: { namespace_in_state },
      role: { allowed_redirect_uris: [allowed] },
    })

    const login = await begin(server.anonymous, { redirect_uri: asked })

    expect(login.get('redirect_uri')).toBe(redirect)
    expect(login.get('state') ?? '').toMatch(redirect === null ? /^$/ : /^st_\w{20}/)
    expect((login.get('state') ?? '').slice(23)).toBe(suffix)
    // the client removes the suffix
    if (suffix === '') return
    expect(verdict(await callback(server.anonymous, { state: login.get('state'), code: 'x' }))).toMatch(
      /Expired or missing OAuth state/,
    )
  })

  test('the state without it finishes the login', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const login = await begin(server.anonymous, { redirect_uri: `${redirectUri}?namespace=a%2Cns%3Db` })

    const state = login.get('state')?.slice(0, 23)
    expect(verdict(await callback(server.anonymous, { state, code: provider.codeFor(login) }))).toBe('ok')
  })
})

test('a public client has no secret, and sends its id once, in the body', async () => {
  await using provider = await startSmallProvider()
  await using server = await withFlow(provider)

  const both = await configure(server, provider, { oidc_public_client: true })
  expect(verdict(both)).toBe("400 'oidc_client_secret' must be empty for a public client")
  await configure(server, provider, { oidc_public_client: true, oidc_client_secret: '' })
  expect((await server.root.read('auth/oidc/config')).body.data).toMatchObject({ oidc_public_client: true })
  provider.token = { status: 401, body: { error: 'invalid_client' } }
  const login = await begin(server.anonymous)
  const refused = await callback(server.anonymous, {
    state: login.get('state'),
    code: provider.codeFor(login),
  })

  expect(verdict(refused)).toMatch(
    /"Provider\.Exchange: unable to exchange auth code with provider: oauth2: \\"invalid_client\\""\.$/,
  )
  expect(provider.tokenCalls).toHaveLength(1)
  const [call] = provider.tokenCalls
  expect(call?.authorization).toBeUndefined()
  expect(Object.fromEntries(call?.form ?? [])).toMatchObject({
    client_id: 'abc',
    code_verifier: expect.stringMatching(/^[0-9A-Za-z]{43}$/),
  })
  expect(call?.form.has('client_secret')).toBe(false)
})

test('roles of both types work on one mount', async () => {
  await using provider = await startSmallProvider()
  await using server = await withFlow(provider)
  await server.root.write('auth/oidc/role/ci', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'abc',
  })
  const jwt = provider.signer.sign(
    provider.claims(new URLSearchParams(), { iat: Math.floor(Date.now() / 1000) - 5 }),
  )
  const login = (role: string) => server.anonymous.write('auth/oidc/login', { role, jwt })

  expect(verdict(await login('ci'))).toBe('ok')
  expect(verdict(await login('test'))).toBe('400 role with oidc role_type is not allowed')
  // both logins use the same keys: nothing is fetched twice
  await writeRole(server, {})
  const begun = await begin(server.anonymous)
  expect(
    verdict(await callback(server.anonymous, { state: begun.get('state'), code: provider.codeFor(begun) })),
  ).toBe('ok')
  // once for the configuration
  expect(provider.web.hits.filter((hit) => hit === '/jwks')).toHaveLength(2)
})
