import { describe, expect, test } from 'vitest'
import type { Token } from '../../../src/core/tokens/token.ts'
import { fail, refuse } from '../../../src/errors.ts'
import { openLeaseHouse } from '../../support/lease-house.ts'
import { practiceBackend } from '../../support/practice-engine.ts'
import { jwtMount } from '../../support/token-house.ts'

const hour = 3600

async function openWithChild() {
  const house = await openLeaseHouse()
  const parent = await house.create({ policies: ['web'], ttl: '5h' })
  const parentToken = await house.lookupToken(parent.auth.client_token)
  const child = await house.create({ policies: ['web'], ttl: '2h' }, { caller: parentToken })
  return { house, parent: parentToken, child: await house.lookupToken(child.auth.client_token) }
}

describe('a token that is revoked', () => {
  test('ends its leases and those of its descendants without waiting for the provider', async () => {
    const { house, parent, child } = await openWithChild()
    await using _ = house
    const own = await house.issue(parent)
    const below = await house.issue(child)
    const others = await house.issue()
    house.provider.mood = 'down'

    await house.revoker.revoke(parent.accessor)

    expect((await house.stored(own.id))?.expire_time).toBe(house.clock.now())
    expect((await house.stored(below.id))?.expire_time).toBe(house.clock.now())
    house.provider.mood = 'up'
    await house.expire()
    expect([...house.provider.alive]).toEqual([others.credential])
  })

  test('ends more leases than fit a page', async () => {
    const { house, child } = await openWithChild()
    await using _ = house
    await Promise.all(Array.from({ length: 150 }, () => house.issue(child)))

    await house.revoker.revoke(child.accessor)
    await house.expire()

    expect(await house.rows()).toEqual([])
    expect(house.provider.alive.size).toBe(0)
  })

  test('leaves a lease that is being retried to its retries', async () => {
    const { house, parent } = await openWithChild()
    await using _ = house
    const { id } = await house.issue(parent)
    house.provider.mood = 'down'
    house.advance(hour)
    await house.expire()

    await house.revoker.revoke(parent.accessor)

    expect((await house.stored(id))?.retry?.failures).toBe(1)
  })

  test('without its children leaves the leases of the children', async () => {
    const { house, parent, child } = await openWithChild()
    await using _ = house
    const { credential } = await house.issue(child)

    await house.revoker.revokeOrphan(parent.accessor)
    await house.expire()

    expect(house.provider.alive.has(credential)).toBe(true)
  })
})

test('a token that expires takes its leases with it', async () => {
  const { house, child } = await openWithChild()
  await using _ = house
  house.roles.set('ci', { ttl: 4 * hour, maxTtl: 0, renewable: true })
  const { credential } = await house.issue(child)
  house.advance(2 * hour)

  await house.revoker.sweepPage()
  await house.expire()

  expect(house.provider.alive.has(credential)).toBe(false)
})

describe('a secret that was issued', () => {
  test('is revoked when the token of its caller was revoked in the meantime', async () => {
    const { house, child } = await openWithChild()
    await using _ = house
    await house.revoker.revoke(child.accessor)

    await expect(house.issue(child)).rejects.toThrow('permission denied')

    expect(house.provider.alive.size).toBe(0)
    expect(await house.rows()).toEqual([])
  })

  test('is revoked when an ancestor of its caller was revoked', async () => {
    const { house, parent, child } = await openWithChild()
    await using _ = house
    await house.revoker.revoke(parent.accessor)

    await expect(house.issue(child)).rejects.toThrow('permission denied')

    expect(house.provider.alive.size).toBe(0)
  })

  test('is revoked later when the provider is down', async () => {
    const { house, child } = await openWithChild()
    await using _ = house
    await house.revoker.revoke(child.accessor)
    house.provider.mood = 'down'
    await expect(house.issue(child)).rejects.toThrow('permission denied')

    house.provider.mood = 'up'
    await house.expire()

    expect(house.provider.alive.size).toBe(0)
  })

  test('is revoked when it is unknown whether the token of its caller is still valid', async () => {
    const { house, child } = await openWithChild()
    await using _ = house
    house.tokens.lookupByAccessor = () => Promise.reject(fail('unavailable', 'storage is unavailable'))

    await expect(house.issue(child)).rejects.toThrow('storage is unavailable')

    expect(house.provider.alive.size).toBe(0)
    expect(await house.rows()).toEqual([])
  })

  test('never outlives a token that is revoked concurrently', async () => {
    const { house } = await openWithChild()
    await using _ = house
    for (let round = 0; round < 20; round += 1) {
      const made = await house.create({ policies: ['web'], ttl: '2h' })
      const token = await house.lookupToken(made.auth.client_token)
      const issues = Array.from({ length: 3 }, () => house.issue(token).catch(() => undefined))
      for (let turns = 0; turns < round; turns += 1) await new Promise(setImmediate)
      await house.revoker.revoke(token.accessor)
      await Promise.all(issues)
    }
    await house.expire()

    expect(house.provider.alive.size).toBe(0)
    expect(await house.rows()).toEqual([])
  })

  test('is revoked when its lease cannot be stored', async () => {
    await using house = await openLeaseHouse()
    const write = house.view.write
    house.view.write = () => Promise.reject(new Error('the disk is full'))

    await expect(house.issue()).rejects.toMatchObject({ kind: 'internal', message: 'internal error', wrapped: true })

    house.view.write = write
    expect(house.provider.alive.size).toBe(0)
    expect(await house.rows()).toEqual([])
  })
})

describe('a batch token', () => {
  const batch = (parent: Token | undefined, end: number): Token => {
    const base = parent ?? aBatchParent
    const { accessor, cubbyhole_id } = parent ?? { accessor: '', cubbyhole_id: '' }
    return { ...base, type: 'batch', accessor: '', parent: accessor, parent_cubbyhole: cubbyhole_id, expire_time: end, num_uses: 0 }
  }
  let aBatchParent: Token

  test('has leases that end with it, also after a renewal', async () => {
    await using house = await openLeaseHouse()
    aBatchParent = house.root
    const { id, duration, warnings } = await house.issue(batch(house.root, house.clock.now() + 300_000))
    expect(duration).toBe(300)
    expect(warnings).toEqual([])

    house.advance(100)
    expect(await house.leases.renew(house.ref(id), 3600)).toMatchObject({ id, duration: 200, warnings: [] })
  })

  test('has leases that end with its parent', async () => {
    const { house, parent } = await openWithChild()
    await using _ = house
    const { credential } = await house.issue(batch(parent, house.clock.now() + 3600_000))

    await house.revoker.revoke(parent.accessor)
    await house.expire()

    expect(house.provider.alive.has(credential)).toBe(false)
  })

  test('without a parent has leases that belong to no token', async () => {
    await using house = await openLeaseHouse()
    aBatchParent = house.root
    const { id } = await house.issue(batch(undefined, house.clock.now() + 300_000))

    expect((await house.stored(id))?.owner).toBe('')
  })

  test('of a person who is cut off has leases that end and cannot be renewed; those of later tokens stay', async () => {
    await using house = await openLeaseHouse()
    aBatchParent = house.root
    const of = (cut_off: number): Token => ({ ...batch(undefined, house.clock.now() + 3600_000), entity_id: 'alice', cut_off })
    const [before, others] = [await house.issue(of(0)), await house.issue()]
    await house.tokens.cutOffs.set(['alice'])
    const after = await house.issue(of(1))
    await expect(house.issue(of(0))).rejects.toThrow('permission denied')
    await expect(house.leases.renew(house.ref(before.id), 0)).rejects.toThrow('cannot renew lease, no valid associated token')

    await house.leases.endCutOff(house.tokens.cutOffs.unswept())
    house.leases.tidy()
    await house.leases.settled()

    expect([...house.provider.alive].sort()).toEqual([after.credential, others.credential].sort())
    await house.leases.revokePrefix('root', 'practice', 'sync')
    expect(await house.rows()).toEqual([])
  })

  test('of an auth mount that is gone has leases that cannot be renewed', async () => {
    await using house = await openLeaseHouse()
    const login = await house.login()
    const parent = await house.lookupToken(login.auth.client_token)
    const { id } = await house.issue(batch(parent, house.clock.now() + 3600_000))
    house.mounts.delete(jwtMount.accessor)

    await expect(house.leases.renew(house.ref(id), 0)).rejects.toThrow('cannot renew lease, no valid associated token')
  })
})

describe('a disabled auth mount', () => {
  test('ends the leases of its tokens', async () => {
    await using house = await openLeaseHouse()
    const login = await house.login()
    const { credential } = await house.issue(await house.lookupToken(login.auth.client_token))
    const others = await house.issue()
    house.mounts.set(jwtMount.accessor, { ...jwtMount, tainted: true })

    await house.leases.revokeMount({ ...jwtMount, tainted: true })
    await house.leases.settled()

    expect(house.provider.alive.has(credential)).toBe(false)
    expect([...house.provider.alive]).toEqual([others.credential])
  })

  test('ends them after a restart too, when the server stopped in between', async () => {
    await using house = await openLeaseHouse()
    const login = await house.login()
    const { id } = await house.issue(await house.lookupToken(login.auth.client_token))
    house.mounts.set(jwtMount.accessor, { ...jwtMount, tainted: true })
    const sweep = house.leases.sweepOwners()
    await house.leases[Symbol.asyncDispose]()
    await sweep

    await house.restart()
    house.leases.start()
    await house.leases.settled()

    expect(await house.lookup(id)).toBeUndefined()
    expect(await house.view.get('lease-sweep')).toBeUndefined()
  })
})

describe('a secrets mount that is disabled', () => {
  test('first revokes its leases, and no others', async () => {
    await using house = await openLeaseHouse()
    await Promise.all(Array.from({ length: 70 }, () => house.issue()))
    const { credential } = await house.issue(house.root, { mount: house.other })

    await house.leases.revokeMount(house.practice)

    expect([...house.provider.alive]).toEqual([credential])
  })

  test('says how far it got when the provider is down', async () => {
    await using house = await openLeaseHouse()
    const ids = (await Promise.all([house.issue(), house.issue(), house.issue()])).map(({ id }) => id).sort()
    house.provider.mood = 'down'

    await expect(house.leases.revokeMount(house.practice)).rejects.toThrow(
      `failed to revoke "${ids[0]}" (1 / 3): failed to revoke entry: the provider answered 503`,
    )
    expect(await house.stored(ids[0] ?? '')).toMatchObject({ renewable: true })
  })

  test('renews nothing', async () => {
    await using house = await openLeaseHouse()
    const { id } = await house.issue()
    house.mounts.set(house.practice.accessor, { ...house.practice, tainted: true })

    await expect(house.leases.renew(house.ref(id), 0)).rejects.toThrow('failed to renew entry: unsupported path')
  })
})

test('a deleted namespace revokes all leases it can, whatever the provider says of one', async () => {
  await using house = await openLeaseHouse()
  const inside = { ...house.practice, namespace: 'aB3xY9' }
  const issued = await Promise.all(Array.from({ length: 70 }, () => house.issue(house.root, { mount: inside })))
  const [kept] = issued.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const { url } = house.provider
  const backend = practiceBackend({ providerUrl: url, roles: house.roles })
  house.leases.register('practice', {
    ...backend,
    revoke: async (lease, signal) => {
      if (lease.id === kept?.id) throw refuse('invalid', 'never')
      await backend.revoke(lease, signal)
    },
  })

  await expect(house.leases.removeNamespace('aB3xY9')).rejects.toThrow(`failed to revoke "${kept?.id}" (1 / `)
  await house.expire()

  expect([...house.provider.alive]).toEqual([kept?.credential])
})

test('a deleted namespace revokes all its leases', async () => {
  await using house = await openLeaseHouse()
  const inside = { ...house.practice, namespace: 'aB3xY9' }
  const { id, credential } = await house.issue(house.root, { mount: inside })
  const { credential: outside } = await house.issue()
  expect(id).toMatch(/\.aB3xY9$/)

  await house.leases.removeNamespace('aB3xY9')

  expect(house.provider.alive.has(credential)).toBe(false)
  expect([...house.provider.alive]).toEqual([outside])
})

describe('tidy', () => {
  test('ends the leases of deleted tokens and drops rows without a lease', async () => {
    await using house = await openLeaseHouse()
    const { credential } = await house.issue()
    const row = 'lease-owner/0000/root/practice/creds/ci/gone'
    await house.view.write([{ key: row, value: true }])
    await house.view.deletePrefix('token/')

    expect(house.leases.tidy()).toBe(true)
    expect(house.leases.tidy()).toBe(false)
    await house.leases.settled()

    expect(house.provider.alive.has(credential)).toBe(false)
    expect(await house.rows()).toEqual([])
  })
})
