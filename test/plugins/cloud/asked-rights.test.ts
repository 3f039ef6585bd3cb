import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CloudHouse, guids, startCloudHouse } from './cloud-house.ts'
import { aRole, cleared, living, reader, status } from './credential-steps.ts'

let house: CloudHouse

beforeEach(async () => {
  house = await startCloudHouse()
  await aRole(house, 'ci', { cloud_roles: reader(house, 'web', 'data') })
})
afterEach(() => house[Symbol.asyncDispose]())

const creds = () => house.root.read('cloud/creds/ci')
const calls = (operation: Parameters<typeof house.directory.journal.arrived>[0]) => house.directory.journal.entries({ operation }).length

describe('where the root may neither give nor take rights', () => {
  const elsewhere = () => JSON.stringify([...JSON.parse(reader(house, 'web')), { role_id: house.definition(guids.reader), scope: '/' }])
  beforeEach(() => aRole(house, 'ci', { cloud_roles: elsewhere() }))

  test('rights that it could not grant need no removal: the rest is undone, and the mount can be disabled', async () => {
    const answer = await creds()

    expect(answer.status).toBe(400)
    expect(String(answer.body['errors']?.[0])).toContain("over scope '/'")
    expect(calls('putRoleAssignment')).toBe(2)
    await cleared(house)
    expect(living(house)).toEqual([])
    expect(await house.root.delete('sys/mounts/cloud')).toMatchObject({ status: 204, text: '' })
  })

  test('rights that it never asked for need no removal', async () => {
    house.directory.fault(status('createServicePrincipal', 400, { code: 'Request_BadRequest', message: 'no', times: null }))

    expect((await creds()).status).toBe(502)

    expect(calls('putRoleAssignment')).toBe(0)
    await cleared(house)
    expect(living(house)).toEqual([])
  })
})

test('rights that a subscription of another tenant refuses need no removal either', async () => {
  for (const operation of ['putRoleAssignment', 'deleteRoleAssignment'] as const) {
    house.directory.fault(status(operation, 401, { code: 'InvalidAuthenticationTokenTenant', message: 'wrong issuer', times: null }))
  }

  expect((await creds()).status).toBe(502)

  await cleared(house)
  expect([calls('deleteRoleAssignment'), living(house)]).toEqual([0, []])
})

test.each(['lost', 'html'] as const)('a right whose first answer was %s, and that is refused then, is looked for', async (kind) => {
  await aRole(house, 'ci', { cloud_roles: reader(house, 'web') })
  house.directory.fault({ kind, operation: 'putRoleAssignment' })
  house.directory.fault(status('putRoleAssignment', 403, { code: 'AuthorizationFailed', message: 'no', times: null }))

  expect((await creds()).status).toBe(400)

  expect(calls('putRoleAssignment')).toBe(2)
  await cleared(house)
  expect(living(house)).toEqual([])
})
