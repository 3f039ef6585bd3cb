import { describe, expect, test } from 'vitest'
import { openLeaseFixture } from '../../support/lease-fixture.ts'

const hour = 3600

describe('a lease that ends', () => {
  test('is revoked when it expires, not before', async () => {
    await using fixture = await openLeaseFixture()
    const { id } = await fixture.issue()

    fixture.advance(hour - 1)
    await fixture.expire()
    expect(fixture.provider.alive.size).toBe(1)

    fixture.advance(1)
    await fixture.expire()
    expect(fixture.provider.alive.size).toBe(0)
    expect(await fixture.lookup(id)).toBeUndefined()
    expect(await fixture.rows()).toEqual([])
  })

  test('is revoked at the provider once', async () => {
    await using fixture = await openLeaseFixture()
    const { credential } = await fixture.issue()
    fixture.advance(hour)

    await Promise.all([fixture.expire(), fixture.expire(), fixture.expire()])

    expect(fixture.provider.asked.get(credential)).toBe(1)
  })

  test('is revoked once among many others, over pages and mounts', async () => {
    await using fixture = await openLeaseFixture()
    const issued = await Promise.all(
      Array.from({ length: 300 }, (_, at) =>
        fixture.issue(fixture.root, { mount: at % 2 === 0 ? fixture.practice : fixture.other }),
      ),
    )
    fixture.advance(hour)

    await fixture.expire()

    expect(fixture.provider.alive.size).toBe(0)
    expect(issued.every(({ credential }) => fixture.provider.asked.get(credential) === 1)).toBe(true)
    expect(await fixture.rows()).toEqual([])
  })

  test('does not wait for a mount that hangs', async () => {
    await using fixture = await openLeaseFixture()
    await Promise.all(Array.from({ length: 150 }, () => fixture.issue()))
    fixture.provider.mood = 'hanging'
    fixture.advance(hour)
    const hanging = fixture.expire()
    await fixture.provider.deletions(100)
    const { id, credential } = await fixture.issue(fixture.root, { mount: fixture.other })
    fixture.provider.mood = 'up'
    await fixture.leases.revoke(fixture.ref(id), { sync: false })

    void fixture.expire()
    await fixture.provider.gone(credential)

    expect(fixture.provider.alive.size).toBeGreaterThan(0)
    await hanging
  })

  test('without a record leaves no row in the schedule', async () => {
    await using fixture = await openLeaseFixture()
    await fixture.view.write([
      { key: 'lease-due/practice_1/0000000000000001/root/practice/creds/ci/gone', value: true },
    ])

    await fixture.expire()

    expect(await fixture.rows()).toEqual([])
  })

  test('of a batch is not held up by a record that cannot be read', async () => {
    await using fixture = await openLeaseFixture()
    const broken = await fixture.issue()
    const { credential } = await fixture.issue()
    await fixture.view.write([{ key: `lease/root/${broken.id}`, value: { id: 'no lease' } }])
    fixture.advance(hour)

    await fixture.expire()

    expect(fixture.provider.alive.has(credential)).toBe(false)
    expect(fixture.logged).toContain('could not process expired leases')
  })
})

describe('a provider that is down', () => {
  test('is asked six times before the lease is irrevocable', async () => {
    await using fixture = await openLeaseFixture()
    const { id, credential } = await fixture.issue()
    fixture.provider.mood = 'down'
    fixture.advance(hour)

    const asked: number[] = []
    for (const longestPause of [30, 60, 120, 240, 480]) {
      await fixture.expire()
      asked.push(fixture.provider.asked.get(credential) ?? 0)
      fixture.advance(longestPause + 1)
    }
    expect(asked).toEqual([1, 2, 3, 4, 5])
    expect(await fixture.irrevocable()).toEqual([])
    await fixture.expire()

    const error = 'out of retries: the provider answered 503'
    expect(await fixture.irrevocable()).toEqual([{ id, mountAccessor: 'practice_1', error }])
    expect(await fixture.lookup(id)).toMatchObject({ renewable: false, revoke_error: error })
    expect((await fixture.lookup(id))?.ttl).toBeLessThan(0)
    expect(fixture.logged).toContain('a lease is irrevocable')
  })

  test('is not asked again before the delay is over', async () => {
    await using fixture = await openLeaseFixture()
    const { credential } = await fixture.issue()
    fixture.provider.mood = 'down'
    fixture.advance(hour)
    await fixture.expire()

    fixture.advance(9)
    await fixture.expire()

    expect(fixture.provider.asked.get(credential)).toBe(1)
  })

  test('is asked at once after a restart, and its failures are counted from zero', async () => {
    await using fixture = await openLeaseFixture()
    const { id, credential } = await fixture.issue()
    fixture.provider.mood = 'down'
    fixture.advance(hour)
    for (const pause of [30, 60, 120, 240]) {
      await fixture.expire()
      fixture.advance(pause + 1)
    }
    expect((await fixture.stored(id))?.retry?.failures).toBe(4)

    await fixture.restart()
    await fixture.expire()

    expect((await fixture.stored(id))?.retry?.failures).toBe(1)
    expect(fixture.provider.asked.get(credential)).toBe(5)
  })

  test('that comes back ends the retries', async () => {
    await using fixture = await openLeaseFixture()
    await fixture.issue()
    fixture.provider.mood = 'down'
    fixture.advance(hour)
    await fixture.expire()
    fixture.provider.mood = 'up'
    fixture.advance(31)

    await fixture.expire()

    expect(await fixture.rows()).toEqual([])
  })

  test('that does not respond is abandoned at the time limit', async () => {
    await using fixture = await openLeaseFixture()
    const { id } = await fixture.issue()
    fixture.provider.mood = 'hanging'
    fixture.advance(hour)

    await fixture.expire()

    expect((await fixture.stored(id))?.retry?.failures).toBe(1)
  })

  test('does not keep the server from stopping', async () => {
    await using fixture = await openLeaseFixture()
    const { id } = await fixture.issue()
    fixture.provider.mood = 'hanging'
    fixture.advance(hour)
    const work = fixture.expire()
    await fixture.provider.deletions(1)

    await fixture.leases[Symbol.asyncDispose]()

    await work
    expect(await fixture.stored(id)).toMatchObject({ expire_time: fixture.clock.now() })
    expect((await fixture.stored(id))?.retry).toBeUndefined()
  })
})

describe('an irrevocable lease', () => {
  async function openWithIrrevocable() {
    const fixture = await openLeaseFixture()
    const issued = await fixture.issue()
    fixture.provider.mood = 'refusing'
    fixture.advance(hour)
    await fixture.expire()
    return { fixture, ...issued }
  }

  test('becomes irrevocable at once when the provider calls the request invalid', async () => {
    const { fixture, id, credential } = await openWithIrrevocable()
    await using _ = fixture

    expect(await fixture.irrevocable()).toEqual([
      { id, mountAccessor: 'practice_1', error: 'the provider refuses' },
    ])
    expect(fixture.provider.asked.get(credential)).toBe(1)
  })

  test('cannot be renewed', async () => {
    const { fixture, id } = await openWithIrrevocable()
    await using _ = fixture

    await expect(fixture.leases.renew(fixture.ref(id), 0)).rejects.toThrow(
      'lease is expired and has failed previous revocation attempts',
    )
  })

  test('is retried once a day', async () => {
    const { fixture, credential } = await openWithIrrevocable()
    await using _ = fixture
    fixture.advance(22 * hour)
    await fixture.expire()
    expect(fixture.provider.asked.get(credential)).toBe(1)

    fixture.advance(hour + 1)
    await fixture.expire()
    expect(fixture.provider.asked.get(credential)).toBe(2)

    await fixture.expire()
    expect(fixture.provider.asked.get(credential)).toBe(2)
    fixture.provider.mood = 'up'
    fixture.advance(24 * hour)
    await fixture.expire()
    expect(await fixture.rows()).toEqual([])
  })

  test('ends with a revocation that succeeds, and one that fails changes nothing', async () => {
    const { fixture, id } = await openWithIrrevocable()
    await using _ = fixture
    await expect(fixture.leases.revoke(fixture.ref(id), { sync: true })).rejects.toThrow(
      'failed to revoke entry: the provider refuses',
    )
    expect(await fixture.irrevocable()).toHaveLength(1)

    fixture.provider.mood = 'up'
    await fixture.leases.revoke(fixture.ref(id), { sync: true })

    expect(await fixture.rows()).toEqual([])
  })

  test('stays irrevocable when it is queued, and only its end moves', async () => {
    const { fixture, id } = await openWithIrrevocable()
    await using _ = fixture
    fixture.provider.mood = 'up'
    fixture.advance(60)

    await fixture.leases.revoke(fixture.ref(id), { sync: false })
    await fixture.expire()

    expect(await fixture.irrevocable()).toHaveLength(1)
    expect((await fixture.stored(id))?.expire_time).toBe(fixture.clock.now())
  })

  test('ends with a forced revocation', async () => {
    const { fixture } = await openWithIrrevocable()
    await using _ = fixture

    await fixture.leases.prefixes.revoke('root', 'practice', 'force')

    expect(await fixture.rows()).toEqual([])
    expect(fixture.provider.alive.size).toBe(1)
  })

  test('is listed by the time it expired', async () => {
    const { fixture, id: first } = await openWithIrrevocable()
    await using _ = fixture
    const { id: second } = await fixture.issue()
    fixture.advance(hour)
    await fixture.expire()

    expect((await fixture.irrevocable()).map(({ id }) => id)).toEqual([first, second])
  })
})
