import { beforeEach, describe, expect, test } from 'vitest'
import type { CloudFixture } from '../cloud-fixture.ts'
import { aCredential, aRole, cleared, kindsOf, living, renew, revoke, works } from '../credential-steps.ts'
import { renewedFixture } from '../renewed-fixture.ts'

const renewed = renewedFixture()
let fixture: CloudFixture
beforeEach(async () => {
  fixture = renewed()
  await aRole(fixture, 'ci')
})

const errorOf = async (answer: ReturnType<typeof fixture.root.read>) => {
  const { status, body } = await answer
  return { status, text: String(body['errors']?.[0]) }
}
const tune = (options: Record<string, string>) => fixture.root.write('sys/mounts/cloud/tune', { options })
const passwords = () => fixture.directory.inventory().filter(({ kind }) => kind === 'password')
/** Seconds until the newest secret expires. */
async function lifetimeSent(): Promise<number> {
  const added = [
    ...fixture.directory.journal.entries({ operation: 'addServicePrincipalPassword' }),
    ...fixture.directory.journal.entries({ operation: 'addApplicationPassword' }),
  ].at(-1)
  const asked = { ...(added?.body?.['passwordCredential'] as object) } as Record<string, string>
  expect(Object.keys(asked).sort()).toEqual(['displayName', 'endDateTime'])
  return (Date.parse(asked['endDateTime'] ?? '') - fixture.clock.now()) / 1000
}
const [system, day] = [2_764_800, 86_400]

describe('a refusal by a policy of the tenant is 400 with advice, and nothing is left upstream', () => {
  test.each([
    {
      settings: { maximumSecretLifetimeSeconds: 3600 },
      code: 'CredentialInvalidLifetimeAsPerAppPolicy',
      advice:
        "lower max_ttl or explicit_max_ttl of the role (of a static role, rotation_period; of a root secret, root_password_ttl), or the mount option 'secret_lifetime'",
    },
    {
      settings: { forbidPasswords: true },
      code: 'CredentialTypeNotAllowedAsPerAppPolicy',
      advice: '; this tenant forbids passwords: use credential_type certificate or federated',
    },
    {
      settings: { requireServiceManagementReference: true },
      code: 'ServiceManagementReferenceRequired',
      advice: "set the mount option 'service_management_reference'",
    },
  ])('for $code', async ({ settings, code, advice }) => {
    fixture.directory.change(settings)
    const { status, text } = await errorOf(fixture.root.read('cloud/creds/ci'))

    expect(status).toBe(400)
    expect(text).toContain(`${code}: `)
    expect(text).toContain(advice)
    await cleared(fixture)
    expect(living(fixture)).toEqual([])
  })

  test('also for a password on a shared application and for a new root secret', async () => {
    const { id } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
    await aRole(fixture, 'static', { application_object_id: id })
    fixture.directory.change({ forbidPasswords: true })

    for (const asked of [fixture.root.read('cloud/creds/static'), fixture.root.write('cloud/rotate-root')]) {
      const { status, text } = await errorOf(asked)
      expect(status).toBe(400)
      expect(text).toMatch(/CredentialTypeNotAllowedAsPerAppPolicy: .*; this tenant forbids passwords: /)
    }
  })

  test('a policy whose code is unknown is 400 with its text', async () => {
    const refusal = { status: 400, code: 'ServiceTreeValueMissing', message: 'A field is missing.' }
    fixture.directory.fault({ kind: 'status', operation: 'createApplication', ...refusal })

    expect(await errorOf(fixture.root.read('cloud/creds/ci'))).toEqual({
      status: 400,
      text: 'ServiceTreeValueMissing: A field is missing.',
    })
  })
})

test('the mount option service_management_reference is sent with every application', async () => {
  fixture.directory.change({ requireServiceManagementReference: true })
  const reference = '5f2d9c1e-1d0b-4b7e-8f7a-2a3d1c9e7b10'
  await tune({ service_management_reference: reference })

  expect((await fixture.root.read('cloud/creds/ci')).status).toBe(200)
  await aRole(fixture, 'kept', { persist_app: true })

  const sent = fixture.directory.journal
    .entries({ operation: 'createApplication' })
    .map(({ body }) => body?.['serviceManagementReference'])
  expect(sent).toEqual([reference, reference])
  await tune({ service_management_reference: 'us' })
  expect(await errorOf(fixture.root.read('cloud/creds/ci'))).toMatchObject({
    status: 400,
    text: expect.stringContaining("'serviceManagementReference'"),
  })
})

describe('a secret lasts one day longer than its lease can', () => {
  test('limited by the maximum of the system', async () => {
    await aCredential(fixture, 'ci')

    expect(await lifetimeSent()).toBe(system + day)
  })

  test.each([
    { role: { max_ttl: 600 }, mount: undefined, seconds: 600 + day },
    { role: {}, mount: 7200, seconds: 7200 + day },
    { role: { max_ttl: 9000 }, mount: 7200, seconds: 7200 + day },
    { role: { max_ttl: 600 }, mount: 7200, seconds: 600 + day },
    { role: { explicit_max_ttl: 300 }, mount: 7200, seconds: 300 },
  ])('with $role in the role and $mount in the mount: $seconds s', async ({ role, mount, seconds }) => {
    if (mount !== undefined)
      await fixture.root.write('sys/mounts/cloud/tune', { max_lease_ttl: String(mount) })
    await aRole(fixture, 'limited', role)

    await aCredential(fixture, 'limited')

    expect(await lifetimeSent()).toBe(seconds)
  })

  test.each(['dynamic', 'static', 'persisted'])(
    'for a $0 role, and the lease can be renewed until its maximum',
    async (form) => {
      const application =
        form === 'static'
          ? { application_object_id: fixture.directory.admin.addApplication({ displayName: 'theirs' }).id }
          : {}
      await aRole(fixture, form, {
        ...application,
        ...(form === 'persisted' ? { persist_app: true } : {}),
        ttl: 60,
        max_ttl: 100,
      })

      const { lease } = await aCredential(fixture, form)
      expect(await lifetimeSent()).toBe(100 + day)
      fixture.clock.advance(50)
      expect(await renew(fixture, lease, 600)).toMatchObject({ status: 200, body: { lease_duration: 50 } })
    },
  )

  test('and a maximum that is raised later does not extend the lease past the end of the secret', async () => {
    await aRole(fixture, 'short', { ttl: 60, max_ttl: 60 })
    const { lease } = await aCredential(fixture, 'short')
    await aRole(fixture, 'short', { ttl: 60, max_ttl: 10 * day })

    expect(await renew(fixture, lease, 9 * day)).toMatchObject({
      status: 200,
      body: { lease_duration: day + 60 },
    })
  })

  test.each([
    { option: '87600h', seconds: 87_600 * 3600, duration: system },
    { option: '3600', seconds: 3600, duration: 3600 },
    { option: 'nonsense', seconds: system + day, duration: system },
  ])(
    'unless secret_lifetime=$option sets $seconds s, with a lease of $duration s',
    async ({ option, seconds, duration }) => {
      await tune({ secret_lifetime: option })

      expect((await aCredential(fixture, 'ci')).duration).toBe(duration)

      expect(await lifetimeSent()).toBe(seconds)
      await aRole(fixture, 'explicit', { explicit_max_ttl: 300 })
      await aCredential(fixture, 'explicit')
      expect(await lifetimeSent()).toBe(300)
    },
  )
})

describe('instance property locks', () => {
  test('are disabled in new applications', async () => {
    fixture.directory.change({ lockServicePrincipals: 'by-default' })

    const credential = await aCredential(fixture, 'ci')

    expect(await works(fixture, credential)).toBe(true)
    expect(fixture.directory.journal.entries({ operation: 'createApplication' })[0]?.body).toMatchObject({
      servicePrincipalLockConfiguration: { isEnabled: false },
    })
  })

  test('that exist all the same put the secret on the application, which is deleted with the lease', async () => {
    fixture.directory.change({ lockServicePrincipals: 'always' })

    const credential = await aCredential(fixture, 'ci')

    expect(await works(fixture, credential)).toBe(true)
    expect(kindsOf(fixture, credential.clientId)).toEqual([
      'application',
      'password',
      'role-assignment',
      'service-principal',
    ])
    expect(fixture.directory.journal.entries({ operation: 'addApplicationPassword' })).toHaveLength(1)
    expect((await revoke(fixture, credential.lease)).status).toBe(204)
    expect([living(fixture), await works(fixture, credential)]).toEqual([[], false])
  })

  test('leave one secret after a lost answer', async () => {
    fixture.directory.change({ lockServicePrincipals: 'always' })
    fixture.directory.fault({ kind: 'lost', operation: 'addApplicationPassword' })

    const credential = await aCredential(fixture, 'ci')

    expect(await works(fixture, credential)).toBe(true)
    expect(passwords()).toHaveLength(1)
  })

  test('wait for the replication of the application', async () => {
    fixture.directory.change({ lockServicePrincipals: 'always' })
    fixture.directory.fault({
      kind: 'status',
      operation: 'addApplicationPassword',
      status: 404,
      code: 'Request_ResourceNotFound',
      times: 2,
    })

    expect(await works(fixture, await aCredential(fixture, 'ci'))).toBe(true)
  })
})

describe('the requests for one credential are concurrent', () => {
  const both = () => ({ cloud_groups: '[{"group_name":"foo"}]' })

  test('the secret, the assignments and the memberships do not wait for each other', async () => {
    await aRole(fixture, 'all', both())
    for (const operation of ['addServicePrincipalPassword', 'putRoleAssignment', 'addGroupMember'] as const) {
      fixture.directory.fault({ kind: 'held', operation })
    }
    const asked = fixture.root.read('cloud/creds/all')

    await Promise.all(
      (['addServicePrincipalPassword', 'putRoleAssignment', 'addGroupMember'] as const).map((operation) =>
        fixture.directory.journal.arrived(operation),
      ),
    )
    fixture.directory.release()

    expect((await asked).status).toBe(200)
  })

  test('the first failure is reported, stops the retries of the others, and nothing is left upstream', async () => {
    await aRole(fixture, 'all', both())
    fixture.directory.change({ forbidPasswords: true, delaySeconds: { servicePrincipalToGroup: 3600 } })
    const before = fixture.clock.now()

    const { status, text } = await errorOf(fixture.root.read('cloud/creds/all'))

    expect([status, text]).toEqual([
      400,
      expect.stringMatching(/^error creating service principal: CredentialTypeNotAllowedAsPerAppPolicy: /),
    ])
    expect(fixture.clock.now() - before).toBeLessThan(30_000)
    await cleared(fixture)
    expect(living(fixture)).toEqual([])
  })
})
