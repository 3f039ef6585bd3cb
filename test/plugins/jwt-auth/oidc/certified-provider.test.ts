import { expect, test } from 'vitest'
import { Browser } from '../../../../simulators/openid-provider/browser.ts'
import {
  deviceDone,
  type OpenIdProvider,
  startOpenIdProvider,
} from '../../../../simulators/openid-provider/openid-provider.ts'
import { borrowServer } from '../../../support/borrowed-server.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { testOfOneServer } from '../../../support/of-one-server.ts'
import type { TestServer, TestServerOptions } from '../../../support/start-server.ts'
import { checksOf } from '../explain/checks.ts'
import { callback, formsOf, postForm, verdict } from './small-provider.ts'

const uiPage = 'https://gatehouse.example/ui/vault/auth/oidc/oidc/callback'
const formPage = 'https://gatehouse.example/v1/auth/oidc/oidc/callback'
const commandLine = 'http://localhost:8250/oidc/callback'

const client = {
  client_id: 'gatehouse',
  client_secret: 'hush+&/%:',
  redirect_uris: [uiPage, formPage],
  scope: 'openid email groups',
}
const person = (name: string) => ({
  email: `${name}@example.com`,
  email_verified: true,
  groups: ['dev', name],
})

async function withProvider(
  provider: OpenIdProvider,
  config: object = {},
  role: object = {},
  options: TestServerOptions = {},
): Promise<TestServer> {
  const server = await borrowServer(options)
  await server.root.write('sys/auth/oidc', { type: 'oidc' })
  const configured = await server.root.write('auth/oidc/config', {
    oidc_discovery_url: provider.url,
    oidc_client_id: client.client_id,
    oidc_client_secret: client.client_secret,
    default_role: 'people',
    ...config,
  })
  const written = await server.root.write('auth/oidc/role/people', {
    user_claim: 'email',
    groups_claim: 'groups',
    oidc_scopes: ['email', 'groups'],
    bound_claims: { email_verified: true },
    claim_mappings: { sub: 'subject' },
    allowed_redirect_uris: [uiPage, commandLine],
    ...role,
  })
  expect([configured.status, written.status]).toEqual([204, 204])
  return server
}

async function authUrl(server: TestServer, given: object): Promise<string> {
  const answer = await server.anonymous.write('auth/oidc/oidc/auth_url', given)
  expect(answer.body.warnings).toBeNull()
  return String(answer.body.data?.['auth_url'])
}

test.each(['RS256', 'ES256'] as const)(
  'a person signs in through the pages of a certified provider: %s',
  async (algorithm) => {
    await using provider = await startOpenIdProvider({ clients: [client], person, algorithm })
    await using server = await withProvider(provider, { jwt_supported_algs: [algorithm] }, { max_age: '1h' })
    await server.root.write('identity/group', { name: 'devs', type: 'external', policies: 'deploy' })
    const group = await server.root.read('identity/group/name/devs')
    const mounts = await server.root.read('sys/auth')
    await server.root.write('identity/group-alias', {
      name: 'dev',
      canonical_id: group.body.data?.['id'],
      mount_accessor: mounts.body.data?.['oidc/']?.['accessor'],
    })

    const start = await authUrl(server, { redirect_uri: uiPage, client_nonce: 'mine' })
    const { url } = await new Browser().visit(start, { login: 'ada', password: 'any' })
    const back = { state: url.searchParams.get('state'), code: url.searchParams.get('code') }
    const answer = await callback(server.anonymous, { ...back, client_nonce: 'mine' })

    expect(url.href.startsWith(uiPage)).toBe(true)
    expect(verdict(answer)).toBe('ok')
    expect(answer.body.auth).toMatchObject({
      metadata: { role: 'people', subject: 'ada' },
      identity_policies: ['deploy'],
    })
    const own = await server.as(String(answer.body.auth?.['client_token'])).read('auth/token/lookup-self')
    expect(own.body.data).toMatchObject({
      display_name: 'oidc-ada@example.com',
      identity_policies: ['deploy'],
    })
    expect(verdict(await callback(server.anonymous, { ...back, client_nonce: 'mine' }))).toMatch(
      /Expired or missing OAuth state/,
    )
  },
)

test('a person signs in with a device at a certified provider, while the client polls', async () => {
  const grant_types = ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code']
  await using provider = await startOpenIdProvider({
    clients: [{ ...client, grant_types, token_endpoint_auth_method: 'client_secret_post' }],
    person,
  })
  const role = { callback_mode: 'device', poll_interval: 1, oauth2_metadata: 'id_token' }
  const clock = new FakeClock(Date.now())
  await using server = await withProvider(provider, {}, role, { clock })
  const begun = await server.anonymous.write('auth/oidc/oidc/auth_url', { client_nonce: 'mine' })
  const { state = null, auth_url } = begun.body.data ?? {}
  const poll = () => server.anonymous.write('auth/oidc/oidc/poll', { state, client_nonce: 'mine' })

  const early = await poll()
  // the last page of the provider has no form
  const signedIn = new Browser().visit(String(auth_url), { login: 'ada', password: 'any' })
  await expect(signedIn).rejects.toThrow(deviceDone)
  clock.advance(1)
  const answer = await poll()

  expect(verdict(early)).toBe('400 authorization_pending')
  expect(verdict(answer)).toBe('ok')
  expect(answer.body.auth?.['metadata']).toMatchObject({
    subject: 'ada',
    oauth2_id_token: expect.stringMatching(/^ey/),
  })
})

test('a code that was used at a certified provider is refused', async () => {
  await using provider = await startOpenIdProvider({ clients: [client], person })
  await using server = await withProvider(provider)
  const browser = new Browser()
  const signIn = async () =>
    (await browser.visit(await authUrl(server, { redirect_uri: uiPage }), { login: 'ada', password: 'any' }))
      .url.searchParams
  const [one, two] = [await signIn(), await signIn()]

  expect(verdict(await callback(server.anonymous, { state: one.get('state'), code: one.get('code') }))).toBe(
    'ok',
  )
  expect(
    verdict(await callback(server.anonymous, { state: two.get('state'), code: one.get('code') })),
  ).toMatch(/oauth2: \\"invalid_grant\\"/)
  // a code belongs to its login: PKCE
  const [three, four] = [await signIn(), await signIn()]
  expect(
    verdict(await callback(server.anonymous, { state: three.get('state'), code: four.get('code') })),
  ).toMatch(/oauth2: \\"invalid_grant\\"/)
})

test('a command line logs in on any port of its own machine, without a secret', async () => {
  const native = {
    client_id: 'cli',
    token_endpoint_auth_method: 'none',
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1/oidc/callback'],
  }
  await using provider = await startOpenIdProvider({ clients: [{ ...native, scope: client.scope }], person })
  const config = { oidc_client_id: 'cli', oidc_client_secret: '', oidc_public_client: true }
  await using server = await withProvider(provider, config, {
    allowed_redirect_uris: 'http://127.0.0.1:8250/oidc/callback',
  })

  const start = await authUrl(server, { redirect_uri: 'http://127.0.0.1:41999/oidc/callback' })
  const { url } = await new Browser().visit(start, { login: 'grace', password: 'any' })

  expect(url.host).toBe('127.0.0.1:41999')
  const answer = await callback(server.anonymous, {
    state: url.searchParams.get('state'),
    code: url.searchParams.get('code'),
  })
  expect(answer.body.auth?.['metadata']).toEqual({ role: 'people', subject: 'grace' })
})

test('an ID token that the browser posts for the provider logs in', async () => {
  const implicit = { response_types: ['id_token'], grant_types: ['implicit'] }
  await using provider = await startOpenIdProvider({ clients: [{ ...client, ...implicit }], person })
  const config = { oidc_response_mode: 'form_post', oidc_response_types: ['id_token'] }
  // without a code there is no userinfo: only what the ID token itself has
  const role = { user_claim: 'sub', groups_claim: '', bound_claims: {}, oidc_scopes: [] }
  await using server = await withProvider(provider, config, role)

  const start = await authUrl(server, { redirect_uri: uiPage })
  const { url, posted } = await new Browser().visit(start, { login: 'ada', password: 'any' })
  const asked = await postForm(server.anonymous, Object.fromEntries(posted ?? []), url.pathname)
  const page = await postForm(server.anonymous, formsOf(asked)[0] ?? {}, url.pathname)

  expect(url.href).toBe(formPage)
  expect(page).toMatchObject({
    status: 200,
    text: expect.stringContaining('Completing the sign-in process...'),
  })
  expect(verdict(await callback(server.anonymous, { state: posted?.get('state'), code: 'no_code' }))).toBe(
    'ok',
  )
})

testOfOneServer(
  'a refusal of a certified provider reaches the caller as a login without a code',
  async () => {
    await using provider = await startOpenIdProvider({ clients: [client], person })
    await using server = await withProvider(provider, {}, { oidc_scopes: ['no-such-scope'] })

    const start = new URL(await authUrl(server, { redirect_uri: uiPage }))
    start.searchParams.set('prompt', 'none')
    const { url } = await new Browser().visit(start.href, {})

    expect(url.searchParams.get('error')).toBe('login_required')
    expect(verdict(await callback(server.anonymous, Object.fromEntries(url.searchParams)))).toBe(
      '400 Vault login failed. login_required',
    )
    const { failures } =
      (await server.root.read('auth/oidc/failures?reason=provider_refused')).body.data ?? {}
    expect(failures).toMatchObject([
      { expected: ['code'], seen: ['login_required', expect.stringMatching(/End-User/i)] },
    ])
  },
)

testOfOneServer(
  "the operator sees a certified provider's response to a wrong secret, for each way of sending it",
  async () => {
    await using provider = await startOpenIdProvider({ clients: [client], person })
    await using server = await withProvider(provider, { oidc_client_secret: 'another one' })
    const { url } = await new Browser().visit(await authUrl(server, { redirect_uri: uiPage }), {
      login: 'ada',
      password: 'any',
    })

    const refused = await callback(server.anonymous, {
      state: url.searchParams.get('state'),
      code: url.searchParams.get('code'),
    })

    const { data } = (await server.root.write('auth/oidc/explain', { request_id: refused.body.request_id }))
      .body
    expect(checksOf(data).find(({ verdict }) => verdict === 'fail')).toMatchObject({
      reason: 'exchange_failed',
      expected: [`client_id ${client.client_id}`, `redirect_uri ${uiPage}`],
      seen: [
        expect.stringMatching(/^client_secret_basic: .*invalid_client/),
        expect.stringMatching(/^client_secret_post: .*invalid_client/),
      ],
    })
    expect(JSON.stringify(data)).not.toContain('another one')
  },
)
