import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Mount } from '../../../src/core/mounts/mount.ts'
import { until } from './credential-steps.ts'
import { type EngineHouse, openEngineHouse } from './engine-house.ts'

/** Two mounts that sign in with one secret, which an operator typed in. */
const openShared = (config = {}) => openEngineHouse({ config, neighbour: config })
const rotate = (house: EngineHouse, mount: Mount) => house.engine.rotateRoot(mount, randomUUID())
const look = (house: EngineHouse) => house.engine.rotation.look()
const configOf = async (house: EngineHouse, mount: Mount) => {
  const config = await house.engine.stateOf(mount).findConfig()
  if (config === undefined) throw new Error('the mount is not configured')
  return config
}
/** Whether a secret gets a token. */
async function works(house: EngineHouse, secret: string): Promise<boolean> {
  const { tokens } = await house.state.upstream()
  const call = { deadline: house.clock.now() + 60_000, correlationId: randomUUID() }
  return tokens.proveSecret(house.directory.rootClientId, secret, 'directory', call)
}
/** Turns of the loop in which a second request would have come. */
const mostTurns = 100
const mountsOf = (house: EngineHouse) => [house.mount, house.neighbour]
const secrets = (house: EngineHouse) => Promise.all(mountsOf(house).map(async (mount) => (await configOf(house, mount)).client_secret))
const typedStays = (house: EngineHouse) => works(house, house.directory.rootClientSecret)
const untilTypedIsGone = (house: EngineHouse) =>
  until(async () => {
    for (const mount of mountsOf(house)) await house.engine.stateOf(mount).intents.undoAll()
    return !(await typedStays(house))
  })

describe('two mounts that share a root secret', () => {
  test('and rotate at the same time both move off it, and it goes', async () => {
    await using house = await openShared()
    await Promise.all(mountsOf(house).map((mount) => rotate(house, mount)))
    house.clock.advance(60)
    house.directory.journal.clear()
    // if both got this far, both would find that the other one still signs in with it
    house.directory.fault({ kind: 'held', operation: 'getApplication', times: 2 })
    let [isOver, turns] = [false, 0]
    const looking = look(house).finally(() => {
      isOver = true
    })
    await until(() => house.directory.journal.entries({ operation: 'getApplication' }).length === 2 || ++turns > mostTurns)
    await until(() => {
      house.directory.release()
      return isOver
    })
    await looking

    expect(await typedStays(house)).toBe(false)
    expect(await house.rootPasswords()).toHaveLength(2)
    expect(await Promise.all((await secrets(house)).map((secret) => works(house, secret)))).toEqual([true, true])
    await untilTypedIsGone(house)
    for (const mount of mountsOf(house)) expect(await house.engine.stateOf(mount).intents.all()).toEqual([])
  })

  test('by their period rotate by themselves, and it goes', async () => {
    await using house = await openShared({ rotation_period: 600 })
    house.clock.advance(600)
    await look(house)
    expect((await Promise.all(mountsOf(house).map((mount) => configOf(house, mount)))).every(({ pending }) => pending !== undefined)).toBe(true)
    house.clock.advance(60)

    await look(house)

    expect([await typedStays(house), (await house.rootPasswords()).length]).toEqual([false, 2])
    house.clock.advance(600)
    await look(house)
    house.clock.advance(60)
    await look(house)
    await untilTypedIsGone(house)
    expect(await house.rootPasswords()).toHaveLength(2)
  })

  test('add their new secrets one after the other', async () => {
    await using house = await openEngineHouse({ neighbour: {}, directory: { settings: { strictConcurrency: true } } })
    house.directory.fault({ kind: 'held', operation: 'addApplicationPassword' })
    const both = Promise.all(mountsOf(house).map((mount) => rotate(house, mount)))
    await house.directory.journal.arrived('addApplicationPassword')
    const asked = house.directory.journal.entries({ operation: 'listApplications' }).length

    house.directory.release()
    await both

    expect(asked).toBe(1)
    expect(house.directory.journal.entries({ operation: 'addApplicationPassword' }).map(({ status }) => status)).toEqual([200, 200])
  })

  test('of which one is slower keep it until that has moved, also over a restart in between', async () => {
    await using house = await openShared()
    await rotate(house, house.mount)
    house.clock.advance(60)
    await look(house)
    expect(await typedStays(house)).toBe(true)
    expect(await house.state.intents.debris()).toMatchObject([{ intent: { kind: 'rootPassword' } }])

    house.restart()
    await rotate(house, house.neighbour)
    house.clock.advance(60)
    await look(house)

    await untilTypedIsGone(house)
    expect(await house.rootPasswords()).toHaveLength(2)
  })

  test('of which one was promoted right before a crash lose nothing and leave nothing', async () => {
    await using house = await openShared()
    await Promise.all(mountsOf(house).map((mount) => rotate(house, mount)))
    house.clock.advance(60)
    house.directory.fault({ kind: 'dropped', operation: 'removeApplicationPassword', times: null })
    await look(house)
    expect(await typedStays(house)).toBe(true)

    house.restart()
    house.directory.clearFaults()

    await untilTypedIsGone(house)
    expect(await Promise.all((await secrets(house)).map((secret) => works(house, secret)))).toEqual([true, true])
    expect(await house.rootPasswords()).toHaveLength(2)
  })

  test('of which the other gets another secret by hand: it goes then', async () => {
    await using house = await openShared()
    const { secretText } = house.directory.hand.addPassword(house.directory.rootApplicationId, { displayName: 'by hand' })
    await rotate(house, house.mount)
    house.clock.advance(60)
    await look(house)
    await house.state.intents.undoAll()
    expect(await typedStays(house)).toBe(true)

    await house.engine.putConfig(house.neighbour, { client_secret: secretText })

    await untilTypedIsGone(house)
    expect(await works(house, secretText)).toBe(true)
  })

  test('of which one gets it typed in again keep it', async () => {
    await using house = await openShared()
    await rotate(house, house.mount)
    house.clock.advance(60)
    await look(house)
    await house.engine.putConfig(house.mount, { client_secret: house.directory.rootClientSecret })
    await house.engine.deleteConfig(house.neighbour)

    await house.state.intents.undoAll()

    expect(await typedStays(house)).toBe(true)
  })

  test('of which the rotated one is removed: the other takes over, and it goes when that has moved', async () => {
    await using house = await openShared()
    const { secretText } = house.directory.hand.addPassword(house.directory.rootApplicationId, { displayName: 'by hand' })
    await rotate(house, house.mount)
    house.clock.advance(60)
    await look(house)

    await house.engine.clear(house.mount, { abandon: false })

    expect(await house.state.intents.all()).toEqual([])
    expect(await typedStays(house)).toBe(true)
    await house.engine.putConfig(house.neighbour, { client_secret: secretText })
    await untilTypedIsGone(house)
  })

  test('of which one is being removed keep it as long as that has to sign in', async () => {
    await using house = await openShared()
    Object.assign(house.neighbour, { tainted: true })
    await rotate(house, house.mount)
    house.clock.advance(60)

    await look(house)

    expect(await typedStays(house)).toBe(true)
    await house.engine.deleteConfig(house.neighbour)
    await untilTypedIsGone(house)
  })
})

describe('a root secret on the service principal', () => {
  const typed = 'Zq7typed-in-on-the-principal'
  const openOnPrincipal = async (hint = typed) => {
    const house = await openEngineHouse({ config: { client_secret: typed } })
    const { directory } = house
    const { keyId } = directory.hand.addPassword(directory.rootServicePrincipalId, { displayName: 'reset', secretText: typed })
    if (hint !== typed) directory.hand.addPassword(directory.rootApplicationId, { displayName: 'portal', secretText: hint })
    return { house, keyId }
  }

  test('is the one that goes; passwords on the application stay', async () => {
    const { house, keyId } = await openOnPrincipal()
    await using _ = house
    await rotate(house, house.mount)
    house.clock.advance(60)

    await look(house)

    expect(house.lines.filter(({ fields }) => 'event' in fields && fields.event === 'root_rotated')).toMatchObject([
      { fields: { superseded: [{ key_id: keyId, holder: 'service principal' }] } },
    ])
    expect([await works(house, typed), await typedStays(house)]).toEqual([false, true])
    expect(house.directory.journal.entries({ operation: 'removeServicePrincipalPassword' })).toHaveLength(1)
    expect((await house.rootPasswords()).map(({ displayName }) => displayName)).toEqual([
      'typed in by an operator',
      expect.stringMatching(/^gatehouse-root-/),
    ])
    expect(await house.state.intents.all()).toEqual([])
  })

  test('that cannot be removed at once is removed by the next life of the server', async () => {
    const { house } = await openOnPrincipal()
    await using _ = house
    await rotate(house, house.mount)
    house.clock.advance(60)
    house.directory.fault({ kind: 'dropped', operation: 'removeServicePrincipalPassword', times: null })
    await look(house)
    expect(await works(house, typed)).toBe(true)

    house.restart()
    house.directory.clearFaults()

    await until(async () => (await house.state.intents.undoAll()).length === 0)
    expect(await works(house, typed)).toBe(false)
  })

  test('and one on the application that begins alike: neither goes, and the log says which is where', async () => {
    const { house, keyId } = await openOnPrincipal('Zq7-of-somebody-else')
    await using _ = house
    await rotate(house, house.mount)
    house.clock.advance(60)

    await look(house)

    expect(await works(house, typed)).toBe(true)
    expect(house.lines.filter(({ fields }) => 'event' in fields && fields.event === 'root_secret_left')).toMatchObject([
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
