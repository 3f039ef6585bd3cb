import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Directory } from '../../simulators/directory/directory.ts'
import { startDirectory } from '../../simulators/directory/start-directory.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, openAs, sharedPage, type UiPage } from './pages.ts'

const markup = '<img src=x onerror="window.ran = 1">'

let directory: Directory
let server: TestServer

beforeAll(async () => {
  directory = await startDirectory()
  server = await startTestServer({
    settings: { DEFAULT_MOUNTS: 'cloud=cloud' },
    environment: {
      CLOUD_AUTHORITY_HOST: directory.authorityUrl,
      CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
      CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
      CLOUD_CA_FILE: directory.caFile,
    },
  })
  directory.admin.addGroup(markup)
  await server.root.write('cloud/config', {
    subscription_id: directory.subscriptionId,
    tenant_id: directory.tenantId,
    client_id: directory.rootClientId,
    client_secret: directory.rootClientSecret,
  })
  await aRole('shop', { cloud_groups: JSON.stringify([{ group_name: markup }]) })
  const policy = (creds: string) => `path "cloud/creds/${creds}" { capabilities = ["read"] }`
  await server.root.write('sys/policies/acl/shop', { policy: policy('shop') })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await directory[Symbol.asyncDispose]()
})

const scope = () => `/subscriptions/${directory.subscriptionId}/resourceGroups/web`

async function aRole(name: string, body: object = {}): Promise<void> {
  const cloud_roles = JSON.stringify([{ role_name: 'Reader', scope: scope() }])
  const made = await server.root.write(`cloud/roles/${name}`, { cloud_roles, ttl: '1h', ...body })
  expect(made.status).toBe(204)
}

async function open(policy: string, place = ''): Promise<UiPage> {
  const { body } = await server.root.write('auth/token/create', {
    policies: [policy],
    ttl: '2h',
    display_name: 'ada',
  })
  return openAs(`${server.url}/ui/#/cloud${place}`, String(body.auth?.client_token))
}

const expectHarmless = async ({ page, complaints }: UiPage) => {
  expect(await page.evaluate('typeof window.ran')).toBe('undefined')
  expect(complaints).toEqual([])
}

test('a reader gets credentials that work when they are shown, and nothing that is for operators', async () => {
  await using opened = await open('shop')
  const { page } = opened
  await page.getByRole('link', { name: 'shop' }).click()
  await page.getByText('waits until the cloud accepts them: most often some seconds, at most 60 s').waitFor()
  await page.getByRole('button', { name: 'Get credentials' }).click()
  await page.getByText(/credentials were ready after \d s/).waitFor()
  await page.getByText('The secret is shown on this page only.').waitFor()
  await expectAccessible(page)
  const [made] = directory.inventory().filter(({ kind }) => kind === 'application')
  const masked = String(await page.evaluate('document.body.innerHTML'))
  await page.getByRole('button', { name: 'Show Client secret' }).click()
  const secret = await page.getByRole('definition').locator('.secret code').textContent()

  expect(masked).toContain(made?.clientId)
  expect(masked).not.toContain(secret)
  expect(secret).toMatch(/.{30}/)
  expect(await page.getByRole('timer').textContent()).toMatch(/^(1 h|59 min.*)$/)
  await page.getByRole('button', { name: 'Renew' }).click()
  expect(await page.getByRole('button', { name: /Revoke|Edit|Delete/ }).count()).toBe(0)
  expect(await page.getByRole('navigation', { name: 'Of this mount' }).count()).toBe(0)
  await page.getByRole('link', { name: 'Home' }).click()
  await page.getByRole('heading', { name: 'Who I am' }).waitFor()
  expect(await page.evaluate('document.documentElement.outerHTML')).not.toContain(secret)
  await expectHarmless(opened)
})

test('an operator sees what a role grants, gets credentials and revokes them, and finds who requested others', async () => {
  await using opened = await open('root', '/cloud/roles/shop')
  const { page } = opened
  await page.getByText(markup, { exact: true }).waitFor()
  await page.getByText(scope()).waitFor()
  await page.getByRole('button', { name: 'Get credentials' }).click()
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('These credentials are revoked.').waitFor()

  const { body } = await server.root.read('cloud/creds/shop')
  const clientId = String(body.data?.client_id)
  await page.getByRole('link', { name: 'Live leases' }).click()
  const row = page.getByRole('row').filter({ hasText: String(body.lease_id).split('/').at(-1) ?? '' })
  await row.getByText(/^(1 h|59 min)/).waitFor()
  await expectAccessible(page)
  await page.getByRole('link', { name: 'Who is' }).click()
  await page.getByRole('textbox', { name: 'Client id' }).fill(clientId)
  await page.getByRole('button', { name: 'Ask' }).click()
  await page.getByRole('region', { name: 'Requested by' }).getByText(String(body.lease_id)).waitFor()
  await expectAccessible(page)

  expect(page.url()).toContain(`/whois/${clientId}`)
  await expectHarmless(opened)
})

describe('an operator stays in the UI', () => {
  const visit = sharedPage(() => server.url)

  test('the check of the root credential names the permission that is missing, and an operator corrects the configuration', async () => {
    directory.change({ directoryPermissions: 'None' })
    const opened = await visit('cloud/cloud/config')
    const { page } = opened
    await page.getByRole('heading', { name: 'Something is missing' }).waitFor()
    await page.getByText('Application.ReadWrite.OwnedBy').first().waitFor()
    await page.getByText('What to do:').first().waitFor()
    await page.getByText('With a client secret that is stored here.').waitFor()
    await expectAccessible(page)
    directory.change({ directoryPermissions: 'All' })
    await page.getByRole('button', { name: 'Check again' }).click()
    await page.getByRole('heading', { name: 'The root credential has what it needs' }).waitFor()

    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('textbox', { name: 'Environment' }).fill(markup)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('no cloud configuration matching the name').waitFor()
    await page.getByRole('textbox', { name: 'Environment' }).fill('CloudPublicCloud')
    await page.getByRole('button', { name: 'Save' }).click()
    const configuration = page.getByRole('region', { name: 'Configuration' })
    await configuration.getByText('CloudPublicCloud').waitFor()
    await configuration
      .getByRole('region', { name: 'History' })
      .getByText(/Changed by/)
      .first()
      .waitFor()
    const signIn = page.getByRole('region', { name: 'How it signs in' })
    await signIn.getByText('az ad app credential reset').waitFor()
    await page.getByRole('button', { name: 'Rotate the root secret' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Rotate the root secret' }).click()
    await page.getByText('The rotation has begun.').waitFor()

    await expectHarmless(opened)
  })

  test('debris is listed with its last error, and unowned objects are found and removed', async () => {
    await aRole('lost')
    await server.root.read('cloud/creds/lost')
    const refused = { kind: 'status', status: 400, code: 'Request_BadRequest', message: markup } as const
    directory.fault({ ...refused, operation: 'deleteApplication', times: null })
    await server.root.write('sys/leases/revoke-force/cloud/creds/lost')
    await expect
      .poll(async () => JSON.stringify((await server.root.read('cloud/debris')).body.data))
      .toContain('onerror')
    const opened = await visit('cloud/cloud/debris')
    const { page } = opened
    await page.getByRole('table', { name: 'Debris' }).getByText(markup).first().waitFor()
    await expectAccessible(page)

    const { body } = await server.root.read('sys/mounts/cloud')
    const accessor = String(body.data?.['accessor'])
    directory.admin.addApplication({ displayName: 'gatehouse-shop-lost', tags: [`gatehouse:${accessor}:1`] })
    directory.clearFaults()
    await page.getByRole('button', { name: 'Find unowned objects' }).click()
    await page.getByRole('table', { name: 'Unowned objects' }).getByText('gatehouse-shop-lost').waitFor()
    await page.getByRole('button', { name: 'Remove them' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove them' }).click()
    await page.getByText(/objects? (is|are) removed/).waitFor()
    await page.getByRole('button', { name: 'Find unowned objects' }).click()
    await page.getByText('Every object has an owner.').waitFor()

    await expectHarmless(opened)
  })

  test('an operator creates a role, reads what is wrong with it beside the field, and deletes it', async () => {
    const opened = await visit('cloud')
    const { page } = opened
    await page.getByRole('textbox', { name: 'Open or create a role' }).fill('billing')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('link', { name: 'Create' }).click()
    const assignments = page.getByRole('textbox', { name: 'Role assignments' })
    await assignments.fill('[{"role_name": "Unheard of", "scope": "/subscriptions/x"}]')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/no role found for/).waitFor()
    await expectAccessible(page)
    await assignments.fill(JSON.stringify([{ role_name: 'Contributor', scope: scope() }]))
    await page.getByRole('textbox', { name: 'Made ahead' }).fill('51')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('pool must be between 0 and 50').waitFor()
    await page.getByRole('textbox', { name: 'Made ahead' }).fill('2')
    await page.getByRole('button', { name: 'Save' }).click()
    await page
      .getByRole('region', { name: 'History' })
      .getByText(/^Created by/)
      .waitFor()
    await page.getByText('Contributor').waitFor()
    await page.getByRole('link', { name: 'Ready credentials' }).click()
    await page.getByText(/^[0-2] of 2 credentials are ready\.$/).waitFor()
    await page.getByRole('row', { name: /billing.*[0-2] of 2/ }).waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'billing' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('textbox', { name: 'Open or create a role' }).waitFor()
    await page.getByRole('link', { name: 'shop' }).waitFor()
    await expectAccessible(page)

    expect((await server.root.read('cloud/roles/billing')).status).toBe(404)
    await expectHarmless(opened)
  })
})

test('a static role shows its next rotation; who may read its password gets it, and an access token', async () => {
  const { id, appId } = directory.admin.addApplication({ displayName: 'ERP' })
  const made = await server.root.write('cloud/static-roles/erp', {
    application_object_id: id,
    rotation_period: '24h',
    metadata: { team: markup },
  })
  expect(made.status, made.text).toBe(204)
  await server.root.write('sys/policies/acl/erp', {
    policy: `path "cloud/static-creds/erp" { capabilities = ["read"] }
      path "cloud/static-creds/erp/token" { capabilities = ["update"] }`,
  })
  await using asReader = await open('erp')
  const reader = asReader.page
  await reader.getByRole('link', { name: 'Static roles' }).click()
  await reader.getByRole('link', { name: 'erp' }).click()
  await reader.getByRole('button', { name: 'Read the password' }).click()
  await reader.getByRole('button', { name: 'Show Client secret' }).click()
  await reader.getByText(appId).waitFor()
  await reader.getByRole('textbox', { name: 'Scope' }).fill('everything')
  await reader.getByRole('button', { name: 'Get a token' }).click()
  await reader.getByText('scope must be one resource followed by /.default').waitFor()
  await reader.getByRole('textbox', { name: 'Scope' }).fill(`${directory.resourceManagerUrl}/.default`)
  await reader.getByRole('button', { name: 'Get a token' }).click()
  await reader.getByRole('button', { name: 'Show Access token' }).waitFor()
  expect(await reader.getByRole('button', { name: /Rotate|Delete/ }).count()).toBe(0)
  await expectAccessible(reader)
  await reader.goto(`${server.url}/ui/#/cloud/cloud/roles/new/edit`)
  await reader.getByText('Your token does not allow anything here.').waitFor()

  await using opened = await open('root', '/cloud/static')
  const { page } = opened
  const row = page.getByRole('row').filter({ hasText: 'erp' })
  await row.locator('time').waitFor()
  await expectAccessible(page)
  await row.getByRole('link').click()
  await page.getByText('<img src=x').waitFor()
  await page.getByRole('button', { name: 'Rotate now' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Rotate now' }).click()
  await page.getByRole('alertdialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Read the password' }).click()
  await page.getByText('The former one ends').waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No static roles yet').waitFor()

  await expectHarmless(asReader)
  await expectHarmless(opened)
})
