import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Lease } from '../../../../src/core/leases/lease.ts'
import type { Intent } from '../../../../src/plugins/cloud/intents/intent.ts'
import { writeRole } from '../../../../src/plugins/cloud/roles/write-role.ts'
import { guids } from '../cloud-fixture.ts'
import { until } from '../credential-steps.ts'
import { type EngineFixture, openEngineFixture } from '../engine-fixture.ts'

let fixture: EngineFixture

beforeEach(async () => {
  fixture = await openEngineFixture()
})
afterEach(() => fixture[Symbol.asyncDispose]())

const left = async () => (await fixture.state.intents.debris()).map(({ intent }) => intent)
const nothingLeft = () => until(async () => (await left()).length === 0)
const call = () => ({
  deadline: fixture.clock.now() + 60_000,
  correlationId: '9c1d8f30-0000-4000-8000-000000000001',
})
const tag = 'gatehouse:cloud_1234abcd:9c1d8f30-0000-4000-8000-000000000001'

async function anApplication(displayName: string, tags = [tag]) {
  const upstream = await fixture.state.upstream()
  return upstream.directory.createApplication({ displayName, tags }, call())
}
const applications = () => fixture.directory.inventory().filter(({ kind }) => kind === 'application')
const meant = (intent: Intent) => fixture.state.intents.record(intent, undefined)

describe('an intent from before a restart', () => {
  test('is undone at the next start, and new intents are not', async () => {
    await anApplication('gatehouse-ci-1')
    await meant({ kind: 'app', display_name: 'gatehouse-ci-1', tag })
    expect(await left()).toEqual([])

    fixture.restart()
    expect(await left()).toHaveLength(1)
    await meant({ kind: 'app', display_name: 'gatehouse-ci-2', tag })
    fixture.engine.start()

    await nothingLeft()
    expect(applications()).toEqual([])
    expect(await fixture.state.intents.all()).toMatchObject([{ intent: { display_name: 'gatehouse-ci-2' } }])
  })

  test('is undone by name and tag, and a similar application stays', async () => {
    await anApplication('gatehouse-ci-1')
    await anApplication('gatehouse-ci-1', ['gatehouse:cloud_ffffffff:1'])
    await fixture.state.intents.undo([await meant({ kind: 'app', display_name: 'gatehouse-ci-1', tag })])

    await nothingLeft()
    expect(applications()).toMatchObject([{ tags: ['gatehouse:cloud_ffffffff:1'] }])
  })

  test('is retried for ten minutes while the search finds nothing', async () => {
    await fixture.state.intents.undo([await meant({ kind: 'app', display_name: 'gatehouse-ci-1', tag })])
    await until(async () => Number((await fixture.state.intents.debris())[0]?.tries) >= 2)
    // the list lagged behind
    await anApplication('gatehouse-ci-1')

    await nothingLeft()
    expect(applications()).toEqual([])

    await fixture.state.intents.undo([await meant({ kind: 'app', display_name: 'gatehouse-ci-2', tag })])
    await until(
      async () => (await fixture.state.intents.debris())[0]?.error === 'it is not found by its name',
    )
    fixture.clock.advance(601)
    await nothingLeft()
  })

  test('is not undone if a role owns the object', async () => {
    const { id, appId } = await anApplication('gatehouse-ci-1')
    const [managed, role_assignments] = [
      { object_id: id, client_id: appId, service_principal_id: 'p', group_ids: [] },
      [{ id: '/a/1', role_id: 'r', scope: 's' }],
    ]
    const { emptyRole } = await import('../../../../src/plugins/cloud/roles/role-record.ts')
    await fixture.state.putRole('kept', {
      ...emptyRole,
      persist_app: true,
      application_object_id: id,
      managed: { ...managed, role_assignments },
    })
    const ids = [
      await meant({ kind: 'app', display_name: 'gatehouse-ci-1', tag, object_id: id, client_id: appId }),
      await meant({ kind: 'roleAssignments', assignment_ids: ['/A/1'] }),
    ]
    const before = fixture.directory.journal.entries().length
    await fixture.state.intents.undo(ids)

    await nothingLeft()
    expect(applications()).toHaveLength(1)
    expect(fixture.directory.journal.entries()).toHaveLength(before)
  })

  test('is retried after a storage failure', async () => {
    await anApplication('gatehouse-ci-1')
    const id = await meant({ kind: 'app', display_name: 'gatehouse-ci-1', tag })
    fixture.breakStorage(0, 'lost')
    await fixture.state.intents.undo([id])
    await until(async () => (await fixture.state.intents.debris())[0]?.error === 'storage is gone')

    fixture.restart()
    fixture.engine.start()

    await nothingLeft()
    expect(applications()).toEqual([])
  })

  test('to purge is given up only after a day', async () => {
    await fixture.state.intents.undo([
      await meant({ kind: 'purge', object_id: '7d2c1b5e-0f43-4c3a-8a52-4f0a9a1f3c77' }),
    ])
    fixture.clock.advance(23 * 3600)
    await until(async () => Number((await fixture.state.intents.debris())[0]?.tries) >= 3)

    fixture.clock.advance(3601)

    await nothingLeft()
  })

  describe('for a right that may still be granted', () => {
    const scope = () => `/subscriptions/${fixture.directory.subscriptionId}/resourceGroups/web`
    const name = '1c0f6b7e-2e6e-4b5e-9a33-0c8c7a1f4d52'
    const id = () => `${scope()}/providers/Microsoft.Authorization/roleAssignments/${name}`
    const roleDefinitionId = () =>
      `/subscriptions/${fixture.directory.subscriptionId}/providers/Microsoft.Authorization/roleDefinitions/${guids.reader}`
    const assignments = () =>
      fixture.directory.inventory().filter((thing) => thing.kind === 'role-assignment')
    const isLookedFor = () => until(async () => Number((await fixture.state.intents.debris())[0]?.tries) >= 2)

    test('looks for an assignment for a minute after the first attempt', async () => {
      const { appId } = await anApplication('gatehouse-ci-1')
      const { directory, resourceManager } = await fixture.state.upstream()
      const { id: principalId } = await directory.createServicePrincipal(appId, call())
      const intent = await meant({ kind: 'roleAssignments', assignment_ids: [id()] })
      fixture.clock.advance(3600)
      await fixture.state.intents.undo([intent], { isUnderway: true })
      await isLookedFor()
      expect((await fixture.state.intents.debris())[0]?.error).toBe('it is not there yet')

      await resourceManager.putRoleAssignment(
        { scope: scope(), name, principalId, roleDefinitionId: roleDefinitionId() },
        call(),
      )

      await nothingLeft()
      expect(assignments()).toEqual([])
    })

    test.each([
      { what: 'an assignment', aRight: (): Intent => ({ kind: 'roleAssignments', assignment_ids: [id()] }) },
      {
        what: 'a membership',
        aRight: (): Intent => ({ kind: 'groupMembership', group_ids: [name], service_principal_id: name }),
      },
    ])(
      'looks for $what no longer than that, and only once if every call was answered',
      async ({ aRight }) => {
        await fixture.state.intents.undo([await meant(aRight())], { isUnderway: true })
        await isLookedFor()

        fixture.clock.advance(61)
        await nothingLeft()

        await fixture.state.intents.undo([await meant(aRight())])
        const before = fixture.lines.length
        await nothingLeft()
        expect(fixture.lines).toHaveLength(before)
      },
    )
  })

  test('does not remove a membership that the role lists again', async () => {
    const write = (cloud_groups: string) =>
      writeRole('kept', { persist_app: true, cloud_groups }, fixture.engine.work(fixture.mount, tag))
    await write('[{"group_name":"bar"}]')
    const managed = (await fixture.state.findRole('kept'))?.managed
    const group = fixture.directory.groupIds['foo'] ?? ''
    fixture.directory.journal.clear()
    fixture.directory.fault({ kind: 'held', operation: 'addGroupMember' })
    const written = write('[{"group_name":"bar"},{"group_name":"foo"}]')
    await fixture.directory.journal.arrived('addGroupMember')

    await fixture.state.intents.undo([
      await meant({
        kind: 'groupMembership',
        group_ids: [group],
        service_principal_id: managed?.service_principal_id ?? '',
      }),
    ])
    const marker = await meant({ kind: 'purge', object_id: managed?.object_id ?? '' })
    await fixture.state.intents.undo([marker])
    await until(
      async () => Number((await fixture.state.intents.debris()).find(({ id }) => id === marker)?.tries) >= 2,
    )
    fixture.directory.release()
    await written
    fixture.clock.advance(25 * 3600)
    await nothingLeft()

    const members = fixture.directory.inventory().filter(({ kind }) => kind === 'group-member')
    expect(members.map(({ name }) => name).sort()).toEqual(['bar', 'foo'])
  })

  test('is logged once for each reason, with the mount', async () => {
    await fixture.state.intents.undo([await meant({ kind: 'app', display_name: 'gatehouse-ci-1', tag })])
    await until(async () => Number((await fixture.state.intents.debris())[0]?.tries) >= 3)

    expect(
      fixture.lines.filter(({ fields }) => 'event' in fields && fields.event === 'cloud_debris'),
    ).toMatchObject([{ level: 'warn', fields: { mount: 'cloud/', reason: 'it is not found by its name' } }])
  })
})

describe('what earlier versions left of leases that were revoked by force', () => {
  /** The credential record that such a lease leaves. */
  const aRow = async () => {
    const { id, appId } = await anApplication('gatehouse-ci-1')
    const row = {
      namespace: 'root',
      lease_id: 'cloud/creds/ci/x',
      role: 'ci',
      entity_id: '',
      display_name: 'root',
      client_id: appId,
      app_object_id: id,
      made_name: 'gatehouse-ci-1',
      correlation_id: '9c1d8f30-0000-4000-8000-000000000001',
    }
    await fixture.view.write([{ key: `issued/${appId}/root/cloud/creds/ci/x`, value: row }])
  }
  const clear = (abandon: boolean) => fixture.engine.clear(fixture.mount, { abandon })

  test('is removed before the mount', async () => {
    await aRow()

    await clear(false)

    expect(applications()).toEqual([])
    expect(await fixture.view.listKeys('issued/')).toEqual([])
  })

  test('keeps the mount until it is gone, and is logged if it is abandoned', async () => {
    await aRow()
    fixture.directory.fault({
      kind: 'status',
      operation: 'deleteApplication',
      status: 400,
      code: 'Request_BadRequest',
      times: null,
    })

    await expect(clear(false)).rejects.toThrow(/^1 object of this mount could not be removed/)
    fixture.restart()
    await expect(clear(false)).rejects.toThrow(/^1 object of this mount could not be removed/)
    await clear(true)

    expect(
      fixture.lines.filter(({ fields }) => 'event' in fields && fields.event === 'cloud_debris_left'),
    ).toMatchObject([
      {
        fields: {
          abandoned: true,
          objects: [{ kind: 'app', id: applications()[0]?.id, name: 'gatehouse-ci-1' }],
        },
      },
    ])
  })
})

test('a mount is reaped automatically at the interval of its options', async () => {
  await anApplication('gatehouse-ci-lost')
  await fixture.engine.credentials.reaping.look()
  fixture.clock.advance(7200)
  await fixture.engine.credentials.reaping.look()
  expect(applications().map(({ deleted }) => deleted)).toEqual([false])

  Object.assign(fixture.mount, { options: { reap_period: '1h' } })
  await fixture.engine.credentials.reaping.look()

  expect(applications().map(({ deleted }) => deleted)).toEqual([true])
  await anApplication('gatehouse-ci-lost-too')
  fixture.clock.advance(3599)
  await fixture.engine.credentials.reaping.look()
  expect(applications().map(({ deleted }) => deleted)).toEqual([true, false])
  fixture.clock.advance(1)
  await fixture.engine.credentials.reaping.look()
  expect(applications().map(({ deleted }) => deleted)).toEqual([true, true])
})

// docs/contract/cloud.md#revocation
test.each([
  [{ secret_type: 'service_principal', role: 'ci' }, "internal data 'app_object_id' not found"],
  [
    { secret_type: 'service_principal', app_object_id: 'a', group_membership_ids: ['g'] },
    "internal data 'sp_object_id' not found",
  ],
  [{ secret_type: 'static_service_principal', app_object_id: 'a' }, "internal data 'key_id' not found"],
  [{ secret_type: 'static_service_principal', key_id: 'k' }, "internal data 'app_object_id' not found"],
])('a lease with the data %j cannot be revoked', async (internal, message) => {
  const lease: Lease = {
    id: 'cloud/creds/ci/x',
    namespace: 'root',
    path: 'cloud/creds/ci',
    plugin: 'cloud',
    mount_accessor: fixture.mount.accessor,
    owner: '',
    issue_time: fixture.clock.now(),
    expire_time: fixture.clock.now(),
    renewable: true,
    internal,
  }

  await expect(fixture.engine.credentials.revoke(lease, AbortSignal.timeout(5000))).rejects.toThrow(message)
})
