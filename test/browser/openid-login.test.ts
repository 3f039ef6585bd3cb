import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { startOpenIdProvider } from '../../simulators/openid-provider/openid-provider.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { openedBrowser } from './browser.ts'

const client = { client_id: 'gatehouse', client_secret: 'hush', scope: 'openid' }
const formPost = { oidc_response_mode: 'form_post', oidc_response_types: ['id_token'] }

/** A server whose port is known before its provider knows the client. */
async function configure(server: TestServer, discoveryUrl: string, config: object): Promise<void> {
  await server.root.write('sys/auth/oidc', { type: 'oidc' })
  const discovery = {
    oidc_discovery_url: discoveryUrl,
    oidc_client_id: client.client_id,
    oidc_client_secret: client.client_secret,
  }
  const configured = await server.root.write('auth/oidc/config', {
    ...discovery,
    default_role: 'people',
    ...config,
  })
  expect(configured.status, configured.text).toBe(204)
  await server.root.write('auth/oidc/role/people', {
    user_claim: 'sub',
    allowed_redirect_uris: redirectUri(server),
  })
}

const redirectUri = (server: TestServer) => `${server.url}/v1/auth/oidc/oidc/callback`

async function authUrl(server: TestServer): Promise<string> {
  const answer = await server.anonymous.write('auth/oidc/oidc/auth_url', {
    redirect_uri: redirectUri(server),
  })
  return String(answer.body.data?.['auth_url'])
}

/** What a person does on the provider's pages: a name and a password, and then consent. */
async function signIn(page: Page, name: string): Promise<void> {
  await page.fill('input[name=login]', name)
  await page.fill('input[name=password]', 'any')
  await page.click('button[type=submit]')
  await page.waitForSelector('input[name=prompt][value=consent]', { state: 'attached' })
  await page.click('button[type=submit]')
}

test('in a separate window, the provider posts a form, and the resulting page tells the window that opened it', async () => {
  const browser = await openedBrowser()
  await using server = await startTestServer()
  const native = {
    application_type: 'native',
    response_types: ['id_token'],
    grant_types: ['implicit'],
    redirect_uris: [redirectUri(server)],
  }
  await using provider = await startOpenIdProvider({ clients: [{ ...client, ...native }] })
  await configure(server, provider.url, formPost)
  await using page = await browser.newPage()
  const complaints: string[] = []
  await page.goto(`${server.url}/v1/sys/seal-status`)
  await page.evaluate(
    'void (window.heard = new Promise((heard) => addEventListener("message", ({ data, origin }) => heard({ data, origin }))))',
  )

  const opened = page.waitForEvent('popup')
  await page.evaluate(`void window.open(${JSON.stringify(await authUrl(server))})`)
  const popup = await opened
  popup.on('console', (message) => complaints.push(message.text()))
  await signIn(popup, 'ada')
  await popup.waitForSelector('#confirm')
  const asked = await popup.locator('body').textContent()
  expect(
    await Promise.race([
      page.evaluate('window.heard'),
      page.evaluate('new Promise((done) => setTimeout(done, 0, "nothing yet"))'),
    ]),
  ).toBe('nothing yet')
  await popup.click('#confirm')
  const heard = await page.evaluate('window.heard')

  expect(heard).toEqual({
    data: {
      source: 'oidc-callback',
      path: 'oidc',
      code: 'no_code',
      state: expect.stringMatching(/^st_\w{20}$/),
    },
    origin: server.url,
  })
  expect(asked).toContain('A login is in progress')
  expect(await popup.title()).toBe('Complete sign-in process')
  expect(await popup.locator('p').textContent()).toBe('Completing the sign-in process...')
  const finish = `window.heard.then(({ data }) => fetch('/v1/auth/oidc/oidc/callback?state=' + data.state + '&code=' + data.code)).then((answer) => answer.json())`
  expect(await page.evaluate(finish)).toMatchObject({
    auth: { metadata: { role: 'people' }, policies: ['default'] },
  })
  expect(complaints.filter((text) => text.includes('Content Security Policy'))).toEqual([])
})

test('a redirect with a code logs in', async () => {
  const browser = await openedBrowser()
  await using server = await startTestServer()
  await using provider = await startOpenIdProvider({
    clients: [{ ...client, application_type: 'native', redirect_uris: [redirectUri(server)] }],
  })
  await configure(server, provider.url, {})
  await using page = await browser.newPage()

  await page.goto(await authUrl(server))
  await signIn(page, 'grace')
  await page.waitForURL(`${redirectUri(server)}?**`)

  const answer: unknown = JSON.parse((await page.locator('pre').textContent()) ?? '')
  expect(answer).toMatchObject({ auth: { metadata: { role: 'people' }, token_policies: ['default'] } })
})

/** A server, and a provider whose responses browsers post to it. */
async function postingFlow(held: AsyncDisposableStack): Promise<TestServer> {
  const server = held.use(await startTestServer())
  const native = {
    application_type: 'native',
    response_types: ['id_token'],
    grant_types: ['implicit'],
    redirect_uris: [redirectUri(server)],
  }
  const provider = held.use(await startOpenIdProvider({ clients: [{ ...client, ...native }] }))
  await configure(server, provider.url, formPost)
  return server
}

test("a person who follows somebody else's link sees who asks and refuses, and nobody gets a token", async () => {
  await using held = new AsyncDisposableStack()
  const browser = await openedBrowser()
  const server = await postingFlow(held)
  const begun = await server.anonymous.write('auth/oidc/oidc/auth_url', {
    redirect_uri: redirectUri(server),
    client_nonce: 'of the attacker',
  })
  const link = String(begun.body.data?.['auth_url'])
  const state = new URL(link).searchParams.get('state') ?? ''
  const poll = () =>
    server.anonymous.read(`auth/oidc/oidc/callback?state=${state}&code=no_code&client_nonce=of+the+attacker`)
  await using page = await browser.newPage()
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))

  await page.goto(link)
  await signIn(page, 'ada')
  await page.waitForSelector('#confirm')
  const told = await page.locator('dl').textContent()
  const whileOpen = await poll()
  await page.getByRole('button', { name: 'Refuse' }).click()
  await page.waitForSelector('h1:has-text("The login was refused")')

  for (const part of ['people', 'auth/oidc/', '127.0.0.1']) expect(told).toContain(part)
  expect(whileOpen.body.errors).toEqual([
    'Vault login failed. The login waits for a confirmation in the browser.',
  ])
  expect((await poll()).body.errors).toEqual(['Vault login failed. Expired or missing OAuth state.'])
  const kept = await server.root.read('auth/oidc/failures?reason=confirmation_denied')
  expect(kept.body.data?.['failures']).toMatchObject([{ role: 'people', check: 'confirmation' }])
  expect(complaints.filter((text) => text.includes('Content Security Policy'))).toEqual([])
})

test('no other page can frame the question, and its button is disabled for a moment whenever the window gets the focus', async () => {
  await using held = new AsyncDisposableStack()
  const browser = await openedBrowser()
  const server = await postingFlow(held)
  await using page = await browser.newPage()
  await page.goto(await authUrl(server))
  await signIn(page, 'ada')
  await page.waitForSelector('#confirm:enabled')

  const whenFocused = await page.evaluate(
    '(dispatchEvent(new Event("focus")), document.getElementById("confirm").disabled)',
  )
  await page.waitForSelector('#confirm:enabled')
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.request().method() === 'POST'),
    page.click('#confirm'),
  ])

  expect(whenFocused).toBe(true)
  expect(answer.request().headers()['origin']).toBe(server.url)
  expect(answer.headers()).toMatchObject({
    'x-frame-options': 'DENY',
    'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
  })
  expect(await page.title()).toBe('Complete sign-in process')
})

test('in mode `direct`, only a click on the page that is no frame of another signs in, and the client gets the token', async () => {
  const browser = await openedBrowser()
  await using server = await startTestServer()
  await using provider = await startOpenIdProvider({
    clients: [{ ...client, application_type: 'native', redirect_uris: [redirectUri(server)] }],
  })
  await configure(server, provider.url, {})
  await server.root.write('auth/oidc/role/people', { callback_mode: 'direct' })
  const begun = await server.anonymous.write('auth/oidc/oidc/auth_url', {
    redirect_uri: redirectUri(server),
    client_nonce: 'of the client',
  })
  const { auth_url, state } = begun.body.data ?? {}
  const poll = () =>
    server.anonymous.write('auth/oidc/oidc/poll', { state: String(state), client_nonce: 'of the client' })
  await using page = await browser.newPage()
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))

  await page.goto(String(auth_url))
  await signIn(page, 'ada')
  await page.waitForSelector('#confirm:enabled')
  await using other = await browser.newPage()
  await other.setContent(`<iframe src="${page.url().replaceAll('&', '&amp;')}"></iframe>`)
  const framed = await other.frameLocator('iframe').locator('#confirm').count()
  await page.reload()
  await page.goto(`${page.url()}&confirmation=1`)
  const whileOpen = await poll()
  await page.click('#confirm')
  await page.waitForSelector('h1:has-text("Signed in")')

  expect(framed).toBe(0)
  expect(whileOpen.body.errors).toEqual(['authorization_pending'])
  expect((await poll()).body.auth).toMatchObject({ metadata: { role: 'people' } })
  expect((await poll()).body.errors).toEqual(['Vault login failed. Expired or missing OAuth state.'])
  expect(complaints.filter((text) => text.includes('Content Security Policy'))).toEqual([])
})
