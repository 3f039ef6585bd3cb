import { beforeEach, expect, test } from 'vitest'
import { type CloudFixture, startCloudFixture } from '../cloud-fixture.ts'
import { reader } from '../credential-steps.ts'
import { renewedFixture } from '../renewed-fixture.ts'

// The texts of the cloud's errors are prose, and change: status, codes and counts tell everything.
const renewed = renewedFixture(() => startCloudFixture({ directory: { settings: { isSilent: true } } }))
let fixture: CloudFixture

beforeEach(() => {
  fixture = renewed()
})

const write = async (name: string, body: object) => {
  const answer = await fixture.root.write(`cloud/roles/${name}`, body)
  return { status: answer.status, text: String(answer.body?.['errors']?.[0] ?? '') }
}
const creds = (name: string) => fixture.root.read(`cloud/creds/${name}`)
const errorOf = async (name: string) => String((await creds(name)).body['errors']?.[0])
const requests = (operation: Parameters<typeof fixture.directory.journal.arrived>[0]) =>
  fixture.directory.journal.entries({ operation }).map(({ status }) => status)
const foo = JSON.stringify([{ group_name: 'foo' }])
const ownApplication = () => {
  const application = fixture.directory.admin.addApplication({ displayName: 'theirs' })
  fixture.directory.admin.addOwner(application.id, fixture.directory.rootServicePrincipalId)
  return application
}

test('each error of a new application that is not replicated yet is waited for', async () => {
  fixture.directory.change({
    delaySeconds: {
      applicationToServicePrincipal: 30,
      servicePrincipalToPassword: 10,
      servicePrincipalToGroup: 10,
    },
  })
  await write('ci', { cloud_roles: reader(fixture), cloud_groups: foo })

  expect((await creds('ci')).status).toBe(200)

  const refusals = new Set(requests('createServicePrincipal'))
  for (const status of [400, 403, 404]) expect(refusals).toContain(status)
})

test('the 21st trust of an application is 400 and says how many it has', async () => {
  const { id } = ownApplication()
  for (let index = 0; index < 20; index += 1)
    fixture.directory.admin.addTrust(id, { issuer: 'https://ci', subject: `job ${index}` })

  expect(await write('deploy', { credential_type: 'federated', application_object_id: id })).toEqual({
    status: 400,
    text: expect.stringMatching(/^could not create federated credential: .*; an application has at most 20 /),
  })
})

test('another refusal of a trust does not speak of their number', async () => {
  const { id } = ownApplication()
  fixture.directory.change({ isSilent: false })
  fixture.directory.fault({
    kind: 'status',
    operation: 'updateFederatedCredential',
    status: 400,
    code: 'Request_BadRequest',
    message: 'The subject is not valid.',
  })

  expect(await write('deploy', { credential_type: 'federated', application_object_id: id })).toEqual({
    status: 400,
    text: 'could not create federated credential: Request_BadRequest: The subject is not valid.',
  })
})

test.each([
  { name: 'with personal accounts', audience: 'AzureADandPersonalMicrosoftAccount', code: undefined },
  { name: 'whose limit has an unknown code', audience: 'AzureADMyOrg', code: 'Request_BadRequest' },
])('an application $name that is full of passwords is told', async ({ audience, code }) => {
  const { id } = fixture.directory.admin.addApplication({ displayName: 'full', signInAudience: audience })
  await write('ci', { application_object_id: id })
  expect([(await creds('ci')).status, (await creds('ci')).status]).toEqual([200, 200])
  if (code !== undefined)
    fixture.directory.fault({ kind: 'status', operation: 'addApplicationPassword', status: 400, code })

  expect(await errorOf('ci')).toMatch(
    /^error updating credentials: maximum number of Application passwords reached(?:$|: Request_BadRequest)/,
  )
})

test('a group that the answer to the first try was lost for is joined once', async () => {
  await write('ci', { cloud_groups: foo })
  fixture.directory.fault({ kind: 'lost', operation: 'addGroupMember' })

  expect((await creds('ci')).status).toBe(200)

  expect(requests('addGroupMember').at(-1)).toBe(400)
})

test('a group that has gone is not waited for', async () => {
  await write('ci', { cloud_groups: foo })
  const gone = { kind: 'status', status: 404, code: 'Request_ResourceNotFound', times: null } as const
  for (const operation of ['addGroupMember', 'getGroup'] as const)
    fixture.directory.fault({ ...gone, operation })

  const answer = await creds('ci')

  expect([answer.status, requests('addGroupMember')]).toEqual([400, [404]])
})

test('a group that is synchronized from on-premises is told', async () => {
  await write('ci', { cloud_groups: foo })
  fixture.directory.admin.changeGroup(fixture.directory.groupIds['foo'] ?? '', 'on-premises')

  expect(await errorOf('ci')).toContain('this group is synchronized from on-premises')
})

test('a password that somebody else has removed ends its lease', async () => {
  const { id } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
  await write('ci', { application_object_id: id })
  const { lease_id } = (await creds('ci')).body
  for (const thing of fixture.directory.inventory())
    if (thing.kind === 'password' && thing.clientId !== fixture.directory.rootClientId)
      fixture.directory.admin.remove(thing.id)

  expect((await fixture.root.write('sys/leases/revoke', { lease_id, sync: true })).status).toBe(204)

  expect(requests('removeApplicationPassword')).toEqual([400])
})

test('an ordinary bad request to the root application is 400 with its cause', async () => {
  const message = 'Invalid value specified for property endDateTime.'
  fixture.directory.change({ isSilent: false })
  fixture.directory.fault({
    kind: 'status',
    operation: 'addApplicationPassword',
    status: 400,
    code: 'Request_BadRequest',
    message,
  })

  const { status, body } = await fixture.root.write('cloud/rotate-root')

  expect([status, body['errors']]).toEqual([
    400,
    [`failed to add new password: Request_BadRequest: ${message}`],
  ])
})
