import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CloudFixture, startCloudFixture } from './cloud-fixture.ts'

let fixture: CloudFixture

beforeAll(async () => {
  fixture = await startCloudFixture({ configured: false })
})
afterAll(() => fixture[Symbol.asyncDispose]())

const foo = { cloud_groups: '[{"group_name":"foo"}]' }

/** A client with these capabilities on everything below `cloud/`. */
const withCapabilities = (...capabilities: string[]) => withRules({ 'cloud/*': capabilities })

let made = 0
async function withRules(rules: Readonly<Record<string, readonly string[]>>) {
  const name = `p${++made}`
  const policy = Object.entries(rules)
    .map(([path, capabilities]) => `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }`)
    .join('\n')
  await fixture.root.write(`sys/policies/acl/${name}`, { policy })
  const { body } = await fixture.root.write('auth/token/create', {
    policies: [name],
    no_default_policy: true,
  })
  return fixture.server.as(String(body['auth']?.['client_token']))
}

test('a new role or configuration needs create, an existing one needs update', async () => {
  const [creator, updater] = [await withCapabilities('create'), await withCapabilities('update')]

  expect((await updater.write('cloud/config', fixture.config())).status).toBe(403)
  expect((await creator.write('cloud/config', fixture.config())).status).toBe(204)
  expect((await creator.write('cloud/config', fixture.config())).status).toBe(403)
  expect((await updater.write('cloud/config', { root_password_ttl: 9 })).status).toBe(204)

  expect((await updater.write('cloud/roles/a', foo)).status).toBe(403)
  expect((await creator.write('cloud/roles/a', foo)).status).toBe(204)
  expect((await creator.write('cloud/roles/A', foo)).status).toBe(403)
  expect((await updater.call('PUT', 'cloud/roles/a', { ttl: 5 })).status).toBe(204)

  expect((await creator.write('cloud/rotate-root')).status).toBe(403)
  expect((await updater.write('cloud/rotate-root')).status).toBe(204)
})

// docs/contract/cloud.md#access-tokens
test('certificates and tokens are made with update, and read with read', async () => {
  const [reader, updater] = [await withCapabilities('read'), await withCapabilities('update')]
  const paths = ['config/certificate', 'token/none']

  for (const path of ['config/identity', 'config/check', 'static-creds/none', ...paths])
    expect([path, (await updater.read(`cloud/${path}`)).status]).toEqual([path, 403])
  for (const path of ['rotate-role/none', 'static-creds/none/token', ...paths])
    expect([path, (await reader.write(`cloud/${path}`, {})).status]).toEqual([path, 403])
  for (const path of paths) {
    expect([path, (await reader.read(`cloud/${path}`)).status]).not.toEqual([path, 403])
    const maker = await withRules({ [`cloud/${path}`]: ['update'] })
    expect([path, (await maker.write(`cloud/${path}`, {})).status]).not.toEqual([path, 403])
  }
})

test('a rule that also covers the credentials of a role opens no token that a narrower rule closes', async () => {
  const everything = ['create', 'read', 'update', 'delete', 'list']
  const denied = ['config', 'creds/Prod', 'static-creds/prod', 'static-roles/prod'].map(
    (path) => [`cloud/${path}`, ['deny']] as const,
  )
  const client = await withRules({ 'cloud/*': everything, ...Object.fromEntries(denied) })

  const refused = await Promise.all([
    ...['token/prod', 'config/identity', 'config/check', 'config/certificate'].map((path) =>
      client.read(`cloud/${path}`),
    ),
    ...['token/PROD', 'config/certificate', 'static-creds/prod/token', 'static-roles/prod/import'].map(
      (path) => client.write(`cloud/${path}`, {}),
    ),
  ])

  expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 403))
  expect((await client.read('cloud/token/other')).status).not.toBe(403)
})

test.each([
  { capability: 'read', may: ['GET config', 'GET roles/a'] },
  { capability: 'list', may: ['LIST roles', 'LIST roles/'] },
  { capability: 'delete', may: ['DELETE roles/none', 'DELETE config'] },
])('the capability $capability allows its calls only', async ({ capability, may }) => {
  await fixture.root.write('cloud/config', fixture.config())
  await fixture.root.write('cloud/roles/a', foo)
  const client = await withCapabilities(capability)

  const calls = [
    'GET config',
    'GET roles/a',
    'LIST roles',
    'LIST roles/',
    'POST config',
    'POST roles/a',
    'POST rotate-root',
    'DELETE roles/none',
    'DELETE config',
  ]
  const allowed = []
  for (const call of calls) {
    const [verb = '', path = ''] = call.split(' ')
    if ((await client.call(verb, `cloud/${path}`)).status !== 403) allowed.push(call)
  }

  expect(allowed).toEqual(may)
})

test('every path needs a token', async () => {
  for (const path of ['config', 'roles/a', 'roles', 'rotate-root'])
    expect((await fixture.server.anonymous.read(`cloud/${path}`)).status).toBe(403)
})
