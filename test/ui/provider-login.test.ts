import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OpenIdProvider, startOpenIdProvider } from '../../simulators/openid-provider/openid-provider.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, openAsNobody, openPage } from './pages.ts'

const markup = '<img src=x onerror="window.ran = 1">'

let server: TestServer
let provider: OpenIdProvider

beforeAll(async () => {
  server = await startTestServer()
  await server.root.write('sys/namespaces/team')
  const callback = `${server.url}/ui/vault/auth/oidc/oidc/callback`
  const callbacks = [callback, `${callback}?namespace=team`]
  const client = { client_id: 'gatehouse', client_secret: 'hush', scope: 'openid' }
  provider = await startOpenIdProvider({
    clients: [{ ...client, application_type: 'native', redirect_uris: callbacks }],
  })
  for (const namespace of ['', 'team/']) {
    await server.root.write(`${namespace}sys/auth/oidc`, {
      type: 'oidc',
      config: { listing_visibility: 'unauth' },
    })
    const configured = await server.root.write(`${namespace}auth/oidc/config`, {
      oidc_discovery_url: provider.url,
      oidc_client_id: client.client_id,
      oidc_client_secret: client.client_secret,
      default_role: 'people',
      namespace_in_state: false,
    })
    expect(configured.status, configured.text).toBe(204)
    const role = { user_claim: 'sub', allowed_redirect_uris: callbacks }
    await server.root.write(`${namespace}auth/oidc/role/people`, role)
    await server.root.write(`${namespace}auth/oidc/role/bound`, { ...role, bound_claims: { sub: markup } })
    await server.root.write(`${namespace}auth/oidc/role/elsewhere`, {
      ...role,
      allowed_redirect_uris: 'https://elsewhere.example.com/',
    })
  }
  await server.root.write('sys/auth/jwt-only', { type: 'jwt', config: { listing_visibility: 'unauth' } })
  await server.root.write('auth/jwt-only/config', { oidc_discovery_url: provider.url })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})

/** What a person does on the provider's pages: a name and a password, and then consent. */
async function signIn(page: Page, name: string): Promise<void> {
  await page.fill('input[name=login]', name)
  await page.fill('input[name=password]', 'any')
  await page.click('button[type=submit]')
  await page.waitForSelector('input[name=prompt][value=consent]', { state: 'attached' })
  await page.click('button[type=submit]')
}

const providerTab = (page: Page) => page.getByRole('tab', { name: 'Single sign-on' }).click()
const begin = (page: Page) => page.getByRole('button', { name: 'Continue with the provider' }).click()

test('a login through a provider stays in the tab, and keeps namespace and destination', async () => {
  await using opened = await openAsNobody(`${server.url}/ui/?namespace=team#/home?filter=x`)
  const { page, complaints, requested } = opened
  await providerTab(page)

  await begin(page)
  await signIn(page, 'ada')
  await page.getByRole('heading', { name: 'Who I am' }).waitFor()

  expect(page.url()).toBe(`${server.url}/ui/?namespace=team#/home?filter=x`)
  await page.getByRole('banner').getByText('team/').waitFor()
  const icon = await page.evaluate<string>('document.querySelector("link[rel=icon]").href')
  expect(icon.startsWith(`${server.url}/ui/assets/`), icon).toBe(true)
  expect(page.context().pages()).toHaveLength(1)
  const token = await page.evaluate<string>('sessionStorage.getItem("gatehouse.token")')
  expect(requested.join('\n')).not.toContain(token)
  expect(await page.evaluate('Object.keys(sessionStorage)')).toEqual(['gatehouse.token'])
  expect(complaints.filter((text) => text.includes(server.url))).toEqual([])
})

test('a provider that posts a form instead leads back to the same tab', async () => {
  const posted = `${server.url}/v1/auth/posting/oidc/callback`
  const native = {
    application_type: 'native',
    scope: 'openid',
    redirect_uris: [posted],
    response_types: ['id_token'],
    grant_types: ['implicit'],
  }
  await using posting = await startOpenIdProvider({
    clients: [{ client_id: 'gatehouse', client_secret: 'hush', ...native }],
  })
  await server.root.write('sys/auth/posting', { type: 'oidc' })
  await server.root.write('auth/posting/config', {
    oidc_discovery_url: posting.url,
    oidc_client_id: 'gatehouse',
    oidc_client_secret: 'hush',
    default_role: 'people',
    oidc_response_mode: 'form_post',
    oidc_response_types: ['id_token'],
  })
  await server.root.write('auth/posting/role/people', {
    user_claim: 'sub',
    allowed_redirect_uris: `${server.url}/ui/vault/auth/posting/oidc/callback`,
  })
  await using opened = await openAsNobody(`${server.url}/ui/#/home?filter=x`)
  const { page, complaints } = opened
  await page.getByRole('tab', { name: 'Other' }).click()
  await page.getByRole('combobox', { name: 'Method' }).selectOption('oidc')
  await page.getByRole('textbox', { name: 'Mount path' }).fill('posting')
  await begin(page)
  await signIn(page, 'ada')
  await page.getByRole('button', { name: 'Confirm' }).click()
  await page.getByRole('heading', { name: 'Who I am' }).waitFor()

  expect(page.url()).toBe(`${server.url}/ui/#/home?filter=x`)
  expect(await page.evaluate('Object.keys(sessionStorage)')).toEqual(['gatehouse.token'])
  expect(complaints.filter((text) => text.includes(server.url))).toEqual([])
})

test('a role that refuses the person is explained, with another try', async () => {
  await using opened = await openAsNobody(`${server.url}/ui/`)
  const { page } = opened
  await providerTab(page)
  await page.getByRole('textbox', { name: 'Role' }).fill('bound')

  await begin(page)
  await signIn(page, 'grace')
  await page.getByText('The provider knows you, but the role does not accept this login.').waitFor()

  await page.getByRole('alert').getByText('error validating claims').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('textbox', { name: 'Role' }).waitFor()
  expect(await page.evaluate('typeof window.ran')).toBe('undefined')
})

test.each([
  ['a used or unknown state', 'state=st_unknown&code=a', 'Each login works once'],
  [
    'an error of the provider',
    `state=st_a&error=access_denied&error_description=${encodeURIComponent(markup)}`,
    'have refused the login',
  ],
])('%s is explained in words', async (_, query, words) => {
  await using opened = await openAsNobody(`${server.url}/ui/`)
  const { page } = opened
  const state = new URLSearchParams(query).get('state')
  const begun = { mount: 'oidc', role: '', namespace: '', nonce: 'n', destination: '', state }
  await page.evaluate(`sessionStorage.setItem('gatehouse.login', ${JSON.stringify(JSON.stringify(begun))})`)
  await page.goto(`${server.url}/ui/vault/auth/oidc/oidc/callback?${query}`)

  await page.getByText(words).waitFor()

  expect(new URL(page.url()).pathname).toBe('/ui/')
  expect(page.url()).not.toContain('state')
  expect(await page.evaluate('typeof window.ran')).toBe('undefined')
})

test('a link that ends the login of somebody else logs nobody in', async () => {
  const redirect_uri = `${server.url}/ui/vault/auth/oidc/oidc/callback`
  const begun = await server.root.write('auth/oidc/oidc/auth_url', { redirect_uri })
  await using theirs = await openPage(`${server.url}/ui/`)
  await theirs.page.route(`${redirect_uri}*`, (route) => route.abort())
  const [back] = await Promise.all([
    theirs.page.waitForRequest(`${redirect_uri}*`),
    theirs.page.goto(String(begun.body.data?.['auth_url'])).then(() => signIn(theirs.page, 'mallory')),
  ])

  await using opened = await openAsNobody(back.url())
  const { page, requested } = opened
  await page.getByText('The login was begun in another browser or tab.').waitFor()

  expect(await page.evaluate('sessionStorage.length')).toBe(0)
  expect(requested.join()).not.toContain('/v1/auth/oidc/oidc/callback')
})

test('a login that cannot begin shows the cause, and a mount without a provider takes a JWT', async () => {
  await using opened = await openAsNobody(`${server.url}/ui/`)
  const { page } = opened
  await providerTab(page)
  await page.getByRole('textbox', { name: 'Role' }).fill('elsewhere')
  await begin(page)
  await page.getByRole('alert').getByText('The server cannot begin this login.').waitFor()

  await page.getByRole('tab', { name: 'jwt-only' }).click()
  await page.getByRole('textbox', { name: 'Role' }).fill('nobody')
  await begin(page)
  await page.getByRole('textbox', { name: 'JWT' }).fill('not.a.jwt')
  await page.getByRole('textbox', { name: 'Role' }).fill('nobody')
  await page.getByRole('button', { name: 'Log in', exact: true }).click()

  await page.getByRole('alert').getByText('role "nobody" could not be found').waitFor()
})
