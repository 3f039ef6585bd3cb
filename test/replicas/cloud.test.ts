import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aCredential, aRole, reader } from '../plugins/cloud/credential-steps.ts'
import { aStaticRole, keysOn } from '../plugins/cloud/static-roles/static-role-steps.ts'
import type { TestServer } from '../support/start-server.ts'
import { type CloudServers, startCloudServers } from './cloud-servers.ts'

let servers: CloudServers
beforeAll(async () => {
  servers = await startCloudServers()
})
afterAll(() => servers[Symbol.asyncDispose]())

const things = (kind: string) =>
  servers.fixture.directory.inventory().filter((one) => one.kind === kind && !one.deleted)
const debris = async ({ root }: { root: TestServer['root'] }) =>
  (await root.read('cloud/debris')).body.data?.['objects']
const atBoth = () => [servers.fixture.root, servers.other.root] as const
const roleAt = (name: string) => async () => (await servers.other.root.read(`cloud/roles/${name}`)).status

test('a credential that one server issued is renewed and revoked by the other', async () => {
  const { fixture, other } = servers
  await aRole(fixture, 'dynamic', { ttl: 100 })
  const { lease, clientId } = await aCredential(fixture, 'dynamic')
  expect(things('application').map((one) => one.clientId)).toContain(clientId)

  await expect.poll(roleAt('dynamic')).toBe(200)
  const renewed = await other.root.write('sys/leases/renew', { lease_id: lease })
  const whois = await other.root.read(`cloud/whois/${clientId}`)
  const revoked = await other.root.write('sys/leases/revoke', { lease_id: lease, sync: true })

  expect([renewed.status, whois.status, revoked.status]).toEqual([200, 200, 204])
  expect(things('application').map((one) => one.clientId)).not.toContain(clientId)
  expect(things('role-assignment')).toEqual([])
  expect((await fixture.root.write('sys/leases/lookup', { lease_id: lease })).status).toBe(400)
})

test('passwords of one application that both servers add and remove never collide', async () => {
  const { fixture, other } = servers
  await aRole(fixture, 'owner', { persist_app: true })
  await expect.poll(roleAt('owner')).toBe(200)
  const id = (await fixture.root.read('cloud/roles/owner')).body.data?.['application_object_id']
  await aRole(fixture, 'static', { application_object_id: id })
  await expect.poll(roleAt('static')).toBe(200)
  for (const operation of ['addApplicationPassword', 'removeApplicationPassword'] as const)
    fixture.directory.fault({ kind: 'slow', operation, delayMs: 20, times: null })
  const conflicts = () =>
    fixture.directory.journal.entries().filter(({ status }) => status === 409 || status === 429).length
  const before = conflicts()

  const made = await Promise.all([0, 1, 2, 3].map((at) => atBoth()[at % 2]?.read('cloud/creds/static')))
  const removed = await Promise.all(
    made.map((one, at) =>
      atBoth()[(at + 1) % 2]?.write('sys/leases/revoke', { lease_id: one?.body.lease_id, sync: true }),
    ),
  )

  fixture.directory.clearFaults()
  expect(made.map((one) => one?.status)).toEqual([200, 200, 200, 200])
  expect(removed.map((one) => one?.status)).toEqual([204, 204, 204, 204])
  expect(conflicts()).toBe(before)
  expect(things('password').filter((one) => one.name.includes('static'))).toEqual([])
  expect((await other.root.delete('cloud/roles/static')).status).toBe(204)
})

test('a role that both servers write at the same time owns one application, and the other write changes it', async () => {
  const { fixture } = servers
  const write = { persist_app: true, cloud_roles: reader(fixture) }

  const answers = await Promise.all(
    [0, 1, 2, 3].map((at) => atBoth()[at % 2]?.write('cloud/roles/both', { ...write, ttl: 60 + at })),
  )

  expect(answers.map((answer) => answer?.status)).toEqual([204, 204, 204, 204])
  expect(things('application').filter(({ name }) => name.startsWith('gatehouse-both-'))).toHaveLength(1)
  // a server may still show its own write although the other's was later
  await expect
    .poll(async () => {
      const [own, other] = await Promise.all(atBoth().map((root) => root.read('cloud/roles/both')))
      return isDeepStrictEqual(own?.body.data, other?.body.data)
    })
    .toBe(true)
  expect(await Promise.all(atBoth().map((root) => debris({ root })))).toEqual([[], []])
})

describe('a static role', () => {
  const hour = 3600
  const made = () => servers.fixture.directory.journal.entries({ operation: 'addApplicationPassword' })
  const keyAt = async (root: TestServer['root'], name: string) =>
    (await root.read(`cloud/static-creds/${name}`)).body.data?.['secret_id']
  const keys = (name: string) => Promise.all(atBoth().map((root) => keyAt(root, name)))

  test('that is due is rotated once, and both servers return its new password', async () => {
    const { fixture } = servers
    await aStaticRole(fixture, 'due', { rotation_period: '2h' })
    await expect.poll(async () => new Set(await keys('due')).size).toBe(1)
    const [first] = await keys('due')
    fixture.directory.journal.clear()
    fixture.clock.advance(2 * hour)

    await expect
      .poll(async () => (await keys('due')).every((key) => key !== first), { timeout: 30_000 })
      .toBe(true)

    expect(new Set(await keys('due')).size).toBe(1)
    expect(made()).toHaveLength(1)
    expect((await fixture.root.delete('cloud/static-roles/due?revoke=true')).status).toBe(204)
  })

  test('that both servers rotate at the same time is rotated by one after the other', async () => {
    const { fixture } = servers
    const application = await aStaticRole(fixture, 'both', { rotation_grace_period: -1 })
    await expect.poll(async () => new Set(await keys('both')).size).toBe(1)
    fixture.directory.journal.clear()

    const answers = await Promise.all(atBoth().map((root) => root.write('cloud/rotate-role/both', {})))

    expect(answers.map((answer) => answer.status)).toEqual([204, 204])
    expect(made()).toHaveLength(2)
    await expect.poll(() => keysOn(fixture, application)).toHaveLength(1)
    await expect.poll(() => keys('both')).toEqual([0, 1].map(() => keysOn(fixture, application)[0]))
    expect((await servers.other.root.delete('cloud/static-roles/both?revoke=true')).status).toBe(204)
    expect(keysOn(fixture, application)).toEqual([])
  })
})

test('two rotations of the root secret at the same time leave one pending secret', async () => {
  const passwords = () => things('password').filter(({ name }) => name.startsWith('gatehouse-root-'))

  const answers = await Promise.all(atBoth().map((root) => root.write('cloud/rotate-root', {})))

  // the second one warns that it replaces what the first one made pending
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 204])
  // that of the first rotation is removed in the background
  await expect
    .poll(async () => (await Promise.all(atBoth().map((root) => debris({ root })))).flat())
    .toEqual([])
  expect(passwords()).toHaveLength(1)
})

test('what a request of one server is creating is neither debris to the other nor reaped by it', async () => {
  const { fixture, other } = servers
  await aRole(fixture, 'slow')
  await expect.poll(roleAt('slow')).toBe(200)
  fixture.directory.fault({ kind: 'held', operation: 'createServicePrincipal', times: 1 })
  const issuing = fixture.root.read('cloud/creds/slow')
  await expect.poll(() => things('application').filter(({ name }) => name.includes('slow'))).toHaveLength(1)

  expect(await debris(other)).toEqual([])
  const reaped = await other.root.write('cloud/reap', { dry_run: false })
  fixture.directory.release()
  const answer = await issuing

  expect(reaped.body.data).toMatchObject({ objects: [], deleted: 0 })
  expect(answer.status).toBe(200)
  expect(
    (await other.root.write('sys/leases/revoke', { lease_id: answer.body.lease_id, sync: true })).status,
  ).toBe(204)
})

test('what a server could not undo is undone by the other once it has stopped', async () => {
  await using stopping = await startCloudServers()
  const { fixture, other } = stopping
  const { directory } = fixture
  await aRole(fixture, 'left')
  directory.fault({ kind: 'status', operation: 'deleteApplication', status: 403, times: null })
  directory.fault({ kind: 'status', operation: 'addServicePrincipalPassword', status: 403, times: null })
  expect((await fixture.root.read('cloud/creds/left')).status).toBeGreaterThanOrEqual(400)
  await expect.poll(async () => (await debris(other))?.length).toBeGreaterThan(0)

  await fixture.server[Symbol.asyncDispose]()
  directory.clearFaults()

  await expect.poll(() => debris(other), { timeout: 20_000 }).toEqual([])
  expect(directory.inventory().filter(({ deleted }) => !deleted)).toEqual([])
})
