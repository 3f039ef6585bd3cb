import { expect, test } from 'vitest'
import { Browser } from '../../simulators/openid-provider/browser.ts'
import { type OpenIdProvider, startOpenIdProvider } from '../../simulators/openid-provider/openid-provider.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { commandLineLogin } from './command-line.ts'

const client = { client_id: 'gatehouse', client_secret: 'hush', application_type: 'native', scope: 'openid' }
/**
 * A provider accepts any port of the person's own machine; the role names the command line's default port.
 */
const registered = ['http://localhost/oidc/callback', 'http://127.0.0.1/oidc/callback']
const allowed = ['http://localhost:8250/oidc/callback', 'http://127.0.0.1:8250/oidc/callback']

async function withRole(provider: OpenIdProvider, config: object = {}): Promise<TestServer> {
  const server = await startTestServer()
  await server.root.write('sys/auth/oidc', { type: 'oidc' })
  await server.root.write('auth/oidc/config', {
    oidc_discovery_url: provider.url,
    oidc_client_id: client.client_id,
    oidc_client_secret: client.client_secret,
    default_role: 'people',
    ...config,
  })
  await server.root.write('auth/oidc/role/people', {
    user_claim: 'sub',
    allowed_redirect_uris: allowed,
    token_policies: 'dev',
  })
  return server
}

/** Signs in as Ada and follows the provider's redirect back. */
async function signIn(url: string): Promise<void> {
  const { url: back, posted } = await new Browser().visit(url, { login: 'ada', password: 'any' })
  const answer = await fetch(back, posted === undefined ? {} : { method: 'POST', body: posted })
  expect(await answer.text()).toBe('done')
}

const expected = { auth: { token_policies: ['default', 'dev'], metadata: { role: 'people' } } }

test.each(['localhost', '127.0.0.1'] as const)('login -method=oidc works with a code: %s', async (host) => {
  await using provider = await startOpenIdProvider({ clients: [{ ...client, redirect_uris: registered }] })
  await using server = await withRole(provider)

  const login = await commandLineLogin({
    server: server.url,
    mount: 'oidc',
    role: '',
    host,
    openBrowser: signIn,
  })

  expect(login).toMatchObject({ status: 200, body: expected })
})

test('login -method=oidc works with a form that contains an ID token', async () => {
  const implicit = { response_types: ['id_token'], grant_types: ['implicit'], redirect_uris: registered }
  await using provider = await startOpenIdProvider({ clients: [{ ...client, ...implicit }] })
  await using server = await withRole(provider, {
    oidc_response_mode: 'form_post',
    oidc_response_types: 'id_token',
  })

  const login = await commandLineLogin({
    server: server.url,
    mount: 'oidc',
    role: 'people',
    host: 'localhost',
    openBrowser: signIn,
  })

  expect(login).toMatchObject({ status: 200, body: expected })
})

test("somebody else's browser cannot finish the login without the listener's nonce", async () => {
  await using provider = await startOpenIdProvider({ clients: [{ ...client, redirect_uris: registered }] })
  await using server = await withRole(provider)
  let stolen: unknown
  const steal = async (url: string) => {
    const { url: back } = await new Browser().visit(url, { login: 'ada', password: 'any' })
    stolen = (await server.anonymous.read(`auth/oidc/oidc/callback${back.search}`)).body.errors
    await fetch(back)
  }

  const login = await commandLineLogin({
    server: server.url,
    mount: 'oidc',
    role: 'people',
    host: 'localhost',
    openBrowser: steal,
  })

  expect(stolen).toEqual(['invalid client_nonce'])
  expect(login).toMatchObject({
    status: 400,
    body: { errors: ['Vault login failed. Expired or missing OAuth state.'] },
  })
})

test('an unknown role fails before a browser opens', async () => {
  await using provider = await startOpenIdProvider({ clients: [{ ...client, redirect_uris: registered }] })
  await using server = await withRole(provider)
  await server.root.write('auth/oidc/role/people', {
    allowed_redirect_uris: 'https://gatehouse.example/callback',
  })

  const login = commandLineLogin({
    server: server.url,
    mount: 'oidc',
    role: 'people',
    host: 'localhost',
    openBrowser: signIn,
  })

  await expect(login).rejects.toThrow('Unable to authorize role people')
})
