import { describe, expect, test } from 'vitest'
import type { Answer, Client } from '../../../support/client.ts'
import { testOfOneServer } from '../../../support/of-one-server.ts'
import { shared } from '../../../support/shared.ts'
import type { TestServer } from '../../../support/start-server.ts'
import { operatorVerdict } from '../operator-verdict.ts'
import { jwksOf, startProvider } from '../provider.ts'
import { aSigner } from '../signer.ts'
import {
  begin,
  callback,
  clientId,
  configure,
  logIn,
  redirectUri,
  type SmallProvider,
  startSmallProvider,
  verdict,
  withFlow,
  writeRole,
} from './small-provider.ts'

const noState = '400 Vault login failed. Expired or missing OAuth state.'
const path = 'auth/oidc/oidc/callback'

/** A second mount for another provider, with the same redirect URI. */
async function secondMount(server: TestServer, mount: string, provider: SmallProvider): Promise<void> {
  await server.root.write(`sys/auth/${mount}`, { type: 'oidc' })
  await server.root.write(`auth/${mount}/config`, {
    oidc_discovery_url: provider.url,
    oidc_client_id: clientId,
    oidc_client_secret: 'def',
  })
  await server.root.write(`auth/${mount}/role/test`, {
    user_claim: 'sub',
    allowed_redirect_uris: [redirectUri],
  })
}

async function beginAt(client: Client, mount: string): Promise<URLSearchParams> {
  const answer = await client.write(`auth/${mount}/oidc/auth_url`, {
    role: 'test',
    redirect_uri: redirectUri,
  })
  return new URLSearchParams(String(answer.body.data?.['auth_url']).split('?')[1])
}

describe('the state belongs to one login', () => {
  test('is spent by any refusal, also by 403 and 500', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const refused = async (change: () => Promise<unknown>): Promise<string[]> => {
      const login = await begin(server.anonymous)
      const query = { state: login.get('state'), code: provider.codeFor(login) }
      await change()
      const first = verdict(await callback(server.anonymous, query))
      await writeRole(server, { token_bound_cidrs: [], bound_claims: {} })
      return [first.slice(0, 4), verdict(await callback(server.anonymous, query))]
    }

    expect(await refused(() => writeRole(server, { token_bound_cidrs: '10.0.0.1' }))).toEqual([
      '403 ',
      noState,
    ])
    expect(await refused(() => writeRole(server, { bound_claims: { dept: 'x' } }))).toEqual(['400 ', noState])
    const document = provider.web.routes.get('/.well-known/openid-configuration') ?? {}
    const unreachable = async () => {
      await configure(server, provider)
      provider.web.routes.delete('/.well-known/openid-configuration')
    }
    expect(await refused(unreachable)).toEqual(['500 ', noState])
    provider.web.routes.set('/.well-known/openid-configuration', document)
    expect(verdict(await logIn(server, provider))).toBe('ok')
  })

  test('a secret written in the meantime is the one that is sent', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config: { oidc_client_secret: 'old' } })
    const login = await begin(server.anonymous)
    await configure(server, provider)

    expect(
      verdict(await callback(server.anonymous, { state: login.get('state'), code: provider.codeFor(login) })),
    ).toBe('ok')
  })

  test('a mount that gets another provider in the meantime ends the login, and that one does not get the code', async () => {
    await using provider = await startSmallProvider()
    await using elsewhere = await startSmallProvider()
    await using server = await withFlow(provider)
    const login = await begin(server.anonymous)
    await configure(server, elsewhere)
    const query = { state: login.get('state'), code: elsewhere.codeFor(login) }

    expect(verdict(await callback(server.anonymous, query))).toBe(noState)

    expect(elsewhere.tokenCalls).toEqual([])
  })

  test('a mount that loses its client in the meantime ends the login', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: { oidc_response_mode: 'form_post' },
      role: { oidc_disable_confirmation: true },
    })
    const [byCode, byForm] = [await begin(server.anonymous), await begin(server.anonymous)]
    const state = byForm.get('state')
    await server.anonymous.write(path, {
      state,
      id_token: provider.signer.sign(provider.claims(byForm, { aud: '' })),
    })
    await server.root.write('auth/oidc/config', { oidc_discovery_url: provider.url, default_role: 'test' })

    for (const query of [{ state: byCode.get('state'), code: provider.codeFor(byCode) }, { state }]) {
      expect(verdict(await callback(server.anonymous, query))).toBe(noState)
    }
    expect(provider.tokenCalls).toEqual([])
  })

  test('belongs to its mount: not valid in another namespace, and still valid after the mount moves', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    await server.root.write('sys/namespaces/team', {})
    const inside = { headers: { 'X-Vault-Namespace': 'team' } }
    await server.root.write('sys/auth/oidc', { type: 'oidc' }, inside)
    await server.root.write(
      'auth/oidc/config',
      { oidc_discovery_url: provider.url, oidc_client_id: clientId, oidc_client_secret: 'def' },
      inside,
    )
    const login = await begin(server.anonymous)
    const query = new URLSearchParams({ state: login.get('state') ?? '', code: provider.codeFor(login) })

    expect(verdict(await server.anonymous.read(`${path}?${query}`, inside))).toBe(noState)
    const moved = await server.root.write('sys/remount', { from: 'auth/oidc', to: 'auth/people' })
    const move = `sys/remount/status/${String(moved.body.data?.['migration_id'])}`
    await expect
      .poll(async () => (await server.root.read(move)).body.data?.['migration_info'])
      .toMatchObject({ status: 'success' })
    expect(verdict(await server.anonymous.read(`auth/people/oidc/callback?${query}`))).toBe('ok')
  })

  test.each(['HEAD', 'DELETE', 'OPTIONS', 'LIST', 'PATCH'])(
    'the login is neither ended nor its state spent by %s',
    async (verb) => {
      await using provider = await startSmallProvider()
      await using server = await withFlow(provider)
      const login = await begin(server.anonymous)
      const query = { state: login.get('state'), code: provider.codeFor(login) }
      const target = `${path}?${new URLSearchParams({ state: query.state ?? '', code: query.code })}`

      const answer = await server.anonymous.call(verb, target)

      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.status).toBeLessThan(500)
      expect(provider.tokenCalls).toEqual([])
      expect(verdict(await callback(server.anonymous, query))).toBe('ok')
    },
  )

  test('a list or a trailing slash is not an open path: 403 without a token, 404 with one', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)

    for (const open of ['auth/oidc/oidc/callback', 'auth/oidc/oidc/auth_url']) {
      for (const [client, status] of [
        [server.anonymous, 403],
        [server.root, 404],
      ] as const) {
        expect((await client.list(open)).status).toBe(status)
        expect((await client.read(`${open}/`)).status).toBe(status)
      }
    }
  })
})

describe('only responses of the own provider count', () => {
  test('a code of another provider is not sent to this one (RFC 9207), and the state is spent', async () => {
    await using honest = await startSmallProvider()
    await using attacker = await startSmallProvider()
    await using server = await withFlow(honest)
    await secondMount(server, 'evil', attacker)
    // the attacker has a pending login of their own, and sends the victim there with the attacker's state
    const own = await begin(server.anonymous)
    const code = honest.codeFor(own)
    const victim = await beginAt(server.anonymous, 'evil')
    const query = new URLSearchParams({ state: victim.get('state') ?? '', code, iss: honest.url })

    const answer = await server.anonymous.read(`auth/evil/oidc/callback?${query}`)

    expect(verdict(answer)).toMatch(/^400 Vault login failed\. .*different provider/)
    expect(attacker.tokenCalls).toEqual([])
    query.delete('iss')
    expect(verdict(await server.anonymous.read(`auth/evil/oidc/callback?${query}`))).toBe(noState)
  })

  test('a provider that names its own issuer continues the login, without a warning', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: { oidc_response_mode: 'form_post' },
      role: { oidc_disable_confirmation: true },
    })
    const go = async (iss: string | undefined): Promise<Answer> => {
      const login = await begin(server.anonymous)
      return callback(server.anonymous, { state: login.get('state'), code: provider.codeFor(login), iss })
    }

    expect(await go(provider.url)).toMatchObject({ status: 200, body: { warnings: null } })
    expect(await go('')).toMatchObject({ status: 200, body: { warnings: null } })
    for (const iss of [`${provider.url}/`, provider.url.toUpperCase(), 'https://evil.example']) {
      expect(verdict(await go(iss))).toMatch(/^400 Vault login failed\. .*different provider/)
    }
  })

  test('the same holds for a posted response', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: { oidc_response_mode: 'form_post' },
      role: { oidc_disable_confirmation: true },
    })
    const go = async (iss: string): Promise<string> => {
      const login = await begin(server.anonymous)
      const state = login.get('state')
      await server.anonymous.write(path, { state, code: provider.codeFor(login), iss })
      return verdict(await callback(server.anonymous, { state, code: 'no_code' }))
    }

    expect(await go(provider.url)).toBe('ok')
    expect(await go('https://evil.example')).toMatch(/^400 Vault login failed\. .*different provider/)
    expect(provider.tokenCalls).toHaveLength(1)
  })

  test('an ID token of another login is refused, whatever bound_issuer says', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config: { bound_issuer: 'https://elsewhere.example' } })
    const [one, two] = [await begin(server.anonymous), await begin(server.anonymous)]
    const idToken = provider.signer.sign(provider.claims(two))

    const answer = await callback(server.anonymous, {
      state: one.get('state'),
      code: provider.codeFor(one, { idToken }),
    })

    expect(verdict(answer)).toMatch(/invalid id_token nonce: invalid nonce/)
    expect(verdict(await logIn(server, provider))).toBe('ok')
  })

  test('a token for JWT logins is not an ID token of this login, but an ID token can be one of its issuer', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: { oidc_response_mode: 'form_post' },
      role: { oidc_disable_confirmation: true },
    })
    const login = await begin(server.anonymous)
    const now = Math.floor(Date.now() / 1000)
    const jwt = provider.signer.sign({
      iss: provider.url,
      sub: 'bob',
      aud: clientId,
      iat: now,
      exp: now + 60,
    })

    await server.anonymous.write(path, { state: login.get('state'), id_token: jwt })

    expect(verdict(await callback(server.anonymous, { state: login.get('state') }))).toMatch(/invalid nonce/)
  })

  test('an empty audience in addition to our own counts as a foreign one', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)

    expect(verdict(await logIn(server, provider, { aud: ['', clientId] }))).toMatch(
      /multiple audiences and authorized party/,
    )
    expect(verdict(await logIn(server, provider, { aud: '' }))).toMatch(
      /one audience \(\) which is not the client_id/,
    )
    expect(verdict(await logIn(server, provider, { aud: ['', clientId], azp: clientId }))).toBe('ok')
  })

  test('the token is bound to the addresses of the role', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { role: { token_bound_cidrs: '127.0.0.1' } })

    const answer = await logIn(server, provider)
    const own = server.as(String(answer.body.auth?.['client_token']))

    expect((await own.read('auth/token/lookup-self')).body.data?.['bound_cidrs']).toEqual(['127.0.0.1'])
    expect((await own.read('auth/token/lookup-self', { localAddress: '127.0.0.5' })).status).toBe(403)
  })

  testOfOneServer(
    'after a key change in the middle of a login, the new key is accepted and the withdrawn one is not',
    async () => {
      await using provider = await startSmallProvider()
      await using server = await withFlow(provider)
      const stolen = provider.signer
      expect(verdict(await logIn(server, provider))).toBe('ok')
      const [before, after] = [await begin(server.anonymous), await begin(server.anonymous)]
      const withOldKey = provider.codeFor(before, { idToken: stolen.sign(provider.claims(before)) })
      provider.signer = aSigner('RS256', { kid: 'k2' })

      expect(
        verdict(
          await callback(server.anonymous, { state: after.get('state'), code: provider.codeFor(after) }),
        ),
      ).toBe('ok')
      // the fetch drops keys that the set no longer has
      expect(
        verdict(await callback(server.anonymous, { state: before.get('state'), code: withOldKey })),
      ).toMatch(/failed to verify id token signature/)
    },
  )
})

describe('PKCE and the way back', () => {
  const aFlow = shared(async () => {
    const stack = new AsyncDisposableStack()
    const server = stack.use(await withFlow(stack.use(await startSmallProvider())))
    return { server, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  })

  test('no field of a caller removes PKCE, nonce or the redirect URI from the URL, or adds to it', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)

    const answer = await server.anonymous.write('auth/oidc/oidc/auth_url', {
      redirect_uri: redirectUri,
      code_challenge_method: 'plain',
      code_challenge: 'x',
      response_type: 'token',
      response_mode: 'fragment',
      nonce: 'n',
      state: 's',
      scope: 'admin',
      client_id: 'other',
      prompt: 'none',
    })

    const url = new URL(String(answer.body.data?.['auth_url']))
    expect([...url.searchParams.keys()]).toEqual([
      ...[
        'client_id',
        'code_challenge',
        'code_challenge_method',
        'nonce',
        'redirect_uri',
        'response_type',
        'scope',
        'state',
      ],
    ])
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: clientId,
      code_challenge_method: 'S256',
      response_type: 'code',
      scope: 'openid',
    })
  })

  test('every login has its own state, nonce and verifier', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const logins = await Promise.all(Array.from({ length: 50 }, () => begin(server.anonymous)))

    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(new Set(logins.map((login) => login.get(name))).size).toBe(50)
  })

  test('a code is refused if the flow changed from ID tokens to codes in the middle of the login', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: { oidc_response_mode: 'form_post', oidc_response_types: 'id_token' },
    })
    const login = await begin(server.anonymous)
    // without a verifier, anyone could use the code
    await configure(server, provider, {})

    const answer = await callback(server.anonymous, { state: login.get('state'), code: 'c' })

    expect(verdict(answer)).toMatch(/should not be using the implicit flow: invalid OIDC flow/)
    expect(provider.tokenCalls).toEqual([])
  })

  const odd = [
    'state=a&state=b',
    'state[]=x&code=y',
    'state=%00&code=%00',
    'state=%ff%fe&code=%80',
    'state=%',
    '%E0%A4%A',
    `state=${'s'.repeat(30_000)}`,
    'code=x&client_nonce=x&nonce=x&id_token=x&error=x&error_description=<script>alert(1)</script>',
    'state=__proto__&__proto__=x&constructor=y',
    'state=st_x,ns=%25%2C%0D%0ASet-Cookie:%20a=b',
  ]
  test.each(odd)('$0 is 400 in the envelope, and the response repeats none of it', async (query) => {
    const { server } = await aFlow()

    const answer = await server.anonymous.read(`${path}?${query}`)

    expect({ status: answer.status, type: answer.headers['content-type'] }).toEqual({
      status: 400,
      type: 'application/json',
    })
    expect(answer.text).not.toMatch(/script|Set-Cookie/)
    expect(answer.headers['set-cookie']).toBeUndefined()
  })

  test('a response with a token must not be cached', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)

    expect((await logIn(server, provider)).headers['cache-control']).toBe('no-store')
  })

  test.each([
    ['https://evil.example/v1/auth/oidc/oidc/callback'],
    [`${redirectUri}@evil.example`],
    [`${redirectUri}/../../evil`],
    [`${redirectUri}?x=https://evil.example`],
    [`${redirectUri}#`],
    [`${redirectUri}%00`],
    [`${redirectUri} `],
    ['//example.com/oidc/callback'],
    ['https://example.com:443/oidc/callback'],
    ['https://example.com\\@evil.example/oidc/callback'],
    ['javascript:alert(1)'],
  ])('a redirect elsewhere is not followed: %s', async (elsewhere) => {
    const { server } = await aFlow()

    expect(
      (await server.anonymous.write('auth/oidc/oidc/auth_url', { redirect_uri: elsewhere })).body.data,
    ).toEqual({ auth_url: '' })
  })
})

describe('a provider that turns hostile', () => {
  test('responses of its token endpoint reveal no secret of ours', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config: { oidc_client_secret: 'hush+&/ü' } })
    let verifier = ''
    provider.web.routes.set('/token', async (answer, request) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const body = Buffer.concat(chunks).toString()
      verifier = new URLSearchParams(body).get('code_verifier') ?? ''
      answer
        .writeHead(500, { 'content-type': 'text/plain' })
        .end(`what was sent: ${request.headers.authorization} ${body} ${decodeURIComponent(body)}`)
    })

    const answer = await logIn(server, provider)

    const told = await operatorVerdict(server.root, 'auth/oidc', answer)
    expect(told).toMatch(/^400 .*cannot fetch token: 500/)
    expect(verifier).toMatch(/^\w{43}$/)
    for (const secret of ['hush', verifier]) expect(answer.text + told).not.toContain(secret)
  })

  test('its discovery document cannot direct the secret or key requests into a denied network', async () => {
    await using hidden = await startProvider({ '/k': jwksOf(aSigner('RS256')) })
    const inside = hidden.url.replace('127.0.0.1', '127.0.0.2')
    await using provider = await startSmallProvider({
      metadata: { token_endpoint: `${inside}/t`, userinfo_endpoint: `${inside}/u`, jwks_uri: `${inside}/k` },
    })
    await using server = await withFlow(provider, { settings: { OUTBOUND_DENY: '127.0.0.2/32' } })

    const answer = await logIn(server, provider)
    expect(await operatorVerdict(server.root, 'auth/oidc', answer)).toMatch(
      /address 127\.0\.0\.2 is in a denied network/,
    )
    expect(hidden.hits).toEqual([])
  })
})

describe('additional input of callers', () => {
  test('is refused without a configuration', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    await server.root.write('sys/auth/empty', { type: 'oidc' })

    expect(
      verdict(await server.anonymous.write('auth/empty/oidc/auth_url', { redirect_uri: redirectUri })),
    ).toBe('400 could not load configuration')
    expect(verdict(await server.anonymous.read('auth/empty/oidc/callback?state=x'))).toBe(
      '400 Vault login failed. Could not load configuration',
    )
  })

  test('numbers count as their text, an invalid token is ignored, and the response can be wrapped', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const login = await begin(server.as('nonsense'), { client_nonce: 123 })
    const query = new URLSearchParams({
      state: login.get('state') ?? '',
      code: provider.codeFor(login),
      client_nonce: '123',
    })

    const wrapped = await server
      .as('nonsense')
      .read(`${path}?${query}`, { headers: { 'X-Vault-Wrap-TTL': '60s' } })

    expect(wrapped).toMatchObject({ status: 200, body: { auth: null, wrap_info: { creation_path: path } } })
    const opened = await server.as(String(wrapped.body['wrap_info']?.['token'])).write('sys/wrapping/unwrap')
    expect(opened.body.auth).toMatchObject({ metadata: { role: 'test' } })
  })

  test('nonce is accepted, unknown fields are reported, and the query of a form is ignored', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: { oidc_response_mode: 'form_post' },
      role: { oidc_disable_confirmation: true },
    })
    const go = async (more: Record<string, string>) => {
      const login = await begin(server.anonymous)
      return callback(server.anonymous, { state: login.get('state'), code: provider.codeFor(login), ...more })
    }

    expect((await go({ nonce: 'any', id_token: '' })).body.warnings).toBeNull()
    expect((await go({ session_state: 'x', authuser: '0' })).body.warnings).toEqual([
      'Endpoint ignored these unrecognized parameters: [authuser session_state]',
    ])
    const login = await begin(server.anonymous)
    const posted = await server.anonymous.write(`${path}?state=${login.get('state')}&code=x`, {})
    expect([posted.status, posted.text.includes('Expired or missing OAuth state.')]).toEqual([400, true])
  })

  test('a redirect URI and a state of 64 KiB are refused', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { role: { allowed_redirect_uris: ['http://localhost/'] } })

    const begun = await server.anonymous.write('auth/oidc/oidc/auth_url', {
      redirect_uri: `http://localhost:1/?${'x'.repeat(65_536)}`,
    })
    expect(begun.body.data).toEqual({ auth_url: '' })
    expect((await server.anonymous.read(`${path}?state=${'x'.repeat(65_536)}`)).status).toBe(431)
  })
})
