import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDirectory } from '../../simulators/directory/start-directory.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { logIn, openAsNobody } from './pages.ts'

const stack = new AsyncDisposableStack()
let server: TestServer

beforeAll(async () => {
  const directory = stack.use(await startDirectory())
  server = stack.use(
    await startTestServer({
      settings: { DEFAULT_MOUNTS: 'auth/jwt=jwt,cloud=cloud' },
      environment: {
        CLOUD_AUTHORITY_HOST: directory.authorityUrl,
        CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
        CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
        CLOUD_CA_FILE: directory.caFile,
      },
    }),
  )
  const { root } = server
  await root.write('cloud/config', {
    subscription_id: directory.subscriptionId,
    tenant_id: directory.tenantId,
    client_id: directory.rootClientId,
    client_secret: directory.rootClientSecret,
  })
  const scope = `/subscriptions/${directory.subscriptionId}/resourceGroups/web`
  const cloud_roles = JSON.stringify([{ role_name: 'Reader', scope }])
  await root.write('cloud/roles/shop', { cloud_roles, ttl: '1h' })
  await root.write('sys/mounts/team', { type: 'kv-v2' })
  await root.write('sys/auth/userpass', { type: 'userpass' })
  await root.write('auth/userpass/users/ada', { password: 'lovelace' })
  await root.write('team/data/shop/db', { data: { password: 'first' } })
  await root.write('identity/entity', { name: 'ada' })
  for (const authenticated of [false, true])
    await root.write('sys/config/ui/custom-messages', {
      title: 'Terms',
      type: 'modal',
      message: Buffer.from('Read them').toString('base64'),
      authenticated,
      start_time: new Date(Date.now() - 1000).toISOString(),
    })
})
afterAll(() => stack.disposeAsync())

/** Waits until an element of the page has the focus. */
const hasFocus = (page: Page) => page.locator('body :focus').waitFor({ state: 'attached' })

/** Does something, and waits until the focus is on an element of the page. */
async function act(page: Page, target: Locator): Promise<void> {
  await target.focus()
  await target.press('Enter')
  await hasFocus(page)
}

test('the focus stays in the page and its title names the object, whatever a person does', async () => {
  await using opened = await openAsNobody(`${server.url}/ui/`)
  const { page, complaints } = opened
  const main = page.getByRole('main')
  const button = (name: string | RegExp) => main.getByRole('button', { name, exact: true })
  const link = (name: string) => page.getByRole('link', { name, exact: true })
  const focused = page.locator(':focus')
  const focusIs = (name: string, role: 'heading' | 'button' = 'heading') =>
    page.getByRole(role, { name, exact: true }).and(focused).waitFor()
  const titleIs = (title: string) => expect.poll(() => page.title()).toBe(title)
  const saidIs = (text: string) =>
    page.getByRole('status').getByText(text, { exact: true }).waitFor({ state: 'attached' })

  await act(page, page.getByRole('button', { name: 'Confirm' }))
  await focusIs('Log in')
  await logIn(
    page,
    String((await server.root.write('auth/token/create', { ttl: '1h' })).body.auth?.client_token),
  )
  await act(page, page.getByRole('button', { name: 'Confirm' }))
  await focusIs('Home')
  await titleIs('Home · Gatehouse')

  await act(page, link('Secrets'))
  await act(page, link('team/'))
  await focusIs('team/')
  await titleIs('team/ · Secrets · Gatehouse')
  await act(page, link('shop/'))
  await focusIs('shop/')
  await act(page, link('db'))
  await focusIs('db')
  await titleIs('db · shop/db · team/ · Secrets · Gatehouse')
  await button('Copy password').waitFor()
  await act(page, button('Edit'))
  await focusIs('Version 1 (current)')
  await act(page, button('Cancel'))
  await focusIs('Version 1 (current)')
  await act(page, button('Edit'))
  await page.getByRole('textbox', { name: 'Value of password' }).fill('second')
  await act(page, button('Save as version 2'))
  await focusIs('Version 2 (current)')
  await saidIs('Saved')
  await act(page, button('Destroy version 1'))
  await act(page, page.getByRole('alertdialog').getByRole('button', { name: 'Destroy' }))
  await page.getByRole('row', { name: /^1 .*Destroyed/ }).waitFor()
  await focusIs('Versions')
  await saidIs('Done: Destroy version 1')
  await act(page, button('Delete the secret'))
  await act(page, page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }))
  await focusIs('Delete the secret', 'button')

  await act(page, link('Access'))
  await act(page, link('default'))
  await focusIs('default')
  await titleIs('default · policies · Access · Gatehouse')
  await act(page, button('Save'))
  await saidIs('Saved')
  await act(page, link('Entities'))
  await act(page, link('ada'))
  await titleIs('ada · entities · Access · Gatehouse')
  await act(page, button('Disable'))
  await page.getByRole('button', { name: 'Enable' }).waitFor()
  await hasFocus(page)

  await act(page, link('Logins'))
  await act(page, link('userpass/'))
  await act(page, link('ada'))
  await titleIs('Logins · ada · users · userpass · Gatehouse')
  await act(page, button('Delete'))
  await act(page, page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }))
  await saidIs('Done: Delete')
  await hasFocus(page)

  await act(page, link('Messages'))
  await act(page, main.getByRole('link', { name: 'Terms' }).first())
  await page.getByRole('heading', { name: 'Terms' }).first().waitFor()
  await hasFocus(page)
  await titleIs('Terms · Messages · Gatehouse')

  await act(page, link('Cloud credentials'))
  await act(page, link('shop'))
  await focusIs('shop')
  await titleIs('shop · roles · cloud · Cloud credentials · Gatehouse')
  await act(page, link('Edit'))
  await focusIs('Role shop')
  await act(page, button('Cancel'))
  await focusIs('shop')
  await act(page, button('Delete'))
  await act(page, page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }))
  await titleIs('Cloud credentials · roles · cloud · Gatehouse')
  await saidIs('Done: Delete')
  await hasFocus(page)

  await act(page, link('Leases'))
  await act(page, link('auth/'))
  await focusIs('auth/')
  await titleIs('auth/ · Leases · Gatehouse')
  await act(page, button('Revoke all auth/'))
  await act(page, page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }))
  await focusIs('Revoke all auth/', 'button')

  await act(page, link('Tools'))
  await titleIs('Tools · Gatehouse')
  const wrapping = page.getByRole('region', { name: 'Wrap', exact: true })
  await act(page, wrapping.getByRole('button', { name: 'Wrap' }))
  await wrapping.getByRole('status').getByRole('term').getByText('Wrapping token').waitFor()
  await hasFocus(page)
  const hashing = page.getByRole('region', { name: 'Hash', exact: true })
  await act(page, hashing.getByRole('button', { name: 'Hash' }))
  await hasFocus(page)

  await act(page, link('System'))
  await act(page, link('Rate limits'))
  await titleIs('Rate limits · limits · System · Gatehouse')
  await act(page, link('Namespaces'))
  await titleIs('Namespaces · System · Gatehouse')
  await page.getByRole('textbox', { name: 'Name' }).fill('a-tenant')
  await act(page, button('Create'))
  await act(page, button('Delete a-tenant/'))
  await act(page, page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }))
  await saidIs('Done: Delete a-tenant/')
  await focusIs('Namespaces')

  expect(complaints).toEqual([])
})
