import { afterAll, beforeAll, expect, test } from 'vitest'
import { inside } from '../../support/client.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { type FolderServer, startInFolder } from '../../support/folder-server.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startTwoServers } from '../../support/two-servers.ts'

const clock = new FakeClock(Date.UTC(2026, 2, 1, 9, 30))
let server: TestServer

const allows = (...rules: [path: string, ...capabilities: string[]][]) => ({
  policy: rules
    .map(([path, ...capabilities]) => `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }`)
    .join('\n'),
})
const usual = allows(['sys/mounts', 'read'], ['sys/auth', 'read'], ['sys/policies/acl', 'list'])

beforeAll(async () => {
  server = await startTestServer({ clock, settings: { POLICY_USES: '20' } })
})
afterAll(() => server[Symbol.asyncDispose]())

async function holderOf(policies: readonly string[]): Promise<ReturnType<TestServer['as']>> {
  const { body } = await server.root.write('auth/token/create', { policies, no_default_policy: true })
  return server.as(String(body.auth?.client_token))
}

const whatIf = async (name: string, body: object, client = server.root) =>
  client.write(`sys/policies/acl/${name}/what-if`, body)

test('says which recent requests would be denied or allowed, and how often each rule was used', async () => {
  await server.root.write('sys/policies/acl/ops', usual)
  const client = await holderOf(['ops'])
  for (const path of ['sys/mounts', 'sys/mounts', 'sys/auth', 'sys/audit']) await client.read(path)

  const { body, status } = await whatIf('ops', allows(['sys/mounts', 'read'], ['sys/audit', 'read', 'sudo']))

  expect([status, body.warnings]).toEqual([200, null])
  const now = '2026-03-01T09:30:00Z'
  expect(body.data).toMatchObject({
    since: now,
    uses: 3,
    requests: 4,
    lose: 1,
    gain: 1,
    rules: [
      { path: 'sys/mounts', uses: 1, requests: 2, last_at: now },
      { path: 'sys/auth', uses: 1, requests: 1, last_at: now },
      { path: 'sys/policies/acl', uses: 0, requests: 0, last_at: '' },
    ],
    changes: [
      { path: 'sys/auth', operation: 'read', before: 'allowed', after: 'denied', requests: 1 },
      { path: 'sys/audit', operation: 'read', before: 'denied', after: 'allowed', requests: 1 },
    ],
  })
  expect((await server.root.read('sys/policies/acl/ops')).body.data?.policy).toBe(usual.policy)
  expect((await client.read('sys/auth')).status).toBe(200)
})

test('other policies of the holder count, and those of its groups; other holders do not', async () => {
  for (const name of ['one', 'two']) await server.root.write(`sys/policies/acl/${name}`, usual)
  await server.root.write('auth/token/roles/named', { allowed_entity_aliases: ['job'], orphan: true })
  const made = await server.root.write('auth/token/create/named', { entity_alias: 'job', policies: ['two'] })
  const token = String(made.body.auth?.client_token)
  const entity = made.body.auth?.entity_id
  await server.root.write('identity/group', { name: 'g', policies: ['one'], member_entity_ids: [entity] })
  await server.as(token).read('sys/mounts')
  const denying = allows(['sys/mounts', 'deny'])

  expect((await whatIf('one', allows(['sys/other', 'read']))).body.data).toMatchObject({ uses: 1, lose: 0 })
  const denied = (await whatIf('one', denying)).body.data
  expect(denied?.changes).toMatchObject([{ entity_id: entity, path: 'sys/mounts', after: 'denied' }])
  expect((await whatIf('nobody-has-it', denying)).body.data).toMatchObject({ uses: 0, lose: 0 })
  await server.root.write('identity/entity/id/' + String(entity), { disabled: true })
  expect((await whatIf('one', denying)).body.data).toMatchObject({ uses: 0 })
})

test('who would gain or lose what needs sudo', async () => {
  await server.root.write('sys/policies/acl/plain', allows(['sys/policies/acl/*', 'create', 'update']))
  await server.root.write('sys/policies/acl/sudo', allows(['sys/policies/acl/*', 'update', 'sudo']))
  await server.root.write('sys/policies/acl/narrow', {
    ...allows(['sys/policies/acl/*', 'update'], ['sys/policies/acl/ops', 'deny']),
  })
  await server.root.write('sys/policies/acl/ops', usual)
  await (await holderOf(['ops'])).read('sys/auth')
  const change = allows(['sys/mounts', 'read'])
  const asked = async (policy: string) => whatIf('ops', change, await holderOf([policy]))

  const plain = await asked('plain')
  expect(plain.body.data).toMatchObject({ lose: 1, changes: [] })
  expect(plain.body.warnings).toEqual(['who would gain or lose what is left out without sudo on this path'])
  expect((await asked('sudo')).body.data?.changes).toMatchObject([{ path: 'sys/auth' }])
  expect((await asked('narrow')).status).toBe(403)
  for (const spelling of ['OPS', 'Ops'])
    expect((await whatIf(spelling, change, await holderOf(['narrow']))).status).toBe(403)
  // the policy can be written, not read
  expect(plain.body.data?.rules).toEqual([])
  expect((await asked('ops')).status).toBe(403)
})

test('a text that a write would refuse is refused alike, and nothing is written under the name', async () => {
  const refused = await whatIf('ops', { policy: 'path "a" { capabilities = ["fly"] }' })
  const written = await server.root.write('sys/policies/acl/ops', {
    policy: 'path "a" { capabilities = ["fly"] }',
  })

  expect([refused.status, refused.body.errors]).toEqual([400, written.body.errors])
  expect((await whatIf('root', usual)).body.errors).toEqual(['cannot update "root" policy'])
  expect((await whatIf('a/b', usual)).body.data).toMatchObject({ uses: 0 })
  expect((await server.root.list('sys/policies/acl/a')).status).toBe(404)
})

test('paths are those of the namespace of the token', async () => {
  await server.root.write('sys/namespaces/team', {})
  await server.root.write('sys/policies/acl/above', allows(['team/sys/mounts', 'read']))
  const client = await holderOf(['above'])
  expect((await client.read('sys/mounts', inside('team'))).status).toBe(200)

  expect((await whatIf('above', allows(['x', 'read']))).body.data?.changes).toMatchObject([
    { path: 'team/sys/mounts', after: 'denied' },
  ])
  const elsewhere = await server.root.write(
    'sys/policies/acl/above/what-if',
    allows(['x', 'read']),
    inside('team'),
  )
  expect(elsewhere.body.data).toMatchObject({ uses: 0 })
})

test('a changed rule for parameters is not judged, and the answer says so', async () => {
  const limited = (values: string) => ({
    policy: `path "sys/mounts/*" { capabilities = ["update"], allowed_parameters = { "type" = [${values}] } }`,
  })
  await server.root.write('sys/policies/acl/limited', limited('"kv"'))
  const warning = 'rules for parameters differ: they are judged as for requests without fields'

  expect((await whatIf('limited', limited('"pki"'))).body.warnings).toEqual([warning])
  expect((await whatIf('limited', limited('"kv"'))).body.warnings).toBeNull()
})

test('is bounded in number, length and time', async () => {
  // what was asked for before is less recent
  clock.advance(1)
  await server.root.write('sys/policies/acl/many', allows(['kept/*', 'read']))
  const client = await holderOf(['many'])
  await client.read('kept/first')
  await client.read(`kept/${'x'.repeat(2_100)}`)
  for (let number = 0; number < 20; number += 1) await client.read(`kept/${number}`)

  const tried = async () => (await whatIf('many', allows(['other', 'read']))).body.data
  expect(await tried()).toMatchObject({ uses: 20, lose: 20 })
  clock.advance(31 * 86_400)
  const later = await holderOf(['many'])
  await later.read('kept/later')
  expect(await tried()).toMatchObject({ uses: 1, changes: [{ path: 'kept/later' }] })
})

test('survives a restart, until it is off', async () => {
  await using folder = await temporaryFolder()
  const start = (uses: string) => startInFolder({ folder: folder.path, settings: { POLICY_USES: uses } })
  const first = await start('20')
  const root = first.as(first.rootToken)
  await root.write('sys/policies/acl/ops', usual)
  const made = await root.write('auth/token/create', { policies: ['ops'], ttl: '1h' })
  await root.with(String(made.body.auth?.client_token)).read('sys/mounts')
  await first.stop()
  const tried = async (server: FolderServer) =>
    (await whatIf('ops', allows(['x', 'read']), server.as(first.rootToken))).body.data

  const second = await start('20')
  expect(await tried(second)).toMatchObject({ uses: 1, lose: 1 })
  await second.stop()
  await using off = await start('0')
  expect(await tried(off)).toMatchObject({ uses: 0 })
})

test('requests that come while uses are recorded count', async () => {
  await using other = await startTestServer({ settings: { POLICY_USES: '500' } })
  await other.root.write('sys/policies/acl/ops', usual)
  const { body } = await other.root.write('auth/token/create', { policies: ['ops'], no_default_policy: true })
  const client = other.as(String(body.auth?.client_token))
  const paths = Array.from({ length: 300 }, (_, number) => `kv/${number}`)
  for (const path of paths) await client.read(path)
  const tried = async () => (await whatIf('ops', usual, other.root)).body.data

  const [, ...reads] = await Promise.all([tried(), ...paths.slice(-50).map((path) => client.read(path))])

  expect(await tried()).toMatchObject({ uses: 300, requests: 300 + reads.length })
})

test('servers that share a database count together', async () => {
  await using servers = await startTwoServers({ settings: { POLICY_USES: '20' } })
  const { one, other } = servers
  await one.root.write('sys/policies/acl/ops', usual)
  const { body } = await one.root.write('auth/token/create', { policies: ['ops'] })
  const token = String(body.auth?.client_token)
  for (const server of [one, other, other])
    expect((await server.as(token).read('sys/mounts')).status).toBe(200)
  const tried = async (server: TestServer) =>
    (await whatIf('ops', allows(['x', 'read']), server.root)).body.data

  await tried(one)

  expect(await tried(other)).toMatchObject({ uses: 1, requests: 3, lose: 1 })
  expect(await tried(one)).toMatchObject({ uses: 1, requests: 3, lose: 1 })
})

test('remembers nothing by default', async () => {
  await using other = await startTestServer()
  await other.root.write('sys/policies/acl/ops', usual)
  const { body } = await other.root.write('sys/policies/acl/ops/what-if', usual)

  expect(body.data).toMatchObject({ uses: 0, lose: 0, gain: 0, changes: [] })
  expect(body.warnings).toEqual(['GATEHOUSE_POLICY_USES is 0: no use of a policy is remembered'])
})
