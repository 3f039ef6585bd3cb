import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, logIn, pagesOfFile } from './pages.ts'

const openPage = pagesOfFile()

const later = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
const markup = '<img src=x onerror="window.ran = 1"><script>window.ran = 1</script>'

let server: TestServer
const ui = () => `${server.url}/ui/`

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

async function publish(fields: Record<string, unknown>, text = 'Nothing'): Promise<string> {
  const message = Buffer.from(text).toString('base64')
  const body = { title: 'A message', authenticated: false, start_time: later(-60), ...fields, message }
  const made = await server.root.write('sys/config/ui/custom-messages', body)
  expect(made.status, made.text).toBe(200)
  return String(made.body.data?.id)
}

const remove = (id: string) => server.root.delete(`sys/config/ui/custom-messages/${id}`)

/** A token of a person. */
async function personToken(): Promise<string> {
  await server.root.write('auth/token/roles/people', { allowed_entity_aliases: '*', orphan: true })
  const made = await server.root.write('auth/token/create/people', {
    entity_alias: 'ada',
    policies: ['default'],
  })
  return String(made.body.auth?.client_token)
}

test('the login page shows banners and one dialog after another, as text, and follows what operators do', async () => {
  const ids = [
    await publish(
      { title: markup, priority: 9, link: { 'javascript:window.ran=1': 'javascript:window.ran=1' } },
      markup,
    ),
    await publish({ title: 'Terms', type: 'modal', priority: 2 }),
    await publish({ title: 'Privacy', type: 'modal', priority: 1 }),
    await publish({ title: 'To stay', dismissible: false }, 'one\n\ntwo'),
  ]
  await using opened = await openPage(ui())
  const { page, complaints } = opened

  await page.getByRole('alertdialog', { name: 'Terms' }).waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Confirm' }).click()
  await page.getByRole('alertdialog', { name: 'Privacy' }).waitFor()
  await page.getByRole('button', { name: 'Confirm' }).click()
  await page.getByRole('alertdialog').waitFor({ state: 'detached' })
  const banners = page.getByRole('region', { name: 'Announcements' })
  const close = banners.getByRole('button', { name: `Close ${markup}` })
  await close.waitFor()
  expect(await banners.getByRole('button').count()).toBe(1)
  expect(await banners.locator('img, script, a').count()).toBe(0)
  const added = await publish({ title: 'News' })
  await banners.getByRole('heading', { name: 'News' }).waitFor()
  await remove(added)
  await banners.getByRole('heading', { name: 'News' }).waitFor({ state: 'detached' })
  await close.click()
  await page.reload()
  await page.getByRole('alertdialog', { name: 'Terms' }).waitFor()
  const kept = await page.evaluate<string>('JSON.stringify(localStorage)')

  expect(await page.getByText('one').allInnerTexts()).toEqual(['one\n\ntwo'])
  expect(await page.locator('.banner').count()).toBe(1)
  expect(await page.evaluate('typeof window.ran')).toBe('undefined')
  expect(Object.keys(JSON.parse(JSON.parse(kept)['gatehouse.dismissed']))).toEqual([ids[0]])
  expect(complaints).toEqual([])
  await Promise.all(ids.map(remove))
})

test('a message to acknowledge blocks the page until it is read, and is not shown again', async () => {
  const id = await publish({ title: 'New terms', authenticated: true, acknowledge_required: true })
  const token = await personToken()
  await using opened = await openPage(ui())
  const { page, complaints } = opened
  await page.getByRole('tab', { name: 'Token' }).click()
  await page.getByRole('textbox', { name: 'Token' }).fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alertdialog', { name: 'New terms' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('alertdialog', { name: 'New terms' }).waitFor()

  await page.getByRole('button', { name: 'I have read this' }).click()
  await page.getByRole('alertdialog').waitFor({ state: 'detached' })
  await page.reload()
  await page.getByRole('heading', { name: 'Who I am' }).waitFor()

  expect(await page.getByRole('alertdialog').count()).toBe(0)
  const acknowledged = await server.root.list(`sys/config/ui/custom-messages/${id}/acks`)
  expect(acknowledged.body.data?.keys).toHaveLength(1)
  expect(complaints).toEqual([])
  await remove(id)
})

test('an operator writes a message, sees it as readers will, and what the server says of it beside its field', async () => {
  await using opened = await openPage(`${ui()}#/messages`, { timezoneId: 'Europe/Berlin' })
  const { page, complaints } = opened
  await logIn(page, 'root')
  await page.getByRole('heading', { name: 'No messages yet' }).waitFor()
  await page.getByRole('link', { name: 'New message' }).click()

  await page.getByRole('textbox', { name: 'Title' }).fill('Maintenance')
  await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Back at two ☕')
  await page.getByLabel('Starts').fill('2099-01-02T14:00')
  await page.getByText('Europe/Berlin; that is 2099-01-02 13:00 UTC').waitFor()
  await page.getByLabel('Ends').fill('2099-01-01T14:00')
  await page.getByText('message start time must occur before end time').first().waitFor()
  await page.getByLabel('Ends').fill('')
  // it goes a moment later, and what is below it moves up
  await page.getByText('message start time must occur before end time').first().waitFor({ state: 'detached' })
  const preview = page.getByRole('region', { name: 'Preview' })
  expect((await preview.allInnerTexts()).join('').split(/\n+/)).toEqual([
    'Note:',
    'Maintenance',
    'Back at two ☕',
    '✕',
  ])
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'Maintenance', level: 1 }).waitFor()
  await page.getByRole('link', { name: 'Messages' }).click()
  await page.getByRole('row', { name: /Maintenance.*Scheduled/ }).waitFor()
  await expectAccessible(page)

  const { keys } = (await server.root.list('sys/config/ui/custom-messages')).body.data ?? {}
  const [id] = [keys].flat()
  const { data } = (await server.root.read(`sys/config/ui/custom-messages/${id}`)).body
  expect(data).toMatchObject({
    title: 'Maintenance',
    message: Buffer.from('Back at two ☕').toString('base64'),
    authenticated: false,
    type: 'banner',
    start_time: '2099-01-02T13:00:00Z',
    end_time: null,
  })
  await page.getByRole('link', { name: 'Maintenance' }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'No messages yet' }).waitFor()
  expect(complaints).toEqual([])
})

test('who may only list messages gets no editor, not even by its address', async () => {
  await server.root.write('sys/policies/acl/lister', {
    policy: 'path "sys/config/ui/custom-messages" { capabilities = ["list"] }',
  })
  const made = await server.root.write('auth/token/create', { policies: ['lister'] })
  await using opened = await openPage(`${ui()}#/messages/new`)
  const { page } = opened
  await logIn(page, String(made.body.auth?.client_token))

  await page.getByText('Your token does not allow anything here.').waitFor()
  expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0)
})
