import { describe, expect, test } from 'vitest'
import { openLeaseHouse } from '../../support/lease-house.ts'
import { jwtMount } from '../../support/token-house.ts'

const hour = 3600

type House = Awaited<ReturnType<typeof openLeaseHouse>>

/** A record that was damaged: it opens, and is no lease. */
const damage = (house: House, id: string) => house.view.write([{ key: `lease/root/${id}`, value: { id: 'no lease' } }])

describe('a lease whose record cannot be read', () => {
  test('does not stop others from being revoked after a start', async () => {
    await using house = await openLeaseHouse()
    const broken = await house.issue()
    const { credential } = await house.issue()
    house.provider.mood = 'down'
    house.advance(hour)
    await house.expire()
    await damage(house, broken.id)
    house.provider.mood = 'up'

    await house.restart()
    await house.expire()

    expect(house.provider.alive.has(credential)).toBe(false)
    expect(house.logged).not.toEqual([])
  })

  test('does not stop its token, or the other leases of that token, from ending', async () => {
    await using house = await openLeaseHouse()
    const made = await house.create({ policies: ['web'], ttl: '2h' })
    const token = await house.lookupToken(made.auth.client_token)
    const issued = await Promise.all(Array.from({ length: 150 }, () => house.issue(token)))
    const [broken] = issued.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    await damage(house, broken?.id ?? '')

    await house.revoker.revoke(token.accessor)
    await house.expire()

    expect([...house.provider.alive]).toEqual([broken?.credential])
    expect(await house.tokens.find(token.accessor)).toBeUndefined()
  })

  const firstOfManyOwners = async (house: House) => {
    const issued = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const login = await house.login()
        return house.issue(await house.lookupToken(login.auth.client_token))
      }),
    )
    const owned = await Promise.all(issued.map(async (one) => ({ ...one, owner: (await house.stored(one.id))?.owner ?? '' })))
    const [first] = owned.toSorted((a, b) => (a.owner < b.owner ? -1 : 1))
    await damage(house, first?.id ?? '')
    return first?.credential
  }

  test('is skipped when leases of deleted tokens are tidied up', async () => {
    await using house = await openLeaseHouse()
    const credential = await firstOfManyOwners(house)
    await house.view.deletePrefix('token/')

    house.leases.tidy()
    await house.leases.settled()

    expect([...house.provider.alive]).toEqual([credential])
  })

  test('is skipped when an auth mount is disabled', async () => {
    await using house = await openLeaseHouse()
    const credential = await firstOfManyOwners(house)
    house.mounts.set(jwtMount.accessor, { ...jwtMount, tainted: true })

    await house.leases.revokeMount({ ...jwtMount, tainted: true })
    await house.leases.settled()

    expect([...house.provider.alive]).toEqual([credential])
  })

  test('is skipped when irrevocable leases are retried', async () => {
    await using house = await openLeaseHouse()
    const broken = await house.issue()
    house.advance(1)
    const { credential } = await house.issue()
    house.provider.mood = 'refusing'
    house.advance(hour)
    await house.expire()
    expect(await house.irrevocable()).toHaveLength(2)
    await damage(house, broken.id)
    house.provider.mood = 'up'
    house.advance(25 * hour)

    await house.expire()

    expect(house.provider.alive.has(credential)).toBe(false)
  })
})

test('a walk over the leases of ended tokens resumes after a failure of the store', async () => {
  await using house = await openLeaseHouse({ sweepAgainMs: 1 })
  const login = await house.login()
  const { credential } = await house.issue(await house.lookupToken(login.auth.client_token))
  house.mounts.set(jwtMount.accessor, { ...jwtMount, tainted: true })
  house.leases.start()
  await house.leases.settled()
  const { listKeys } = house.view
  house.view.listKeys = (prefix, range) => {
    if (!prefix.startsWith('lease-owner/')) return listKeys.call(house.view, prefix, range)
    house.view.listKeys = listKeys
    return Promise.reject(new Error('the disk is away'))
  }

  await house.leases.revokeMount({ ...jwtMount, tainted: true })

  await house.provider.gone(credential)
})

test('a start that cannot tell whether a walk was cut off checks again', async () => {
  await using house = await openLeaseHouse({ sweepAgainMs: 1 })
  const login = await house.login()
  const { credential } = await house.issue(await house.lookupToken(login.auth.client_token))
  house.mounts.set(jwtMount.accessor, { ...jwtMount, tainted: true })
  await house.view.write([{ key: 'lease-sweep', value: true }])
  const { get } = house.view
  house.view.get = (key) => {
    if (key !== 'lease-sweep') return get.call(house.view, key)
    house.view.get = get
    return Promise.reject(new Error('the disk is away'))
  }

  house.leases.start()

  await house.provider.gone(credential)
})
