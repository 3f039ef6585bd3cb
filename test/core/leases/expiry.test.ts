import { describe, expect, test } from 'vitest'
import { openLeaseHouse } from '../../support/lease-house.ts'

const hour = 3600

describe('a lease that ends', () => {
  test('is revoked when its time has come, not before', async () => {
    await using house = await openLeaseHouse()
    const { id } = await house.issue()

    house.advance(hour - 1)
    await house.expire()
    expect(house.provider.alive.size).toBe(1)

    house.advance(1)
    await house.expire()
    expect(house.provider.alive.size).toBe(0)
    expect(await house.lookup(id)).toBeUndefined()
    expect(await house.rows()).toEqual([])
  })

  test('is revoked at the provider once', async () => {
    await using house = await openLeaseHouse()
    const { credential } = await house.issue()
    house.advance(hour)

    await Promise.all([house.expire(), house.expire(), house.expire()])

    expect(house.provider.asked.get(credential)).toBe(1)
  })

  test('is revoked once among many others, over pages and mounts', async () => {
    await using house = await openLeaseHouse()
    const issued = await Promise.all(
      Array.from({ length: 300 }, (_, at) => house.issue(house.root, { mount: at % 2 === 0 ? house.practice : house.other })),
    )
    house.advance(hour)

    await house.expire()

    expect(house.provider.alive.size).toBe(0)
    expect(issued.every(({ credential }) => house.provider.asked.get(credential) === 1)).toBe(true)
    expect(await house.rows()).toEqual([])
  })

  test('does not wait for a mount that hangs', async () => {
    await using house = await openLeaseHouse()
    await Promise.all(Array.from({ length: 150 }, () => house.issue()))
    house.provider.mood = 'hanging'
    house.advance(hour)
    const hanging = house.expire()
    await house.provider.deletions(100)
    const { id, credential } = await house.issue(house.root, { mount: house.other })
    house.provider.mood = 'up'
    await house.leases.revoke(house.ref(id), { sync: false })

    void house.expire()
    await house.provider.gone(credential)

    expect(house.provider.alive.size).toBeGreaterThan(0)
    await hanging
  })

  test('without a record leaves no row in the schedule', async () => {
    await using house = await openLeaseHouse()
    await house.view.write([{ key: 'lease-due/practice_1/0000000000000001/root/practice/creds/ci/gone', value: true }])

    await house.expire()

    expect(await house.rows()).toEqual([])
  })

  test('of a batch is not held up by a record that cannot be read', async () => {
    await using house = await openLeaseHouse()
    const broken = await house.issue()
    const { credential } = await house.issue()
    await house.view.write([{ key: `lease/root/${broken.id}`, value: { id: 'no lease' } }])
    house.advance(hour)

    await house.expire()

    expect(house.provider.alive.has(credential)).toBe(false)
    expect(house.logged).toContain('expired leases could not be processed')
  })
})

describe('a provider that is down', () => {
  test('is asked six times before the lease is irrevocable', async () => {
    await using house = await openLeaseHouse()
    const { id, credential } = await house.issue()
    house.provider.mood = 'down'
    house.advance(hour)

    const asked: number[] = []
    for (const longestPause of [30, 60, 120, 240, 480]) {
      await house.expire()
      asked.push(house.provider.asked.get(credential) ?? 0)
      house.advance(longestPause + 1)
    }
    expect(asked).toEqual([1, 2, 3, 4, 5])
    expect(await house.irrevocable()).toEqual([])
    await house.expire()

    const error = 'out of retries: the provider answered 503'
    expect(await house.irrevocable()).toEqual([{ id, mountAccessor: 'practice_1', error }])
    expect(await house.lookup(id)).toMatchObject({ renewable: false, revoke_error: error })
    expect((await house.lookup(id))?.ttl).toBeLessThan(0)
    expect(house.logged).toContain('a lease is irrevocable')
  })

  test('is not asked again before the delay is over', async () => {
    await using house = await openLeaseHouse()
    const { credential } = await house.issue()
    house.provider.mood = 'down'
    house.advance(hour)
    await house.expire()

    house.advance(9)
    await house.expire()

    expect(house.provider.asked.get(credential)).toBe(1)
  })

  test('is asked at once after a restart, and its failures are counted from zero', async () => {
    await using house = await openLeaseHouse()
    const { id, credential } = await house.issue()
    house.provider.mood = 'down'
    house.advance(hour)
    for (const pause of [30, 60, 120, 240]) {
      await house.expire()
      house.advance(pause + 1)
    }
    expect((await house.stored(id))?.retry?.failures).toBe(4)

    await house.restart()
    await house.expire()

    expect((await house.stored(id))?.retry?.failures).toBe(1)
    expect(house.provider.asked.get(credential)).toBe(5)
  })

  test('that comes back ends the retries', async () => {
    await using house = await openLeaseHouse()
    await house.issue()
    house.provider.mood = 'down'
    house.advance(hour)
    await house.expire()
    house.provider.mood = 'up'
    house.advance(31)

    await house.expire()

    expect(await house.rows()).toEqual([])
  })

  test('that does not answer is given up after the time limit', async () => {
    await using house = await openLeaseHouse()
    const { id } = await house.issue()
    house.provider.mood = 'hanging'
    house.advance(hour)

    await house.expire()

    expect((await house.stored(id))?.retry?.failures).toBe(1)
  })

  test('does not keep the server from stopping', async () => {
    await using house = await openLeaseHouse()
    const { id } = await house.issue()
    house.provider.mood = 'hanging'
    house.advance(hour)
    const work = house.expire()
    await house.provider.deletions(1)

    await house.leases[Symbol.asyncDispose]()

    await work
    expect(await house.stored(id)).toMatchObject({ expire_time: house.clock.now() })
    expect((await house.stored(id))?.retry).toBeUndefined()
  })
})

describe('an irrevocable lease', () => {
  async function openWithIrrevocable() {
    const house = await openLeaseHouse()
    const issued = await house.issue()
    house.provider.mood = 'refusing'
    house.advance(hour)
    await house.expire()
    return { house, ...issued }
  }

  test('becomes irrevocable at once when the provider calls the request invalid', async () => {
    const { house, id, credential } = await openWithIrrevocable()
    await using _ = house

    expect(await house.irrevocable()).toEqual([{ id, mountAccessor: 'practice_1', error: 'the provider refuses' }])
    expect(house.provider.asked.get(credential)).toBe(1)
  })

  test('cannot be renewed', async () => {
    const { house, id } = await openWithIrrevocable()
    await using _ = house

    await expect(house.leases.renew(house.ref(id), 0)).rejects.toThrow('lease is expired and has failed previous revocation attempts')
  })

  test('is retried once a day', async () => {
    const { house, credential } = await openWithIrrevocable()
    await using _ = house
    house.advance(22 * hour)
    await house.expire()
    expect(house.provider.asked.get(credential)).toBe(1)

    house.advance(hour + 1)
    await house.expire()
    expect(house.provider.asked.get(credential)).toBe(2)

    await house.expire()
    expect(house.provider.asked.get(credential)).toBe(2)
    house.provider.mood = 'up'
    house.advance(24 * hour)
    await house.expire()
    expect(await house.rows()).toEqual([])
  })

  test('ends with a revocation that succeeds, and one that fails changes nothing', async () => {
    const { house, id } = await openWithIrrevocable()
    await using _ = house
    await expect(house.leases.revoke(house.ref(id), { sync: true })).rejects.toThrow('failed to revoke entry: the provider refuses')
    expect(await house.irrevocable()).toHaveLength(1)

    house.provider.mood = 'up'
    await house.leases.revoke(house.ref(id), { sync: true })

    expect(await house.rows()).toEqual([])
  })

  test('stays irrevocable when it is queued, and only its end moves', async () => {
    const { house, id } = await openWithIrrevocable()
    await using _ = house
    house.provider.mood = 'up'
    house.advance(60)

    await house.leases.revoke(house.ref(id), { sync: false })
    await house.expire()

    expect(await house.irrevocable()).toHaveLength(1)
    expect((await house.stored(id))?.expire_time).toBe(house.clock.now())
  })

  test('ends with a forced revocation', async () => {
    const { house } = await openWithIrrevocable()
    await using _ = house

    await house.leases.revokePrefix('root', 'practice', 'force')

    expect(await house.rows()).toEqual([])
    expect(house.provider.alive.size).toBe(1)
  })

  test('is listed by the time it expired', async () => {
    const { house, id: first } = await openWithIrrevocable()
    await using _ = house
    const { id: second } = await house.issue()
    house.advance(hour)
    await house.expire()

    expect((await house.irrevocable()).map(({ id }) => id)).toEqual([first, second])
  })
})
