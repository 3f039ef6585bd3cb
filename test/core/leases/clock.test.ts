import { describe, expect, test } from 'vitest'
import { openLeaseFixture } from '../../support/lease-fixture.ts'

const hour = 3600

describe('a clock that is set back', () => {
  test('does not revive a lease whose token was revoked', async () => {
    await using fixture = await openLeaseFixture()
    const made = await fixture.create({ policies: ['web'], ttl: '2h' })
    const token = await fixture.lookupToken(made.auth.client_token)
    const { id } = await fixture.issue(token)
    await fixture.revoker.revoke(token.accessor)

    fixture.advance(-hour / 2)

    await expect(fixture.leases.renew(fixture.ref(id), 600)).rejects.toThrow('lease expired')
    expect(await fixture.lookup(id)).toMatchObject({ renewable: false })
    await fixture.expire()
    expect(fixture.provider.alive.size).toBe(0)
    expect(await fixture.rows()).toEqual([])
  })

  test('does not revive a lease that was queued', async () => {
    await using fixture = await openLeaseFixture()
    const { id } = await fixture.issue()
    await fixture.leases.revoke(fixture.ref(id), { sync: false })

    fixture.advance(-hour / 2)

    await expect(fixture.leases.renew(fixture.ref(id), 600)).rejects.toThrow('lease expired')
    await fixture.expire()
    expect(fixture.provider.alive.size).toBe(0)
  })

  test('does not postpone a pending retry', async () => {
    await using fixture = await openLeaseFixture()
    const { id } = await fixture.issue()
    fixture.provider.mood = 'down'
    await fixture.leases.revoke(fixture.ref(id), { sync: false })
    await fixture.expire()
    fixture.provider.mood = 'up'

    fixture.advance(-24 * hour)
    await fixture.expire()

    expect(await fixture.rows()).toEqual([])
  })

  test('leaves a live lease until its end', async () => {
    await using fixture = await openLeaseFixture()
    const { id } = await fixture.issue()
    fixture.advance(-hour)
    await fixture.expire()
    expect(await fixture.leases.renew(fixture.ref(id), 600)).toMatchObject({ duration: 600 })

    fixture.advance(600)
    await fixture.expire()

    expect(await fixture.rows()).toEqual([])
  })

  test('does not revive a lease that expired and could not be revoked', async () => {
    await using fixture = await openLeaseFixture()
    const { id } = await fixture.issue()
    fixture.provider.mood = 'down'
    fixture.advance(hour)
    await fixture.expire()
    fixture.provider.mood = 'up'

    fixture.advance(-hour / 2)

    await expect(fixture.leases.renew(fixture.ref(id), 600)).rejects.toThrow('lease expired')
    await fixture.expire()
    expect(await fixture.rows()).toEqual([])
  })
})

test('a clock that jumps far ahead ends what has expired by then, and no more', async () => {
  await using fixture = await openLeaseFixture()
  await Promise.all(Array.from({ length: 70 }, () => fixture.issue()))
  fixture.advance(10 * 365 * 24 * hour)
  const { credential } = await fixture.issue()

  await fixture.expire()

  expect([...fixture.provider.alive]).toEqual([credential])
})
