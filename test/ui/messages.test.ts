import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, logIn, openAs, openAsNobody, openPage } from './pages.ts'

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

/** A token of a person who is an operator. */
async function personToken(): Promise<string> {
  const policy = ['sys/config/ui/*', 'identity/*', 'sys/policies/*']
    .map((path) => `path "${path}" { capabilities = ["create", "read", "update", "list"] }`)
    .join('\n')
  await server.root.write('sys/policies/acl/operator', { policy })
  await server.root.write('auth/token/roles/people', { allowed_entity_aliases: '*', orphan: true })
  const made = await server.root.write('auth/token/create/people', {
    entity_alias: 'ada',
    policies: ['default', 'operator'],
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
  await using opened = await openAsNobody(ui())
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
  await using opened = await openAsNobody(ui())
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

  await page.goto(`${ui()}#/messages/${id}`)
  await page.getByRole('table', { name: 'Person' }).getByRole('link', { name: 'ada' }).waitFor()
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('combobox', { name: 'People' }).fill('ad')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Remove ada' }).waitFor()
  await page.getByRole('combobox', { name: 'Policies' }).fill('default')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Remove default' }).waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('region', { name: 'Details' }).getByRole('link', { name: 'ada' }).waitFor()
  const { audience } = (await server.root.read(`sys/config/ui/custom-messages/${id}`)).body.data ?? {}
  expect(audience).toEqual({ policies: ['default'], entity_ids: acknowledged.body.data?.keys })
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
  const preview = page.getByRole('region', { name: 'Preview: On the login page' }).getByRole('article')
  expect((await preview.allInnerTexts()).join('').split(/\n+/)).toEqual([
    'Note:',
    'Maintenance',
    'Back at two ☕',
    '✕',
  ])
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'Maintenance', level: 1 }).waitFor()
  await page
    .getByRole('region', { name: 'History' })
    .getByText(/^Created by/)
    .waitFor()
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

const stored = async () => {
  const { keys = [] } = (await server.root.list('sys/config/ui/custom-messages')).body.data ?? {}
  return Promise.all(
    [keys]
      .flat()
      .map(async (id) => (await server.root.read(`sys/config/ui/custom-messages/${id}`)).body.data),
  )
}

test('a message for everybody is two that are written, edited and ended together, or neither', async () => {
  await using opened = await openAs(`${ui()}#/messages/new`, 'root')
  const { page, complaints } = opened
  await page.getByRole('combobox', { name: 'Shown' }).selectOption({ label: 'To everybody' })
  await page.getByRole('textbox', { name: 'Title' }).fill('Saturday')
  await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Closed')
  await page.getByRole('region', { name: 'Preview: On the login page' }).getByText('Closed').waitFor()
  await page.getByRole('region', { name: 'Preview: After the login' }).getByText('Closed').waitFor()
  await expectAccessible(page)

  // there is room for one only
  const others = await Promise.all(Array.from({ length: 99 }, () => publish({ title: 'Other' })))
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('maximum number of messages already exist').waitFor()
  await Promise.all(others.map(remove))
  expect(await stored()).toEqual([])

  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'Saturday', exact: true }).waitFor()
  await page.getByText('Banner, for everybody').waitFor()
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'Title' }).fill('Sunday')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'Sunday', exact: true }).waitFor()
  expect((await stored()).map((data) => [data?.['title'], data?.['authenticated']]).toSorted()).toEqual([
    ['Sunday', false],
    ['Sunday', true],
  ])
  await page.getByRole('link', { name: 'Messages' }).click()
  await page.getByRole('row', { name: /Sunday.*for everybody/ }).waitFor()
  expect(await page.getByRole('row', { name: /Sunday/ }).count()).toBe(1)

  await page.getByRole('link', { name: 'Sunday' }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'No messages yet' }).waitFor()
  expect(await stored()).toEqual([])
  expect(complaints).toEqual([])
})

test('a window that acts and recurs shows its next times, its sentence, and stands in the calendar', async () => {
  await using opened = await openPage(`${ui()}#/messages/new`, { timezoneId: 'Europe/Berlin' })
  const { page } = opened
  await logIn(page, 'root')
  await page.getByRole('textbox', { name: 'Title' }).fill('New disks')
  await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Each Saturday')
  await page.getByLabel('Starts').fill('2099-08-01T00:00')
  await page.getByRole('combobox', { name: 'Effect' }).selectOption('read_only')
  await page.getByRole('checkbox', { name: 'It recurs' }).check()
  await page.getByRole('textbox', { name: 'Times (cron)' }).fill('0 2 * * sat')
  await page.getByRole('textbox', { name: 'Duration' }).fill('2h')
  await page.getByRole('region', { name: 'Next times' }).getByRole('listitem').nth(4).waitFor()
  await page.getByText('Writes resume at 04:00 Europe/Berlin').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'New disks', level: 1 }).waitFor()
  const [data] = await stored()
  expect(data).toMatchObject({
    effect: 'read_only',
    schedule: { cron: '0 2 * * sat', duration: 7200, time_zone: 'Europe/Berlin' },
  })

  await page.goto(`${ui()}#/messages/calendar?month=2099-07`)
  await page.getByRole('link', { name: 'Later' }).click()
  const month = page.getByRole('table', { name: 'August 2099' })
  await month.getByRole('cell', { name: /Saturday, August 29, 2099.*New disks/ }).waitFor()
  expect(await month.getByRole('link', { name: 'New disks' }).count()).toBe(5)
  await expectAccessible(page)
  await month.getByRole('link', { name: 'New disks' }).first().click()
  await page.getByRole('heading', { name: 'New disks', level: 1 }).waitFor()
  await remove(String(data?.['id']))
})

test('without sudo nobody gives a message an effect, or edits one that has one', async () => {
  const id = await publish({ title: 'Acts', effect: 'no_new_credentials', start_time: later(3600) })
  await server.root.write('sys/policies/acl/announcer', {
    policy:
      'path "sys/config/ui/custom-messages*" { capabilities = ["create", "read", "update", "delete", "list"] }',
  })
  const made = await server.root.write('auth/token/create', { policies: ['announcer'] })
  await using opened = await openAs(`${ui()}#/messages/${id}`, String(made.body.auth?.client_token))
  const { page } = opened
  await page.getByRole('heading', { name: 'Acts', level: 1 }).waitFor()
  await page.getByText('No new credentials').waitFor()
  expect(await page.getByRole('main').getByRole('link', { name: 'Edit' }).count()).toBe(0)

  await page.goto(`${ui()}#/messages/new`)
  await page.getByRole('checkbox', { name: 'It recurs' }).waitFor()
  expect(await page.getByRole('combobox', { name: 'Effect' }).count()).toBe(0)
  await remove(id)
})

test('who may only list messages gets no editor, not even by its address', async () => {
  await server.root.write('sys/policies/acl/lister', {
    policy: 'path "sys/config/ui/custom-messages" { capabilities = ["list"] }',
  })
  const made = await server.root.write('auth/token/create', { policies: ['lister'] })
  await using opened = await openAs(`${ui()}#/messages/new`, String(made.body.auth?.client_token))
  const { page } = opened

  await page.getByText('Your token does not allow anything here.').waitFor()
  expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0)
})
