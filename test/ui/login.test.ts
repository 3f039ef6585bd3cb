import { afterAll, beforeAll, expect, test } from 'vitest'
import { startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, logIn, openAsNobody } from './pages.ts'

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
  await server.root.write('sys/policies/acl/reader', {
    policy: `
      path "team/*" { capabilities = ["read", "create"] }
      path "team/shared/board" { capabilities = ["read"] }
      path "identity/group/id/*" { capabilities = ["read"] }`,
  })
})
afterAll(() => server[Symbol.asyncDispose]())

test('a person logs in with a token, sees who they are, and logs out, which revokes the token', async () => {
  const { body } = await server.root.write('auth/people/login/ada', { password: ' lovelace 1815 ' })
  const [token, entity] = [String(body.auth?.client_token), body.auth?.entity_id]
  await server.root.write('identity/group', { name: 'builders', member_entity_ids: [entity] })
  await using opened = await openAsNobody(ui())
  const { page, complaints, requested } = opened
  await page.getByRole('tab', { name: 'Token' }).waitFor()
  await expectAccessible(page)

  await logIn(page, token)
  const home = page.getByRole('main')
  await home.getByText('people-ada').waitFor()
  await home.getByText('The rules of my policies').click()
  const team = home.locator('.reach details').filter({ hasText: 'team/' })
  await team.getByText('create, read').waitFor()
  await team.getByText('shared/board').waitFor()
  await home.getByText('builders').waitFor()
  await expectAccessible(page)
  await page.getByRole('textbox', { name: 'Filter paths' }).fill('board')
  await team.getByText('create, read').waitFor({ state: 'detached' })
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
  await using opened = await openAsNobody(ui())
  const { page } = opened
  for (const [tab, path] of [
    ['Staff', undefined],
    ['Other', 'hidden'],
  ] as const) {
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
    await page.getByRole('button', { name: 'Log out' }).click()
  }
})

test('a machine’s role id and secret id, and a pasted JWT, log in as well', async () => {
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  await server.root.write('sys/auth/jobs', { type: 'approle' })
  await server.root.write('auth/jobs/role/nightly', { token_policies: 'reader' })
  const roleId = await server.root.read('auth/jobs/role/nightly/role-id')
  const secretId = await server.root.write('auth/jobs/role/nightly/secret-id')
  await server.root.write('sys/auth/ci', { type: 'jwt' })
  await server.root.write('auth/ci/config', { oidc_discovery_url: issuer.url })
  await server.root.write('auth/ci/role/deploy', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gatehouse',
  })
  const jwt = await issuer.signPipeline('github', { aud: 'gatehouse', sub: 'build-7' })
  const logins = [
    [
      'approle',
      'jobs',
      { 'Role id': roleId.body.data?.['role_id'], 'Secret id': secretId.body.data?.['secret_id'] },
    ],
    ['jwt', 'ci', { Role: 'deploy', JWT: jwt }],
  ] as const
  await using opened = await openAsNobody(ui())
  const { page, requested } = opened
  for (const [method, path, fields] of logins) {
    await page.getByRole('tab', { name: 'Other' }).click()
    await page.getByRole('combobox', { name: 'Method' }).selectOption(method)
    await page.getByRole('textbox', { name: 'Mount path' }).fill(path)
    for (const [name, value] of Object.entries(fields))
      await page.getByRole('textbox', { name }).fill(String(value))
    await page.getByRole('button', { name: 'Log in', exact: true }).click()

    await page.getByRole('main').getByText(`auth/${path}/login`, { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
  }
  expect(requested.join('\n')).not.toContain(jwt)
})

test("a refused login shows the server's own words and the request id", async () => {
  await using opened = await openAsNobody(ui())
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
