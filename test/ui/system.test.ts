import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { expectAccessible, openAs, sharedPage } from './pages.ts'

let server: TestServer
let auditFolder: Awaited<ReturnType<typeof temporaryFolder>>

beforeAll(async () => {
  auditFolder = await temporaryFolder()
  server = await startTestServer({ settings: { AUDIT_DIRS: auditFolder.path } })
  await server.root.write('sys/quotas/rate-limit/all', { rate: 1_000_000 })
  await server.root.write('sys/policies/acl/auditor', {
    policy:
      'path "sys/mounts" { capabilities = ["read"] }\npath "sys/audit" { capabilities = ["read", "sudo"] }',
  })
  await server.root.write('sys/policies/acl/mounter', {
    policy: `path "sys/mounts" { capabilities = ["read"] }
      path "sys/auth" { capabilities = ["read"] }
      path "sys/mounts/teams/*" { capabilities = ["update"] }
      path "sys/auth/teams/*" { capabilities = ["update"] }`,
  })
  await server.root.write('sys/mounts/cloud', { type: 'cloud' })
  await server.root.write('sys/policies/acl/no-sudo', {
    policy: ['sys/*', 'sys/leases/lookup/', 'cloud/*']
      .map((path) => `path "${path}" { capabilities = ["create", "read", "update", "delete", "list"] }`)
      .join('\n'),
  })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await auditFolder[Symbol.asyncDispose]()
})

const visit = sharedPage(() => server.url)

async function open(policy: string, place = '') {
  const made = await server.root.write('auth/token/create', { policies: [policy] })
  return openAs(`${server.url}/ui/#/system${place}`, String(made.body.auth?.client_token))
}

test('who may enable mounts below one path is offered the form, where the rules do not ask for more', async () => {
  await using opened = await open('mounter')
  const { page } = opened
  await page.getByRole('combobox', { name: 'Type' }).selectOption('kv-v2')
  await page.getByRole('textbox', { name: 'Path' }).pressSequentially('teams/a')
  await page.getByRole('button', { name: 'Enable' }).click()
  await page.getByRole('heading', { name: 'teams/a/' }).waitFor()
  await page.goto(`${server.url}/ui/#/system/logins`)
  await page.getByRole('row', { name: /^token\// }).waitFor()

  // the mount of a login method asks for `sudo` too
  expect(await page.getByRole('button', { name: 'Enable' }).count()).toBe(0)
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

test('what asks for sudo is absent without it', async () => {
  await using opened = await open('no-sudo', '/server')
  const { page } = opened
  const refused: string[] = []
  page.on('response', (answer) => {
    if (answer.status() === 403) refused.push(answer.url())
  })
  await page.getByRole('heading', { name: 'Server', exact: true }).waitFor()
  await page.locator('dl.facts').waitFor()
  expect(await page.getByRole('button', { name: /^(?:Rotate the key|Seal)$/ }).count()).toBe(0)
  expect(await page.getByRole('link', { name: 'Audit devices' }).count()).toBe(0)
  expect(await page.getByRole('link', { name: 'Leases', exact: true }).count()).toBe(0)

  await page.getByRole('link', { name: 'Secrets engines' }).click()
  await page.getByRole('main').getByRole('link', { name: 'cloud/' }).click()
  await page.getByRole('heading', { name: 'Tune' }).waitFor()
  expect(await page.getByRole('heading', { name: 'Move' }).count()).toBe(0)

  await page.getByRole('link', { name: 'Cloud credentials', exact: true }).click()
  await page.getByRole('link', { name: 'Who is' }).waitFor()
  expect(await page.getByRole('link', { name: 'Live leases' }).count()).toBe(0)
  expect(refused).toEqual([])
})

test('an operator enables, tunes, moves and disables a mount', async () => {
  const { page, complaints } = await visit('system')
  await page.getByRole('combobox', { name: 'Type' }).selectOption('kv-v2')
  await page.getByRole('textbox', { name: 'Path' }).pressSequentially('apps')
  await page.getByRole('button', { name: 'Enable' }).click()
  await page.getByRole('heading', { name: 'apps/' }).waitFor()
  await expectAccessible(page)

  await page.getByRole('textbox', { name: 'Description' }).fill('Of all applications')
  await page.getByRole('textbox', { name: 'Default lifetime' }).fill('1h')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved').waitFor()
  await page
    .getByRole('region', { name: 'History' })
    .getByText(/Changed by .*: .*description/)
    .waitFor()
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
  const { page } = await visit('system/namespaces')
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
  await page.getByRole('textbox', { name: 'Name' }).fill('logins')
  await page.getByRole('textbox', { name: 'Path' }).fill('nowhere')
  await page.getByRole('textbox', { name: 'Requests' }).fill('50')
  await page.getByRole('textbox', { name: 'In an interval of' }).fill('90s')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('invalid mount path "nowhere/"').waitFor()
  await page.getByRole('textbox', { name: 'Path' }).fill('auth/token')
  await page.getByRole('button', { name: 'Save' }).click()
  const limit = page.getByRole('row').filter({ hasText: '50 in 1 min 30 s' })
  await limit.waitFor()
  await server.root.write('sys/quotas/rate-limit/logins', { path: 'auth/token', rate: 50, interval: '1h' })
  await page.getByText('History of logins').click()
  await page.getByRole('button', { name: 'Revert to version 1' }).click()
  await page.getByRole('alertdialog').getByText('Before: 1 h After: 1 min 30 s').waitFor()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revert to version 1' }).click()
  await page.getByRole('region', { name: 'History' }).getByText('Version 1 is in force again.').waitFor()
  await limit.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await limit.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Audit devices' }).click()
  await page.getByText('No audit device').waitFor()
  await page.getByRole('textbox', { name: 'File' }).fill('/no/such/folder')
  await page.getByRole('button', { name: 'Enable' }).click()
  await page.getByText('file_path is not in an allowed directory').waitFor()
  await page.getByRole('textbox', { name: 'File' }).fill(join(auditFolder.path, 'requests.log'))
  await page.getByRole('button', { name: 'Enable' }).click()
  const device = page.getByRole('row').filter({ hasText: 'requests.log' })
  await page.getByText('History of file/').click()
  await page
    .getByRole('region', { name: 'History' })
    .getByText(/^Created by/)
    .waitFor()
  await device.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click()
  await page.getByText('No audit device').waitFor()
  await page.getByRole('link', { name: 'Server' }).click()
  await page.getByText('Key number').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Rotate the key' }).click()
  // the number of encryptions, which stands below it, may be 2 as well
  await page.locator('dt', { hasText: 'Key number' }).locator('+ dd', { hasText: /^2$/ }).waitFor()
})
