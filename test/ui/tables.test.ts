import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDirectory } from '../../simulators/directory/start-directory.ts'
import { startCredentialProvider } from '../support/credential-provider.ts'
import { practiceType } from '../support/practice-type.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { logIn, openPage } from './pages.ts'
import { tableVisits } from './table-visits.ts'

const stack = new AsyncDisposableStack()
let server: TestServer

beforeAll(async () => {
  const directory = stack.use(await startDirectory())
  const provider = stack.use(await startCredentialProvider())
  const folder = stack.use(await temporaryFolder())
  const roles = new Map([['ci', { ttl: 3000, maxTtl: 0, renewable: true }]])
  server = stack.use(
    await startTestServer({
      settings: {
        AUDIT_DIRS: folder.path,
        DEFAULT_MOUNTS: 'auth/jwt=jwt,auth/people=userpass,auth/programs=approle,cloud=cloud',
      },
      environment: {
        CLOUD_AUTHORITY_HOST: directory.authorityUrl,
        CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
        CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
        CLOUD_CA_FILE: directory.caFile,
      },
      plugins: [practiceType({ providerUrl: provider.url, roles })],
    }),
  )
  const { root } = server
  const made = async (path: string, body: object = {}) => {
    const answer = await root.write(path, body)
    expect(answer.status, `${path}: ${answer.text}`).toBeLessThan(300)
    return answer.body
  }
  await made('sys/mounts/team', { type: 'kv-v2', description: 'Of one team' })
  for (const password of ['first', 'second', 'third']) await made('team/data/shop/db', { data: { password } })
  await root.delete('team/data/shop/db')
  await made('team/data/shop/db', { data: { password: 'fourth' } })
  await made('auth/jwt/role/ci', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_subject: 'ci',
    token_policies: ['default'],
  })
  await made('auth/jwt/cel/role/people', { cel_program: { expression: '{"sub": claims.sub}' } })
  await server.anonymous.write('auth/jwt/login', { role: 'ci', jwt: 'none' })
  await made('auth/people/users/lee', { password: 'correct' })
  for (let tries = 0; tries < 5; tries += 1)
    await server.anonymous.write('auth/people/login/lee', { password: 'wrong' })
  await made('auth/people/users/sam', { password: 'correct' })
  await server.anonymous.write('auth/people/login/sam', { password: 'correct' })
  await made('auth/programs/role/nightly')
  await made('auth/programs/role/nightly/secret-id')
  await made('auth/jwt/cel/role/people', { cel_program: { expression: 'false' } })
  await made('identity/group', { name: 'shop-team' })
  await made('sys/namespaces/a-tenant')
  await made('sys/audit/file', { type: 'file', options: { file_path: join(folder.path, 'requests.log') } })
  await made('sys/quotas/rate-limit/all', { rate: 1_000_000 })
  await made('sys/policies/acl/gone', { policy: 'path "x" {}' })
  await root.delete('sys/policies/acl/gone')
  messageId = String(
    (
      await made('sys/config/ui/custom-messages', {
        title: 'Maintenance on Saturday',
        message: Buffer.from('No logins.').toString('base64'),
        authenticated: true,
        acknowledge_required: true,
        type: 'modal',
        start_time: '2099-01-01T00:00:00Z',
      })
    ).data?.id,
  )
  await made('cloud/config', {
    subscription_id: directory.subscriptionId,
    tenant_id: directory.tenantId,
    client_id: directory.rootClientId,
    client_secret: directory.rootClientSecret,
  })
  const scope = `/subscriptions/${directory.subscriptionId}/resourceGroups/web`
  const cloud_roles = JSON.stringify([{ role_name: 'Reader', scope }])
  await made('cloud/roles/shop', { cloud_roles, ttl: '1h' })
  await root.read('cloud/creds/shop')
  await made('cloud/roles/lost', { cloud_roles, ttl: '1h' })
  await made('cloud/roles/ready', { cloud_roles, ttl: '1h', pool: 1 })
  await root.read('cloud/creds/lost')
  const { id } = directory.admin.addApplication({ displayName: 'ERP' })
  await made('cloud/static-roles/erp', { application_object_id: id, rotation_period: '24h' })
  const accessor = String((await root.read('sys/mounts/cloud')).body.data?.['accessor'])
  directory.admin.addApplication({ displayName: 'gatehouse-shop-lost', tags: [`gatehouse:${accessor}:1`] })
  const code = 'Request_BadRequest'
  directory.fault({
    kind: 'status',
    status: 400,
    code,
    message: 'not now',
    operation: 'deleteApplication',
    times: null,
  })
  await root.write('sys/leases/revoke-force/cloud/creds/lost')
  await made('sys/mounts/engine', { type: 'practice' })
  const lease_id = String((await root.read('engine/creds/ci')).body.lease_id)
  provider.mood = 'refusing'
  await made('sys/leases/revoke', { lease_id, sync: false })
  await provider.deletions(1)
  await made('sys/policies/acl/engine-leases', {
    policy: 'path "sys/leases/lookup/engine/*" { capabilities = ["list", "sudo"] }',
  })
})
afterAll(() => stack.disposeAsync())

let messageId: string

const writeSecret = () => server.root.write('team/data/shop/db', { data: { password: 'theirs' } })

/** A phone, a tablet, a window of 1280 px at 200 % zoom, a desk. */
const screens = [
  { width: 360, deviceScaleFactor: 1 },
  { width: 768, deviceScaleFactor: 1 },
  { width: 640, deviceScaleFactor: 2 },
  { width: 1440, deviceScaleFactor: 1 },
]

/** Every text of the rows becomes as long as names can be. A button has none of the server's, and a secret is masked. */
const stretch = (table: string) => `{
  const cells = document.querySelectorAll('[data-rows="${table}"] :is([role=cell], li)')
  for (const cell of cells) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
    while (texts.nextNode() !== null)
      if (texts.currentNode.parentElement.closest('button, .secret') === null)
        texts.currentNode.data = texts.currentNode.data.replaceAll(/\\s/g, '').padEnd(200, 'x')
  }
}`

/** Columns that are too narrow to read, and rows that are too high to be found. */
const faults = (
  table: string,
) => `[...document.querySelectorAll('[data-rows="${table}"] :is([role=row], li)')]
  .filter((row) => row.querySelector('[role=columnheader]') === null)
  .flatMap((row) => [
    ...(row.offsetHeight > 160 ? ['a row is ' + row.offsetHeight + ' px high'] : []),
    ...[...row.children].filter((cell) => cell.textContent !== '' && cell.offsetWidth < 80)
      .map((cell) => cell.dataset.title + ' is ' + cell.offsetWidth + ' px wide'),
  ])`

async function faultsOf(page: Page, table: string): Promise<string[]> {
  const devtools = await page.context().newCDPSession(page)
  const found: string[] = []
  for (const { width, deviceScaleFactor } of screens) {
    const metrics = { width, height: 900, deviceScaleFactor, mobile: false }
    await devtools.send('Emulation.setDeviceMetricsOverride', metrics)
    await page.evaluate(stretch(table))
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    for (const fault of new Set(await page.evaluate<string[]>(faults(table))))
      found.push(`${table} at ${width} px: ${fault}`)
  }
  await devtools.detach()
  return found
}

test('every table and list can be read on a phone, a tablet, at 200 % zoom and on a desk, however long its texts are', async () => {
  const found: string[] = []
  let shownTo: string | undefined
  let opened: Awaited<ReturnType<typeof openPage>> | undefined
  for (const { table, place, policy = 'root', prepare } of tableVisits(messageId, writeSecret)) {
    if (opened === undefined || shownTo !== policy) {
      await opened?.[Symbol.asyncDispose]()
      const token = await server.root.write('auth/token/create', { policies: [policy] })
      opened = await openPage(`${server.url}/ui/`)
      await logIn(opened.page, String(token.body.auth?.client_token))
      shownTo = policy
    }
    const { page } = opened
    await page.evaluate(`location.hash = '#/home'`)
    await page.evaluate(`location.hash = ${JSON.stringify(`#/${place}`)}`)
    await prepare?.(page)
    await page.locator(`[data-rows="${table}"] :is([role=cell], li)`).first().waitFor()
    found.push(...(await faultsOf(page, table)))
  }
  await opened?.[Symbol.asyncDispose]()

  expect(found).toEqual([])
})
