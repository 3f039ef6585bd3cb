import { expect, test } from 'vitest'
import type { Directory } from '../../../simulators/directory/directory.ts'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { selfSigned } from '../../support/certificates.ts'
import { actAs, askToken, makeCredential } from './client.ts'

async function control(
  directory: Directory,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${directory.controlUrl}${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}

test('it shows everything needed to configure a program', async () => {
  await using directory = await startDirectory({ controls: true })

  const { body } = await control(directory, 'GET', '/')

  expect(body).toMatchObject({
    authority_url: directory.authorityUrl,
    directory_url: directory.directoryUrl,
    resource_manager_url: directory.resourceManagerUrl,
    control_url: directory.controlUrl,
    ca_file: directory.caFile,
    tenant_id: directory.tenantId,
    subscription_id: directory.subscriptionId,
    client_id: directory.rootClientId,
    client_secret: directory.rootClientSecret,
    groups: { foo: expect.any(String), bar: expect.any(String) },
  })
})

test('there is no control port unless requested', async () => {
  await using directory = await startDirectory()

  expect(directory.controlUrl).toBeUndefined()
})

test('settings can be changed partially and apply at once', async () => {
  await using directory = await startDirectory({ controls: true })

  await control(directory, 'POST', '/settings', { delaySeconds: { secretToToken: 5 } })
  const { body } = await control(directory, 'POST', '/settings', {
    delaySeconds: { deletedToBin: 6 },
    replicas: 3,
  })

  expect(body).toMatchObject({
    delaySeconds: { secretToToken: 5, deletedToBin: 6, changeToRead: 0 },
    replicas: 3,
    pageSize: 100,
  })
})

test('trusts and certificates can be added and removed', async () => {
  await using directory = await startDirectory({ controls: true })
  const application_id = directory.rootApplicationId

  const trust = await control(directory, 'POST', '/trusts', {
    application_id,
    issuer: 'https://ci.example',
    subject: 'job',
    name: 'ci',
  })
  const key = await control(directory, 'POST', '/certificates', {
    application_id,
    certificate: selfSigned().cert,
  })
  const wrong = await control(directory, 'POST', '/certificates', { application_id, certificate: 'x' })
  const removed = await control(directory, 'POST', '/remove', { id: Object(trust.body).id })

  expect([trust, key, removed]).toMatchObject([
    { status: 200, body: { id: expect.any(String), name: 'ci' } },
    { status: 200, body: { keyId: expect.any(String) } },
    { status: 200 },
  ])
  expect(wrong.status).toBe(400)
})

test('faults can be requested, occur, and can be cleared', async () => {
  await using directory = await startDirectory({ controls: true })
  const status = async () => (await askToken(directory)).status

  await control(directory, 'POST', '/faults', {
    kind: 'status',
    status: 500,
    operation: 'token',
    times: null,
  })
  const broken = await status()
  await control(directory, 'DELETE', '/faults')

  expect([broken, await status()]).toEqual([500, 200])
})

test('the clock can be moved, a held response released, and a service stopped and started', async () => {
  await using directory = await startDirectory({ controls: true })
  await control(directory, 'POST', '/clock', { advance_seconds: 86_400 })
  await control(directory, 'POST', '/faults', { kind: 'held', operation: 'token' })
  const asked = askToken(directory)
  await directory.journal.arrived('token')

  await control(directory, 'POST', '/release')
  const { headers } = await asked
  await control(directory, 'POST', '/down', { service: 'login' })
  await expect(askToken(directory)).rejects.toThrow(/ECONNREFUSED/)
  await control(directory, 'POST', '/up', {})

  expect(Date.parse(headers.date ?? '') - Date.now()).toBeGreaterThan(86_000_000)
  expect((await askToken(directory)).status).toBe(200)
})

test('inventory, debris and journal are the same as inside the process', async () => {
  await using directory = await startDirectory({ controls: true })
  const { appId, secret } = await makeCredential(await actAs(directory))

  const inventory = await control(directory, 'GET', '/inventory')
  const debris = await control(directory, 'POST', '/debris', { client_ids: [appId], secrets: [secret] })
  const journal = await control(directory, 'GET', '/journal?operation=createApplication&service=directory')
  await control(directory, 'DELETE', '/journal')

  expect(inventory.body).toEqual(directory.inventory())
  expect(debris.body).toEqual([])
  expect(journal.body).toMatchObject([{ operation: 'createApplication', status: 201 }])
  expect(directory.journal.entries()).toEqual([])
})

test('groups, definitions, resource groups and applications can be added and removed', async () => {
  await using directory = await startDirectory({ controls: true })
  const root = await actAs(directory)

  const group = await control(directory, 'POST', '/groups', { name: 'ops' })
  const definition = await control(directory, 'POST', '/role-definitions', {
    role_name: 'Deployer',
    actions: ['*/write'],
  })
  const resourceGroup = await control(directory, 'POST', '/resource-groups', { name: 'edge' })
  const application = await control(directory, 'POST', '/applications', {
    name: 'shop',
    tags: ['a'],
    sign_in_audience: 'AzureADMyOrg',
  })
  const made = { ...Object(group.body), ...Object(application.body) }
  const before = await root.graph('GET', `/applications/${made.id}`)
  await control(directory, 'POST', '/remove', { id: made.id })
  const binned = await root.graph('GET', `/directory/deletedItems/${made.id}`)
  await control(directory, 'POST', '/purge', { id: made.id })
  const after = await root.graph('GET', `/directory/deletedItems/${made.id}`)

  expect(definition.body).toMatchObject({ id: expect.stringContaining('/roleDefinitions/') })
  expect(resourceGroup.body).toEqual({
    scope: `/subscriptions/${directory.subscriptionId}/resourceGroups/edge`,
  })
  expect(before.body).toMatchObject({ displayName: 'shop', tags: ['a'] })
  expect([binned.status, after.status]).toEqual([200, 404])
})

test.each([
  { path: '/settings', body: { delaySeconds: { nothing: 1 } }, error: /Unrecognized key/ },
  { path: '/settings', body: { replicas: 0 }, error: /replicas/ },
  { path: '/settings', body: { rootRoles: ['Nobody'] }, error: /there is no role definition 'Nobody'/ },
  { path: '/faults', body: { kind: 'odd' }, error: /kind/ },
  { path: '/faults', body: { kind: 'status', status: 500, operation: 'odd' }, error: /operation/ },
  { path: '/remove', body: { id: 'x' }, error: /nothing has the id 'x'/ },
  { path: '/settings', body: [], error: /record|object/ },
])('$path with $body is refused', async ({ path, body, error }) => {
  await using directory = await startDirectory({ controls: true })

  const answer = await control(directory, 'POST', path, body)

  expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(error) } })
})

test('an unknown control is 404', async () => {
  await using directory = await startDirectory({ controls: true })

  expect((await control(directory, 'GET', '/nothing')).status).toBe(404)
})
