import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, logIn, pagesOfFile } from './pages.ts'

const openPage = pagesOfFile()

let server: TestServer
const ui = () => `${server.url}/ui/`

beforeAll(async () => {
  server = await startTestServer()
  const shown = { config: { listing_visibility: 'unauth' } }
  await server.root.write('sys/auth/people', { type: 'userpass', description: 'Staff', ...shown })
  await server.root.write('sys/auth/hidden', { type: 'userpass' })
  for (const mount of ['people', 'hidden'])
    await server.root.write(`auth/${mount}/users/ada`, {
      password: ' lovelace 1815 ',
      token_policies: 'reader',
    })
  await server.root.write('sys/policies/acl/reader', { policy: 'path "team/*" { capabilities = ["read"] }' })
})
afterAll(() => server[Symbol.asyncDispose]())

test('a person logs in with a token, sees who they are, and logs out, which revokes the token', async () => {
  const made = await server.root.write('auth/token/create', { policies: ['reader'], display_name: 'ada' })
  const token = String(made.body.auth?.client_token)
  await using opened = await openPage(ui())
  const { page, complaints, requested } = opened
  await page.getByRole('tab', { name: 'Token' }).waitFor()
  await expectAccessible(page)

  await logIn(page, token)
  const home = page.getByRole('main')
  await home.getByText('token-ada').waitFor()
  await home.getByRole('cell', { name: 'team/' }).waitFor()
  await expectAccessible(page)
  const kept = await page.evaluate('[JSON.stringify(localStorage), document.cookie, document.body.innerHTML]')
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByText('You are logged out. The token is revoked.').waitFor()

  expect(JSON.stringify([kept, page.url(), requested])).not.toContain(token)
  expect(await page.evaluate('JSON.stringify(sessionStorage)')).toBe('{}')
  expect((await server.as(token).read('auth/token/lookup-self')).status).toBe(403)
  expect(requested.filter((line) => !line.startsWith(`${server.url}/`))).toEqual([])
  expect(complaints).toEqual([])
})

test('a mount that is shown to everyone has a tab, and a person types the path of any other', async () => {
  for (const [tab, path] of [
    ['Staff', undefined],
    ['Other', 'hidden'],
  ] as const) {
    await using opened = await openPage(ui())
    const { page } = opened
    await page.getByRole('tab', { name: tab }).click()
    if (path !== undefined) {
      await page.getByRole('combobox', { name: 'Method' }).selectOption('userpass')
      await page.getByRole('textbox', { name: 'Mount path' }).fill(path)
    }

    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('ada')
    await page.getByRole('textbox', { name: 'Password' }).fill(' lovelace 1815 ')
    await page.getByRole('button', { name: 'Log in' }).click()

    await page
      .getByRole('main')
      .getByText(`${path ?? 'people'}-ada`)
      .waitFor()
  }
})

test("a refused login shows the server's own words and the request id", async () => {
  await using opened = await openPage(ui())
  const { page } = opened
  await page.getByRole('tab', { name: 'Staff' }).click()
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('ada')
  await page.getByRole('textbox', { name: 'Password' }).fill('wrong')

  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.url().includes('/login/ada')),
    page.getByRole('button', { name: 'Log in' }).click(),
  ])

  const alert = page.getByRole('alert')
  await alert.getByText('invalid username or password').waitFor()
  await alert.getByText(answer.headers()['x-gatehouse-request-id'] ?? 'none').waitFor()
  await expectAccessible(page)
})
