import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Mount } from '../../../../src/core/mounts/mount.ts'
import { rotateRoot } from '../../../../src/plugins/cloud/root-rotation/rotate-root.ts'
import { until } from '../credential-steps.ts'
import { type EngineFixture, openEngineFixture } from '../engine-fixture.ts'

/** Two mounts that sign in with the same secret, which an operator entered. */
const openShared = (config = {}) => openEngineFixture({ config, neighbour: config })
const rotate = (fixture: EngineFixture, mount: Mount) => rotateRoot(fixture.engine.work(mount, randomUUID()))
const look = (fixture: EngineFixture) => fixture.engine.rotation.looks.look()
const configOf = async (fixture: EngineFixture, mount: Mount) => {
  const config = await fixture.engine.stateOf(mount).findConfig()
  if (config === undefined) throw new Error('the mount is not configured')
  return config
}
/** Whether a secret can be used to sign in. */
async function works(fixture: EngineFixture, secret: string): Promise<boolean> {
  const { tokens } = await fixture.state.upstream()
  const call = { deadline: fixture.clock.now() + 60_000, correlationId: randomUUID() }
  return tokens.prove(fixture.directory.rootClientId, { secret }, 'directory', call)
}
/** Turns of the event loop in which a second request would have arrived. */
const mostTurns = 100
const mountsOf = (fixture: EngineFixture) => [fixture.mount, fixture.neighbour]
const secrets = (fixture: EngineFixture) =>
  Promise.all(mountsOf(fixture).map(async (mount) => (await configOf(fixture, mount)).client_secret))
const typedStays = (fixture: EngineFixture) => works(fixture, fixture.directory.rootClientSecret)
const untilTypedIsGone = (fixture: EngineFixture) =>
  until(async () => {
    for (const mount of mountsOf(fixture)) await fixture.engine.stateOf(mount).intents.undoAll()
    return !(await typedStays(fixture))
  })
const untilNothingIsUndone = (fixture: EngineFixture) =>
  until(async () => {
    const intents = mountsOf(fixture).map((mount) => fixture.engine.stateOf(mount).intents)
    for (const each of intents) await each.undoAll()
    return (await Promise.all(intents.map((each) => each.all()))).flat().length === 0
  })

describe('two mounts that share a root secret', () => {
  test('and rotate at the same time both stop using it, and it is removed', async () => {
    await using fixture = await openShared()
    await Promise.all(mountsOf(fixture).map((mount) => rotate(fixture, mount)))
    fixture.clock.advance(60)
    fixture.directory.journal.clear()
    // if both got this far, each would find that the other still signs in with the secret
    fixture.directory.fault({ kind: 'held', operation: 'getApplication', times: 2 })
    let [isOver, turns] = [false, 0]
    const looking = look(fixture).finally(() => {
      isOver = true
    })
    await until(
      () =>
        fixture.directory.journal.entries({ operation: 'getApplication' }).length === 2 ||
        ++turns > mostTurns,
    )
    await until(() => {
      fixture.directory.release()
      return isOver
    })
    await looking

    expect(await typedStays(fixture)).toBe(false)
    expect(await fixture.rootPasswords()).toHaveLength(2)
    expect(await Promise.all((await secrets(fixture)).map((secret) => works(fixture, secret)))).toEqual([
      true,
      true,
    ])
    await untilTypedIsGone(fixture)
    for (const mount of mountsOf(fixture))
      expect(await fixture.engine.stateOf(mount).intents.all()).toEqual([])
  })

  test('rotate automatically by their period, and it is removed', async () => {
    await using fixture = await openShared({ rotation_period: 600 })
    fixture.clock.advance(600)
    await look(fixture)
    expect(
      (await Promise.all(mountsOf(fixture).map((mount) => configOf(fixture, mount)))).every(
        ({ pending }) => pending !== undefined,
      ),
    ).toBe(true)
    fixture.clock.advance(60)

    await look(fixture)

    // a removal in the background would fail at its deadline when the clock advances
    await untilNothingIsUndone(fixture)
    expect([await typedStays(fixture), (await fixture.rootPasswords()).length]).toEqual([false, 2])
    fixture.clock.advance(600)
    await look(fixture)
    fixture.clock.advance(60)
    await look(fixture)
    await untilNothingIsUndone(fixture)
    expect([await typedStays(fixture), (await fixture.rootPasswords()).length]).toEqual([false, 2])
  })

  test('rotate once each when looks at what is due overlap', async () => {
    await using fixture = await openShared({ rotation_period: 600 })
    fixture.clock.advance(600)

    await Promise.all([look(fixture), look(fixture)])

    expect(fixture.directory.journal.entries({ operation: 'addApplicationPassword' })).toHaveLength(2)
  })

  test('and rotate at the same time add their new secrets one after the other', async () => {
    await using fixture = await openEngineFixture({
      neighbour: {},
      directory: { settings: { strictConcurrency: true } },
    })
    fixture.directory.fault({ kind: 'held', operation: 'addApplicationPassword' })
    const both = Promise.all(mountsOf(fixture).map((mount) => rotate(fixture, mount)))
    await fixture.directory.journal.arrived('addApplicationPassword')
    const asked = fixture.directory.journal.entries({ operation: 'listApplications' }).length

    fixture.directory.release()
    await both

    expect(asked).toBe(1)
    expect(
      fixture.directory.journal.entries({ operation: 'addApplicationPassword' }).map(({ status }) => status),
    ).toEqual([200, 200])
  })

  test('keep it until the slower one has rotated, even across a restart', async () => {
    await using fixture = await openShared()
    await rotate(fixture, fixture.mount)
    fixture.clock.advance(60)
    await look(fixture)
    expect(await typedStays(fixture)).toBe(true)
    expect(await fixture.state.intents.debris()).toMatchObject([{ intent: { kind: 'rootPassword' } }])

    fixture.restart()
    await rotate(fixture, fixture.neighbour)
    fixture.clock.advance(60)
    await look(fixture)

    await untilTypedIsGone(fixture)
    expect(await fixture.rootPasswords()).toHaveLength(2)
  })

  test('lose nothing and leave nothing if the server crashes right after one promotion', async () => {
    await using fixture = await openShared()
    await Promise.all(mountsOf(fixture).map((mount) => rotate(fixture, mount)))
    fixture.clock.advance(60)
    fixture.directory.fault({ kind: 'dropped', operation: 'removeApplicationPassword', times: null })
    await look(fixture)
    expect(await typedStays(fixture)).toBe(true)

    fixture.restart()
    fixture.directory.clearFaults()

    await untilTypedIsGone(fixture)
    expect(await Promise.all((await secrets(fixture)).map((secret) => works(fixture, secret)))).toEqual([
      true,
      true,
    ])
    expect(await fixture.rootPasswords()).toHaveLength(2)
  })

  test('keep it until the other mount gets a secret from an operator', async () => {
    await using fixture = await openShared()
    const { secretText } = fixture.directory.admin.addPassword(fixture.directory.rootApplicationId, {
      displayName: 'by hand',
    })
    await rotate(fixture, fixture.mount)
    fixture.clock.advance(60)
    await look(fixture)
    await fixture.state.intents.undoAll()
    expect(await typedStays(fixture)).toBe(true)

    await fixture.engine.putConfig(fixture.neighbour, { client_secret: secretText })

    await untilTypedIsGone(fixture)
    expect(await works(fixture, secretText)).toBe(true)
  })

  test('keep it if an operator enters it again', async () => {
    await using fixture = await openShared()
    await rotate(fixture, fixture.mount)
    fixture.clock.advance(60)
    await look(fixture)
    await fixture.engine.putConfig(fixture.mount, { client_secret: fixture.directory.rootClientSecret })
    await fixture.engine.deleteConfig(fixture.neighbour)

    await fixture.state.intents.undoAll()

    expect(await typedStays(fixture)).toBe(true)
  })

  test('remove it later even if the rotated mount is removed: the other takes over', async () => {
    await using fixture = await openShared()
    const { secretText } = fixture.directory.admin.addPassword(fixture.directory.rootApplicationId, {
      displayName: 'by hand',
    })
    await rotate(fixture, fixture.mount)
    fixture.clock.advance(60)
    await look(fixture)

    await fixture.engine.clear(fixture.mount, { abandon: false })

    expect(await fixture.state.intents.all()).toEqual([])
    expect(await typedStays(fixture)).toBe(true)
    await fixture.engine.putConfig(fixture.neighbour, { client_secret: secretText })
    await untilTypedIsGone(fixture)
  })

  test('keep it while a mount that is being removed has to sign in', async () => {
    await using fixture = await openShared()
    Object.assign(fixture.neighbour, { tainted: true })
    await rotate(fixture, fixture.mount)
    fixture.clock.advance(60)

    await look(fixture)

    expect(await typedStays(fixture)).toBe(true)
    await fixture.engine.deleteConfig(fixture.neighbour)
    await untilTypedIsGone(fixture)
  })
})

describe('a root secret on the service principal', () => {
  const typed = 'Zq7typed-in-on-the-principal'
  const openOnPrincipal = async (hint = typed) => {
    const fixture = await openEngineFixture({ config: { client_secret: typed } })
    const { directory } = fixture
    const { keyId } = directory.admin.addPassword(directory.rootServicePrincipalId, {
      displayName: 'reset',
      secretText: typed,
    })
    if (hint !== typed)
      directory.admin.addPassword(directory.rootApplicationId, { displayName: 'portal', secretText: hint })
    return { fixture, keyId }
  }

  test('is removed after a rotation, and passwords on the application stay', async () => {
    const { fixture, keyId } = await openOnPrincipal()
    await using _ = fixture
    await rotate(fixture, fixture.mount)
    fixture.clock.advance(60)

    await look(fixture)

    expect(
      fixture.lines.filter(({ fields }) => 'event' in fields && fields.event === 'root_rotated'),
    ).toMatchObject([{ fields: { superseded: [{ key_id: keyId, holder: 'service principal' }] } }])
    expect([await works(fixture, typed), await typedStays(fixture)]).toEqual([false, true])
    expect(fixture.directory.journal.entries({ operation: 'removeServicePrincipalPassword' })).toHaveLength(1)
    expect((await fixture.rootPasswords()).map(({ displayName }) => displayName)).toEqual([
      'typed in by an operator',
      expect.stringMatching(/^gatehouse-root-/),
    ])
    expect(await fixture.state.intents.all()).toEqual([])
  })

  test('that cannot be removed at once is removed after a restart', async () => {
    const { fixture } = await openOnPrincipal()
    await using _ = fixture
    await rotate(fixture, fixture.mount)
    fixture.clock.advance(60)
    fixture.directory.fault({ kind: 'dropped', operation: 'removeServicePrincipalPassword', times: null })
    await look(fixture)
    expect(await works(fixture, typed)).toBe(true)

    fixture.restart()
    fixture.directory.clearFaults()

    await until(async () => (await fixture.state.intents.undoAll()).length === 0)
    expect(await works(fixture, typed)).toBe(false)
  })

  test('and one with the same hint on the application both stay, and the log names the holders', async () => {
    const { fixture, keyId } = await openOnPrincipal('Zq7-of-somebody-else')
    await using _ = fixture
    await rotate(fixture, fixture.mount)
    fixture.clock.advance(60)

    await look(fixture)

    expect(await works(fixture, typed)).toBe(true)
    expect(
      fixture.lines.filter(({ fields }) => 'event' in fields && fields.event === 'root_secret_left'),
    ).toMatchObject([
      {
        fields: {
          passwords: expect.arrayContaining([
            { key_id: keyId, name: 'reset', holder: 'service principal' },
            expect.objectContaining({ name: 'portal', holder: 'application' }),
          ]),
        },
      },
    ])
  })
})
