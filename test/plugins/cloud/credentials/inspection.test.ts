import { beforeEach, describe, expect, test } from 'vitest'
import type { CloudFixture } from '../cloud-fixture.ts'
import { aCredential, aRole, debris, kindsOf, revoke } from '../credential-steps.ts'
import { renewedFixture } from '../renewed-fixture.ts'

const renewed = renewedFixture()
let fixture: CloudFixture

beforeEach(async () => {
  fixture = renewed()
  await aRole(fixture, 'ci', { ttl: 600 })
})

describe('whois', () => {
  test('returns the lease and the requester, and 404 for unknown client ids and ended leases', async () => {
    await fixture.root.write('sys/policies/acl/ci', {
      policy: 'path "cloud/creds/*" { capabilities = ["read"] }',
    })
    const { body } = await fixture.root.write('auth/token/create', {
      policies: ['ci'],
      display_name: 'pipeline',
    })
    const answer = await fixture.server.as(String(body.auth?.client_token)).read('cloud/creds/ci')
    const [clientId, lease] = [String(answer.body.data?.client_id), String(answer.body.lease_id)]
    const lookup = await fixture.root.write('sys/leases/lookup', { lease_id: lease })

    const found = await fixture.root.read(`cloud/whois/${clientId}`)

    expect(found).toMatchObject({ status: 200 })
    expect(found.body.data).toEqual({
      lease_id: lease,
      role: 'ci',
      entity_id: '',
      display_name: 'token-pipeline',
      issue_time: lookup.body.data?.issue_time,
      expire_time: lookup.body.data?.expire_time,
    })
    expect(await fixture.root.read(`cloud/whois/${fixture.directory.rootClientId}`)).toMatchObject({
      status: 404,
      body: { errors: [] },
    })
    await revoke(fixture, lease)
    expect((await fixture.root.read(`cloud/whois/${clientId}`)).status).toBe(404)
  })

  test('returns 404 for a lease that was revoked by force', async () => {
    const { clientId } = await aCredential(fixture, 'ci')
    fixture.directory.fault({
      kind: 'status',
      operation: 'deleteApplication',
      status: 400,
      code: 'Request_BadRequest',
      times: null,
    })
    expect((await fixture.root.write('sys/leases/revoke-force/cloud/creds/ci')).status).toBe(204)

    expect((await fixture.root.read(`cloud/whois/${clientId}`)).status).toBe(404)
  })
})

describe('reap', () => {
  const tagged = () => {
    const tag = fixture.directory.inventory().flatMap(({ tags = [] }) => tags)[0] ?? ''
    return tag.slice(0, tag.lastIndexOf(':') + 1)
  }
  const reap = async (body: object = {}) =>
    (await fixture.root.write('cloud/reap', body)).body.data as unknown as Record<string, unknown>

  test('finds and deletes only unowned applications with the tag of this mount', async () => {
    const { clientId, lease } = await aCredential(fixture, 'ci')
    await aRole(fixture, 'kept', { persist_app: true })
    const kept = String((await fixture.root.read('cloud/roles/kept')).body.data?.['application_object_id'])
    const prefix = tagged()
    const orphan = fixture.directory.admin.addApplication({
      displayName: 'gatehouse-ci-lost',
      tags: ['team:a', `${prefix}1234`],
    })
    const lookAlike = fixture.directory.admin.addApplication({
      displayName: 'gatehouse-ci-lookalike',
      tags: ['gatehouse'],
    })
    const other = fixture.directory.admin.addApplication({
      displayName: 'gatehouse-ci-other',
      tags: ['gatehouse:cloud_ffffffff:1'],
    })

    const dry = await reap()
    expect(dry).toEqual({
      objects: [
        {
          kind: 'app',
          id: orphan.id,
          name: 'gatehouse-ci-lost',
          created: expect.any(String),
          reason: 'no lease, role or request owns it',
        },
      ],
      deleted: 0,
    })
    const done = await reap({ dry_run: false })

    expect(done).toMatchObject({ objects: [{ id: orphan.id }], deleted: 1 })
    expect(await reap({ dry_run: 'false' })).toEqual({ objects: [], deleted: 0 })
    expect(kindsOf(fixture, clientId)).toContain('application')
    expect(fixture.directory.inventory().filter(({ id, deleted }) => id === kept && !deleted)).toHaveLength(1)
    for (const { id } of [lookAlike, other])
      expect(() => fixture.directory.admin.addPassword(id)).not.toThrow()
    expect((await revoke(fixture, lease)).status).toBe(204)
  })

  test('spares objects that are being created', async () => {
    await aCredential(fixture, 'ci')
    fixture.directory.fault({ kind: 'held', operation: 'addServicePrincipalPassword' })
    const asked = fixture.root.read('cloud/creds/ci')
    await fixture.directory.journal.arrived('addServicePrincipalPassword', 2)

    expect(await reap({ dry_run: false })).toEqual({ objects: [], deleted: 0 })

    fixture.directory.release()
    expect((await asked).status).toBe(200)
  })

  test('deletes the other objects if one cannot be deleted', async () => {
    await aCredential(fixture, 'ci')
    const prefix = tagged()
    for (const name of ['a', 'b', 'c'])
      fixture.directory.admin.addApplication({ displayName: name, tags: [`${prefix}${name}`] })
    fixture.directory.fault({
      kind: 'status',
      operation: 'deleteApplication',
      status: 403,
      code: 'Authorization_RequestDenied',
      message: 'No.',
    })

    const text =
      'error deleting application: Authorization_RequestDenied: No.; missing permission: Application.ReadWrite.OwnedBy'
    expect(await fixture.root.write('cloud/reap', { dry_run: false })).toMatchObject({
      status: 400,
      body: { errors: [text] },
    })

    expect(await reap({ dry_run: false })).toMatchObject({ objects: [{ kind: 'app' }], deleted: 1 })
  })
})

describe('config/check', () => {
  test('ignores an invalid expiration of the secret', async () => {
    const passwordCredentials = [
      { keyId: 'k', hint: fixture.directory.rootClientSecret.slice(0, 3), endDateTime: 'soon' },
    ]
    const own = {
      id: fixture.directory.rootApplicationId,
      appId: fixture.directory.rootClientId,
      displayName: 'root',
      passwordCredentials,
    }
    fixture.directory.fault({
      kind: 'status',
      operation: 'listApplications',
      status: 200,
      body: { value: [own] },
    })

    expect(await byName('root_secret')).toEqual({
      name: 'root_secret',
      ok: true,
      detail: 'cannot tell which password of the root is in use',
      fix: '',
    })
  })

  const check = async () =>
    (await fixture.root.read('cloud/config/check')).body.data as unknown as {
      ok: boolean
      checks: { name: string; ok: boolean; detail: string }[]
    }
  const byName = async (name: string) => (await check()).checks.find((one) => one.name === name)

  test('reports no problem if there is none', async () => {
    const { ok, checks } = await check()

    expect(checks.map(({ name }) => name)).toEqual([
      'settings',
      'auth_type',
      'sign_in',
      'directory_permissions',
      'resource_manager_permissions',
      'root_secret',
      'clock_offset',
      'object_quota',
    ])
    expect(checks.filter((one) => !one.ok)).toEqual([])
    expect(ok).toBe(true)
    expect(JSON.stringify(checks)).not.toContain(fixture.directory.rootClientSecret)
  })

  test('names the missing permissions and what needs them', async () => {
    fixture.directory.change({ directoryPermissions: 'OwnedBy', rootRoles: ['Contributor'] })

    expect(await byName('directory_permissions')).toMatchObject({
      ok: false,
      detail: expect.stringContaining('lacks Application.ReadWrite.All (for rotate-root)'),
    })
    expect(await byName('resource_manager_permissions')).toEqual({
      name: 'resource_manager_permissions',
      ok: false,
      detail: `lacks Microsoft.Authorization/roleAssignments/write, Microsoft.Authorization/roleAssignments/delete in ${fixture.scope('web')}`,
      fix: expect.stringContaining('az role assignment create'),
    })
    expect((await check()).ok).toBe(false)
  })

  test('notices permissions granted, and a secret removed, since the last request', async () => {
    fixture.directory.change({ directoryPermissions: 'None' })
    expect(await byName('directory_permissions')).toMatchObject({ ok: false })
    fixture.directory.change({ directoryPermissions: 'All' })
    expect(await byName('directory_permissions')).toMatchObject({ ok: true })

    const { keyId, secretText } = fixture.directory.admin.addPassword(fixture.directory.rootApplicationId)
    await fixture.root.write('cloud/config', { client_secret: secretText })
    expect(await byName('sign_in')).toMatchObject({ ok: true })
    fixture.directory.admin.remove(keyId)
    expect(await byName('sign_in')).toMatchObject({ ok: false, detail: expect.stringContaining('7000215') })
  })

  test('and credentials work at the next request after a missing permission was granted', async () => {
    fixture.directory.change({ directoryPermissions: 'None' })
    expect((await fixture.root.read('cloud/config/check')).status).toBe(200)
    const refused = await fixture.root.read('cloud/creds/ci')
    expect(refused).toMatchObject({
      status: 400,
      body: { errors: [expect.stringContaining('missing permission: Application.ReadWrite.OwnedBy')] },
    })

    fixture.directory.change({ directoryPermissions: 'All' })

    expect((await fixture.root.read('cloud/creds/ci')).status).toBe(200)
  })

  test('ends early if the secret is refused or the mount is not configured', async () => {
    await fixture.root.write('cloud/config', { client_secret: 'wrong' })
    expect((await check()).checks).toMatchObject([
      { name: 'settings', ok: true },
      { name: 'auth_type', ok: true, detail: 'root_creds', fix: '' },
      { name: 'sign_in', ok: false, detail: expect.stringContaining('7000215') },
    ])

    await fixture.root.delete('cloud/config')
    expect((await check()).checks).toEqual([
      {
        name: 'settings',
        ok: false,
        detail: 'subscription_id is required',
        fix: 'write the missing field to config',
      },
    ])
  })

  test('reports the end of the secret, the clock offset and the quota', async () => {
    const { secretText } = fixture.directory.admin.addPassword(fixture.directory.rootApplicationId, {
      lifetimeSeconds: 3 * 86_400,
      secretText: 'Zq7short-lived-secret-text',
    })
    await fixture.root.write('cloud/config', { client_secret: secretText })
    expect(await byName('root_secret')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(
        /^the password on the application ends on \d{4}-\d{2}-\d{2}, in [23] days$/,
      ),
    })

    const onPrincipal = fixture.directory.admin.addPassword(fixture.directory.rootServicePrincipalId, {
      lifetimeSeconds: 20 * 86_400,
      secretText: 'Qz9another',
    })
    await fixture.root.write('cloud/config', { client_secret: onPrincipal.secretText })
    expect(await byName('root_secret')).toMatchObject({
      ok: true,
      detail: expect.stringMatching(/^the password on the service principal ends /),
    })

    fixture.directory.advance(-90)
    expect(await byName('clock_offset')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^upstream is (?:89|90|91) s behind$/),
    })
    fixture.directory.advance(90)

    fixture.directory.change({ quotas: { directoryObjects: 6 } })
    expect(await byName('object_quota')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^\d+ of 6 objects are used$/),
    })
  })
})

test('a gauge counts the debris', async () => {
  fixture.directory.fault({
    kind: 'status',
    operation: 'putRoleAssignment',
    status: 400,
    code: 'Request_BadRequest',
  })
  fixture.directory.fault({
    kind: 'status',
    operation: 'deleteApplication',
    status: 400,
    code: 'Request_BadRequest',
    times: null,
  })
  await fixture.root.read('cloud/creds/ci')

  const { text } = await fixture.root.read('sys/metrics?format=prometheus')

  expect(text).toContain('gatehouse_cloud_debris_objects{mount="cloud/"} 1\n')
  expect(text).toContain('gatehouse_cloud_debris_objects{mount="azure/"} 0\n')
})

test('a mount without debris returns an empty list', async () => {
  expect(await debris(fixture)).toEqual([])
})
