import { afterAll, beforeAll, expect, test } from 'vitest'
import { startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import { aLoginMount } from '../plugins/identity/login-mount.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { openAs, openPage } from './pages.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const open = (place: string, token = 'root') => openAs(`${server.url}/ui/#/${place}`, token)

test('a policy that is saved is no longer called new, and the root policy says what it is', async () => {
  await using opened = await open('access/policies/fresh')
  const { page } = opened
  const note = page.getByText('There is no policy with this name yet')
  await note.waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved', { exact: true }).first().waitFor()
  expect(await note.count()).toBe(0)

  await page.goto(`${server.url}/ui/#/access/policies/root`)
  await page.getByText('This policy allows everything.').waitFor()
})

test('a JWT mount says that it is not configured, and that its keys wait for the first login', async () => {
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  await server.root.write('sys/auth/fresh', { type: 'jwt' })
  await using opened = await open('logins/fresh/status')
  const { page } = opened
  await page.getByRole('heading', { name: 'Not configured yet' }).waitFor()
  await page.getByRole('link', { name: 'Configure' }).first().waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)

  await server.root.write('auth/fresh/config', { jwks_url: issuer.jwksUrl })
  await page.reload()
  await page
    .getByRole('heading', { name: /^(The keys have not been fetched yet|Keys are available)$/ })
    .waitFor()
})

test('an operator whose policy allows every path is offered the prefixes of leases that it may list', async () => {
  const all = '"create", "read", "update", "delete", "list", "sudo"'
  await server.root.write('sys/policies/acl/all', { policy: `path "*" { capabilities = [${all}] }` })
  const made = await server.root.write('auth/token/create', { policies: ['all'], ttl: '1h' })
  await using opened = await open('leases', String(made.body.auth?.client_token))
  const { page } = opened

  await page.getByRole('link', { name: 'auth/', exact: true }).click()
  await page.getByRole('link', { name: 'token/', exact: true }).waitFor()
})

test('bidirectional controls in names and values are shown as escapes', async () => {
  await server.root.write('sys/mounts/team', { type: 'kv-v2' })
  await server.root.write('sys/policies/acl/writes', {
    policy: 'path "team/data/*" { capabilities = ["create", "update"] }',
  })
  const people = await aLoginMount(server, 'people', { policies: 'writes' })
  const { client } = await people.login('e\u202evil')
  await client.write('team/data/db', { data: { 'user\u202etxt.exe': 'ad\u2066min' } })
  await using opened = await open('secrets/team~/db')
  const { page } = opened
  await page.getByRole('button', { name: 'Show user\\u202etxt.exe' }).click()
  await page.getByText('ad\\u2066min').waitFor()
  await page.getByRole('definition').filter({ hasText: 'e\\u202evil' }).waitFor()
  const expectNone = async () =>
    expect(await page.locator('body').textContent()).not.toMatch(/[\u202e\u2066]/)
  await expectNone()

  await server.root.write('sys/quotas/rate-limit/of', { rate: 1000 })
  await server.root.write('sys/auth/staff', { type: 'jwt', description: 'of \u202eevil' })
  await server.root.write('sys/config/ui/custom-messages', {
    title: 'Pay \u202etitle',
    message: Buffer.from('שלום \u2066body').toString('base64'),
    authenticated: true,
    start_time: new Date(Date.now() - 1000).toISOString(),
  })
  await page.goto(`${server.url}/ui/#/system/logins`)
  await page.reload()
  await page.getByRole('table').getByText('of \\u202eevil').waitFor()
  await page.getByRole('heading', { name: 'Pay \\u202etitle' }).waitFor()
  // letters that are read from right to left stay
  await page.getByText('שלום \\u2066body').waitFor()
  await expectNone()
  await page.goto(`${server.url}/ui/#/logins/staff/explain`)
  const jwt = ['{"alg":"RS256"}', '{"sub":"a\u202eb"}', ''].map((part) =>
    Buffer.from(part).toString('base64url'),
  )
  await page.getByRole('textbox', { name: 'JWT' }).fill(jwt.join('.'))
  await page.getByText('"sub": "a\\u202eb"').waitFor()
  await expectNone()
  await page.goto(`${server.url}/ui/#/secrets/team~/a\u202eb`)
  await expect.poll(() => page.title()).toContain('a\\u202eb')
})

test('announcements are back five seconds after the server is, and the last ones stay while it is away', async () => {
  const publish = (title: string) =>
    server.root.write('sys/config/ui/custom-messages', {
      title,
      message: Buffer.from('Nothing').toString('base64'),
      authenticated: false,
      start_time: new Date(Date.now() - 1000).toISOString(),
    })
  await publish('First')
  await using opened = await openPage('about:blank')
  const { page } = opened
  let isAway = true
  await page.clock.install()
  await page.route('**/unauthenticated-messages*', (route) =>
    isAway ? route.fulfill({ status: 503, body: '{"errors":["sealed"]}' }) : route.continue(),
  )
  const refused = () => page.waitForResponse((response) => response.status() === 503)
  await Promise.all([refused(), page.goto(`${server.url}/ui/`)])
  isAway = false
  await page.clock.runFor(5000)
  const banner = page.getByRole('heading', { name: 'First' })
  await banner.waitFor()

  isAway = true
  await Promise.all([refused(), publish('Second')])
  await page.getByRole('heading', { name: 'Second' }).waitFor()
  await Promise.all([refused(), page.clock.runFor(5000)])
  expect(await banner.count()).toBe(1)
})
