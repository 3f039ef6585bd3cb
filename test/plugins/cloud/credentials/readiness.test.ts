import { beforeEach, expect, test } from 'vitest'
import type { CloudFixture } from '../cloud-fixture.ts'
import { aCredential, aRole, cleared, kindsOf, living, until, works } from '../credential-steps.ts'
import { renewedFixture } from '../renewed-fixture.ts'

const renewed = renewedFixture()
let fixture: CloudFixture

beforeEach(async () => {
  fixture = renewed()
  await aRole(fixture, 'ci')
})

const proofs = (clientId: string) =>
  fixture.directory.journal.entries({ operation: 'token' }).filter((entry) => entry.clientId === clientId)

test('with wait=ready, a credential works at once at every replica', async () => {
  fixture.directory.change({ delaySeconds: { secretToToken: 9, applicationToToken: 5 }, replicas: 3 })

  const credential = await aCredential(fixture, 'cloud/creds/ci?wait=ready')

  expect(credential.warnings).toMatchObject([
    expect.stringMatching(/^credentials were ready after (?:[3-9]|1\d) s$/),
  ])
  expect(await Promise.all(Array.from({ length: 6 }, () => works(fixture, credential)))).toEqual(
    Array.from({ length: 6 }, () => true),
  )
  expect(
    proofs(credential.clientId)
      .slice(-9, -6)
      .map((entry) => entry.status),
  ).toEqual([200, 200, 200])
})

test('without wait=ready, nothing is checked and there is no warning', async () => {
  fixture.directory.change({ delaySeconds: { secretToToken: 9 } })

  const credential = await aCredential(fixture, 'ci')

  expect(credential.warnings).toBeNull()
  expect(proofs(credential.clientId)).toEqual([])
})

test('with wait=ready, the data still have two keys', async () => {
  const { body } = await fixture.root.read('cloud/creds/ci?wait=ready')

  expect(Object.keys(body.data ?? {}).sort()).toEqual(['client_id', 'client_secret'])
  expect(body.warnings).toEqual(['credentials were ready after 0 s'])
})

test('a lease does not outlive its secret after a long wait', async () => {
  await aRole(fixture, 'short', { explicit_max_ttl: 60 })
  fixture.directory.change({ delaySeconds: { secretToToken: 30 } })
  const begun = fixture.clock.now()

  const { lease } = await aCredential(fixture, 'cloud/creds/short?wait=ready')

  expect(fixture.clock.now() - begun).toBeGreaterThanOrEqual(29_000)
  const { body } = await fixture.root.write('sys/leases/lookup', { lease_id: lease })
  expect(Date.parse(String(body.data?.expire_time))).toBeLessThanOrEqual(begun + 60_000)
})

test('after the wait limit, the credential is returned with a warning', async () => {
  fixture.directory.change({ delaySeconds: { secretToToken: 100 } })
  const begun = fixture.clock.now()

  const credential = await aCredential(fixture, 'cloud/creds/ci?wait=ready&wait_limit=10s')

  expect(credential.warnings).toEqual(['credentials may take a short time to become usable'])
  expect(fixture.clock.now() - begun).toBeLessThanOrEqual(10_000)
  expect(kindsOf(fixture, credential.clientId)).toContain('application')
})

test('after the wait limit with on_timeout=revoke, the response is 502 and nothing is left upstream', async () => {
  fixture.directory.change({ delaySeconds: { secretToToken: 100 } })

  const answer = await fixture.root.read('cloud/creds/ci?wait=ready&wait_limit=10s&on_timeout=revoke')

  expect(answer.status).toBe(502)
  expect(String(answer.body['errors']?.[0])).toContain('credentials were not ready in time and are revoked')
  await cleared(fixture)
  expect(living(fixture)).toEqual([])
})

test('the options of the mount are the defaults of requests', async () => {
  await fixture.root.write('sys/mounts/cloud/tune', {
    options: { wait: 'ready', wait_limit: '5s', on_timeout: 'revoke' },
  })
  fixture.directory.change({ delaySeconds: { secretToToken: 7 } })

  expect((await fixture.root.read('cloud/creds/ci')).status).toBe(502)
  expect((await aCredential(fixture, 'cloud/creds/ci?wait_limit=30')).warnings).toMatchObject([
    expect.stringContaining('were ready after'),
  ])
  expect((await aCredential(fixture, 'cloud/creds/ci?on_timeout=return')).warnings).toMatchObject([
    expect.stringContaining('a short time'),
  ])
  expect((await aCredential(fixture, 'cloud/creds/ci?wait=none')).warnings).toBeNull()
})

test('wait=ready applies to passwords on an application as well', async () => {
  const { id } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
  await aRole(fixture, 'static', { application_object_id: id })
  fixture.directory.change({ delaySeconds: { secretToToken: 4 } })

  const credential = await aCredential(fixture, 'cloud/creds/static?wait=ready')

  expect(await works(fixture, credential)).toBe(true)
})

test('throttling and failures of the login service do not count as success', async () => {
  fixture.directory.change({ delaySeconds: { secretToToken: 0 } })
  await aCredential(fixture, 'ci')
  fixture.directory.fault({ kind: 'throttled', operation: 'token', retryAfterSeconds: 3, times: 2 })
  fixture.directory.fault({ kind: 'dropped', operation: 'token', times: 2 })

  expect((await aCredential(fixture, 'cloud/creds/ci?wait=ready')).warnings).toMatchObject([
    expect.stringContaining('were ready after'),
  ])
})

test.each([
  ['wait=soon', "wait must be 'ready' or 'none'"],
  ['wait=ready&on_timeout=shrug', "on_timeout must be 'return' or 'revoke'"],
])('%s is refused before anything is created', async (query, text) => {
  expect(await fixture.root.read(`cloud/creds/ci?${query}`)).toMatchObject({
    status: 400,
    body: { errors: [text] },
  })
  expect(living(fixture)).toEqual([])
})

test('waiting for readiness does not delay other requests', async () => {
  await fixture.root.write('sys/mounts/cloud/tune', { options: { max_in_flight: '1' } })
  fixture.directory.fault({ kind: 'held', operation: 'token', skip: 1 })
  const waiting = fixture.root.read('cloud/creds/ci?wait=ready')
  // the root's two tokens, and the sign-in with the new secret
  await until(() =>
    fixture.directory.journal
      .entries({ operation: 'token' })
      .some(({ clientId }) => clientId !== fixture.directory.rootClientId),
  )

  const other = await fixture.root.read('cloud/creds/ci')

  fixture.directory.release()
  expect([other.status, (await waiting).status]).toEqual([200, 200])
})
