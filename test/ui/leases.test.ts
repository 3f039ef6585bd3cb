import { afterAll, beforeAll, expect, test } from 'vitest'
import { aLoginMount } from '../plugins/identity/login-mount.ts'
import { type CredentialProvider, startCredentialProvider } from '../support/credential-provider.ts'
import { practiceType } from '../support/practice-type.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, openAs, sharedPage } from './pages.ts'

let server: TestServer
let provider: CredentialProvider

beforeAll(async () => {
  provider = await startCredentialProvider()
  const roles = new Map([['ci', { ttl: 3000, maxTtl: 0, renewable: true }]])
  server = await startTestServer({ plugins: [practiceType({ providerUrl: provider.url, roles })] })
  await server.root.write('sys/mounts/engine', { type: 'practice' })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})
const visit = sharedPage(() => server.url)

const tokenOf = async (policy: string): Promise<string> => {
  const made = await server.root.write('auth/token/create', { policies: [policy], ttl: '2h' })
  return String(made.body.auth?.client_token)
}

test('leases show whose they are, by the alias of a person', async () => {
  await server.root.write('sys/policies/acl/reads', {
    policy: 'path "engine/creds/*" { capabilities = ["read"] }',
  })
  const people = await aLoginMount(server, 'people', { policies: 'reads' })
  const { client } = await people.login('lee@example.com')
  const { body } = await client.read('engine/creds/ci')
  await using opened = await openAs(`${server.url}/ui/#/leases/engine~creds~ci~`, await tokenOf('root'))
  const { page, complaints } = opened
  const row = page
    .getByRole('row')
    .filter({ hasText: String(body.lease_id).slice('engine/creds/ci/'.length) })
  await row.getByRole('link', { name: 'lee@example.com' }).waitFor()
  await row.getByText(/^49 min|^50 min/).waitFor()
  await expectAccessible(page)
  await row.getByRole('link').first().click()
  await page.getByText('Issued').waitFor()
  await page.getByRole('link', { name: 'lee@example.com' }).click()
  await page.getByRole('heading', { name: 'lee@example.com' }).waitFor()
  await server.root.write('sys/leases/revoke', { lease_id: body.lease_id })
  expect(complaints).toEqual([])
})

test('somebody who may revoke below one path cancels it there, and goes on after a lease that cannot be revoked', async () => {
  await server.root.write('sys/policies/acl/team', {
    policy: `path "sys/leases/lookup/engine/*" { capabilities = ["list", "sudo"] }
      path "sys/leases/revoke-prefix/engine/*" { capabilities = ["update", "sudo"] }`,
  })
  for (let leases = 0; leases < 12; leases += 1) await server.root.read('engine/creds/ci')
  const before = provider.asked.size
  provider.mood = 'hanging'
  await using opened = await openAs(`${server.url}/ui/#/leases/engine~`, await tokenOf('team'))
  const { page, complaints } = opened
  const revokeAll = async () => {
    await page.getByRole('button', { name: 'Revoke all' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke all' }).click()
  }
  await revokeAll()
  const panel = page.getByRole('region', { name: 'Revoke all' })
  await panel.getByText('0 of 12 are revoked').waitFor()
  await panel.getByRole('progressbar', { name: 'Revoke all' }).waitFor()
  await expectAccessible(page)
  await provider.deletions(before + 4)
  await panel.getByRole('button', { name: 'Cancel' }).click()
  await panel.getByText('Stopped').waitFor()
  expect(provider.asked.size).toBe(before + 4)

  provider.mood = 'refusing'
  provider.answerHanging()
  await revokeAll()
  await panel.getByText(/^0 of 12 are revoked. 12 could not be revoked/).waitFor()
  await panel.getByRole('alert').waitFor()
  provider.mood = 'up'
  await revokeAll()
  await page.getByText('All leases here are revoked').waitFor()
  expect(provider.alive.size).toBe(0)
  expect(complaints).toEqual([])
})

test('after a refusal, nothing more is revoked, and the page says at once that it has stopped', async () => {
  for (let leases = 0; leases < 6; leases += 1) await server.root.read('engine/creds/ci')
  await using opened = await openAs(`${server.url}/ui/#/leases/engine~creds~ci~`, await tokenOf('root'))
  const { page } = opened
  const listed = Promise.withResolvers<void>()
  await page.route('**/v1/sys/leases/revoke-prefix/**', async (route) => {
    // the list is slow from now on
    await page.route('**/v1/sys/leases/lookup/**', async (list) => {
      await listed.promise
      await list.continue()
    })
    await route.fulfill({ status: 403, json: { errors: ['permission denied'] } })
  })
  await page.getByRole('button', { name: 'Revoke all' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke all' }).click()
  const panel = page.getByRole('region', { name: 'Revoke all' })
  await panel.getByText(/^0 of 6 are revoked. Stopped/).waitFor()
  await panel.getByRole('alert').waitFor()
  await panel.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'detached' })
  listed.resolve()
  await server.root.write('sys/leases/revoke-prefix/engine')
})

test('a token that may list some leases only opens their path, by name or by a link of its policies', async () => {
  await server.root.read('engine/creds/ci')
  const policy = (path: string) => `path "sys/leases/lookup/${path}*" { capabilities = ["list", "sudo"] }`
  await server.root.write('sys/policies/acl/any-lease', { policy: policy('') })
  await server.root.write('sys/policies/acl/engine-leases', { policy: policy('engine/') })
  await using opened = await openAs(`${server.url}/ui/`, await tokenOf('any-lease'))
  await opened.page.getByRole('link', { name: 'Leases' }).click()
  await opened.page.getByRole('textbox', { name: 'Path', exact: true }).fill('engine/creds')
  await expectAccessible(opened.page)
  await opened.page.getByRole('button', { name: 'Open' }).click()
  await opened.page.getByRole('link', { name: 'ci/', exact: true }).waitFor()
  await using other = await openAs(`${server.url}/ui/#/leases`, await tokenOf('engine-leases'))
  await other.page.getByRole('link', { name: 'engine/', exact: true }).click()
  await other.page.getByRole('link', { name: 'creds/', exact: true }).waitFor()

  await server.root.write('sys/leases/revoke-prefix/engine')
  expect([...opened.complaints, ...other.complaints]).toEqual([])
})

test('a link to a deleted object reads nothing that was not deleted', async () => {
  const { page, requested } = await visit('system/deleted/engine~creds~ci')
  await page.getByText('Nothing that is still known has been deleted').waitFor()

  expect(await page.getByRole('region', { name: 'engine/creds/ci' }).count()).toBe(0)
  expect(requested.join('\n')).not.toContain('engine/creds')
  expect(provider.alive.size).toBe(0)
})

test('the lease of a token has no button that renews it', async () => {
  const { body } = await server.root.write('auth/token/create', { policies: ['default'], ttl: '1h' })
  const listed = await server.root.list('sys/leases/lookup/auth/token/create')
  const [id] = [listed.body.data?.keys].flat()
  expect(body.auth?.client_token).toBeDefined()
  const { page } = await visit(`leases/auth~token~create~${id}`)
  await page.getByRole('button', { name: 'Revoke' }).waitFor()

  expect(await page.getByRole('button', { name: 'Renew' }).count()).toBe(0)
})

test('an operator browses leases, renews one, and revokes it and all below a prefix', async () => {
  await server.root.read('engine/creds/ci')
  await server.root.read('engine/creds/ci')
  const { page, complaints } = await visit('leases')
  for (const name of ['engine/', 'creds/', 'ci/']) await page.getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { name: 'engine/creds/ci/', exact: true }).waitFor()
  await page.getByRole('table', { name: 'Leases' }).getByRole('link').first().click()

  await page.getByRole('button', { name: 'Renew' }).click()
  await page.getByText('Last renewal').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('heading', { name: 'engine/creds/ci/', exact: true }).waitFor()
  expect(provider.alive.size).toBe(1)

  await page.getByRole('button', { name: 'Revoke all' }).click()
  await page.getByRole('alertdialog').getByText('One entry is').waitFor()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke all' }).click()
  await page.getByText('All leases here are revoked').waitFor()
  await page.getByText('1 of 1 are revoked').waitFor()
  expect(provider.alive.size).toBe(0)
  expect(complaints).toEqual([])
})
