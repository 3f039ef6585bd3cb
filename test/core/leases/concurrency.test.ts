import { expect, test } from 'vitest'
import { openLeaseFixture } from '../../support/lease-fixture.ts'

const hour = 3600

test('concurrent revocations of one lease ask the provider once', async () => {
  await using fixture = await openLeaseFixture()
  const { id, credential } = await fixture.issue()

  await Promise.all(Array.from({ length: 20 }, () => fixture.leases.revoke(fixture.ref(id), { sync: true })))

  expect(fixture.provider.asked.get(credential)).toBe(1)
})

test('a concurrent renewal and revocation leave nothing, whichever is first', async () => {
  await using fixture = await openLeaseFixture()
  for (const renewalFirst of [true, false]) {
    const { id } = await fixture.issue()
    const renew = () => fixture.leases.renew(fixture.ref(id), 600).catch((error: unknown) => error)
    const revoke = () => fixture.leases.revoke(fixture.ref(id), { sync: true })

    const [first, second] = renewalFirst ? [renew(), revoke()] : [revoke(), renew()]
    const outcomes = await Promise.all([first, second])

    const renewal = outcomes[renewalFirst ? 0 : 1]
    if (renewalFirst) expect(renewal).toMatchObject({ id, duration: 600 })
    else expect(renewal).toMatchObject({ message: 'lease not found' })
  }
  expect(await fixture.rows()).toEqual([])
  expect(fixture.provider.alive.size).toBe(0)
})

test('a renewal waits for a revocation that hangs, and proceeds when that has failed', async () => {
  await using fixture = await openLeaseFixture()
  const { id } = await fixture.issue()
  fixture.provider.mood = 'hanging'
  const revocation = fixture.leases.revoke(fixture.ref(id), { sync: true }).catch((error: unknown) => error)
  await fixture.provider.deletions(1)

  const renewal = fixture.leases.renew(fixture.ref(id), 600)

  expect(await revocation).toMatchObject({ message: 'failed to revoke entry: context deadline exceeded' })
  expect(await renewal).toMatchObject({ id, duration: 600 })
})

test('a concurrent renewal, expiry and revocation of one lease end it once', async () => {
  await using fixture = await openLeaseFixture()
  for (let round = 0; round < 20; round += 1) {
    const { id, credential } = await fixture.issue()
    fixture.advance(hour - 1)
    const renewal = fixture.leases.renew(fixture.ref(id), 3600).catch((error: unknown) => error)
    for (let turns = 0; turns < round; turns += 1) await new Promise(setImmediate)
    fixture.advance(1)
    await Promise.all([renewal, fixture.expire()])

    const stored = await fixture.stored(id)
    const renewed = !((await renewal) instanceof Error)
    expect(stored !== undefined).toBe(fixture.provider.alive.has(credential))
    expect(renewed).toBe(stored !== undefined)
    await fixture.leases.revoke(fixture.ref(id), { sync: true })
  }
  expect(await fixture.rows()).toEqual([])
})

test('many concurrent changes leave the rows of each lease consistent', async () => {
  await using fixture = await openLeaseFixture()
  const issued = await Promise.all(Array.from({ length: 30 }, () => fixture.issue()))

  await Promise.all(
    issued.flatMap(({ id }, at) => [
      fixture.leases.renew(fixture.ref(id), 100 + at).catch(() => undefined),
      fixture.leases.revoke(fixture.ref(id), { sync: at % 2 === 0 }),
      fixture.leases.renew(fixture.ref(id), 200 + at).catch(() => undefined),
      fixture.leases.endOwned(fixture.root),
    ]),
  )
  await fixture.expire()

  expect(await fixture.rows()).toEqual([])
  expect(fixture.provider.alive.size).toBe(0)
})
