import { describe, expect, test } from 'vitest'
import { openLeaseFixture } from '../../support/lease-fixture.ts'
import { jwtMount } from '../../support/token-fixture.ts'

const hour = 3600

type Fixture = Awaited<ReturnType<typeof openLeaseFixture>>

/** A damaged record: it opens, but is not a lease. */
const damage = (fixture: Fixture, id: string) =>
  fixture.view.write([{ key: `lease/root/${id}`, value: { id: 'no lease' } }])

describe('a lease whose record cannot be read', () => {
  test('does not stop others from being revoked after a start', async () => {
    await using fixture = await openLeaseFixture()
    const broken = await fixture.issue()
    const { credential } = await fixture.issue()
    fixture.provider.mood = 'down'
    fixture.advance(hour)
    await fixture.expire()
    await damage(fixture, broken.id)
    fixture.provider.mood = 'up'

    await fixture.restart()
    await fixture.expire()

    expect(fixture.provider.alive.has(credential)).toBe(false)
    expect(fixture.logged).not.toEqual([])
  })

  test('does not stop its token, or the other leases of that token, from ending', async () => {
    await using fixture = await openLeaseFixture()
    const made = await fixture.create({ policies: ['web'], ttl: '2h' })
    const token = await fixture.lookupToken(made.auth.client_token)
    const issued = await Promise.all(Array.from({ length: 150 }, () => fixture.issue(token)))
    const [broken] = issued.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    await damage(fixture, broken?.id ?? '')

    await fixture.revoker.revoke(token.accessor)
    await fixture.expire()

    expect([...fixture.provider.alive]).toEqual([broken?.credential])
    expect(await fixture.tokens.find(token.accessor)).toBeUndefined()
  })

  const firstOfManyOwners = async (fixture: Fixture) => {
    const issued = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const login = await fixture.login()
        return fixture.issue(await fixture.lookupToken(login.auth.client_token))
      }),
    )
    const owned = await Promise.all(
      issued.map(async (one) => ({ ...one, owner: (await fixture.stored(one.id))?.owner ?? '' })),
    )
    const [first] = owned.toSorted((a, b) => (a.owner < b.owner ? -1 : 1))
    await damage(fixture, first?.id ?? '')
    return first?.credential
  }

  test('is skipped when leases of deleted tokens are tidied up', async () => {
    await using fixture = await openLeaseFixture()
    const credential = await firstOfManyOwners(fixture)
    await fixture.view.deletePrefix('token/')

    fixture.leases.owners.tidy()
    await fixture.leases.settled()

    expect([...fixture.provider.alive]).toEqual([credential])
  })

  test('is skipped when an auth mount is disabled', async () => {
    await using fixture = await openLeaseFixture()
    const credential = await firstOfManyOwners(fixture)
    fixture.mounts.set(jwtMount.accessor, { ...jwtMount, tainted: true })

    await fixture.leases.revokeMount({ ...jwtMount, tainted: true })
    await fixture.leases.settled()

    expect([...fixture.provider.alive]).toEqual([credential])
  })

  test('is skipped when irrevocable leases are retried', async () => {
    await using fixture = await openLeaseFixture()
    const broken = await fixture.issue()
    fixture.advance(1)
    const { credential } = await fixture.issue()
    fixture.provider.mood = 'refusing'
    fixture.advance(hour)
    await fixture.expire()
    expect(await fixture.irrevocable()).toHaveLength(2)
    await damage(fixture, broken.id)
    fixture.provider.mood = 'up'
    fixture.advance(25 * hour)

    await fixture.expire()

    expect(fixture.provider.alive.has(credential)).toBe(false)
  })
})

test('a walk over the leases of ended tokens resumes after a failure of the store', async () => {
  await using fixture = await openLeaseFixture({ sweepRetryMs: 1 })
  const login = await fixture.login()
  const { credential } = await fixture.issue(await fixture.lookupToken(login.auth.client_token))
  fixture.mounts.set(jwtMount.accessor, { ...jwtMount, tainted: true })
  fixture.leases.start()
  await fixture.leases.settled()
  const { listKeys } = fixture.view
  fixture.view.listKeys = (prefix, range) => {
    if (!prefix.startsWith('lease-owner/')) return listKeys.call(fixture.view, prefix, range)
    fixture.view.listKeys = listKeys
    return Promise.reject(new Error('the disk is away'))
  }

  await fixture.leases.revokeMount({ ...jwtMount, tainted: true })

  await fixture.provider.gone(credential)
})

test('a start that cannot tell whether a walk was cut off checks again', async () => {
  await using fixture = await openLeaseFixture({ sweepRetryMs: 1 })
  const login = await fixture.login()
  const { credential } = await fixture.issue(await fixture.lookupToken(login.auth.client_token))
  fixture.mounts.set(jwtMount.accessor, { ...jwtMount, tainted: true })
  await fixture.view.write([{ key: 'lease-sweep', value: true }])
  const { get } = fixture.view
  fixture.view.get = (key) => {
    if (key !== 'lease-sweep') return get.call(fixture.view, key)
    fixture.view.get = get
    return Promise.reject(new Error('the disk is away'))
  }

  fixture.leases.start()

  await fixture.provider.gone(credential)
})
