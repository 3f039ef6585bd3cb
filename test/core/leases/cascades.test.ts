import { describe, expect, test } from 'vitest'
import type { Token } from '../../../src/core/tokens/store/token.ts'
import { fail, refuse } from '../../../src/errors.ts'
import { openLeaseFixture } from '../../support/lease-fixture.ts'
import { practiceBackend } from '../../support/practice-type.ts'
import { jwtMount } from '../../support/token-fixture.ts'

const hour = 3600

async function openWithChild() {
  const fixture = await openLeaseFixture()
  const parent = await fixture.create({ policies: ['web'], ttl: '5h' })
  const parentToken = await fixture.lookupToken(parent.auth.client_token)
  const child = await fixture.create({ policies: ['web'], ttl: '2h' }, { caller: parentToken })
  return { fixture, parent: parentToken, child: await fixture.lookupToken(child.auth.client_token) }
}

describe('a token that is revoked', () => {
  test('ends its leases and those of its descendants without waiting for the provider', async () => {
    const { fixture, parent, child } = await openWithChild()
    await using _ = fixture
    const own = await fixture.issue(parent)
    const below = await fixture.issue(child)
    const others = await fixture.issue()
    fixture.provider.mood = 'down'

    await fixture.revoker.revoke(parent.accessor)

    expect((await fixture.stored(own.id))?.expire_time).toBe(fixture.clock.now())
    expect((await fixture.stored(below.id))?.expire_time).toBe(fixture.clock.now())
    fixture.provider.mood = 'up'
    await fixture.expire()
    expect([...fixture.provider.alive]).toEqual([others.credential])
  })

  test('ends more leases than fit a page', async () => {
    const { fixture, child } = await openWithChild()
    await using _ = fixture
    await Promise.all(Array.from({ length: 150 }, () => fixture.issue(child)))

    await fixture.revoker.revoke(child.accessor)
    await fixture.expire()

    expect(await fixture.rows()).toEqual([])
    expect(fixture.provider.alive.size).toBe(0)
  })

  test('leaves a lease that is being retried to its retries', async () => {
    const { fixture, parent } = await openWithChild()
    await using _ = fixture
    const { id } = await fixture.issue(parent)
    fixture.provider.mood = 'down'
    fixture.advance(hour)
    await fixture.expire()

    await fixture.revoker.revoke(parent.accessor)

    expect((await fixture.stored(id))?.retry?.failures).toBe(1)
  })

  test('without its children leaves the leases of the children', async () => {
    const { fixture, parent, child } = await openWithChild()
    await using _ = fixture
    const { credential } = await fixture.issue(child)

    await fixture.revoker.revokeOrphan(parent.accessor)
    await fixture.expire()

    expect(fixture.provider.alive.has(credential)).toBe(true)
  })
})

test('a token that expires takes its leases with it', async () => {
  const { fixture, child } = await openWithChild()
  await using _ = fixture
  fixture.roles.set('ci', { ttl: 4 * hour, maxTtl: 0, renewable: true })
  const { credential } = await fixture.issue(child)
  fixture.advance(2 * hour)

  await fixture.revoker.sweep()
  await fixture.expire()

  expect(fixture.provider.alive.has(credential)).toBe(false)
})

describe('a secret that was issued', () => {
  test('is revoked when the token of its caller was revoked in the meantime', async () => {
    const { fixture, child } = await openWithChild()
    await using _ = fixture
    await fixture.revoker.revoke(child.accessor)

    await expect(fixture.issue(child)).rejects.toThrow('permission denied')

    expect(fixture.provider.alive.size).toBe(0)
    expect(await fixture.rows()).toEqual([])
  })

  test('is revoked when an ancestor of its caller was revoked', async () => {
    const { fixture, parent, child } = await openWithChild()
    await using _ = fixture
    await fixture.revoker.revoke(parent.accessor)

    await expect(fixture.issue(child)).rejects.toThrow('permission denied')

    expect(fixture.provider.alive.size).toBe(0)
  })

  test('is revoked later when the provider is down', async () => {
    const { fixture, child } = await openWithChild()
    await using _ = fixture
    await fixture.revoker.revoke(child.accessor)
    fixture.provider.mood = 'down'
    await expect(fixture.issue(child)).rejects.toThrow('permission denied')

    fixture.provider.mood = 'up'
    await fixture.expire()

    expect(fixture.provider.alive.size).toBe(0)
  })

  test('is revoked when it is unknown whether the token of its caller is still valid', async () => {
    const { fixture, child } = await openWithChild()
    await using _ = fixture
    fixture.tokens.lookupByAccessor = () => Promise.reject(fail('unavailable', 'storage is unavailable'))

    await expect(fixture.issue(child)).rejects.toThrow('storage is unavailable')

    expect(fixture.provider.alive.size).toBe(0)
    expect(await fixture.rows()).toEqual([])
  })

  test('never outlives a token that is revoked concurrently', async () => {
    const { fixture } = await openWithChild()
    await using _ = fixture
    for (let round = 0; round < 20; round += 1) {
      const made = await fixture.create({ policies: ['web'], ttl: '2h' })
      const token = await fixture.lookupToken(made.auth.client_token)
      const issues = Array.from({ length: 3 }, () => fixture.issue(token).catch(() => undefined))
      for (let turns = 0; turns < round; turns += 1) await new Promise(setImmediate)
      await fixture.revoker.revoke(token.accessor)
      await Promise.all(issues)
    }
    await fixture.expire()

    expect(fixture.provider.alive.size).toBe(0)
    expect(await fixture.rows()).toEqual([])
  })

  test('is revoked when its lease cannot be stored', async () => {
    await using fixture = await openLeaseFixture()
    const write = fixture.view.write
    fixture.view.write = () => Promise.reject(new Error('the disk is full'))

    await expect(fixture.issue()).rejects.toMatchObject({
      kind: 'internal',
      message: 'internal error',
      wrapped: true,
    })

    fixture.view.write = write
    expect(fixture.provider.alive.size).toBe(0)
    expect(await fixture.rows()).toEqual([])
  })
})

describe('a batch token', () => {
  const batch = (parent: Token | undefined, end: number): Token => {
    const base = parent ?? aBatchParent
    const { accessor, cubbyhole_id } = parent ?? { accessor: '', cubbyhole_id: '' }
    return {
      ...base,
      type: 'batch',
      accessor: '',
      parent: accessor,
      parent_cubbyhole: cubbyhole_id,
      expire_time: end,
      num_uses: 0,
    }
  }
  let aBatchParent: Token

  test('has leases that end with it, also after a renewal', async () => {
    await using fixture = await openLeaseFixture()
    aBatchParent = fixture.root
    const { id, duration, warnings } = await fixture.issue(batch(fixture.root, fixture.clock.now() + 300_000))
    expect(duration).toBe(300)
    expect(warnings).toEqual([])

    fixture.advance(100)
    expect(await fixture.leases.renew(fixture.ref(id), 3600)).toMatchObject({
      id,
      duration: 200,
      warnings: [],
    })
  })

  test('has leases that end with its parent', async () => {
    const { fixture, parent } = await openWithChild()
    await using _ = fixture
    const { credential } = await fixture.issue(batch(parent, fixture.clock.now() + 3600_000))

    await fixture.revoker.revoke(parent.accessor)
    await fixture.expire()

    expect(fixture.provider.alive.has(credential)).toBe(false)
  })

  test('without a parent has leases that belong to no token', async () => {
    await using fixture = await openLeaseFixture()
    aBatchParent = fixture.root
    const { id } = await fixture.issue(batch(undefined, fixture.clock.now() + 300_000))

    expect((await fixture.stored(id))?.owner).toBe('')
  })

  test('of an entity whose tokens were revoked has leases that end and cannot be renewed, while those of later tokens stay', async () => {
    await using fixture = await openLeaseFixture()
    aBatchParent = fixture.root
    const of = (cut_off: number): Token => ({
      ...batch(undefined, fixture.clock.now() + 3600_000),
      entity_id: 'alice',
      cut_off,
    })
    const [before, others] = [await fixture.issue(of(0)), await fixture.issue()]
    await fixture.tokens.cutOffs.set(['alice'])
    const after = await fixture.issue(of(1))
    await expect(fixture.issue(of(0))).rejects.toThrow('permission denied')
    await expect(fixture.leases.renew(fixture.ref(before.id), 0)).rejects.toThrow(
      'cannot renew lease, no valid associated token',
    )

    await fixture.leases.endCutOff(fixture.tokens.cutOffs.unswept())
    fixture.leases.owners.tidy()
    await fixture.leases.settled()

    expect([...fixture.provider.alive].sort()).toEqual([after.credential, others.credential].sort())
    await fixture.leases.prefixes.revoke('root', 'practice', 'sync')
    expect(await fixture.rows()).toEqual([])
  })

  test('of a removed auth mount has leases that cannot be renewed', async () => {
    await using fixture = await openLeaseFixture()
    const login = await fixture.login()
    const parent = await fixture.lookupToken(login.auth.client_token)
    const { id } = await fixture.issue(batch(parent, fixture.clock.now() + 3600_000))
    fixture.mounts.delete(jwtMount.accessor)

    await expect(fixture.leases.renew(fixture.ref(id), 0)).rejects.toThrow(
      'cannot renew lease, no valid associated token',
    )
  })
})

describe('a disabled auth mount', () => {
  test('ends the leases of its tokens', async () => {
    await using fixture = await openLeaseFixture()
    const login = await fixture.login()
    const { credential } = await fixture.issue(await fixture.lookupToken(login.auth.client_token))
    const others = await fixture.issue()
    fixture.mounts.set(jwtMount.accessor, { ...jwtMount, tainted: true })

    await fixture.leases.revokeMount({ ...jwtMount, tainted: true })
    await fixture.leases.settled()

    expect(fixture.provider.alive.has(credential)).toBe(false)
    expect([...fixture.provider.alive]).toEqual([others.credential])
  })

  test('ends them after a restart too, when the server stopped in between', async () => {
    await using fixture = await openLeaseFixture()
    const login = await fixture.login()
    const { id } = await fixture.issue(await fixture.lookupToken(login.auth.client_token))
    fixture.mounts.set(jwtMount.accessor, { ...jwtMount, tainted: true })
    const sweep = fixture.leases.owners.sweep()
    await fixture.leases[Symbol.asyncDispose]()
    await sweep

    await fixture.restart()
    fixture.leases.start()
    await fixture.leases.settled()

    expect(await fixture.lookup(id)).toBeUndefined()
    expect(await fixture.view.get('lease-sweep')).toBeUndefined()
  })
})

describe('a secrets mount that is disabled', () => {
  test('first revokes its leases, and no others', async () => {
    await using fixture = await openLeaseFixture()
    await Promise.all(Array.from({ length: 70 }, () => fixture.issue()))
    const { credential } = await fixture.issue(fixture.root, { mount: fixture.other })

    await fixture.leases.revokeMount(fixture.practice)

    expect([...fixture.provider.alive]).toEqual([credential])
  })

  test('says how far it got when the provider is down', async () => {
    await using fixture = await openLeaseFixture()
    const ids = (await Promise.all([fixture.issue(), fixture.issue(), fixture.issue()]))
      .map(({ id }) => id)
      .sort()
    fixture.provider.mood = 'down'

    await expect(fixture.leases.revokeMount(fixture.practice)).rejects.toThrow(
      `failed to revoke "${ids[0]}" (1 / 3): failed to revoke entry: the provider answered 503`,
    )
    expect(await fixture.stored(ids[0] ?? '')).toMatchObject({ renewable: true })
  })

  test('renews nothing', async () => {
    await using fixture = await openLeaseFixture()
    const { id } = await fixture.issue()
    fixture.mounts.set(fixture.practice.accessor, { ...fixture.practice, tainted: true })

    await expect(fixture.leases.renew(fixture.ref(id), 0)).rejects.toThrow(
      'failed to renew entry: unsupported path',
    )
  })
})

test('a deleted namespace revokes all leases it can, whatever the provider says of one', async () => {
  await using fixture = await openLeaseFixture()
  const inside = { ...fixture.practice, namespace: 'aB3xY9' }
  const issued = await Promise.all(
    Array.from({ length: 70 }, () => fixture.issue(fixture.root, { mount: inside })),
  )
  const [kept] = issued.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const { url } = fixture.provider
  const backend = practiceBackend({ providerUrl: url, roles: fixture.roles })
  fixture.backends.set('practice', {
    ...backend,
    revoke: async (lease, signal) => {
      if (lease.id === kept?.id) throw refuse('invalid', 'never')
      await backend.revoke(lease, signal)
    },
  })

  await expect(fixture.leases.removeNamespace('aB3xY9')).rejects.toThrow(
    `failed to revoke "${kept?.id}" (1 / `,
  )
  await fixture.expire()

  expect([...fixture.provider.alive]).toEqual([kept?.credential])
})

test('a deleted namespace revokes all its leases', async () => {
  await using fixture = await openLeaseFixture()
  const inside = { ...fixture.practice, namespace: 'aB3xY9' }
  const { id, credential } = await fixture.issue(fixture.root, { mount: inside })
  const { credential: outside } = await fixture.issue()
  expect(id).toMatch(/\.aB3xY9$/)

  await fixture.leases.removeNamespace('aB3xY9')

  expect(fixture.provider.alive.has(credential)).toBe(false)
  expect([...fixture.provider.alive]).toEqual([outside])
})

describe('tidy', () => {
  test('ends the leases of deleted tokens and drops rows without a lease', async () => {
    await using fixture = await openLeaseFixture()
    const { credential } = await fixture.issue()
    const row = 'lease-owner/0000/root/practice/creds/ci/gone'
    await fixture.view.write([{ key: row, value: true }])
    await fixture.view.deletePrefix('token/')

    expect(fixture.leases.owners.tidy()).toBe(true)
    expect(fixture.leases.owners.tidy()).toBe(false)
    await fixture.leases.settled()

    expect(fixture.provider.alive.has(credential)).toBe(false)
    expect(await fixture.rows()).toEqual([])
  })
})
