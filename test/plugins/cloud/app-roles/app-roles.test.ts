import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { askToken } from '../../../simulators/directory/client.ts'
import { type CloudFixture, startCloudFixture } from '../cloud-fixture.ts'
import { aCredential, cleared, debris, revoke } from '../credential-steps.ts'

let fixture: CloudFixture

beforeAll(async () => {
  fixture = await startCloudFixture()
})
afterEach(async () => {
  fixture.directory.clearFaults()
  fixture.directory.change({ directoryPermissions: 'All', delaySeconds: { servicePrincipalToAppRole: 0 } })
  // a root without a permission has lost its token
  await fixture.root.write('cloud/config', fixture.config())
})
afterAll(() => fixture[Symbol.asyncDispose]())

const graphAppId = '00000003-0000-0000-c000-000000000000'
const groupRead = { app_id: graphAppId, role_name: 'Group.Read.All' }
const order = (role_name: string) => ({ app_id: fixture.directory.orders.appId, role_name })
const write = async (name: string, roles: object[], more: object = {}) => {
  const { status, body } = await fixture.root.write(`cloud/roles/${name}`, {
    cloud_app_roles: JSON.stringify(roles),
    ...more,
  })
  return status === 204 ? 'written' : { status, text: String(body['errors']?.[0]) }
}
const appRolesOf = async (name: string) =>
  (await fixture.root.read(`cloud/roles/${name}`)).body['data']?.['cloud_app_roles'] as unknown
/** The app roles that exist upstream for a client. */
const held = (clientId: string) =>
  fixture.directory
    .inventory()
    .filter((thing) => thing.kind === 'app-role-assignment' && thing.clientId === clientId)
    .map(({ name }) => name)
    .toSorted()
const heldByAnybody = () => fixture.directory.inventory().filter(({ kind }) => kind === 'app-role-assignment')

describe('a role', () => {
  test('is read with the resolved app roles, and without the field if it never had any', async () => {
    expect(await write('read', [order('Orders.Read'), groupRead])).toBe('written')
    await fixture.root.write('cloud/roles/plain', { cloud_groups: JSON.stringify([{ group_name: 'foo' }]) })

    expect(await appRolesOf('read')).toEqual([
      {
        ...order('Orders.Read'),
        resource_id: fixture.directory.orders.servicePrincipalId,
        role_id: expect.any(String),
      },
      { ...groupRead, resource_id: expect.any(String), role_id: '5b567255-7703-4780-807c-7be8301ae99b' },
    ])
    expect((await fixture.root.read('cloud/roles/plain')).body['data']).not.toHaveProperty('cloud_app_roles')
  })

  test('takes the id of an app role, and keeps its app roles if a write has none', async () => {
    const role_id = '5b567255-7703-4780-807c-7be8301ae99b'
    expect(await write('by-id', [{ app_id: graphAppId, role_id }])).toBe('written')
    await fixture.root.write('cloud/roles/by-id', { ttl: 60 })

    expect(await appRolesOf('by-id')).toMatchObject([groupRead])
  })

  test.each<[string, () => object[], RegExp]>([
    [
      'a resource that has no service principal',
      () => [{ app_id: graphAppId.replace('3', '4'), role_name: 'x' }],
      /^no service principal found for app_id: '00000004-/,
    ],
    [
      'text that is no id',
      () => [{ app_id: "x') or (y", role_name: 'x' }],
      /^no service principal found for app_id: 'x'\) or \(y'$/,
    ],
    ['an unknown role', () => [order('Orders.read')], /^no app role found for role_name: 'Orders.read'$/],
    [
      'a disabled role',
      () => [order('Orders.Retired')],
      /^no app role found for role_name: 'Orders.Retired'$/,
    ],
    ['a role for people', () => [order('Orders.Approve')], /^no app role found for role_name/],
    ['an unknown id', () => [{ ...order(''), role_id: 'x' }], /^no app role found for role_id: 'x'$/],
    [
      'one twice',
      () => [order('Orders.Read'), order('Orders.Read')],
      /^duplicate role_id and app_id: '[0-9a-f-]{36}', '[0-9a-f-]{36}'$/,
    ],
    ['neither a name nor an id', () => [{ app_id: fixture.directory.orders.appId }], /^no app role found/],
    ['a misspelt id', () => [{ ...order(''), roleId: 'x' }], /^no app role found for role_name: ''$/],
    ['no resource', () => [{ role_name: 'Orders.Read' }], /^no service principal found for app_id: ''$/],
    [
      'more than fifty',
      () => Array.from({ length: 51 }, () => groupRead),
      /^error parsing Cloud app roles '.*': expected at most 50 elements$/,
    ],
    [
      'a number',
      () => [{ app_id: 3 }],
      /^error parsing Cloud app roles '\[\{"app_id":3\}\]': expected app_id to be/,
    ],
  ])('cannot list %s', async (_, roles, text) => {
    expect(await write('wrong', roles())).toEqual({ status: 400, text: expect.stringMatching(text) })
  })

  test.each([
    'AppRoleAssignment.ReadWrite.All',
    'RoleManagement.ReadWrite.Directory',
    'Application.ReadWrite.All',
  ])('lists %s only if the mount permits it', async (role_name) => {
    const refused = await write('mighty', [{ app_id: graphAppId, role_name }])
    const options = (value: string) =>
      fixture.root.write('sys/mounts/cloud/tune', { options: { allow_privileged_app_roles: value } })
    await options('true')
    const permitted = await write('mighty', [{ app_id: graphAppId, role_name }])
    const [{ role_id }] = (await appRolesOf('mighty')) as [{ role_id: string }]
    await options('')
    const byId = await write('mightier', [{ app_id: graphAppId, role_name: 'harmless', role_id }])
    const { status, body } = await fixture.root.read('cloud/creds/mighty')

    const text = `app role ${role_name} can take over the tenant; mount option allow_privileged_app_roles permits it`
    expect([refused, permitted, byId]).toEqual([{ status: 400, text }, 'written', { status: 400, text }])
    expect([status, body.errors]).toEqual([400, [text]])
  })

  test('on a mount of type azure has the field azure_app_roles', async () => {
    const roles = JSON.stringify([groupRead])
    await fixture.root.write('azure/roles/named', { azure_app_roles: roles })

    const { body } = await fixture.root.read('azure/roles/named')

    expect(body['data']).toMatchObject({ azure_app_roles: [groupRead] })
  })
})

describe('a credential', () => {
  test('has the app roles in its tokens, and loses them with its lease', async () => {
    await write('ci', [order('Orders.Read'), groupRead])
    const { clientId, secret, lease } = await aCredential(fixture, 'ci')
    const roles = async (scope: string) => {
      const { body } = await askToken(fixture.directory, { clientId, secret, scope: `${scope}/.default` })
      return decodeJwt(String(body.access_token)).roles
    }

    expect(await roles(fixture.directory.directoryUrl)).toEqual(['Group.Read.All'])
    expect(await roles(fixture.directory.orders.appId)).toEqual(['Orders.Read'])
    fixture.directory.journal.clear()
    await revoke(fixture, lease)

    const removed = fixture.directory.journal.entries({ operation: 'deleteAppRoleAssignment' })
    expect(removed.map(({ status }) => status)).toEqual([204, 204])
    expect(held(clientId)).toEqual([])
    const calls = fixture.directory.journal.entries().map(({ operation }) => operation)
    expect(calls.lastIndexOf('deleteAppRoleAssignment')).toBeLessThan(calls.indexOf('deleteServicePrincipal'))
  })

  test('is revoked if somebody has removed its app roles', async () => {
    await write('taken', [order('Orders.Read')])
    const { clientId, lease } = await aCredential(fixture, 'taken')
    const granted = heldByAnybody().find((thing) => thing.clientId === clientId)
    fixture.directory.admin.remove(granted?.id ?? '')
    fixture.directory.journal.clear()

    expect((await revoke(fixture, lease)).status).toBe(204)

    const removed = fixture.directory.journal.entries({ operation: 'deleteAppRoleAssignment' })
    expect([removed.map(({ status }) => status), await debris(fixture)]).toEqual([[404], []])
  })

  test('waits until its new service principal can get app roles', async () => {
    await write('late', [order('Orders.Read')])
    fixture.directory.change({ delaySeconds: { servicePrincipalToAppRole: 20 } })

    const { clientId } = await aCredential(fixture, 'late')

    expect(held(clientId)).toEqual(['Orders.Read'])
  })

  test('gets an app role once if the answer is lost', async () => {
    await write('lost', [order('Orders.Read')])
    fixture.directory.fault({ kind: 'lost', operation: 'assignAppRole' })

    const { clientId, lease } = await aCredential(fixture, 'lost')

    expect(held(clientId)).toEqual(['Orders.Read'])
    await revoke(fixture, lease)
    expect(held(clientId)).toEqual([])
  })

  test('is refused with the missing permission, and nothing is left', async () => {
    await write('denied', [order('Orders.Read')])
    const before = heldByAnybody().length
    fixture.directory.change({ directoryPermissions: ['Application.ReadWrite.All'] })
    await fixture.root.write('cloud/config', fixture.config())

    const { status, body } = await fixture.root.read('cloud/creds/denied')

    expect([status, body['errors']?.[0]]).toEqual([
      400,
      expect.stringMatching(
        /^error while assigning app roles: .*; missing permission: AppRoleAssignment\.ReadWrite\.All$/,
      ),
    ])
    await cleared(fixture)
    expect(heldByAnybody()).toHaveLength(before)
  })

  test('leaves an app role that cannot be removed to the background', async () => {
    await write('stuck', [order('Orders.Read')])
    const { clientId, lease } = await aCredential(fixture, 'stuck')
    fixture.directory.fault({ kind: 'status', operation: 'deleteAppRoleAssignment', status: 403 })

    await revoke(fixture, lease)
    await cleared(fixture)

    expect(held(clientId)).toEqual([])
  })
})

describe('an application that a role owns', () => {
  test('gets and loses app roles by the difference, and all with the role', async () => {
    const roles = (...names: string[]) => names.map(order)
    expect(await write('owned', roles('Orders.Read'), { persist_app: true })).toBe('written')
    const { clientId } = await aCredential(fixture, 'owned')
    const first = held(clientId)
    fixture.directory.journal.clear()
    await write('owned', roles('Orders.Read', 'Orders.Write'))
    const both = held(clientId)
    const assigned = fixture.directory.journal.entries({ operation: 'assignAppRole' }).length
    await write('owned', roles('Orders.Write'))
    const last = held(clientId)
    await fixture.root.delete('cloud/roles/owned?revoke=true')

    expect([first, both, assigned, last, held(clientId)]).toEqual([
      ['Orders.Read'],
      ['Orders.Read', 'Orders.Write'],
      1,
      ['Orders.Write'],
      [],
    ])
    expect(await debris(fixture)).toEqual([])
  })

  test('stays as it was if an app role cannot be added', async () => {
    await write('firm', [order('Orders.Read')], { persist_app: true })
    const { clientId } = await aCredential(fixture, 'firm')
    fixture.directory.fault({ kind: 'status', operation: 'assignAppRole', status: 500, times: null })

    const refused = await write('firm', [order('Orders.Read'), order('Orders.Write')])
    fixture.directory.clearFaults()
    // the call that failed may take effect for a while
    fixture.clock.advance(61)
    await cleared(fixture)

    expect(refused).toMatchObject({ status: 502 })
    expect([held(clientId), await appRolesOf('firm')]).toMatchObject([
      ['Orders.Read'],
      [order('Orders.Read')],
    ])
  })
})

test('a credential that fails at another step leaves no app role', async () => {
  await write('failing', [order('Orders.Read')])
  const before = heldByAnybody().length
  fixture.directory.fault({ kind: 'status', operation: 'addServicePrincipalPassword', status: 400 })

  const { status } = await fixture.root.read('cloud/creds/failing')
  await cleared(fixture)

  expect([status >= 400, heldByAnybody().length]).toEqual([true, before])
})

// docs/contract/cloud.md#preflight
describe('the check of app roles', () => {
  async function check(own: CloudFixture, mount = 'cloud') {
    const { body } = await own.root.read(`${mount}/config/check`)
    const checks = body['data']?.['checks'] as unknown as { name: string; ok: boolean; detail: string }[]
    return checks.find(({ name }) => name === 'app_roles')
  }

  test('names the permission that the root lacks', async () => {
    await write('checked', [order('Orders.Read')])
    fixture.directory.change({ directoryPermissions: ['Application.ReadWrite.OwnedBy'] })

    expect(await check(fixture)).toEqual({
      name: 'app_roles',
      ok: false,
      detail: 'lacks AppRoleAssignment.ReadWrite.All',
      fix: 'grant AppRoleAssignment.ReadWrite.All with admin consent: az ad app permission add, then az ad app permission admin-consent',
    })
  })

  test('names app roles that are withdrawn, here or upstream', async () => {
    await using own = await startCloudFixture()
    const { orders } = own.directory
    const list = [
      { app_id: orders.appId, role_name: 'Orders.Read' },
      { app_id: graphAppId, role_name: 'Application.ReadWrite.All' },
    ]
    const options = { options: { allow_privileged_app_roles: 'true' } }
    await own.root.write('sys/mounts/cloud/tune', options)
    const written = await own.root.write('cloud/roles/stale', { cloud_app_roles: JSON.stringify(list) })
    expect([written.status, written.text]).toEqual([204, ''])
    expect([await check(own), await check(own, 'azure')]).toEqual([
      { name: 'app_roles', ok: true, fix: '', detail: 'all app roles are offered (roles: 1, resources: 2)' },
      undefined,
    ])
    await own.root.write('sys/mounts/cloud/tune', { options: { allow_privileged_app_roles: 'false' } })
    own.directory.admin.remove(orders.servicePrincipalId)

    expect(await check(own)).toEqual({
      name: 'app_roles',
      ok: false,
      detail: `role stale: no service principal found for app_id ${orders.appId}; role stale: app role Application.ReadWrite.All can take over the tenant; mount option allow_privileged_app_roles permits it`,
      fix: 'write role stale with app roles that exist; write role stale without it, or set the mount option allow_privileged_app_roles',
    })
  })
})
