import { describe, expect, test } from 'vitest'
import { openLeaseHouse } from '../../support/lease-house.ts'

const hour = 3600

describe('a clock that is set back', () => {
  test('does not revive a lease whose token was revoked', async () => {
    await using house = await openLeaseHouse()
    const made = await house.create({ policies: ['web'], ttl: '2h' })
    const token = await house.lookupToken(made.auth.client_token)
    const { id } = await house.issue(token)
    await house.revoker.revoke(token.accessor)

    house.advance(-hour / 2)

    await expect(house.leases.renew(house.ref(id), 600)).rejects.toThrow('lease expired')
    expect(await house.lookup(id)).toMatchObject({ renewable: false })
    await house.expire()
    expect(house.provider.alive.size).toBe(0)
    expect(await house.rows()).toEqual([])
  })

  test('does not revive a lease that was queued', async () => {
    await using house = await openLeaseHouse()
    const { id } = await house.issue()
    await house.leases.revoke(house.ref(id), { sync: false })

    house.advance(-hour / 2)

    await expect(house.leases.renew(house.ref(id), 600)).rejects.toThrow('lease expired')
    await house.expire()
    expect(house.provider.alive.size).toBe(0)
  })

  test('does not postpone a pending retry', async () => {
    await using house = await openLeaseHouse()
    const { id } = await house.issue()
    house.provider.mood = 'down'
    await house.leases.revoke(house.ref(id), { sync: false })
    await house.expire()
    house.provider.mood = 'up'

    house.advance(-24 * hour)
    await house.expire()

    expect(await house.rows()).toEqual([])
  })

  test('leaves a live lease until its end', async () => {
    await using house = await openLeaseHouse()
    const { id } = await house.issue()
    house.advance(-hour)
    await house.expire()
    expect(await house.leases.renew(house.ref(id), 600)).toMatchObject({ duration: 600 })

    house.advance(600)
    await house.expire()

    expect(await house.rows()).toEqual([])
  })

  test('does not revive a lease that expired and could not be revoked', async () => {
    await using house = await openLeaseHouse()
    const { id } = await house.issue()
    house.provider.mood = 'down'
    house.advance(hour)
    await house.expire()
    house.provider.mood = 'up'

    house.advance(-hour / 2)

    await expect(house.leases.renew(house.ref(id), 600)).rejects.toThrow('lease expired')
    await house.expire()
    expect(await house.rows()).toEqual([])
  })
})

test('a clock that jumps far ahead ends what has expired by then, and no more', async () => {
  await using house = await openLeaseHouse()
  await Promise.all(Array.from({ length: 70 }, () => house.issue()))
  house.advance(10 * 365 * 24 * hour)
  const { credential } = await house.issue()

  await house.expire()

  expect([...house.provider.alive]).toEqual([credential])
})
