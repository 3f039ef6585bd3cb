import { pino } from 'pino'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { goTo, logIn, openAs, openAsNobody, openPage } from './pages.ts'

let server: TestServer
let log = ''
const keepLine = (line: string) => {
  log += line
}

beforeAll(async () => {
  server = await startTestServer({
    log: pino({ level: 'trace' }, { write: keepLine }),
    settings: { DEFAULT_MOUNTS: 'auth/jwt=jwt,cloud=cloud' },
  })
  await server.root.write('sys/mounts/team', { type: 'kv-v2' })
  const password = 'long-password-without-any-blank-'.repeat(4)
  for (const value of ['first', password])
    await server.root.write('team/data/shop/db', { data: { password: value } })
  await server.root.write('sys/namespaces/a-tenant')
  await server.root.write('sys/config/ui/custom-messages', {
    title: 'A-long-word-'.repeat(12),
    message: Buffer.from('https://example.com/'.padEnd(200, 'x')).toString('base64'),
    authenticated: true,
    start_time: new Date().toISOString(),
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const tokenOf = async (body: object): Promise<string> =>
  String((await server.root.write('auth/token/create', body)).body.auth?.client_token)

/** Every view and each of its pages, with a heading that it must show, and the page before it does not. */
const places = [
  ['home', 'What I can open'],
  ['secrets', 'Secrets'],
  ['secrets/team~', 'team/'],
  ['secrets/team~/shop~db', 'Versions'],
  ['cloud', 'Cloud credentials'],
  ['cloud/cloud/config', 'Root credential'],
  ['cloud/cloud/debris', 'Debris'],
  ['cloud/cloud/whois', 'Who requested a credential'],
  ['cloud/cloud/roles/new/edit', 'Role new'],
  ['logins/jwt/failures', 'Logins'],
  ['logins/jwt/status', 'Configuration'],
  ['messages', 'Messages'],
  ['messages/new', 'New message'],
  ['logins/jwt/explain', 'Logins'],
  ['access/policies', 'Policies'],
  ['access/policies/default', 'default'],
  ['access/tokens', 'New token'],
  ['access/entities', 'Entities'],
  ['access/groups', 'Groups'],
  ['leases', 'Leases'],
  ['leases/auth~token~', 'auth/token/'],
  ['system/secrets', 'Enable a secrets engine'],
  ['system/secrets/team~', 'team/'],
  ['system/logins', 'Login methods'],
  ['system/namespaces', 'Namespaces'],
  ['system/server', 'Server'],
  ['system/audit', 'Audit devices'],
  ['system/limits', 'Rate limits'],
  ['tools', 'Wrap'],
] as const

test('no page is wider than a phone of 360 px, nor than a window of 1280 px at 200 % zoom, and the token is in no address, referrer, log or lasting storage, whatever was opened', async () => {
  const token = await tokenOf({ policies: ['root'], ttl: '1h' })
  await using opened = await openAsNobody(`${server.url}/ui/`)
  const { page, complaints, requested } = opened
  const tooWide = async (): Promise<boolean> =>
    page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
  const found: string[] = []
  const look = async (name: string) => {
    for (const width of [360, 640]) {
      await page.setViewportSize({ width, height: 640 })
      if (await tooWide()) found.push(`${name} at ${width} px`)
    }
  }
  await page.getByRole('tab', { name: 'Token' }).waitFor()
  await look('login')
  await page.setViewportSize({ width: 1280, height: 640 })
  await logIn(page, token)
  for (const [place, heading] of places) {
    await goTo(page, place)
    await page.getByRole('heading', { name: heading, exact: true }).first().waitFor()
    await look(place)
  }
  const kept = await page.evaluate(
    'JSON.stringify([localStorage, document.cookie, location.href, document.body.outerHTML])',
  )

  expect(found).toEqual([])
  expect(log).toContain('"')
  expect(requested.length).toBeGreaterThan(places.length)
  expect([log, kept, requested.join('\n')].map((text) => String(text).includes(token))).toEqual([
    false,
    false,
    false,
  ])
  expect(await page.evaluate('Object.values(sessionStorage)')).toEqual([token])
  expect(complaints).toEqual([])
})

test('a view is absent, and its address leads to nothing, for a token that has nothing to do there', async () => {
  await using opened = await openAs(`${server.url}/ui/#/secrets`, await tokenOf({ policies: ['default'] }))
  const { page, complaints } = opened
  const refusal = page.getByText('Your token does not allow anything here.')
  await refusal.waitFor()
  for (const view of ['cloud', 'logins/jwt', 'access', 'leases', 'system', 'tools']) {
    await page.goto(`${server.url}/ui/#/home`)
    await refusal.waitFor({ state: 'detached' })
    await page.goto(`${server.url}/ui/#/${view}`)
    await refusal.waitFor()
  }

  expect(await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts()).toEqual([
    'Home',
  ])
  expect(complaints).toEqual([])
})

test('the session counts down, is renewed, and ends with the token', async () => {
  await using opened = await openPage('about:blank')
  const { page } = opened
  await page.clock.install()
  await page.goto(`${server.url}/ui/`)
  await logIn(page, await tokenOf({ policies: ['default'], ttl: '290s' }))
  const timer = page.getByRole('timer')
  await timer.getByText(/^The session ends in 4 min/).waitFor()
  await page.clock.fastForward(240_000)
  await timer.getByText(/^The session ends in \d+ s$/).waitFor()
  await page.getByRole('banner').getByRole('button', { name: 'Renew' }).click()
  await timer.getByText(/^The session ends in 4 min/).waitFor()
  await page.clock.fastForward(300_000)
  await page.getByText('The session has ended. Log in again.').waitFor()

  expect(await page.evaluate('JSON.stringify(sessionStorage)')).toBe('{}')
})

/** Presses Tab until the focus is there, and it is visible. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let presses = 0; presses < 80; presses += 1) {
    if ((await target.and(page.locator(':focus')).count()) === 1) {
      expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).not.toBe('none')
      return
    }
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${target}`)
}

test('the keyboard alone leads through the login, to a secret, and through the editor of a message', async () => {
  await using opened = await openAsNobody(`${server.url}/ui/`)
  const { page, complaints } = opened
  const { keyboard } = page
  const press = async (target: Locator, key = 'Enter') => {
    await tabTo(page, target)
    await keyboard.press(key)
  }
  await page.getByRole('textbox', { name: 'Token' }).waitFor()
  await tabTo(page, page.getByRole('textbox', { name: 'Token' }))
  await keyboard.type(await tokenOf({ policies: ['root'], ttl: '1h' }))
  await keyboard.press('Enter')
  const close = page.getByRole('button', { name: /^Close A-long-word/ })
  await press(close)
  await close.waitFor({ state: 'detached' })

  await press(page.getByRole('link', { name: 'Secrets' }))
  for (const name of ['team/', 'shop/', 'db'])
    await press(page.getByRole('main').getByRole('link', { name, exact: true }))
  await press(page.getByRole('button', { name: 'Show password' }), 'Space')
  await page.getByText('long-password-without').waitFor()
  await press(page.getByRole('button', { name: 'Delete this version' }))
  const dialog = page.getByRole('alertdialog')
  // it moves the focus there when it opens
  await dialog.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor()
  await press(dialog.getByRole('button', { name: 'Delete this version' }))
  await page.getByText('This version is deleted. It can be undeleted.').waitFor()

  await press(page.getByRole('link', { name: 'Messages' }))
  await press(page.getByRole('link', { name: 'New message' }))
  await tabTo(page, page.getByRole('textbox', { name: 'Title' }))
  await keyboard.type('By keyboard')
  await tabTo(page, page.getByRole('textbox', { name: 'Text', exact: true }))
  await keyboard.type('No mouse was used.')
  // the preview is up to date, so nothing moves the focus any more
  await page.getByText('No mouse was used.').first().waitFor()
  await press(page.getByRole('button', { name: 'Save' }))
  await page.getByRole('heading', { name: 'By keyboard', level: 1 }).waitFor()

  expect(complaints).toEqual([])
})
