import { expect, test } from 'vitest'
import { type LockoutParts, Lockouts } from '../../../src/core/lockout/lockouts.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { type CoreView, openCoreView } from '../../support/core-view.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { someMountTypes } from '../../support/mount-types.ts'
import { openSharedCores, type SharedCore } from '../../support/shared-cores.ts'
import { aMount } from '../../support/token-fixture.ts'

const terms = { threshold: 2, durationMs: 60_000, resetMs: 120_000 }
const mount = aMount()
const records = 'lockout/lock/'

const openLockouts = ({ view, clock }: CoreView, parts: Partial<LockoutParts> = {}) =>
  Lockouts.open({
    view,
    clock,
    terms,
    random: systemRandom,
    shared: undefined,
    mountOf: (uuid) => (uuid === mount.uuid ? mount : undefined),
    onLock: () => {},
    onFailure: (error) => {
      throw error
    },
    ...parts,
  })

const isLocked = (lockouts: Lockouts, name: string): boolean => {
  try {
    lockouts.check({ mount, name })
    return false
  } catch {
    return true
  }
}

async function lock(lockouts: Lockouts, name: string, exists = true): Promise<void> {
  for (let count = 0; count < terms.threshold; count += 1) await lockouts.noteFailure({ mount, name }, exists)
}

test('a lock survives a restart, and one more failure after it locks again', async () => {
  await using store = await openCoreView()
  await lock(await openLockouts(store), 'bob')
  const restarted = await openLockouts(store)
  const after = isLocked(restarted, 'bob')
  store.clock.advance(61)
  const ended = isLocked(restarted, 'bob')

  await restarted.noteFailure({ mount, name: 'bob' }, true)

  expect([after, ended, isLocked(restarted, 'bob')]).toEqual([true, false, true])
})

test('the name of a lock is in no key of the storage, and only names that somebody has are stored', async () => {
  await using store = await openCoreView()
  const lockouts = await openLockouts(store)
  await lock(lockouts, 'bob')
  await lock(lockouts, 'nobody', false)

  const keys = await store.view.listKeys(records)

  expect(keys).toHaveLength(1)
  expect(keys[0]).not.toContain('bob')
  expect(isLocked(lockouts, 'nobody')).toBe(true)
  expect(lockouts.lockedNames(mount)).toEqual(['bob'])
})

test('a login after a lock has ended deletes its record', async () => {
  await using store = await openCoreView()
  const lockouts = await openLockouts(store)
  await lock(lockouts, 'bob')
  store.clock.advance(61)

  await lockouts.noteLogin({ mount, name: 'bob' })

  expect(await store.view.listKeys(records)).toEqual([])
})

test('a sweep deletes the locks that no longer count, and those only', async () => {
  await using store = await openCoreView()
  const lockouts = await openLockouts(store)
  await lock(lockouts, 'bob')
  store.clock.advance(100)
  await lock(lockouts, 'eve')

  await lockouts.sweep()
  const both = await store.view.listKeys(records)
  store.clock.advance(21)
  await lockouts.sweep()
  const one = await store.view.listKeys(records)

  expect([both.length, one.length]).toEqual([2, 1])
  expect(lockouts.lockedNames(mount)).toEqual(['eve'])
})

test('a record that cannot be read locks nobody, and is reported', async () => {
  await using store = await openCoreView()
  await lock(await openLockouts(store), 'bob')
  await store.view.write([{ key: `${records}${mount.uuid}/x`, value: { at: 'now' } }])
  const reported: unknown[] = []

  const lockouts = await openLockouts(store, { onFailure: (error) => reported.push(error) })

  expect(reported).toHaveLength(1)
  expect(lockouts.lockedNames(mount)).toEqual(['bob'])
})

test('a clock that is set back ends the locks that began later', async () => {
  await using store = await openCoreView()
  const lockouts = await openLockouts(store)
  await lock(lockouts, 'bob')

  store.clock.advance(-3600)

  expect(isLocked(lockouts, 'bob')).toBe(false)
})

test('memory stays bounded: beyond 100,000 names of a mount, the oldest is forgotten', async () => {
  await using store = await openCoreView()
  const lockouts = await openLockouts(store)
  await lock(lockouts, 'first', false)
  await lock(lockouts, 'second', false)

  for (let name = 0; name < 99_999; name += 1) await lockouts.noteFailure({ mount, name: `${name}` }, false)

  expect([isLocked(lockouts, 'first'), isLocked(lockouts, 'second')]).toEqual([false, true])
})

test('names that nobody has go first: any number of them changes nothing for a name that somebody has', async () => {
  await using store = await openCoreView()
  const lockouts = await openLockouts(store, { mostUnknown: 1_000 })
  await lockouts.noteFailure({ mount, name: 'bob' }, true)
  await lock(lockouts, 'eve')

  for (let name = 0; name < 1_001; name += 1) await lockouts.noteFailure({ mount, name: `${name}` }, false)
  await lockouts.noteFailure({ mount, name: 'bob' }, true)

  expect([isLocked(lockouts, 'bob'), isLocked(lockouts, 'eve')]).toEqual([true, true])
})

test('a lock of a version that stored only its time holds', async () => {
  await using store = await openCoreView()
  await lock(await openLockouts(store), 'bob')
  const [record] = await store.view.list(records)
  await store.view.write([{ key: record?.key ?? '', value: { at: store.clock.now(), name: 'bob' } }])

  expect(isLocked(await openLockouts(store), 'bob')).toBe(true)
})

async function openTwo() {
  const mountTypes = () => someMountTypes({ table: 'auth', names: ['userpass'], locksUsers: true })
  const now = Date.now()
  const cores = await openSharedCores((number) => ({
    mountTypes: mountTypes(),
    userLockout: terms,
    // the times of servers differ a little
    clock: new FakeClock(now + 900 * number),
  }))
  const { one, other } = cores
  const place = { table: 'auth', namespace: 'root', path: 'auth/up/' } as const
  const up = await one.mounts.enable(place, { type: 'userpass' })
  await other.hear()
  const locks = ({ lockouts }: SharedCore, name: string) => {
    try {
      lockouts.check({ mount: up, name })
      return false
    } catch {
      return true
    }
  }
  const failures = async (name: string, exists: boolean) => {
    for (let count = 0; count < terms.threshold; count += 1)
      await one.lockouts.noteFailure({ mount: up, name }, exists)
  }
  return { ...cores, place, up, locks, failures }
}

test('a lock holds on every server, also of a name that nobody has', async () => {
  await using two = await openTwo()
  const { one, other, up, locks, failures } = two
  await failures('bob', true)
  await failures('nobody', false)
  await other.hear()
  const locked = [locks(other, 'bob'), locks(other, 'nobody'), locks(other, 'eve')]
  const listed = other.lockouts.lockedNames(up)

  await other.lockouts.unlock({ mount: up, name: 'bob' })
  await one.hear()

  expect(locked).toEqual([true, true, false])
  expect(listed).toEqual(['bob'])
  expect([locks(one, 'bob'), locks(one, 'nobody')]).toEqual([false, true])
})

test.each([
  { who: 'somebody', name: 'bob', exists: true },
  { who: 'nobody', name: 'nobody', exists: false },
])('servers share the count of a name that $who has', async ({ name, exists }) => {
  await using two = await openTwo()
  const { one, other, up, locks } = two
  const before = []
  for (const server of [other, one]) {
    before.push(locks(one, name), locks(other, name))
    // without hearing of each other: the count is in the storage
    await server.lockouts.noteFailure({ mount: up, name }, exists)
  }
  const atOnce = locks(one, name)
  await other.hear()

  expect(before).toEqual([false, false, false, false])
  expect([atOnce, locks(other, name)]).toEqual([true, true])
})

test('a login at one server begins the count of all anew', async () => {
  await using two = await openTwo()
  const { one, other, up, locks } = two
  const bob = { mount: up, name: 'bob' }
  await one.lockouts.noteFailure(bob, true)
  await other.hear()
  await other.lockouts.noteLogin(bob)
  await one.hear()

  await one.lockouts.noteFailure(bob, true)

  expect(await one.view.listKeys(records)).toHaveLength(1)
  expect(locks(one, 'bob')).toBe(false)
})

test('a lock of another server holds, although a login ends before it is known here', async () => {
  await using two = await openTwo()
  const { one, other, up, locks } = two
  const bob = { mount: up, name: 'bob' }
  await other.lockouts.noteFailure(bob, true)
  await one.lockouts.noteFailure(bob, true)

  await other.lockouts.noteLogin(bob)
  await one.hear()

  expect([locks(one, 'bob'), locks(other, 'bob')]).toEqual([true, true])
})

test('of many wrong secrets at once, the first ones that are stored do not hide the others', async () => {
  await using two = await openTwo()
  const { one, up, locks } = two
  const seen: boolean[] = []
  const failures = Array.from({ length: terms.threshold }, async () => {
    await one.lockouts.noteFailure({ mount: up, name: 'bob' }, true)
    seen.push(locks(one, 'bob'))
  })
  await Promise.all(failures)

  expect(seen).toEqual([true, true])
})

test('the locks of a removed mount are deleted', async () => {
  await using two = await openTwo()
  const { one, place, up, failures } = two
  await failures('bob', true)

  await one.mounts.disable(place)

  expect(await one.view.listKeys(records)).toEqual([])
  expect(one.lockouts.lockedNames(up)).toEqual([])
})
