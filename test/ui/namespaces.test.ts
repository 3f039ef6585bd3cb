import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, openAs } from './pages.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  const { root } = server
  for (const path of ['sys/namespaces/team-a', 'team-a/sys/namespaces/shop', 'sys/namespaces/team-b'])
    await root.write(path)
  await root.write('team-a/shop/sys/mounts/apps', { type: 'kv' })
  await root.write('team-a/shop/apps/web', { colour: 'green' })
  await root.write('sys/policies/acl/shopper', {
    policy: 'path "team-a/shop/apps/*" { capabilities = ["read", "list"] }',
  })
})
afterAll(() => server[Symbol.asyncDispose]())

test('an operator finds a namespace, works in it, and comes back one level at a time', async () => {
  await using opened = await openAs(`${server.url}/ui/#/system/namespaces`, 'root')
  const { page, complaints } = opened
  await page.getByRole('button', { name: 'Namespace root: change' }).click()
  const dialog = page.getByRole('dialog', { name: 'Namespaces' })
  await dialog.getByRole('textbox', { name: 'Search' }).fill('nobody')
  await dialog.getByText('None has such a name.').waitFor()
  // the list is below the button that opened it
  expect(await page.locator('[aria-expanded=true]').isVisible()).toBe(true)
  await dialog.getByRole('textbox', { name: 'Search' }).fill('SHOP')
  await expectAccessible(page)
  expect(await dialog.getByRole('list').getByRole('link').allTextContents()).toEqual(['team-a/shop/'])
  await dialog.getByRole('link', { name: 'team-a/shop/' }).click()

  await page.getByRole('button', { name: 'Namespace team-a/shop/: change' }).waitFor()
  await page.getByRole('row', { name: /^apps\// }).waitFor()
  await page.getByRole('button', { name: 'Namespace team-a/shop/: change' }).click()
  await dialog.getByText('There are none below this one.').waitFor()
  await dialog.getByRole('link', { name: 'Up one level' }).click()
  await page.getByRole('button', { name: 'Namespace team-a/: change' }).click()
  await dialog.getByRole('link', { name: 'Up one level' }).click()
  await page.getByRole('button', { name: 'Namespace root: change' }).waitFor()
  expect(new URL(page.url()).searchParams.get('namespace')).toBeNull()
  expect(complaints).toEqual([])
})

test('a link to a namespace opens it for a token from above that may only read there', async () => {
  const made = await server.root.write('auth/token/create', { policies: ['shopper'] })
  const place = `${server.url}/ui/?namespace=team-a%2Fshop#/secrets/apps~/web`
  await using opened = await openAs(place, String(made.body.auth?.client_token))
  const { page } = opened
  await page.getByRole('heading', { name: 'web' }).waitFor()
  await page.getByText('colour').first().waitFor()
  expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0)

  await page.getByRole('button', { name: 'Namespace team-a/shop/: change' }).click()
  const dialog = page.getByRole('dialog', { name: 'Namespaces' })
  await dialog.getByRole('link', { name: 'Up one level' }).click()
  await page.getByRole('button', { name: 'Namespace team-a/: change' }).click()
  await dialog.getByRole('link', { name: 'shop/', exact: true }).click()
  await page.getByRole('button', { name: 'Namespace team-a/shop/: change' }).waitFor()
  await page.getByRole('link', { name: 'Secrets' }).waitFor()
  expect(new URL(page.url()).searchParams.get('namespace')).toBe('team-a/shop')
})
