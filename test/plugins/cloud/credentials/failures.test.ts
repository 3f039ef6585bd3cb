import { beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../../src/lib/system/clock.ts'
import { testOfOneServer } from '../../../support/of-one-server.ts'
import { type CloudFixture, startCloudFixture } from '../cloud-fixture.ts'
import {
  aCredential,
  aRole,
  cleared,
  debris,
  kindsOf,
  living,
  reader,
  revoke,
  status,
  until,
  works,
} from '../credential-steps.ts'
import { renewedFixture } from '../renewed-fixture.ts'

const renewed = renewedFixture()
let fixture: CloudFixture
beforeEach(async () => {
  fixture = renewed()
  await aRole(fixture, 'ci', { cloud_roles: reader(fixture, 'web', 'data') })
})

const creds = () => fixture.root.read('cloud/creds/ci')
const calls = (operation: Parameters<typeof fixture.directory.journal.arrived>[0]) =>
  fixture.directory.journal.entries({ operation }).length
const leases = async () => (await fixture.root.list('sys/leases/lookup/cloud/creds/ci')).status

describe('replication is awaited', () => {
  test('three refusals that name the local tenant are retried', async () => {
    const message =
      'When using this permission, the backing application of the service principal being created must in the local tenant'
    fixture.directory.fault(
      status('createServicePrincipal', 403, { code: 'Authorization_RequestDenied', message, times: 3 }),
    )

    expect((await creds()).status).toBe(200)
    expect(calls('createServicePrincipal')).toBe(4)
    expect(calls('createApplication')).toBe(1)
  })

  test.each([
    {
      message: "Resource '1' does not exist or one of its queried reference-property objects are not present",
    },
    { message: "Application with identifier 'abc123' does not exist in the directory" },
    { message: 'Application not found' },
    { message: 'Changes are still propagating, please try again' },
  ])('two refusals with "$message" are retried', async ({ message }) => {
    fixture.directory.fault(
      status('createServicePrincipal', 400, { code: 'Request_BadRequest', message, times: 2 }),
    )

    expect((await creds()).status).toBe(200)
    expect(calls('createServicePrincipal')).toBe(3)
  })

  test('a refusal that does not end names the permission, and nothing is left upstream', async () => {
    const message = 'Insufficient privileges to complete the operation.'
    fixture.directory.fault(
      status('createServicePrincipal', 403, { code: 'Authorization_RequestDenied', message, times: null }),
    )

    const answer = await creds()

    expect(answer.status).toBe(400)
    expect(String(answer.body['errors']?.[0])).toBe(
      `error creating service principal: retry failed: Authorization_RequestDenied: ${message}: context deadline exceeded; missing permission: Application.ReadWrite.OwnedBy`,
    )
    await cleared(fixture)
    expect([living(fixture), await leases()]).toEqual([[], 404])
  })

  test('an assignment is retried until its principal is known', async () => {
    fixture.directory.fault(
      status('putRoleAssignment', 400, { code: 'PrincipalNotFound', message: 'not yet', times: 2 }),
    )

    expect((await creds()).status).toBe(200)
    expect(calls('putRoleAssignment')).toBe(4)
  })

  test('retries end at the time limit, with the last error from upstream', async () => {
    const message = 'PrincipalNotFound - service principal not replicated'
    fixture.directory.fault(
      status('putRoleAssignment', 400, { code: 'PrincipalNotFound', message, times: null }),
    )
    const begun = fixture.clock.now()

    const answer = await creds()

    expect(answer.status).toBe(502)
    const text = String(answer.body['errors']?.[0])
    expect(text).toContain('error while assigning roles: ')
    expect(text).toContain(message)
    expect(text).toContain('context deadline exceeded')
    expect(fixture.clock.now() - begun).toBeLessThanOrEqual(90_000)
    expect(calls('putRoleAssignment')).toBeGreaterThan(2)
    fixture.directory.clearFaults()
    await cleared(fixture)
    expect(living(fixture)).toEqual([])
  })

  test('a missing permission for assignments is named', async () => {
    const message = 'Insufficient privileges'
    fixture.directory.fault(
      status('putRoleAssignment', 403, { code: 'AuthorizationFailed', message, times: null }),
    )

    const answer = await creds()

    expect(answer.status).toBe(400)
    expect(String(answer.body['errors']?.[0])).toContain(
      'missing permission: Microsoft.Authorization/roleAssignments/write',
    )
    expect(String(answer.body['errors']?.[0])).toContain(message)
    expect(calls('putRoleAssignment')).toBeLessThanOrEqual(2)
  })

  test('retries of a password use the same service principal', async () => {
    fixture.directory.fault(
      status('addServicePrincipalPassword', 404, {
        code: 'Request_ResourceNotFound',
        message: 'not there',
        times: 3,
      }),
    )

    expect((await creds()).status).toBe(200)
    expect([calls('createServicePrincipal'), calls('addServicePrincipalPassword')]).toEqual([1, 4])
  })
})

describe('nothing is left upstream after a failure', () => {
  test('a refused application is reported', async () => {
    fixture.directory.fault(
      status('createApplication', 403, { code: 'Directory_QuotaExceeded', message: 'the directory is full' }),
    )

    expect(await creds()).toMatchObject({
      status: 400,
      body: { errors: ['Directory_QuotaExceeded: the directory is full'] },
    })
    expect([await debris(fixture), await leases(), living(fixture)]).toEqual([[], 404, []])
  })

  test('a timed out creation of the application is undone', async () => {
    await using slow = await startCloudFixture({ clock: systemClock, cloudTimes: { requestLimitMs: 400 } })
    await aRole(slow, 'ci')
    slow.directory.fault({ kind: 'slow', operation: 'createApplication', delayMs: 800 })

    const answer = await slow.root.read('cloud/creds/ci')

    expect(answer.status).toBe(502)
    expect(String(answer.body['errors']?.[0])).toContain('context deadline exceeded')
    await cleared(slow)
    expect(living(slow)).toEqual([])
  })

  test.each([
    'createServicePrincipal',
    'addServicePrincipalPassword',
    'putRoleAssignment',
    'addGroupMember',
  ] as const)('everything is undone at once if %s fails permanently', async (operation) => {
    await aRole(fixture, 'ci', { cloud_groups: '[{"group_name":"foo"}]' })
    fixture.directory.fault(
      status(operation, 400, { code: 'Request_BadRequest', message: 'no', times: null }),
    )

    expect((await creds()).status).toBe(400)

    await cleared(fixture)
    expect(living(fixture)).toEqual([])
    // purged objects do not count against the quota
    expect(fixture.directory.inventory().filter(({ kind }) => kind === 'application')).toEqual([])
  })

  test('a missing permission is named in the debris and in a lease that cannot be revoked', async () => {
    const made = await creds()
    fixture.directory.fault(
      status('putRoleAssignment', 400, { code: 'Request_BadRequest', message: 'no', times: null }),
    )
    fixture.directory.fault(
      status('deleteApplication', 403, { code: 'Authorization_RequestDenied', message: 'no', times: null }),
    )
    await creds()
    const revoked = await fixture.root.write('sys/leases/revoke', { lease_id: made.body.lease_id })

    const named = 'Authorization_RequestDenied: no; missing permission: Application.ReadWrite.OwnedBy'
    await until(async () => (await debris(fixture)).some(({ error }) => String(error) === named))
    expect(String(revoked.body['errors']?.[0])).toContain(named)
  })

  test('objects that cannot be removed during an outage are debris with their tries, and removed afterwards', async () => {
    fixture.directory.fault(
      status('putRoleAssignment', 400, { code: 'Request_BadRequest', message: 'no', times: null }),
    )
    fixture.directory.fault(
      status('deleteApplication', 500, { code: 'InternalServerError', message: 'down', times: null }),
    )
    await creds()
    await until(async () => (await debris(fixture)).some(({ tries }) => Number(tries) >= 2))

    const objects = await debris(fixture)

    expect(objects).toMatchObject([{ kind: 'app', error: 'InternalServerError: down' }])
    expect(String(objects[0]?.['name'])).toMatch(/^gatehouse-ci-/)
    expect(String(objects[0]?.['id'])).toMatch(/^[0-9a-f-]{36}$/)
    expect(Date.parse(String(objects[0]?.['since']))).toBeGreaterThan(0)
    fixture.directory.clearFaults()
    await cleared(fixture)
    expect(living(fixture)).toEqual([])
  })
})

describe('after a lost answer', () => {
  test.each([
    'createApplication',
    'createServicePrincipal',
    'addServicePrincipalPassword',
    'putRoleAssignment',
  ] as const)('of %s, the request continues with the existing object', async (operation) => {
    fixture.directory.fault({ kind: 'lost', operation })

    const { body, status: answered } = await creds()

    expect(answered).toBe(200)
    const clientId = String(body.data?.client_id)
    expect(kindsOf(fixture, clientId)).toEqual([
      'application',
      'password',
      'role-assignment',
      'role-assignment',
      'service-principal',
    ])
    expect(
      fixture.directory.debris({ clientIds: [clientId], secrets: [String(body.data?.client_secret)] }),
    ).toEqual([])
    await revoke(fixture, String(body.lease_id))
    expect(living(fixture)).toEqual([])
  })

  test.each(['dropped', 'lost', 'cut', 'empty', 'html'] as const)(
    'an application whose answer is always %s is removed',
    async (kind) => {
      fixture.directory.fault({ kind, operation: 'createApplication', times: null })
      fixture.directory.fault(status('listApplications', 500, { message: 'down', times: 20 }))

      expect((await creds()).status).toBe(502)

      fixture.directory.clearFaults()
      fixture.clock.advance(601)
      await cleared(fixture)
      expect([living(fixture), await leases()]).toEqual([[], 404])
    },
  )

  test('both applications are removed if a proxy repeats the creation', async () => {
    fixture.directory.fault({ kind: 'lost', operation: 'createApplication' })
    fixture.directory.fault({ kind: 'late', operation: 'listApplications' })
    const asked = creds()
    await fixture.directory.journal.arrived('createApplication')
    const [made] = fixture.directory.inventory()
    fixture.directory.admin.addApplication({ displayName: made?.name ?? '', tags: [...(made?.tags ?? [])] })
    await until(async () => {
      fixture.directory.release()
      return calls('listApplications') > 0
    })

    expect((await asked).status).toBe(502)

    await cleared(fixture)
    expect([living(fixture), await leases()]).toEqual([[], 404])
  })

  test('of a password, exactly one password exists', async () => {
    const { id, appId } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
    await aRole(fixture, 'static', { application_object_id: id })
    fixture.directory.fault({ kind: 'lost', operation: 'addApplicationPassword' })

    const credential = await aCredential(fixture, 'static')

    await cleared(fixture)
    expect(kindsOf(fixture, appId)).toEqual(['password'])
    expect(await works(fixture, credential)).toBe(true)
  })

  test('of every try, no password exists', async () => {
    const { id, appId } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
    await aRole(fixture, 'static', { application_object_id: id })
    fixture.directory.fault({ kind: 'lost', operation: 'addApplicationPassword', times: null })

    expect((await fixture.root.read('cloud/creds/static')).status).toBe(502)

    fixture.directory.clearFaults()
    await cleared(fixture)
    expect(kindsOf(fixture, appId)).toEqual([])
  })
})

describe('throttling', () => {
  test.each([
    'token',
    'createApplication',
    'createServicePrincipal',
    'addServicePrincipalPassword',
    'putRoleAssignment',
  ] as const)('%s waits as long as Retry-After says', async (operation) => {
    fixture.directory.fault({ kind: 'throttled', operation, retryAfterSeconds: 2 })
    const begun = fixture.clock.now()

    expect((await creds()).status).toBe(200)
    expect(fixture.clock.pauses).toContain(2000)
    expect(fixture.clock.now() - begun).toBeGreaterThanOrEqual(2000)
  })

  test("a wait beyond the request's time limit fails at once, with Retry-After", async () => {
    fixture.directory.fault({
      kind: 'throttled',
      operation: 'createApplication',
      retryAfterSeconds: 600,
      times: null,
    })
    const begun = fixture.clock.now()

    const answer = await creds()

    expect(answer).toMatchObject({ status: 502, headers: { 'retry-after': '600' } })
    expect(String(answer.body['errors']?.[0])).toContain('throttled by the directory')
    expect(fixture.clock.now()).toBe(begun)
    expect(await debris(fixture)).toEqual([])
  })
})

// each server has its own limit: docs/replicas.md
testOfOneServer('concurrent creations are limited, and all are served', async () => {
  await fixture.root.write('sys/mounts/cloud/tune', { options: { max_in_flight: '2' } })
  fixture.directory.fault({ kind: 'held', operation: 'createApplication', times: 2 })
  const asked = Array.from({ length: 5 }, creds)
  await fixture.directory.journal.arrived('createApplication', 2)
  // every request that got a slot has sent its calls
  await fixture.root.read('cloud/roles/ci')
  expect(calls('createApplication')).toBe(2)

  fixture.directory.release()

  expect((await Promise.all(asked)).map((answer) => answer.status)).toEqual([200, 200, 200, 200, 200])
  expect(calls('createApplication')).toBe(5)
})

// docs/contract/cloud.md#undo: "not found" is believed after a minute
test.each([
  { what: 'an assignment of a credential', operation: 'putRoleAssignment', ask: () => creds() },
  { what: 'an assignment of a role', operation: 'putRoleAssignment', ask: () => aKeptRole({}) },
  {
    what: 'a membership of a role',
    operation: 'addGroupMember',
    ask: () => aKeptRole({ cloud_groups: '[{"group_name":"foo"}]' }),
  },
] as const)(
  '$what that was requested without an answer is looked for during a minute',
  async ({ operation, ask }) => {
    fixture.directory.fault({ kind: 'dropped', operation, times: null })

    expect((await ask()).status).toBe(502)

    fixture.directory.clearFaults()
    await until(async () => {
      const left = await debris(fixture)
      return left.length > 0 && left.every(({ error }) => String(error) === 'it is not there yet')
    })
    fixture.clock.advance(61)
    await cleared(fixture)
    expect(living(fixture)).toEqual([])
  },
)

const aKeptRole = (changes: object) =>
  fixture.root.write('cloud/roles/kept', { cloud_roles: reader(fixture), persist_app: true, ...changes })
