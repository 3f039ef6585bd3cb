import { expect, test } from 'vitest'
import { works } from '../credential-steps.ts'
import { type EngineFixture, openEngineFixture } from '../engine-fixture.ts'

const by = {
  correlationId: 'c0ffee00-0000-4000-8000-000000000000',
  requester: { entity_id: '', display_name: 'test' },
}
const name = 'crashed'

const rotate = ({ engine, mount }: EngineFixture) => engine.staticRoles.rotate(mount, name, by)

const theirKeys = ({ directory }: EngineFixture, clientId: string): string[] =>
  directory
    .inventory()
    .filter((thing) => thing.kind === 'password' && thing.clientId === clientId)
    .map(({ id }) => id)
    .sort()

/** Time passes, because "not found" is believed only after a while. */
const untilUndone = (fixture: EngineFixture) =>
  expect
    .poll(() => {
      fixture.clock.advance(100)
      return fixture.state.intents.undoAll()
    })
    .toEqual([])

/** The passwords that the stored role knows. */
async function known(fixture: EngineFixture): Promise<string[]> {
  const role = await fixture.state.staticRoles.find(name)
  return [role?.current, role?.former].flatMap((password) => password?.key_id ?? []).sort()
}

const cases = [-1, 600].flatMap((grace) =>
  (['stored', 'lost'] as const).flatMap((last) => [0, 1, 2, 3, 4].map((writes) => ({ grace, last, writes }))),
)

test.each(cases)(
  'with a grace period of $grace s, a rotation whose write $writes is $last leaves the stored password working',
  async ({ grace, last, writes }) => {
    await using fixture = await openEngineFixture()
    const { id, appId } = fixture.directory.admin.addApplication({ displayName: name })
    await fixture.engine.staticRoles.write(
      fixture.mount,
      name,
      { application_object_id: id, rotation_grace_period: grace },
      by,
    )
    // with a grace period, there is a password in it
    await rotate(fixture)
    await untilUndone(fixture)
    fixture.breakStorage(writes, last)
    await rotate(fixture).catch(() => undefined)

    fixture.restart()

    await untilUndone(fixture)
    expect(theirKeys(fixture, appId)).toEqual(
      (await known(fixture)).filter((key) => theirKeys(fixture, appId).includes(key)),
    )
    const role = await fixture.state.staticRoles.find(name)
    expect(await works(fixture, { clientId: appId, secret: role?.current?.client_secret ?? '' })).toBe(true)
    await rotate(fixture)
    await untilUndone(fixture)
    expect(theirKeys(fixture, appId)).toEqual(await known(fixture))
  },
)

test('after a restoration, a role whose password is gone upstream rotates at once, and others do not', async () => {
  await using fixture = await openEngineFixture()
  const { engine, mount, state, directory } = fixture
  const [lost, kept] = ['lost', 'kept'].map((displayName) => directory.admin.addApplication({ displayName }))
  for (const application of [lost, kept])
    await engine.staticRoles.write(
      mount,
      application?.id ?? '',
      { application_object_id: application?.id },
      by,
    )
  const keyOf = async (application: typeof lost) =>
    (await state.staticRoles.find(application?.id ?? ''))?.current?.key_id ?? ''
  const [lostKey, keptKey] = [await keyOf(lost), await keyOf(kept)]
  await engine.staticRoles.looks.look()
  directory.admin.remove(lostKey)
  await engine.staticRoles.looks.look()
  expect(await keyOf(lost)).toBe(lostKey)

  // as a restoration does
  await fixture.view.deletePrefix('static-confirmed/')
  fixture.restart()
  await fixture.engine.staticRoles.looks.look()

  expect(await keyOf(kept)).toBe(keptKey)
  const role = await fixture.state.staticRoles.find(lost?.id ?? '')
  expect(role?.current?.key_id).not.toBe(lostKey)
  expect(theirKeys(fixture, lost?.appId ?? '')).toEqual([role?.current?.key_id])
})

test('after a restoration, only roles whose application cannot be read are compared again, ever later', async () => {
  await using fixture = await openEngineFixture()
  const { mount, directory } = fixture
  for (const displayName of ['one', 'two', 'three']) {
    const { id } = directory.admin.addApplication({ displayName })
    await fixture.engine.staticRoles.write(mount, displayName, { application_object_id: id }, by)
  }
  await fixture.view.deletePrefix('static-confirmed/')
  fixture.restart()
  const refuseOne = () =>
    directory.fault({ kind: 'status', status: 403, operation: 'getApplication', times: 1 })
  const readAfter = async (seconds: number) => {
    fixture.clock.advance(seconds)
    directory.journal.clear()
    await fixture.engine.staticRoles.looks.look()
    return directory.journal.entries({ operation: 'getApplication' }).length
  }

  refuseOne()
  const reads = [await readAfter(0), await readAfter(14)]
  refuseOne()
  reads.push(await readAfter(1), await readAfter(29), await readAfter(1), await readAfter(600))

  expect(reads).toEqual([3, 0, 1, 0, 1, 0])
  expect(fixture.lines.map(({ fields }) => fields)).toContainEqual(
    expect.objectContaining({ event: 'static_roles_uncompared', count: 1 }),
  )
  expect(await fixture.view.get('static-confirmed/passwords')).toEqual({})
})

test('a password of a new mount that the directory does not show yet stays', async () => {
  await using fixture = await openEngineFixture()
  const { engine, mount, state, directory } = fixture
  const { id, appId } = directory.admin.addApplication({ displayName: 'new' })
  fixture.clock.advance(60)
  directory.change({ delaySeconds: { changeToRead: 30 } })
  await engine.staticRoles.write(mount, name, { application_object_id: id }, by)
  const made = theirKeys(fixture, appId)

  await engine.staticRoles.looks.look()

  expect((await state.staticRoles.find(name))?.current?.key_id).toBe(made[0])
  expect(theirKeys(fixture, appId)).toEqual(made)
})

test('the log names the password that a role leaves on its former application, or when it is deleted', async () => {
  await using fixture = await openEngineFixture()
  const { engine, mount, state, directory, lines } = fixture
  const [first, second] = ['first', 'second'].map((displayName) =>
    directory.admin.addApplication({ displayName }),
  )
  await engine.staticRoles.write(mount, name, { application_object_id: first?.id }, by)
  const left = (await state.staticRoles.find(name))?.current?.key_id

  await engine.staticRoles.write(mount, name, { application_object_id: second?.id }, by)

  expect(lines.map(({ fields }) => fields)).toContainEqual({
    event: 'static_password_left',
    mount: state.accessor,
    role: name,
    application: first?.id,
    key_id: left,
  })

  const current = (await state.staticRoles.find(name))?.current?.key_id
  await engine.staticRoles.delete(mount, name, { revoke: false })

  expect(lines.map(({ fields }) => fields)).toContainEqual(
    expect.objectContaining({ event: 'static_password_left', application: second?.id, key_id: current }),
  )
})
