import { describe, expect, test } from 'vitest'
import { readRole } from '../../../src/plugins/cloud/role-record.ts'
import { type EngineHouse, openEngineHouse } from './engine-house.ts'
import { guids } from './cloud-house.ts'

const correlationId = 'c0ffee00-0000-4000-8000-000000000000'
const moments = Array.from({ length: 8 }, (_, writes) => writes).flatMap((writes) => [
  { writes, last: 'stored' as const },
  { writes, last: 'lost' as const },
])

/** Asks and does not mind that it fails. */
const trying = (work: Promise<unknown>) => work.catch(() => undefined)

/** The next life of the server: it has all the time it needs. */
async function nextLife(house: EngineHouse): Promise<void> {
  house.restart()
  await timePasses(house)
}

async function timePasses(house: EngineHouse): Promise<void> {
  for (let minutes = 0; minutes < 12; minutes += 4) {
    house.clock.advance(240)
    await house.engine.rotation.look()
    await house.state.intents.undoAll()
  }
  expect(await house.state.intents.undoAll()).toEqual([])
}

describe('whenever the server ends while the root secret is rotated', () => {
  test.each(moments)('after $writes writes, the last one $last: the root signs in, and has one secret', async ({ writes, last }) => {
    await using house = await openEngineHouse()
    house.breakStorage(writes, last)
    await trying(house.engine.rotateRoot(house.mount, correlationId))
    house.clock.advance(60)
    await house.engine.rotation.look()

    await nextLife(house)

    await rootIsWell(house)
  })

  test.each(moments)('or refuses one write after $writes, which is $last, and goes on', async ({ writes, last }) => {
    await using house = await openEngineHouse()
    house.refuseOneWrite(writes, last)
    await trying(house.engine.rotateRoot(house.mount, correlationId))
    house.clock.advance(60)
    await house.engine.rotation.look()

    await timePasses(house)

    await rootIsWell(house)
  })
})

test.each(moments.slice(0, 6))(
  'a pending secret whose successor comes while storage refuses a write after $writes, which is $last, is removed',
  async ({ writes, last }) => {
    await using house = await openEngineHouse()
    await house.engine.rotateRoot(house.mount, correlationId)
    house.refuseOneWrite(writes, last)
    await trying(house.engine.rotateRoot(house.mount, correlationId))

    await house.state.intents.undoAll()

    expect((await house.rootPasswords()).map(({ keyId }) => keyId)).toHaveLength(2)
  },
)

async function rootIsWell(house: EngineHouse): Promise<void> {
  const { client_secret, client_id } = await house.config()
  const { tokens } = await house.state.upstream()
  expect(await tokens.proveSecret(client_id, client_secret, 'directory', { deadline: house.clock.now() + 60_000, correlationId })).toBe(true)
  expect(await house.config()).not.toHaveProperty('pending')
  expect(await house.rootPasswords()).toHaveLength(1)
}

const rightsOf = (house: EngineHouse) =>
  house.directory
    .inventory()
    .filter(({ kind, deleted }) => !deleted && (kind === 'role-assignment' || kind === 'group-member'))
    .map(({ id }) => id.toLowerCase())
    .sort()

/** What the stored role says there is, and what there is. */
async function rightsBothWays(house: EngineHouse) {
  const stored = await house.view.get('role/kept')
  const managed = stored === undefined ? undefined : readRole(stored).managed
  const meant = [
    ...(managed?.role_assignments.map(({ id }) => id) ?? []),
    ...(managed?.group_ids.map((id) => `${id}/${managed.service_principal_id}`) ?? []),
  ]
  const applications = house.directory.inventory().filter(({ kind, deleted }) => kind === 'application' && !deleted)
  return {
    meant: { rights: meant.map((id) => id.toLowerCase()).sort(), applications: managed === undefined ? [] : [managed.object_id] },
    there: { rights: rightsOf(house), applications: applications.map(({ id }) => id) },
  }
}

describe('whenever the server ends while a role that keeps its application is', () => {
  const granted = (house: EngineHouse, guid: string) => ({
    role_id: `/subscriptions/${house.directory.subscriptionId}/providers/Microsoft.Authorization/roleDefinitions/${guid}`,
    scope: `/subscriptions/${house.directory.subscriptionId}`,
  })
  const write = (house: EngineHouse, guid: string, group: string) =>
    house.engine.putRole(
      house.mount,
      'kept',
      { persist_app: true, cloud_roles: JSON.stringify([granted(house, guid)]), cloud_groups: JSON.stringify([{ group_name: group }]) },
      correlationId,
    )

  test.each(moments)('made: after $writes writes, the last one $last', async ({ writes, last }) => {
    await using house = await openEngineHouse()
    house.breakStorage(writes, last)
    await trying(write(house, guids.reader, 'foo'))

    await nextLife(house)

    const { meant, there } = await rightsBothWays(house)
    expect(there).toEqual(meant)
  })

  test.each(moments)('changed: after $writes writes, the last one $last', async ({ writes, last }) => {
    await using house = await openEngineHouse()
    await write(house, guids.reader, 'foo')
    house.breakStorage(writes, last)
    await trying(write(house, guids.owner, 'bar'))

    await nextLife(house)

    const { meant, there } = await rightsBothWays(house)
    expect(there).toEqual(meant)
    expect(there.applications).toHaveLength(1)
    expect(there.rights).toHaveLength(2)
  })

  test.each(moments)('changed while one write after $writes is refused, which is $last', async ({ writes, last }) => {
    await using house = await openEngineHouse()
    await write(house, guids.reader, 'foo')
    house.refuseOneWrite(writes, last)
    await trying(write(house, guids.owner, 'bar'))

    await timePasses(house)

    const { meant, there } = await rightsBothWays(house)
    expect(there).toEqual(meant)
    expect(there.rights).toHaveLength(2)
  })

  test.each(moments.slice(0, 4))('deleted: after $writes writes, the last one $last', async ({ writes, last }) => {
    await using house = await openEngineHouse()
    await write(house, guids.reader, 'foo')
    house.breakStorage(writes, last)
    await trying(house.engine.deleteRole(house.mount, 'kept', { revoke: false, correlationId: correlationId }))

    await nextLife(house)

    await house.engine.deleteRole(house.mount, 'kept', { revoke: false, correlationId: correlationId })
    expect(await rightsBothWays(house)).toEqual({ meant: { rights: [], applications: [] }, there: { rights: [], applications: [] } })
  })
})
