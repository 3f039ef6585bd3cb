import { describe, expect, test } from 'vitest'
import { openLeaseFixture } from '../../support/lease-fixture.ts'
import { practiceBackend } from '../../support/practice-type.ts'

const hour = 3600

const someTurns = async () => {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
}

/**
 * A lease that expired while its renewal is running: the expiry waits behind the renewal, which `letGo` ends.
 * Meanwhile the lease was queued, so the work that the expiry was about to do has changed.
 */
async function openWithWaitingExpiry() {
  const fixture = await openLeaseFixture()
  const begun = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const backend = practiceBackend({ providerUrl: fixture.provider.url, roles: fixture.roles })
  fixture.backends.set('practice', {
    ...backend,
    renew: async (lease, signal) => {
      begun.resolve()
      await answered.promise
      return backend.renew(lease, signal)
    },
  })
  const { id, credential } = await fixture.issue()
  const renewal = fixture.leases.renew(fixture.ref(id), 600).catch((error: unknown) => error)
  await begun.promise
  fixture.advance(hour)
  const expiry = fixture.expire()
  await someTurns()
  fixture.advance(1)
  await fixture.leases.revoke(fixture.ref(id), { sync: false })
  const letGo = async () => {
    answered.resolve()
    await Promise.all([renewal, expiry])
  }
  return { fixture, id, credential, letGo }
}

describe('a revocation that overlaps with another one that finds nothing to do', () => {
  test('in the background is not forgotten', async () => {
    const { fixture, credential, letGo } = await openWithWaitingExpiry()
    await using _ = fixture
    const second = fixture.expire()
    await someTurns()

    await letGo()
    await second

    expect(fixture.provider.alive.has(credential)).toBe(false)
    expect(fixture.provider.asked.get(credential)).toBe(1)
    expect(await fixture.rows()).toEqual([])
  })

  test('of a caller who waits is done when the caller gets the response', async () => {
    const { fixture, id, credential, letGo } = await openWithWaitingExpiry()
    await using _ = fixture
    const revocation = fixture.leases.revoke(fixture.ref(id), { sync: true })

    await letGo()
    await revocation

    expect(fixture.provider.alive.has(credential)).toBe(false)
  })

  test('by force is done when the caller gets the response', async () => {
    const { fixture, id, letGo } = await openWithWaitingExpiry()
    await using _ = fixture
    fixture.provider.mood = 'down'
    const revocation = fixture.leases.prefixes.revoke('root', id, 'force')

    await letGo()
    await revocation

    expect(await fixture.lookup(id)).toBeUndefined()
  })
})

test('one failed call counts as one failure, however often the lease was queued in the meantime', async () => {
  await using fixture = await openLeaseFixture()
  const { id, credential } = await fixture.issue()
  fixture.provider.mood = 'hanging'
  fixture.advance(hour)
  const expiries = [fixture.expire()]
  await fixture.provider.deletions(1)

  for (let again = 0; again < 6; again += 1) {
    fixture.advance(1)
    await fixture.leases.revoke(fixture.ref(id), { sync: false })
    expiries.push(fixture.expire())
    await someTurns()
  }
  await Promise.all(expiries)

  expect(fixture.provider.asked.get(credential)).toBe(1)
  expect((await fixture.stored(id))?.retry?.failures).toBe(1)
  expect(await fixture.irrevocable()).toEqual([])
})

test('a mount has its own slots, however many others hang', async () => {
  await using fixture = await openLeaseFixture({ callLimitMs: 60_000 })
  const third = { ...fixture.other, path: 'third/', accessor: 'third_1' }
  fixture.mounts.set(third.accessor, third)
  const gone = Promise.withResolvers<void>()
  const allHang = Promise.withResolvers<void>()
  let hanging = 0
  fixture.backends.set('practice', {
    renew: async () => undefined,
    revoke: async ({ mount_accessor }) => {
      if (mount_accessor === third.accessor) return gone.resolve()
      hanging += 1
      if (hanging >= 200) allHang.resolve()
      await new Promise(() => {})
    },
  })
  const many = Array.from({ length: 110 })
  await Promise.all([
    ...many.map(() => fixture.issue()),
    ...many.map(() => fixture.issue(fixture.root, { mount: fixture.other })),
  ])
  fixture.advance(hour)
  void fixture.expire()
  await someTurns()
  const { id } = await fixture.issue(fixture.root, { mount: third })

  await fixture.leases.revoke(fixture.ref(id), { sync: false })
  void fixture.expire()

  await gone.promise
})
