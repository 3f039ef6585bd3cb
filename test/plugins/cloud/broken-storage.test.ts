import { describe, expect, test } from 'vitest'
import { readRole } from '../../../src/plugins/cloud/roles/role-record.ts'
import { writeRole } from '../../../src/plugins/cloud/roles/write-role.ts'
import { rotateRoot } from '../../../src/plugins/cloud/root-rotation/rotate-root.ts'
import { guids } from './cloud-fixture.ts'
import { type EngineFixture, openEngineFixture } from './engine-fixture.ts'

const correlationId = 'c0ffee00-0000-4000-8000-000000000000'
const moments = Array.from({ length: 8 }, (_, writes) => writes).flatMap((writes) => [
  { writes, last: 'stored' as const },
  { writes, last: 'lost' as const },
])

/** Ignores a failure. */
const trying = (work: Promise<unknown>) => work.catch(() => undefined)

/** Restarts the engine and gives it all the time it needs. */
async function nextLife(fixture: EngineFixture): Promise<void> {
  fixture.restart()
  await timePasses(fixture)
}

async function timePasses(fixture: EngineFixture): Promise<void> {
  for (let minutes = 0; minutes < 12; minutes += 4) {
    fixture.clock.advance(240)
    await fixture.engine.rotation.looks.look()
    await fixture.state.intents.undoAll()
  }
  expect(await fixture.state.intents.undoAll()).toEqual([])
}

describe('a rotation of the root secret', () => {
  test.each(moments)(
    'leaves one working root secret if the server crashes after $writes writes, the last one $last',
    async ({ writes, last }) => {
      await using fixture = await openEngineFixture()
      fixture.breakStorage(writes, last)
      await trying(rotateRoot(fixture.engine.work(fixture.mount, correlationId)))
      fixture.clock.advance(60)
      await fixture.engine.rotation.looks.look()

      await nextLife(fixture)

      await rootIsWell(fixture)
    },
  )

  test.each(moments)(
    'leaves one working root secret if the storage fails one write after $writes, which is $last',
    async ({ writes, last }) => {
      await using fixture = await openEngineFixture()
      fixture.refuseOneWrite(writes, last)
      await trying(rotateRoot(fixture.engine.work(fixture.mount, correlationId)))
      fixture.clock.advance(60)
      await fixture.engine.rotation.looks.look()

      await timePasses(fixture)

      await rootIsWell(fixture)
    },
  )
})

test.each(moments.slice(0, 6))(
  'a replaced pending secret is removed even if the storage fails one write after $writes, which is $last',
  async ({ writes, last }) => {
    await using fixture = await openEngineFixture()
    await rotateRoot(fixture.engine.work(fixture.mount, correlationId))
    fixture.refuseOneWrite(writes, last)
    await trying(rotateRoot(fixture.engine.work(fixture.mount, correlationId)))

    await fixture.state.intents.undoAll()

    expect((await fixture.rootPasswords()).map(({ keyId }) => keyId)).toHaveLength(2)
  },
)

async function rootIsWell(fixture: EngineFixture): Promise<void> {
  const { client_secret, client_id } = await fixture.config()
  const { tokens } = await fixture.state.upstream()
  expect(
    await tokens.prove(client_id, { secret: client_secret }, 'directory', {
      deadline: fixture.clock.now() + 60_000,
      correlationId,
    }),
  ).toBe(true)
  expect(await fixture.config()).not.toHaveProperty('pending')
  expect(await fixture.rootPasswords()).toHaveLength(1)
}

const rightsOf = (fixture: EngineFixture) =>
  fixture.directory
    .inventory()
    .filter(({ kind, deleted }) => !deleted && (kind === 'role-assignment' || kind === 'group-member'))
    .map(({ id }) => id.toLowerCase())
    .sort()

/** The rights and applications according to the stored role, and those that exist. */
async function rightsBothWays(fixture: EngineFixture) {
  const stored = await fixture.view.get('role/kept')
  const managed = stored === undefined ? undefined : readRole(stored).managed
  const meant = [
    ...(managed?.role_assignments.map(({ id }) => id) ?? []),
    ...(managed?.group_ids.map((id) => `${id}/${managed.service_principal_id}`) ?? []),
  ]
  const applications = fixture.directory
    .inventory()
    .filter(({ kind, deleted }) => kind === 'application' && !deleted)
  return {
    meant: {
      rights: meant.map((id) => id.toLowerCase()).sort(),
      applications: managed === undefined ? [] : [managed.object_id],
    },
    there: { rights: rightsOf(fixture), applications: applications.map(({ id }) => id) },
  }
}

describe('the records of a role match the rights of its application', () => {
  const granted = (fixture: EngineFixture, guid: string) => ({
    role_id: `/subscriptions/${fixture.directory.subscriptionId}/providers/Microsoft.Authorization/roleDefinitions/${guid}`,
    scope: `/subscriptions/${fixture.directory.subscriptionId}`,
  })
  const write = (fixture: EngineFixture, guid: string, group: string) =>
    writeRole(
      'kept',
      {
        persist_app: true,
        cloud_roles: JSON.stringify([granted(fixture, guid)]),
        cloud_groups: JSON.stringify([{ group_name: group }]),
      },
      fixture.engine.work(fixture.mount, correlationId),
    )

  test.each(moments)(
    'after a crash in its creation, after $writes writes, the last one $last',
    async ({ writes, last }) => {
      await using fixture = await openEngineFixture()
      fixture.breakStorage(writes, last)
      await trying(write(fixture, guids.reader, 'foo'))

      await nextLife(fixture)

      const { meant, there } = await rightsBothWays(fixture)
      expect(there).toEqual(meant)
    },
  )

  test.each(moments)(
    'after a crash in an update, after $writes writes, the last one $last',
    async ({ writes, last }) => {
      await using fixture = await openEngineFixture()
      await write(fixture, guids.reader, 'foo')
      fixture.breakStorage(writes, last)
      await trying(write(fixture, guids.owner, 'bar'))

      await nextLife(fixture)

      const { meant, there } = await rightsBothWays(fixture)
      expect(there).toEqual(meant)
      expect(there.applications).toHaveLength(1)
      expect(there.rights).toHaveLength(2)
    },
  )

  test.each(moments)(
    'after an update in which the storage fails one write after $writes, which is $last',
    async ({ writes, last }) => {
      await using fixture = await openEngineFixture()
      await write(fixture, guids.reader, 'foo')
      fixture.refuseOneWrite(writes, last)
      await trying(write(fixture, guids.owner, 'bar'))

      await timePasses(fixture)

      const { meant, there } = await rightsBothWays(fixture)
      expect(there).toEqual(meant)
      expect(there.rights).toHaveLength(2)
    },
  )

  test.each(moments.slice(0, 4))(
    'after a crash in its deletion, after $writes writes, the last one $last',
    async ({ writes, last }) => {
      await using fixture = await openEngineFixture()
      await write(fixture, guids.reader, 'foo')
      fixture.breakStorage(writes, last)
      await trying(
        fixture.engine.deleteRole(fixture.mount, 'kept', { revoke: false, correlationId: correlationId }),
      )

      await nextLife(fixture)

      await fixture.engine.deleteRole(fixture.mount, 'kept', { revoke: false, correlationId: correlationId })
      expect(await rightsBothWays(fixture)).toEqual({
        meant: { rights: [], applications: [] },
        there: { rights: [], applications: [] },
      })
    },
  )
})
