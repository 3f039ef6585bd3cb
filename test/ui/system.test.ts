import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, logIn, pagesOfFile } from './pages.ts'

const openPage = pagesOfFile()
let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.root.write('sys/quotas/rate-limit/all', { rate: 1_000_000 })
  await server.root.write('sys/policies/acl/auditor', {
    policy:
      'path "sys/mounts" { capabilities = ["read"] }\npath "sys/audit" { capabilities = ["read", "sudo"] }',
  })
})
afterAll(() => server[Symbol.asyncDispose]())

async function open(policy: string, place = '') {
  const made = await server.root.write('auth/token/create', { policies: [policy] })
  const opened = await openPage(`${server.url}/ui/#/system${place}`)
  await logIn(opened.page, String(made.body.auth?.client_token))
  return opened
}

test('an operator enables, tunes, moves and disables a mount', async () => {
  await using opened = await open('root')
  const { page, complaints } = opened
  await page.getByRole('combobox', { name: 'Type' }).selectOption('kv-v2')
  await page.getByRole('textbox', { name: 'Path' }).fill('apps')
  await page.getByRole('button', { name: 'Enable' }).click()
  await page.getByRole('heading', { name: 'apps/' }).waitFor()
  await expectAccessible(page)

  await page.getByRole('textbox', { name: 'Description' }).fill('Of all applications')
  await page.getByRole('textbox', { name: 'Default lifetime' }).fill('1h')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved').waitFor()
  await page.getByRole('textbox', { name: 'New path' }).fill('applications')
  await page.getByRole('button', { name: 'Move' }).click()
  await page.getByRole('heading', { name: 'applications/' }).waitFor()
  const { data } = (await server.root.read('sys/mounts')).body
  expect(data?.['applications/']).toMatchObject({
    type: 'kv',
    description: 'Of all applications',
    config: { default_lease_ttl: 3600 },
  })

  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('alertdialog', { name: 'Disable applications/?' }).getByText('0 leases').waitFor()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('heading', { name: 'Secrets engines' }).waitFor()
  expect(Object.keys((await server.root.read('sys/mounts')).body.data ?? {})).not.toContain('applications/')
  expect(complaints).toEqual([])
})

test('an operator creates and deletes a namespace, and sees limits, devices and the key', async () => {
  await using opened = await open('root', '/namespaces')
  const { page } = opened
  await page.getByText('No namespaces here').waitFor()
  await page.getByRole('textbox', { name: 'Name' }).fill('team-a')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('link', { name: 'team-a/' }).waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No namespaces here').waitFor()

  await page.getByRole('link', { name: 'Rate limits' }).click()
  await page.getByText('1000000 per second').waitFor()
  await page.getByRole('link', { name: 'Audit devices' }).click()
  await page.getByText('No audit device').waitFor()
  await page.getByRole('link', { name: 'Server' }).click()
  await page.getByText('Key number').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Rotate the key' }).click()
  await page.getByRole('definition').filter({ hasText: /^2$/ }).waitFor()
})

test('who may read sees what is there, and no buttons', async () => {
  await using opened = await open('auditor')
  const { page } = opened
  await page.getByRole('row', { name: /^cubbyhole\// }).waitFor()

  expect(
    await page
      .getByRole('main')
      .getByRole('button', { name: /Enable|Disable|Move/ })
      .count(),
  ).toBe(0)
  expect(await page.getByRole('link', { name: 'Namespaces' }).count()).toBe(0)
})
