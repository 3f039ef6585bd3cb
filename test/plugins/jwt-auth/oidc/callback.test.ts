import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../../support/fake-clock.ts'
import { testOfOneServer } from '../../../support/of-one-server.ts'
import type { TestServer } from '../../../support/start-server.ts'
import { operatorVerdict } from '../operator-verdict.ts'
import { aSigner } from '../signer.ts'
import {
  begin,
  callback,
  clientSecret,
  configure,
  logIn,
  metadataOf,
  type Reply,
  redirectUri,
  type SmallProvider,
  startSmallProvider,
  verdict,
  withFlow,
  writeRole,
} from './small-provider.ts'

const noState = '400 Vault login failed. Expired or missing OAuth state.'
const exchanging = '400 Vault login failed. Error exchanging oidc code: '
/** The text of a failed exchange, without the quotes around it. */
const cause = (text: string): string =>
  text.startsWith(exchanging)
    ? String(JSON.parse(text.slice(exchanging.length, -1))).replace('Provider.Exchange: ', '')
    : text

/** Logs in with this response of the token endpoint, made from a valid ID token. */
async function withAnswer(
  server: TestServer,
  provider: SmallProvider,
  answer: (idToken: string) => Reply,
): Promise<string> {
  const login = await begin(server.anonymous)
  provider.token = answer(provider.signer.sign(provider.claims(login)))
  const finished = await callback(server.anonymous, { state: login.get('state'), code: 'c' })
  provider.token = undefined
  return cause(await operatorVerdict(server.root, 'auth/oidc', finished))
}

const registeredErrors = [
  ...[
    'invalid_request',
    'unauthorized_client',
    'access_denied',
    'unsupported_response_type',
    'invalid_scope',
  ],
  ...['server_error', 'temporarily_unavailable', 'interaction_required', 'login_required'],
  ...['account_selection_required', 'consent_required'],
]

describe('a whole login', () => {
  const role = {
    user_claim: 'email',
    claim_mappings: { COLOR: 'color', '/nested/Size': 'size' },
    groups_claim: '/nested/Groups',
    token_ttl: '3m',
    token_max_ttl: '5m',
    token_num_uses: 10,
    token_policies: 'dev',
    bound_claims: { password: 'foo', sk: '42', '/nested/secret_code': 'bar', temperature: '76' },
  }
  const claims = {
    email: 'bob@example.com',
    COLOR: 'green',
    sk: '42',
    password: 'foo',
    nested: { Size: 'medium', Groups: ['a', 'b'], secret_code: 'bar', username: 'nested_username' },
    '/nested/username': 'non_nested_username',
  }

  test.each(['RS256', 'ES256', 'EdDSA'])(
    'a login with an ID token signed by %s succeeds',
    async (algorithm) => {
      await using provider = await startSmallProvider({ algorithm })
      provider.userInfo = { body: { sub: 'bob', color: 'red', temperature: '76' } }
      await using server = await withFlow(provider, { config: { jwt_supported_algs: algorithm }, role })

      const answer = await logIn(server, provider, claims)

      expect(answer).toMatchObject({ status: 200, body: { data: null, warnings: null } })
      expect(answer.body.auth).toMatchObject({
        metadata: { role: 'test', color: 'green', size: 'medium' },
        policies: ['default', 'dev'],
        lease_duration: 180,
        renewable: true,
        num_uses: 10,
        orphan: true,
      })
      const token = String(answer.body.auth?.['client_token'])
      expect((await server.as(token).read('auth/token/lookup-self')).body.data).toMatchObject({
        display_name: 'oidc-bob@example.com',
        path: 'auth/oidc/oidc/callback',
      })
      expect(provider.tokenCalls).toHaveLength(1)
      expect(Object.fromEntries(provider.tokenCalls[0]?.form ?? [])).toEqual({
        grant_type: 'authorization_code',
        code: expect.stringMatching(/^code-/),
        redirect_uri: redirectUri,
        code_verifier: expect.stringMatching(/^[0-9A-Za-z]{43}$/),
      })
      expect(provider.tokenCalls[0]?.type).toBe('application/x-www-form-urlencoded')
      expect(provider.userInfoCalls).toEqual([expect.stringMatching(/^Bearer at-code-/)])
    },
  )

  test('the role is enforced, with the user claim before bound claims', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { role })
    const go = async (given: object, of: object = claims) => {
      await writeRole(server, { ...role, bound_claims: {}, ...given })
      return logIn(server, provider, of)
    }

    expect(verdict(await go({ bound_claims: { sk: '43' } }))).toBe(
      '400 error validating claims: claim "sk" does not match any associated bound claim values',
    )
    expect(verdict(await go({ bound_claims: { sk: '43' }, user_claim: 'other' }))).toBe(
      '400 claim "other" not found in token',
    )
    expect(
      verdict(await go({ user_claim: '/nested/username/email', user_claim_json_pointer: true })),
    ).toMatch(/not found in token/)
    expect(verdict(await go({ groups_claim: 'gone' }))).toBe(
      '400 failed to fetch groups: "gone" claim not found in token',
    )
    await server.root.write('auth/oidc/role/test', {
      groups_claim: '',
      user_claim: 'sub',
      bound_subject: 'alice',
    })
    expect(verdict(await logIn(server, provider, claims))).toBe('400 sub claim does not match bound subject')
    expect(verdict(await go({ bound_subject: '', token_bound_cidrs: '10.0.0.1' }))).toBe(
      '403 permission denied',
    )
    for (const [user_claim, user_claim_json_pointer, name] of [
      ['email', false, 'bob@example.com'],
      ['/nested/username', false, 'non_nested_username'],
      ['/nested/username', true, 'nested_username'],
      ['/email', true, 'bob@example.com'],
    ]) {
      const answer = await go({
        user_claim,
        user_claim_json_pointer,
        token_bound_cidrs: ['127.0.0.0/8', '::1'],
      })
      const token = String(answer.body.auth?.['client_token'])
      expect((await server.as(token).read('auth/token/lookup-self')).body.data?.['display_name']).toBe(
        `oidc-${name}`,
      )
    }
  })
})

describe('state, code and client nonce', () => {
  test('a state is valid only once, only at its mount, and only unchanged', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    await server.root.write('sys/auth/other', { type: 'oidc' })
    await server.root.write('auth/other/config', {
      oidc_discovery_url: provider.url,
      oidc_client_id: 'abc',
      oidc_client_secret: clientSecret,
    })
    const go = async (query: Parameters<typeof callback>[1]) =>
      verdict(await callback(server.anonymous, query))

    for (const query of [
      {},
      { code: 'x' },
      { state: '', code: 'x' },
      { state: 'st_nonsense', code: 'x' },
      { state: '../role/test', code: 'x' },
    ]) {
      expect(await go(query)).toBe(noState)
    }
    const login = await begin(server.anonymous)
    const state = login.get('state')
    const code = provider.codeFor(login)
    expect(verdict(await server.anonymous.read(`auth/other/oidc/callback?state=${state}&code=${code}`))).toBe(
      noState,
    )
    expect(await go({ state: `${state},ns=x`, code })).toBe(noState)
    expect(await go({ state, code })).toBe('ok')
    expect(await go({ state, code })).toBe(noState)
    const refused = await begin(server.anonymous)
    expect(await go({ state: refused.get('state') })).toBe(
      '400 Vault login failed. No code or id_token received.',
    )
    for (const error of registeredErrors) {
      const denied = { state: (await begin(server.anonymous)).get('state'), error, error_uri: 'https://evil' }
      expect(await go(denied)).toBe(`400 Vault login failed. ${error}`)
    }
    for (const error of ['Access_Denied', ' access_denied', 'access_denied ', 'slow_down', 'evil.example']) {
      const denied = { state: (await begin(server.anonymous)).get('state'), error, error_description: error }
      expect(await go(denied)).toBe('400 Vault login failed. No code or id_token received.')
    }
    expect(await go({ state: 'st_nobody', error: 'access_denied' })).toBe(noState)
    expect(await go({ state: refused.get('state'), code: provider.codeFor(refused) })).toBe(noState)
    expect(await go({ state: (await begin(server.anonymous)).get('state'), id_token: 'x' })).toBe(
      '400 Vault login failed. No code or id_token received.',
    )
    expect(provider.tokenCalls).toHaveLength(1)
  })

  test('of 64 concurrent callbacks with one state, one logs in', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const login = await begin(server.anonymous)
    const query = { state: login.get('state'), code: provider.codeFor(login) }

    const verdicts = await Promise.all(
      Array.from({ length: 64 }, async () => verdict(await callback(server.anonymous, query))),
    )

    expect(verdicts.filter((each) => each === 'ok')).toHaveLength(1)
    expect(verdicts.filter((each) => each === noState)).toHaveLength(63)
    expect(provider.tokenCalls).toHaveLength(1)
  })

  test('a used code, and one of another login, are refused', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const [one, two] = [await begin(server.anonymous), await begin(server.anonymous)]
    const code = provider.codeFor(one)
    expect(verdict(await callback(server.anonymous, { state: one.get('state'), code }))).toBe('ok')

    const replayed = await begin(server.anonymous)
    expect(
      cause(
        await operatorVerdict(
          server.root,
          'auth/oidc',
          await callback(server.anonymous, { state: replayed.get('state'), code }),
        ),
      ),
    ).toMatch(/no such code/)
    // PKCE: the verifier belongs to the second login, the challenge to a third
    const stolen = provider.codeFor(await begin(server.anonymous))
    expect(
      cause(
        await operatorVerdict(
          server.root,
          'auth/oidc',
          await callback(server.anonymous, { state: two.get('state'), code: stolen }),
        ),
      ),
    ).toMatch(/cannot fetch token: 401 Unauthorized\nResponse: bad verifier$/)
  })

  test.each([
    [undefined, undefined, 'ok'],
    ['abc123', 'abc123', 'ok'],
    ['abc123', 'abc123xyz', '400 invalid client_nonce'],
    ['abc123', undefined, '400 invalid client_nonce'],
    ['abc123', '', '400 invalid client_nonce'],
    [undefined, 'abc123', 'ok'],
  ])('auth_url %s, callback %s: %s', async (given, repeated, wanted) => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const login = await begin(server.anonymous, { client_nonce: given })
    const query = { state: login.get('state'), code: provider.codeFor(login) }

    expect(verdict(await callback(server.anonymous, { ...query, client_nonce: repeated }))).toBe(wanted)
    // wrong or not, the state is spent
    expect(verdict(await callback(server.anonymous, { ...query, client_nonce: given }))).toBe(noState)
  })

  test('a pending login lasts ten minutes, the exchange one second less', async () => {
    const clock = new FakeClock()
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { clock })
    const lateBy = async (seconds: number) => {
      const login = await begin(server.anonymous)
      clock.advance(seconds)
      const answer = await callback(server.anonymous, { state: login.get('state'), code: 'c' })
      return cause(await operatorVerdict(server.root, 'auth/oidc', answer))
    }

    expect(await lateBy(598)).toMatch(/no such code/)
    expect(await lateBy(599.5)).toBe('authentication request is expired: invalid parameter')
    expect(await lateBy(600)).toBe(noState)
  })

  test('the callback uses the current role and mount, except for what the login began with', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const later = async (change: () => Promise<unknown>, claims: object = {}) => {
      const login = await begin(server.anonymous)
      await change()
      return callback(server.anonymous, {
        state: login.get('state'),
        code: provider.codeFor(login, { claims }),
      })
    }

    const changed = await later(() =>
      writeRole(server, {
        bound_audiences: 'other',
        token_policies: 'new',
        allowed_redirect_uris: 'https://x',
      }),
    )
    expect(changed.body.auth?.['policies']).toEqual(['default', 'new'])
    await writeRole(server, { bound_audiences: 'other' })
    expect(cause(verdict(await later(() => writeRole(server, { bound_audiences: [] }))))).toMatch(
      /invalid id_token audiences/,
    )
    expect(verdict(await later(() => writeRole(server, { bound_claims: { dept: 'x' } })))).toBe(
      '400 error validating claims: claim "dept" is missing',
    )
    expect(verdict(await later(() => server.root.delete('auth/oidc/role/test')))).toBe(
      '400 Vault login failed. Role could not be found',
    )
    await writeRole(server, { bound_claims: {} })
    const unreachable = await later(async () => {
      await configure(server, provider)
      provider.web.routes.delete('/.well-known/openid-configuration')
    })
    expect(unreachable.status).toBe(500)
    expect(await operatorVerdict(server.root, 'auth/oidc', unreachable)).toBe(
      `500 error getting provider for login operation: error creating provider with given values: NewProvider: unable to create provider: Get "${provider.web.url}/.well-known/openid-configuration": 404 Not Found: no`,
    )
  })
})

describe('the code is exchanged for tokens', () => {
  test('the secret is tried in the header, then in the body', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    provider.accepts = 'basic'
    expect(verdict(await logIn(server, provider))).toBe('ok')
    provider.accepts = 'body'
    expect(verdict(await logIn(server, provider))).toBe('ok')
    provider.accepts = 'none'
    expect(cause(verdict(await logIn(server, provider)))).toBe(
      'unable to exchange auth code with provider: oauth2: "invalid_client"',
    )

    expect(provider.tokenCalls.map(({ authorization }) => authorization !== undefined)).toEqual([
      true,
      true,
      false,
      true,
      false,
    ])
  })

  test('client id and secret may have any characters', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: { oidc_client_id: 'a-b.c~d e&f:g', oidc_client_secret: 'ü%+/=:\ud800' },
    })

    await logIn(server, provider)

    const [header, body] = provider.tokenCalls
    expect(Buffer.from(header?.authorization?.slice(6) ?? '', 'base64').toString()).toBe(
      'a-b.c%7Ed+e%26f%3Ag:%C3%BC%25%2B%2F%3D%3A%EF%BF%BD',
    )
    expect([body?.form.get('client_id'), body?.form.get('client_secret')]).toEqual([
      'a-b.c~d e&f:g',
      'ü%+/=:\ufffd',
    ])
  })

  const refusing = 'unable to exchange auth code with provider: '
  test.each<[object | string, number, string | undefined, string]>([
    ['boom', 500, 'text/plain', 'oauth2: cannot fetch token: 500 Internal Server Error\nResponse: boom'],
    [
      '<b>"boom"</b>\n',
      500,
      'text/html',
      'oauth2: cannot fetch token: 500 Internal Server Error\nResponse: <b>"boom"</b>\n',
    ],
    [{ error: 'invalid_grant' }, 400, undefined, 'oauth2: "invalid_grant"'],
    [{ error: 'e', error_description: 'd', error_uri: 'u' }, 401, undefined, 'oauth2: "e" "d" "u"'],
    [{ error: '<script>alert(1)</script>' }, 400, undefined, 'oauth2: "<script>alert(1)</script>"'],
    [{ error: 'server_error', error_description: 'soft' }, 200, undefined, 'oauth2: "server_error" "soft"'],
    [
      { message: 'no' },
      400,
      undefined,
      'oauth2: cannot fetch token: 400 Bad Request\nResponse: {"message":"no"}',
    ],
    [{}, 200, undefined, 'oauth2: server response missing access_token: access_token is missing'],
    [
      '{',
      200,
      undefined,
      'oauth2: cannot parse json: not a JSON object (200 OK, content type application/json)',
    ],
    [
      '<html>',
      200,
      'text/html',
      'oauth2: cannot parse json: not a JSON object (200 OK, content type text/html)',
    ],
    [
      '[1]',
      200,
      undefined,
      'oauth2: cannot parse json: not a JSON object (200 OK, content type application/json)',
    ],
    ['', 302, 'text/plain', 'oauth2: cannot fetch token: 302 Found\nResponse: '],
  ])('a token response %j with status %i is refused', async (body, status, type, wanted) => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)

    expect(
      await withAnswer(server, provider, () => ({ body, status, ...(type === undefined ? {} : { type }) })),
    ).toBe(refusing + wanted)
  })

  test('unusual but sufficient responses are accepted', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const go = (answer: (idToken: string) => Reply) => withAnswer(server, provider, answer)
    const form = 'application/x-www-form-urlencoded'

    expect(
      await go((id_token) => ({ body: `access_token=a&id_token=${id_token}&token_type=bearer`, type: form })),
    ).toBe('ok')
    expect(
      await go((id_token) => ({
        body: `access_token=a&id_token=${id_token}`,
        type: 'text/plain; charset=utf-8',
      })),
    ).toBe('ok')
    expect(await go((id_token) => ({ body: { access_token: 'a', id_token } }))).toBe('ok')
    expect(
      await go((id_token) => ({
        body: { access_token: 'a', id_token, token_type: 'Other', expires_in: 'x' },
      })),
    ).toBe('ok')
    expect(
      await go((id_token) => ({
        body: { access_token: 'a', id_token, token_type: 'a\r\nb: c', expires_in: -5 },
        status: 201,
      })),
    ).toBe('ok')
    // what no header can contain is not sent
    expect(provider.userInfoCalls).toEqual(['Bearer a', 'Bearer a', 'Bearer a', 'Other a'])
    expect(await go(() => ({ body: { access_token: 'a' } }))).toBe(
      'id_token is missing from auth code exchange: id_token is missing',
    )
    expect(await go(() => ({ body: { access_token: 'a', id_token: 5 } }))).toBe(
      'id_token is missing from auth code exchange: id_token is missing',
    )
    expect(await go(() => ({ body: { access_token: 'a', id_token: '' } }))).toMatch(
      /id_token is empty: invalid parameter/,
    )
    expect(await go(() => ({ body: { access_token: 'a', id_token: 'a.b' } }))).toMatch(
      /invalid id_token: oidc: malformed jwt: /,
    )
  })

  test('an unreachable provider, an endless response and a redirect elsewhere are refused', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    await using elsewhere = await startSmallProvider()
    const go = () => withAnswer(server, provider, () => ({}))

    provider.web.routes.set('/token', (answer) => {
      answer.writeHead(200, { 'content-type': 'application/json' })
      answer.write('{"access_token":"')
      const more = () => {
        while (answer.write('x'.repeat(65_536)));
      }
      answer.on('drain', more)
      more()
    })
    expect(await go()).toBe(`${refusing}Post "${provider.url}/token": answer is larger than 1048576 bytes`)
    for (const status of [307, 308]) {
      provider.web.routes.set('/token', (answer) =>
        answer.writeHead(status, { location: `${elsewhere.url}/token` }).end(),
      )
      expect(await go()).toBe(
        `${refusing}Post "${provider.url}/token": redirect to another host refused (${elsewhere.url})`,
      )
    }
    provider.web.routes.set('/token', (answer) =>
      answer.writeHead(302, { location: `${elsewhere.url}/token` }).end(),
    )
    expect(await go()).toMatch(/cannot fetch token: 302 Found/)
    expect(elsewhere.web.hits).toEqual([])
    const login = await begin(server.anonymous)
    await provider.web.stop()
    const refused = await callback(server.anonymous, { state: login.get('state'), code: 'c' })
    expect(cause(await operatorVerdict(server.root, 'auth/oidc', refused))).toMatch(/connection refused$/)
  })

  test.each([
    undefined,
    '',
    'nonsense',
    'ftp://127.0.0.1/token',
    'file:///etc/passwd',
    'http://[',
    'http://127.0.0.1:1/\r\nx',
  ])('a token endpoint %j causes a refusal, not an internal error', async (token_endpoint) => {
    await using provider = await startSmallProvider({ metadata: { token_endpoint } })
    await using server = await withFlow(provider)

    expect(cause(verdict(await logIn(server, provider)))).toMatch(
      /^unable to exchange auth code with provider: ./,
    )
  })

  test('when a client leaves, the server stops waiting for its provider', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const gone = new AbortController()
    const hungUp = new Promise<void>((done) => {
      provider.web.routes.set('/token', (answer) => {
        answer.on('close', done)
        // the provider never responds, and the client gives up
        gone.abort()
      })
    })
    const login = await begin(server.anonymous)

    const asked = fetch(`${server.url}/v1/auth/oidc/oidc/callback?state=${login.get('state')}&code=c`, {
      signal: gone.signal,
    })

    await expect(asked).rejects.toThrow(/abort/)
    await hungUp
  })

  test.each([
    ['the access token', 'at_hash', 'access_token'],
    ['the code', 'c_hash', 'code hash'],
  ])('the hash of %s must be right if present', async (_what, name, told) => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)

    expect(cause(verdict(await logIn(server, provider, { [name]: 'AAAAAAAAAAAAAAAAAAAAAA' })))).toMatch(
      new RegExp(
        `^${told} failed verification: VerifyAccessToken: verifyHashClaim: .* hash does not match value in id_token$`,
      ),
    )
    expect(verdict(await logIn(server, provider, { [name]: 5 }))).toBe('ok')
  })
})

describe('keys', () => {
  test('a provider may change its keys in the middle of a login', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    expect(verdict(await logIn(server, provider))).toBe('ok')
    const login = await begin(server.anonymous)

    provider.signer = aSigner('RS256', { kid: 'k2' })

    expect(
      verdict(await callback(server.anonymous, { state: login.get('state'), code: provider.codeFor(login) })),
    ).toBe('ok')
    // once for the configuration
    expect(provider.web.hits.filter((hit) => hit === '/jwks')).toHaveLength(3)
  })

  test('a second login requests only the tokens and the userinfo', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    await logIn(server, provider)
    const before = provider.web.hits.length

    await logIn(server, provider)

    expect(provider.web.hits.slice(before)).toEqual(['/token', '/userinfo'])
  })

  test('keys that cannot be fetched are distinguished from a wrong signature', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const good = provider.signer
    provider.signer = aSigner('RS256', { kid: 'k1' })
    const login = await begin(server.anonymous)
    const code = provider.codeFor(login)
    provider.signer = good

    expect(cause(verdict(await callback(server.anonymous, { state: login.get('state'), code })))).toMatch(
      /invalid id_token: failed to verify signature: failed to verify id token signature: invalid signature$/,
    )
    provider.web.routes.delete('/jwks')
    await configure(server, provider)
    expect(cause(await operatorVerdict(server.root, 'auth/oidc', await logIn(server, provider)))).toMatch(
      /failed to verify signature: fetching keys oidc: Get "http:\/\/127\.0\.0\.1:\d+\/jwks": get keys failed: 404 Not Found no: invalid jwks$/,
    )
  })
})

describe('userinfo', () => {
  const role = { claim_mappings: { color: 'color', '/n/x': 'x', '/n/y': 'y' } }
  const idClaims = { color: 'id', n: { x: 'id', y: 'id' } }

  test.each<[string, Reply, object]>([
    [
      'whole members take the place of those of the ID token',
      { body: { sub: 'bob', n: { y: 'info' } } },
      { color: 'id', y: 'info' },
    ],
    ['another sub', { body: { sub: 'eve', color: 'info' } }, { color: 'id', x: 'id', y: 'id' }],
    ['no sub', { body: { color: 'info' } }, { color: 'id', x: 'id', y: 'id' }],
    [
      'another issuer',
      { body: { sub: 'bob', iss: 'https://x', color: 'info' } },
      { color: 'id', x: 'id', y: 'id' },
    ],
    [
      'email_verified true',
      { body: { sub: 'bob', email_verified: 'true', color: 'info' } },
      { color: 'info', x: 'id', y: 'id' },
    ],
    [
      'email_verified maybe',
      { body: { sub: 'bob', email_verified: 'maybe', color: 'info' } },
      { color: 'id', x: 'id', y: 'id' },
    ],
    [
      'email_verified a number',
      { body: { sub: 'bob', email_verified: 1, color: 'info' } },
      { color: 'id', x: 'id', y: 'id' },
    ],
    ['201', { status: 201, body: { sub: 'bob', color: 'info' } }, { color: 'id', x: 'id', y: 'id' }],
    ['no JSON', { body: '{' }, { color: 'id', x: 'id', y: 'id' }],
    ['a list', { body: '[]' }, { color: 'id', x: 'id', y: 'id' }],
    ['a name twice', { body: '{"sub":"bob","sub":"bob","color":"info"}' }, { color: 'id', x: 'id', y: 'id' }],
    ['HTML of 2 MB', { type: 'text/html', body: '<p>'.repeat(700_000) }, { color: 'id', x: 'id', y: 'id' }],
    [
      'a redirect elsewhere',
      { status: 302, headers: { location: 'http://127.0.0.1:1/' } },
      { color: 'id', x: 'id', y: 'id' },
    ],
  ])('%s', async (_what, reply, wanted) => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { role })
    provider.userInfo = reply

    expect(metadataOf(await logIn(server, provider, idClaims))).toEqual({ role: 'test', ...wanted })
  })

  test('a signed userinfo must be signed by the provider, with an algorithm of the flow', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { role })
    const info = { sub: 'bob', color: 'info', iss: provider.url }
    const color = async (jwt: string) => {
      provider.userInfo = { type: 'application/jwt', body: jwt }
      return metadataOf(await logIn(server, provider, idClaims))?.['color']
    }

    expect(await color(provider.signer.sign(info))).toBe('info')
    expect(await color(aSigner('RS256', { kid: 'k1' }).sign(info))).toBe('id')
    expect(await color(aSigner('ES256', { kid: 'k1' }).sign(info))).toBe('id')
    expect(await color(provider.signer.sign({ ...info, sub: 'eve' }))).toBe('id')
    expect(await color('nonsense')).toBe('id')
  })

  test('a provider without userinfo is not asked', async () => {
    await using provider = await startSmallProvider({ metadata: { userinfo_endpoint: undefined } })
    await using server = await withFlow(provider)

    expect(verdict(await logIn(server, provider))).toBe('ok')
    expect(provider.userInfoCalls).toEqual([])
  })
})

describe('what the operator sees', () => {
  testOfOneServer(
    'a refused callback logs its reason and role, never a code, a state or a token',
    async () => {
      const lines: { event?: string }[] = []
      const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) })
      await using provider = await startSmallProvider()
      await using server = await withFlow(provider, { log })
      const states: string[] = []
      const go = async (query: Record<string, string>, given: object = {}) => {
        const state = (await begin(server.anonymous, given)).get('state') ?? ''
        states.push(state)
        await callback(server.anonymous, { state, ...query })
      }

      await callback(server.anonymous, { state: 'st_nobody' })
      await go({ code: 'c' }, { client_nonce: 'a' })
      await go({})
      await go({ error: 'access_denied', error_description: '<script>' })
      await go({ code: 'secret-code' })
      await logIn(server, provider, { nonce: 'n_other' })
      await logIn(server, provider, { aud: 'other' })

      const refused = lines.filter(({ event }) => event === 'login_refused')
      expect(refused).toMatchObject([
        { reason: 'state_unknown', check: 'state', role: '', status: 400, mount: 'auth/oidc/' },
        { reason: 'client_nonce_mismatch', check: 'client_nonce', role: 'test' },
        { reason: 'code_missing', check: 'code' },
        { reason: 'provider_refused', check: 'provider' },
        { reason: 'exchange_failed', check: 'exchange' },
        { reason: 'nonce_mismatch', check: 'nonce' },
        { reason: 'authorized_party_mismatch', check: 'audience' },
      ])
      const written = JSON.stringify(lines)
      for (const secret of [...states, 'secret-code', 'eyJ', 'script']) expect(written).not.toContain(secret)
      const kept = await server.root.read('auth/oidc/failures?reason=nonce_mismatch')
      expect(kept.body['data']?.['failures']).toMatchObject([
        {
          path: 'oidc/callback',
          role: 'test',
          alg: 'RS256',
          kid: 'k1',
          claims: { nonce: expect.stringMatching(/^hmac-sha256:/) },
        },
      ])
    },
  )

  test('verbose_oidc_logging logs the claims, and the ID token without its signature', async () => {
    const lines: { event?: string; id_token?: string; claims?: string }[] = []
    const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(JSON.parse(line)) })
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { log, role: { verbose_oidc_logging: true } })
    provider.userInfo = { body: '{"sub":"bob","big":12345678901234567890}' }

    await logIn(server, provider, { dept: 'x' })
    await writeRole(server, { verbose_oidc_logging: false })
    await logIn(server, provider, { dept: 'quiet' })

    expect(lines.filter(({ event }) => event === 'oidc_token')).toMatchObject([
      { id_token: expect.stringMatching(/^eyJ[\w-]+\.eyJ[\w-]+\.x{11}$/) },
    ])
    const told = lines.filter(({ event }) => event === 'oidc_claims').map(({ claims }) => claims)
    expect(told).toEqual([expect.stringMatching(/"dept":"x".*"big":"12345678901234567890"/)])
    expect(JSON.stringify(lines)).not.toContain('quiet')
  })
})
