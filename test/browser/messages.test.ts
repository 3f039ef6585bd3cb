import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Client } from '../support/client.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { openedBrowser } from './browser.ts'
import { type FrontEnd, startFrontEnd } from './front-end-server.ts'

const clock = new FakeClock(Date.UTC(2026, 0, 2, 12))
const later = (seconds: number) => new Date(clock.now() + seconds * 1000).toISOString()
const base64 = (text: string) => Buffer.from(text).toString('base64')

let server: TestServer
let frontEnd: FrontEnd
let page: Page

beforeAll(async () => {
  page = await (await openedBrowser()).newPage()
  await page.clock.install()
})
afterAll(() => page.close())
beforeEach(async () => {
  server = await startTestServer({ clock })
  frontEnd = await startFrontEnd(server.url)
  await allow(frontEnd.origin)
  await page.clock.setSystemTime(clock.now())
})
afterEach(async () => {
  // each server has an origin of its own, where nothing is kept of the page before
  await page.goto('about:blank')
  await frontEnd[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const allow = async (origin: string) =>
  expect((await server.root.write('sys/config/cors', { allowed_origins: origin })).status).toBe(204)

async function publish(
  fields: { message?: string } & Record<string, unknown>,
  client: Client = server.root,
  ns = '',
): Promise<string> {
  const { message = 'Nothing', ...rest } = fields
  const body = {
    title: 'A message',
    authenticated: false,
    start_time: later(-60),
    ...rest,
    message: base64(message),
  }
  const made = await client.write(`${ns}sys/config/ui/custom-messages`, body)
  expect(made.status, made.text).toBe(200)
  return String(made.body.data?.id)
}

/** Opens the page and waits for its first request. */
async function open(namespace?: string): Promise<void> {
  await page.goto(frontEnd.page(server.url, namespace))
  await page.waitForSelector('body[data-polled]')
}

const polled = () => page.locator('body').getAttribute('data-polled')
// the page shows it
const refresh = () => page.evaluate('refresh()')
const texts = (selector: string) => page.locator(selector).allInnerTexts()

describe('before login', () => {
  test('a banner and a modal are shown', async () => {
    await publish({
      title: 'Maintenance',
      message: 'Back at two ☕',
      link: { 'Learn more': 'https://status.example.com/' },
    })
    await publish({ title: 'Terms', type: 'modal', message: 'Be kind' })

    await open()

    expect(await texts('#banners h2')).toEqual(['Maintenance'])
    expect(await texts('#banners p')).toEqual(['Back at two ☕'])
    expect(await page.locator('#banners a').getAttribute('href')).toBe('https://status.example.com/')
    expect(await texts('#modals dialog[open] h2')).toEqual(['Terms'])
    await page.getByRole('button', { name: 'Confirm' }).click()
    expect(await texts('#modals dialog')).toEqual([])
  })

  test('confirming the first of two modals leaves the second', async () => {
    await publish({ title: 'Terms', type: 'modal', priority: 1 })
    await publish({ title: 'Privacy', type: 'modal' })
    await open()
    expect(await texts('#modals dialog[open] h2')).toEqual(['Terms', 'Privacy'])

    await page.getByRole('button', { name: 'Confirm' }).first().click()

    expect(await texts('#modals dialog[open] h2')).toEqual(['Privacy'])
  })

  test('banners close one by one and return when the page is reloaded', async () => {
    await publish({ title: 'First', priority: 1 })
    await publish({ title: 'Second' })
    await publish({ title: 'To stay', priority: -1, dismissible: false })
    await open()
    expect(await texts('#banners h2')).toEqual(['First', 'Second', 'To stay'])
    const close = page.getByRole('button', { name: 'Close' })
    expect(await close.count()).toBe(2)

    await close.first().click()
    expect(await texts('#banners h2')).toEqual(['Second', 'To stay'])
    await page.reload()
    await page.waitForSelector('body[data-polled]')

    expect(await texts('#banners h2')).toEqual(['First', 'Second', 'To stay'])
  })

  test.each(['banner', 'modal'])('a %s keeps its line breaks and empty lines', async (type) => {
    await publish({ type, message: 'one\n\n**two**' })

    await open()

    expect(await texts(`#${type}s p`)).toEqual(['one\n\n**two**'])
  })

  test('HTML is shown as text, and a link that would run script is not a link', async () => {
    const html = '<img src=x onerror="window.ran = 1"><script>window.ran = 1</script><b>bold</b>'
    const link = { 'javascript:window.ran=1': 'javascript:window.ran=1' }
    await publish({ title: html, message: html, link })

    await open()

    expect(await texts('#banners h2')).toEqual([html])
    expect(await texts('#banners p')).toEqual([html])
    expect(await page.locator('#banners :is(a, img, script, b)').count()).toBe(0)
    expect(await texts('#banners span')).toEqual(['javascript:window.ran=1'])
    expect(await page.evaluate('typeof window.ran')).toBe('undefined')
  })

  test('while nothing changes, nothing is read again', async () => {
    await publish({ title: 'Maintenance' })
    await open()
    expect(await polled()).toBe('200')

    await refresh()

    expect(await polled()).toBe('304')
    expect(await texts('#banners h2')).toEqual(['Maintenance'])
  })

  test('a message appears and disappears when its window opens and closes', async () => {
    await publish({ title: 'Soon', start_time: later(60), end_time: later(120) })
    await open()
    expect(await texts('#banners h2')).toEqual([])

    await pass(61)
    await page.locator('#banners h2', { hasText: 'Soon' }).waitFor()

    await pass(60)
    await page.locator('#banners h2').waitFor({ state: 'detached' })
  })

  test('the header names the namespace', async () => {
    await server.root.write('sys/namespaces/team')
    await publish({ title: 'For all' })
    await publish({ title: 'For the team' }, server.root, 'team/')

    await open('team')

    expect(await texts('#banners h2')).toEqual(['For the team', 'For all'])
  })
})

test('the code in the documentation shows published messages and notices changes', async () => {
  const document = await readFile(new URL('../../docs/messages.md', import.meta.url), 'utf8')
  const [, lines = ''] = /^```js\n(.*?)^```$/ms.exec(document) ?? []
  const code = lines.replace('https://gatehouse.example.com', server.url)
  expect(code).toContain(`${server.url}/v1/`)
  await page.goto(frontEnd.page(server.url))
  await page.setContent('<p id="banner"></p>')
  const shown = (text: string) => page.locator('#banner', { hasText: text }).waitFor()
  const id = await publish({ title: 'Maintenance', message: 'Back at two ☕' })

  await page.addScriptTag({ type: 'module', content: code })

  await shown('Maintenance: Back at two ☕')
  await publish({ title: 'Soon', message: '<b>bold</b>' })
  await shown('Soon: <b>bold</b>')
  await server.root.delete(`sys/config/ui/custom-messages/${id}`)
  await page.locator('#banner', { hasText: 'Maintenance' }).waitFor({ state: 'detached' })
  expect(await texts('#banner')).toEqual(['Soon: <b>bold</b>'])
})

/** Time passes for the server and for the page. */
async function pass(seconds: number): Promise<void> {
  clock.advance(seconds)
  await page.clock.fastForward(seconds * 1000)
}

describe('after login', () => {
  const signIn = async (token: string) => {
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('body[data-polled*=","]').waitFor()
  }

  test('messages for users are shown, and one is acknowledged', async () => {
    const id = await publish({
      title: 'New terms',
      type: 'modal',
      authenticated: true,
      acknowledge_required: true,
    })
    await server.root.write('sys/policies/acl/person', { policy: 'path "x" { capabilities = ["read"] }' })
    await server.root.write('auth/token/roles/people', { allowed_entity_aliases: '*', orphan: true })
    const made = await server.root.write('auth/token/create/people', {
      entity_alias: 'alice',
      policies: ['person'],
    })
    await open()
    expect(await texts('#modals h2')).toEqual([])

    await signIn(String(made.body.auth?.client_token))
    await page.locator('#modals h2', { hasText: 'New terms' }).waitFor()
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.locator('#modals h2').waitFor({ state: 'detached' })

    const { keys, key_info: info } =
      (await server.root.list(`sys/config/ui/custom-messages/${id}/acks`)).body.data ?? {}
    expect(Object.values(info ?? {})).toEqual([
      {
        acknowledged_time: new Date(clock.now()).toISOString().replace('.000Z', 'Z'),
        entity_name: expect.any(String),
      },
    ])
    expect(keys).toEqual([made.body.auth?.entity_id])
  })

  test('a new message is shown at once, in a child namespace too', async () => {
    await server.root.write('sys/namespaces/team')
    await open('team')
    await signIn('root')
    expect(await texts('#banners h2')).toEqual([])

    await publish({ title: 'For users', authenticated: true })
    await refresh()

    expect(await texts('#banners h2')).toEqual(['For users'])
  })

  test('both responses are 304 if there are no new messages', async () => {
    await publish({ title: 'For all' })
    await publish({ title: 'For users', authenticated: true })
    await open()
    await signIn('root')
    await page.locator('body[data-polled="304,200"]').waitFor()
    expect(await texts('#banners h2')).toEqual(['For all', 'For users'])

    await refresh()

    expect(await polled()).toBe('304,304')
  })
})

describe('a page whose origin is not allowed', () => {
  const signsInWithoutMessages = async () => {
    await publish({ title: 'Maintenance' })
    await open()

    expect(await polled()).toBe('failed')
    expect(await texts('#banners h2')).toEqual([])
    await page.getByLabel('Token').fill('root')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('#who', { hasText: 'Signed in' }).waitFor()
    expect(await texts('#banners h2')).toEqual([])
  }

  test('shows nothing while no origin is configured, and its login works', async () => {
    expect((await server.root.delete('sys/config/cors')).status).toBe(204)

    await signsInWithoutMessages()
  })

  test('shows nothing when another origin is configured, and its login works', async () => {
    await allow('https://app.example.com')

    await signsInWithoutMessages()
  })
})
