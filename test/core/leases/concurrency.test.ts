import { expect, test } from 'vitest'
import { openLeaseHouse } from '../../support/lease-house.ts'

const hour = 3600

test('concurrent revocations of one lease ask the provider once', async () => {
  await using house = await openLeaseHouse()
  const { id, credential } = await house.issue()

  await Promise.all(Array.from({ length: 20 }, () => house.leases.revoke(house.ref(id), { sync: true })))

  expect(house.provider.asked.get(credential)).toBe(1)
})

test('a concurrent renewal and revocation leave nothing, whichever is first', async () => {
  await using house = await openLeaseHouse()
  for (const renewalFirst of [true, false]) {
    const { id } = await house.issue()
    const renew = () => house.leases.renew(house.ref(id), 600).catch((error: unknown) => error)
    const revoke = () => house.leases.revoke(house.ref(id), { sync: true })

    const [first, second] = renewalFirst ? [renew(), revoke()] : [revoke(), renew()]
    const outcomes = await Promise.all([first, second])

    const renewal = outcomes[renewalFirst ? 0 : 1]
    if (renewalFirst) expect(renewal).toMatchObject({ id, duration: 600 })
    else expect(renewal).toMatchObject({ message: 'lease not found' })
  }
  expect(await house.rows()).toEqual([])
  expect(house.provider.alive.size).toBe(0)
})

test('a renewal waits for a revocation that hangs, and proceeds when that has failed', async () => {
  await using house = await openLeaseHouse()
  const { id } = await house.issue()
  house.provider.mood = 'hanging'
  const revocation = house.leases.revoke(house.ref(id), { sync: true }).catch((error: unknown) => error)
  await house.provider.deletions(1)

  const renewal = house.leases.renew(house.ref(id), 600)

  expect(await revocation).toMatchObject({ message: 'failed to revoke entry: context deadline exceeded' })
  expect(await renewal).toMatchObject({ id, duration: 600 })
})

test('a concurrent renewal, expiry and revocation of one lease end it once', async () => {
  await using house = await openLeaseHouse()
  for (let round = 0; round < 20; round += 1) {
    const { id, credential } = await house.issue()
    house.advance(hour - 1)
    const renewal = house.leases.renew(house.ref(id), 3600).catch((error: unknown) => error)
    for (let turns = 0; turns < round; turns += 1) await new Promise(setImmediate)
    house.advance(1)
    await Promise.all([renewal, house.expire()])

    const stored = await house.stored(id)
    const renewed = !((await renewal) instanceof Error)
    expect(stored !== undefined).toBe(house.provider.alive.has(credential))
    expect(renewed).toBe(stored !== undefined)
    await house.leases.revoke(house.ref(id), { sync: true })
  }
  expect(await house.rows()).toEqual([])
})

test('many concurrent changes leave the rows of each lease consistent', async () => {
  await using house = await openLeaseHouse()
  const issued = await Promise.all(Array.from({ length: 30 }, () => house.issue()))

  await Promise.all(
    issued.flatMap(({ id }, at) => [
      house.leases.renew(house.ref(id), 100 + at).catch(() => undefined),
      house.leases.revoke(house.ref(id), { sync: at % 2 === 0 }),
      house.leases.renew(house.ref(id), 200 + at).catch(() => undefined),
      house.leases.endOwned(house.root),
    ]),
  )
  await house.expire()

  expect(await house.rows()).toEqual([])
  expect(house.provider.alive.size).toBe(0)
})
