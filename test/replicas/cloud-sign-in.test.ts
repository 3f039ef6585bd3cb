import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aCredential, works } from '../plugins/cloud/credential-steps.ts'
import { succeed } from '../plugins/cloud/static-roles/static-role-steps.ts'
import type { Client } from '../support/client.ts'
import { type CloudServers, startCloudServers } from './cloud-servers.ts'

const hour = 3600
const audience = 'api://AzureADTokenExchange'
const scope = 'https://graph.microsoft.com/.default'

let servers: CloudServers
beforeAll(async () => {
  servers = await startCloudServers()
  const { root, server } = servers.fixture
  succeed(await root.write('identity/oidc/config', { issuer: server.url }))
})
afterAll(() => servers[Symbol.asyncDispose]())

const atBoth = () => [servers.fixture.root, servers.other.root] as const
const things = (kind: string) =>
  servers.fixture.directory.inventory().filter((one) => one.kind === kind && !one.deleted)
/** The sign-ins that the login service has refused. */
const refusals = () =>
  servers.fixture.directory.journal.entries({ service: 'login' }).filter(({ status }) => status !== 200)

/** A mount of its own, which both servers serve. */
async function aMount(
  path: string,
  config: Record<string, unknown> = {},
  { fixture, other } = servers,
): Promise<string> {
  succeed(await fixture.root.write(`sys/mounts/${path}`, { type: 'cloud' }), 204)
  succeed(await fixture.root.write(`${path}/config`, fixture.config(config)), 204)
  await expect.poll(async () => (await other.root.read(`${path}/config`)).status).toBe(200)
  return String(succeed(await fixture.root.read(`sys/mounts/${path}`))['accessor'])
}

/** Lets a server get a new token of the root; true if it did. */
async function signsIn(root: Client, mount: string): Promise<boolean> {
  const { checks } = succeed(await root.read(`${mount}/config/check`)) as {
    checks?: { name: string; ok: boolean }[]
  }
  return checks?.find(({ name }) => name === 'sign_in')?.ok === true
}
const signIns = (mount: string) => Promise.all(atBoth().map((root) => signsIn(root, mount)))

/** Signs both servers in, again and again, until something holds. */
async function signingIn(mount: string, until: () => unknown, value: unknown): Promise<void> {
  const outcomes: boolean[] = []
  await expect
    .poll(async () => {
      outcomes.push(...(await signIns(mount)))
      return until()
    })
    .toEqual(value)
  expect(outcomes).not.toContain(false)
}

test('a root certificate is replaced, and no server is refused meanwhile', async () => {
  const { fixture, other } = servers
  const { directory, clock } = fixture
  await aMount('certified', { client_secret: '' })
  const made = succeed(await fixture.root.write('certified/config/certificate', { ttl: '90d' }))
  await expect
    .poll(async () => (await other.root.read('certified/config/certificate')).body.data)
    .toEqual(made)
  directory.admin.addCertificate(directory.rootApplicationId, String(made['certificate']))
  succeed(await other.root.write('certified/config', { auth_type: 'certificate' }), 204)
  const shown = () =>
    Promise.all(
      atBoth().map(async (root) => succeed(await root.read('certified/config/certificate'))['thumbprint']),
    )
  const removed = () => directory.journal.entries({ operation: 'removeKey' }).length
  await expect.poll(() => signIns('certified')).toEqual([true, true])
  directory.journal.clear()

  succeed(await other.root.write('certified/rotate-root', {}), 204)
  expect([await signIns('certified'), removed()]).toEqual([[true, true], 0])
  clock.advance(60)
  const isReplaced = async () => (await shown()).map((one) => one !== made['thumbprint'])
  await signingIn('certified', isReplaced, [true, true])
  expect(new Set(await shown()).size).toBe(1)
  clock.advance(hour - 10)
  let rounds = 0
  // long enough for several looks at what is due
  await signingIn('certified', () => ++rounds === 10, true)
  expect(removed()).toBe(0)
  clock.advance(20)
  await signingIn('certified', removed, 1)
  expect(await signIns('certified')).toEqual([true, true])

  expect(refusals()).toEqual([])
  expect(directory.journal.entries({ operation: 'addKey' })).toHaveLength(1)
  expect((await other.root.read('certified/debris')).body.data?.['objects']).toEqual([])
})

test('the key that signs the tokens of a mount is rotated, and no server is refused meanwhile', async () => {
  const { fixture, other } = servers
  const { directory, clock } = fixture
  const accessor = await aMount('trusted', { client_secret: '' })
  directory.admin.addTrust(directory.rootApplicationId, {
    issuer: `${fixture.server.url}/v1/identity/oidc/plugins`,
    subject: `plugin-identity:root:secret:${accessor}`,
    audience,
  })
  succeed(await fixture.root.write('trusted/config', { identity_token_audience: audience }), 204)
  await expect.poll(() => signIns('trusted')).toEqual([true, true])
  const published = async () => {
    const texts = await Promise.all(
      atBoth().map(async (root) => (await root.read('identity/oidc/plugins/.well-known/keys')).text),
    )
    return new Set(texts)
  }
  const seen = new Set<string>()
  // what the platform knows of the keys, the other server has published
  directory.change({ issuers: { addresses: { [fixture.server.url]: other.url } } })
  directory.journal.clear()

  for (const root of [...atBoth(), ...atBoth()]) {
    succeed(await root.write('identity/oidc/key/default/rotate', {}), 204)
    expect(await signIns('trusted')).toEqual([true, true])
    await expect.poll(async () => (await published()).size).toBe(1)
    for (const keys of await published()) seen.add(keys)
    expect(await signIns('trusted')).toEqual([true, true])
    // the platform fetches the keys again after this time
    clock.advance(301)
    expect(await signIns('trusted')).toEqual([true, true])
  }

  expect(refusals()).toEqual([])
  expect(seen.size).toBe(4)
})

test('a key that is due is rotated once for both servers, and no server is refused meanwhile', async () => {
  const { fixture, other } = servers
  const { directory, clock } = fixture
  const period = { rotation_period: hour, verification_ttl: hour, allowed_client_ids: '*' }
  succeed(await fixture.root.write('identity/oidc/key/hourly', period), 204)
  const accessor = await aMount('hourly', { client_secret: '' })
  directory.admin.addTrust(directory.rootApplicationId, {
    issuer: `${fixture.server.url}/v1/identity/oidc/plugins`,
    subject: `plugin-identity:root:secret:${accessor}`,
    audience,
  })
  succeed(await fixture.root.write('sys/mounts/hourly/tune', { identity_token_key: 'hourly' }), 204)
  succeed(await fixture.root.write('hourly/config', { identity_token_audience: audience }), 204)
  directory.change({ issuers: { addresses: { [fixture.server.url]: other.url } } })
  await expect.poll(() => signIns('hourly')).toEqual([true, true])
  const idsAt = async (root: Client): Promise<string[]> => {
    const { keys } = JSON.parse((await root.read('identity/oidc/plugins/.well-known/keys')).text)
    return keys.map(({ kid }: { kid: string }) => kid)
  }
  const before = await idsAt(fixture.root)
  const added = async () => {
    const ids = await Promise.all(atBoth().map(idsAt))
    return ids.map((known) => known.filter((id) => !before.includes(id)).length)
  }
  directory.journal.clear()

  clock.advance(hour + 1)
  await signingIn('hourly', async () => (await added()).every((count) => count > 0), true)
  // the platform fetches the keys again after this time, and learns which one comes next
  clock.advance(301)
  expect(await signIns('hourly')).toEqual([true, true])

  expect(refusals()).toEqual([])
  expect(await added()).toEqual([1, 1])
})

test('a root secret is rotated once each time it is due, and no server is refused meanwhile', async () => {
  const { fixture } = servers
  const { directory, clock } = fixture
  // that of no other mount, so that it is removed once it is replaced
  const { secretText } = directory.admin.addPassword(directory.rootApplicationId, {
    lifetimeSeconds: 9 * hour,
  })
  await aMount('periodic', { client_secret: secretText })
  succeed(await fixture.root.write('periodic/config', { rotation_period: 2 * hour }), 204)
  await expect.poll(() => signIns('periodic')).toEqual([true, true])
  directory.journal.clear()
  const made = () => directory.journal.entries({ operation: 'addApplicationPassword' }).length
  const removed = () => directory.journal.entries({ operation: 'removeApplicationPassword' }).length

  for (const count of [1, 2]) {
    clock.advance(2 * hour)
    await signingIn('periodic', made, count)
    // the new secret is used a minute after it was stored, which may not have happened yet
    const laterRemoved = () => {
      clock.advance(15)
      return removed()
    }
    await signingIn('periodic', laterRemoved, count)
  }

  expect([made(), removed()]).toEqual([2, 2])
  expect(refusals()).toEqual([])
})

test.each([
  ['while the cloud adds the password', { isHeld: true, made: 2 }],
  ['once the password is stored', { isHeld: false, made: 1 }],
])('a rotation of the root secret whose server stops %s is completed by the other', async (_, expected) => {
  await using stopping = await startCloudServers()
  const { fixture, other } = stopping
  const { directory, clock } = fixture
  const { secretText } = directory.admin.addPassword(directory.rootApplicationId, {
    lifetimeSeconds: 9 * hour,
  })
  await aMount('periodic', { client_secret: secretText }, stopping)
  succeed(await fixture.root.write('periodic/config', { rotation_period: 2 * hour }), 204)
  expect(await signsIn(other.root, 'periodic')).toBe(true)
  const passwords = () =>
    directory
      .inventory()
      .filter(
        ({ kind, name, deleted }) => kind === 'password' && name.startsWith('gatehouse-root-') && !deleted,
      )
  const made = () => directory.journal.entries({ operation: 'addApplicationPassword' }).length
  directory.journal.clear()

  if (expected.isHeld) {
    directory.fault({ kind: 'held', operation: 'addApplicationPassword', times: 1 })
    clock.advance(2 * hour)
    await expect.poll(passwords).toHaveLength(1)
  } else succeed(await fixture.root.write('periodic/rotate-root', {}), 204)
  await fixture.server[Symbol.asyncDispose]()
  directory.release()
  const removed = () => directory.journal.entries({ operation: 'removeApplicationPassword' }).length
  // what the other server has undone, and what it has made instead
  await expect.poll(() => [made(), removed()]).toEqual([expected.made, expected.made - 1])
  const laterRemoved = () => {
    clock.advance(15)
    return removed()
  }
  await expect.poll(laterRemoved).toBe(expected.made)

  expect(await signsIn(other.root, 'periodic')).toBe(true)
  expect([made(), passwords().length]).toEqual([expected.made, 1])
  expect((await other.root.read('periodic/debris')).body.data?.['objects']).toEqual([])
})

describe('what one server has issued is revoked by the other', () => {
  const revoke = (lease: unknown) =>
    servers.other.root.write('sys/leases/revoke', { lease_id: lease, sync: true })

  test('with a certificate', async () => {
    const { fixture } = servers
    await aMount('certificates')
    const cloud_roles = JSON.stringify([{ role_name: 'Reader', scope: fixture.scope() }])
    const role = { credential_type: 'certificate', cloud_roles }
    succeed(await fixture.root.write('certificates/roles/ci', role), 204)
    const issued = await fixture.root.read('certificates/creds/ci')
    const of = (kind: string) =>
      things(kind).filter(({ clientId }) => clientId === String(succeed(issued)['client_id'])).length
    expect(['application', 'certificate'].map(of)).toEqual([1, 1])

    expect((await revoke(issued.body.lease_id)).status).toBe(204)

    expect(['application', 'certificate', 'service-principal', 'role-assignment'].map(of)).toEqual([
      ...[0, 0, 0, 0],
    ])
  })

  test('with app roles', async () => {
    const { fixture } = servers
    await aMount('app-roles')
    const order = { app_id: fixture.directory.orders.appId, role_name: 'Orders.Read' }
    const role = { cloud_app_roles: JSON.stringify([order]) }
    succeed(await fixture.root.write('app-roles/roles/ci', role), 204)
    const credential = await aCredential(fixture, 'app-roles/creds/ci')
    expect([await works(fixture, credential), things('app-role-assignment')]).toEqual([
      true,
      [expect.objectContaining({ clientId: credential.clientId })],
    ])

    expect((await revoke(credential.lease)).status).toBe(204)

    expect([await works(fixture, credential), things('app-role-assignment')]).toEqual([false, []])
    expect((await servers.other.root.read('app-roles/debris')).body.data?.['objects']).toEqual([])
  })
})

test.each([
  ['its role', { path: 'roles/job', fields: { ttl: 600 } }],
  ['the configuration', { path: 'config', fields: { identity_token_ttl: 900 } }],
])('a kept access token is dropped by the other server when %s changes', async (_, { path, fields }) => {
  const { fixture, other } = servers
  const { directory } = fixture
  const mount = `keeps-${path.split('/')[0]}`
  const accessor = await aMount(mount)
  const { id, appId } = directory.admin.addApplication({ displayName: mount })
  directory.admin.addTrust(id, {
    issuer: `${fixture.server.url}/v1/identity/oidc/plugins`,
    subject: `plugin-identity:root:secret:${accessor}:role:job`,
  })
  const role = { credential_type: 'federated', federated_client_id: appId }
  succeed(await fixture.root.write(`${mount}/roles/job`, role), 204)
  await expect.poll(async () => (await other.root.read(`${mount}/roles/job`)).status).toBe(200)
  const token = async () => succeed(await other.root.write(`${mount}/token/job`, { scope }))['access_token']
  // what was written before may still be on its way
  let kept = await token()
  const isKept = async () => {
    const before = kept
    kept = await token()
    return kept === before
  }
  await expect.poll(isKept).toBe(true)

  succeed(await fixture.root.write(`${mount}/${path}`, fields), 204)

  await expect.poll(token).not.toBe(kept)
})
