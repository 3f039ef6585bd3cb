import { describe, expect, test } from 'vitest'
import { openLeaseHouse } from '../../support/lease-house.ts'
import { practiceBackend } from '../../support/practice-engine.ts'

const hour = 3600

const someTurns = async () => {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
}

/**
 * A lease that has ended while a renewal of it is under way: its expiry waits for its turn, behind the renewal. `letGo` ends the renewal. Meanwhile the lease
 * was queued, so that what the expiry was about to do is no longer what is to be done.
 */
async function openWithWaitingExpiry() {
  const house = await openLeaseHouse()
  const begun = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const backend = practiceBackend({ providerUrl: house.provider.url, roles: house.roles })
  house.leases.register('practice', {
    ...backend,
    renew: async (lease, signal) => {
      begun.resolve()
      await answered.promise
      return backend.renew(lease, signal)
    },
  })
  const { id, credential } = await house.issue()
  const renewal = house.leases.renew(house.ref(id), 600).catch((error: unknown) => error)
  await begun.promise
  house.advance(hour)
  const expiry = house.expire()
  await someTurns()
  house.advance(1)
  await house.leases.revoke(house.ref(id), { sync: false })
  const letGo = async () => {
    answered.resolve()
    await Promise.all([renewal, expiry])
  }
  return { house, id, credential, letGo }
}

describe('a revocation that meets another which finds nothing to do', () => {
  test('in the background is not forgotten', async () => {
    const { house, credential, letGo } = await openWithWaitingExpiry()
    await using _ = house
    const second = house.expire()
    await someTurns()

    await letGo()
    await second

    expect(house.provider.alive.has(credential)).toBe(false)
    expect(house.provider.asked.get(credential)).toBe(1)
    expect(await house.rows()).toEqual([])
  })

  test('of a caller who waits is done when it is answered', async () => {
    const { house, id, credential, letGo } = await openWithWaitingExpiry()
    await using _ = house
    const revocation = house.leases.revoke(house.ref(id), { sync: true })

    await letGo()
    await revocation

    expect(house.provider.alive.has(credential)).toBe(false)
  })

  test('by force is done when it is answered', async () => {
    const { house, id, letGo } = await openWithWaitingExpiry()
    await using _ = house
    house.provider.mood = 'down'
    const revocation = house.leases.revokePrefix('root', id, 'force')

    await letGo()
    await revocation

    expect(await house.lookup(id)).toBeUndefined()
  })
})

test('one failed call counts as one failure, however often the lease was queued in the meantime', async () => {
  await using house = await openLeaseHouse()
  const { id, credential } = await house.issue()
  house.provider.mood = 'hanging'
  house.advance(hour)
  const expiries = [house.expire()]
  await house.provider.deletions(1)

  for (let again = 0; again < 6; again += 1) {
    house.advance(1)
    await house.leases.revoke(house.ref(id), { sync: false })
    expiries.push(house.expire())
    await someTurns()
  }
  await Promise.all(expiries)

  expect(house.provider.asked.get(credential)).toBe(1)
  expect((await house.stored(id))?.retry?.failures).toBe(1)
  expect(await house.irrevocable()).toEqual([])
})

test('a mount has its own slots, however many others hang', async () => {
  await using house = await openLeaseHouse({ callLimitMs: 60_000 })
  const third = { ...house.other, path: 'third/', accessor: 'third_1' }
  house.mounts.set(third.accessor, third)
  const gone = Promise.withResolvers<void>()
  const allHang = Promise.withResolvers<void>()
  let hanging = 0
  house.leases.register('practice', {
    renew: async () => undefined,
    revoke: async ({ mount_accessor }) => {
      if (mount_accessor === third.accessor) return gone.resolve()
      hanging += 1
      if (hanging >= 200) allHang.resolve()
      await new Promise(() => {})
    },
  })
  const many = Array.from({ length: 110 })
  await Promise.all([...many.map(() => house.issue()), ...many.map(() => house.issue(house.root, { mount: house.other }))])
  house.advance(hour)
  void house.expire()
  await someTurns()
  const { id } = await house.issue(house.root, { mount: third })

  await house.leases.revoke(house.ref(id), { sync: false })
  void house.expire()

  await gone.promise
})
