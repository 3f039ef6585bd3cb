import { beforeEach, describe, expect, test } from 'vitest'
import { type CloudFixture, guids } from '../cloud-fixture.ts'
import { aRole, cleared, living, reader, status } from '../credential-steps.ts'
import { renewedFixture } from '../renewed-fixture.ts'

const renewed = renewedFixture()
let fixture: CloudFixture

beforeEach(async () => {
  fixture = renewed()
  await aRole(fixture, 'ci', { cloud_roles: reader(fixture, 'web', 'data') })
})

const elsewhereScope = '/providers/Microsoft.Management/managementGroups/root'
const creds = () => fixture.root.read('cloud/creds/ci')
const calls = (operation: Parameters<typeof fixture.directory.journal.arrived>[0]) =>
  fixture.directory.journal.entries({ operation }).length

describe('a root that may neither grant nor revoke rights', () => {
  const elsewhere = () =>
    JSON.stringify([
      ...JSON.parse(reader(fixture, 'web')),
      { role_id: fixture.definition(guids.reader), scope: elsewhereScope },
    ])
  beforeEach(() => aRole(fixture, 'ci', { cloud_roles: elsewhere() }))

  test('does not undo refused rights: the rest is undone, and the mount can be disabled', async () => {
    const answer = await creds()

    expect(answer.status).toBe(400)
    expect(String(answer.body['errors']?.[0])).toContain(`over scope '${elsewhereScope}'`)
    expect(calls('putRoleAssignment')).toBe(2)
    await cleared(fixture)
    expect(living(fixture)).toEqual([])
    expect(await fixture.root.delete('sys/mounts/cloud')).toMatchObject({ status: 204, text: '' })
  })

  test('does not undo rights that it never requested', async () => {
    fixture.directory.fault(
      status('createServicePrincipal', 400, { code: 'Request_BadRequest', message: 'no', times: null }),
    )

    expect((await creds()).status).toBe(400)

    expect(calls('putRoleAssignment')).toBe(0)
    await cleared(fixture)
    expect(living(fixture)).toEqual([])
  })
})

test('rights that a subscription of another tenant refuses are not undone either', async () => {
  for (const operation of ['putRoleAssignment', 'deleteRoleAssignment'] as const) {
    fixture.directory.fault(
      status(operation, 401, {
        code: 'InvalidAuthenticationTokenTenant',
        message: 'wrong issuer',
        times: null,
      }),
    )
  }

  expect((await creds()).status).toBe(502)

  await cleared(fixture)
  expect([calls('deleteRoleAssignment'), living(fixture)]).toEqual([0, []])
})

test.each(['lost', 'html'] as const)(
  'a right that is refused after a first answer %s is undone',
  async (kind) => {
    await aRole(fixture, 'ci', { cloud_roles: reader(fixture, 'web') })
    fixture.directory.fault({ kind, operation: 'putRoleAssignment' })
    fixture.directory.fault(
      status('putRoleAssignment', 403, { code: 'AuthorizationFailed', message: 'no', times: null }),
    )

    expect((await creds()).status).toBe(400)

    expect(calls('putRoleAssignment')).toBe(2)
    await cleared(fixture)
    expect(living(fixture)).toEqual([])
  },
)
