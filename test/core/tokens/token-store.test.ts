import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openBarrier } from '../../../src/core/barrier/barrier.ts'
import { readToken } from '../../../src/core/tokens/store/token.ts'
import { tokenKey } from '../../../src/core/tokens/store/token-keys.ts'
import { TokenStore } from '../../../src/core/tokens/store/token-store.ts'
import { systemClock } from '../../../src/lib/system/clock.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { openMemory } from '../../../src/storage/sqlite/sqlite.ts'
import { aMount, jwtMount, openTokenFixture, otherJwtMount, tokenMount } from '../../support/token-fixture.ts'

test('an id and an accessor lead to the token, also after a restart', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login()
  const { tokens } = await fixture.restarted()

  const byId = await tokens.lookup(auth.client_token)
  const byAccessor = await tokens.lookupByAccessor(auth.accessor)

  expect(byId).toMatchObject({
    accessor: auth.accessor,
    display_name: 'jwt-alice',
    entity_id: auth.entity_id,
  })
  expect(byAccessor).toEqual(byId)
})

test.each(['', 'root ', ' root', 'Root', 'hvs.unknown', 'x'.repeat(4097)])(
  '%j is not the token root',
  async (id) => {
    await using fixture = await openTokenFixture()

    expect(await fixture.tokens.lookup(id)).toBeUndefined()
  },
)

test('an accessor is not an id, and an id is not an accessor', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login()

  expect(await fixture.tokens.lookup(auth.accessor)).toBeUndefined()
  expect(await fixture.tokens.lookupByAccessor(auth.client_token)).toBeUndefined()
})

test('stored bytes and keys contain neither the id, nor the accessor, nor the name of a login', async () => {
  await using storage = await openMemory()
  const barrier = await openBarrier({
    storage,
    sealKey: randomBytes(32),
    clock: systemClock,
    random: systemRandom,
    log: { error: () => {} },
  })
  const view = barrier.view('core/')
  const tokens = await TokenStore.open({
    view,
    clock: systemClock,
    random: systemRandom,
    sealer: barrier,
    mountOf: () => tokenMount,
  })
  const { id, token, entries } = tokens.mint({ ...draft, policies: ['web'] })
  await view.write(entries)

  const stored = (await storage.list(''))
    .map(({ key, value }) => `${key}\n${Buffer.from(value).toString('latin1')}`)
    .join('\n')

  for (const secret of [id, id.slice(4), token.accessor, token.cubbyhole_id])
    expect(stored).not.toContain(secret)
})

test('a token is refused from the moment it expires', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login({ ttl: 60 })

  fixture.clock.advance(59.999)
  expect(await fixture.tokens.lookup(auth.client_token)).toBeDefined()
  fixture.clock.advance(0.001)
  expect(await fixture.tokens.lookup(auth.client_token)).toBeUndefined()
})

test.each([
  { name: 'is gone', now: undefined },
  { name: 'is being removed', now: { ...jwtMount, tainted: true } },
  { name: 'was moved after they were issued', now: { ...jwtMount, moves: 1 } },
])('tokens end with a mount that $name, those of other mounts stay', async ({ now }) => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login()
  const other = await fixture.login({}, otherJwtMount)

  if (now === undefined) fixture.mounts.delete(jwtMount.accessor)
  else fixture.mounts.set(jwtMount.accessor, now)

  expect(await fixture.tokens.lookup(auth.client_token)).toBeUndefined()
  expect(await fixture.tokens.lookup(other.auth.client_token)).toBeDefined()
})

test('a token issued after its mount was moved is valid', async () => {
  await using fixture = await openTokenFixture()
  const moved = aMount({ path: 'auth/team/', moves: 1 })
  fixture.mounts.set(moved.accessor, moved)

  const { auth } = await fixture.login({}, moved)

  expect(await fixture.tokens.lookup(auth.client_token)).toMatchObject({
    path: 'auth/team/login',
    display_name: 'team-alice',
  })
  fixture.mounts.set(moved.accessor, { ...moved, moves: 2 })
  expect(await fixture.tokens.lookup(auth.client_token)).toBeUndefined()
})

test('no child outlives the expiry of an ancestor', async () => {
  await using fixture = await openTokenFixture()
  const parent = await fixture.lookup(
    (await fixture.create({ policies: ['web'], ttl: '60' })).auth.client_token,
  )
  const child = await fixture.lookup(
    (await fixture.create({ ttl: '1h' }, { caller: parent, sudo: false })).auth.client_token,
  )
  const grandchild = await fixture.create({ ttl: '1h' }, { caller: child, sudo: false })

  expect(await fixture.tokens.lookup(grandchild.auth.client_token)).toBeDefined()
  fixture.clock.advance(60)
  expect(await fixture.tokens.lookup(grandchild.auth.client_token)).toBeUndefined()
})

test('uses count down to −1, and then the token is refused', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.create({ policies: ['web'], num_uses: 2 })

  const uses: (number | undefined)[] = []
  for (let use = 0; use < 2; use += 1)
    uses.push((await fixture.tokens.spendUse(await fixture.lookup(auth.client_token)))?.num_uses)

  expect(uses).toEqual([1, -1])
  expect(await fixture.tokens.lookup(auth.client_token)).toBeUndefined()
  expect(await (await fixture.restarted()).tokens.lookup(auth.client_token)).toBeUndefined()
})

test('of many concurrent requests, only as many as there are uses succeed', async () => {
  await using fixture = await openTokenFixture()
  const token = await fixture.lookup(
    (await fixture.create({ policies: ['web'], num_uses: 3 })).auth.client_token,
  )

  const spent = await Promise.all(Array.from({ length: 20 }, () => fixture.tokens.spendUse(token)))

  expect(spent.filter((use) => use !== undefined).map((use) => use.num_uses)).toEqual([2, 1, -1])
})

test('a token without a limit is not written when it is used', async () => {
  await using fixture = await openTokenFixture()
  const [before] = await fixture.view.list('token/', { limit: 1 })

  expect(await fixture.tokens.spendUse(fixture.root)).toBe(fixture.root)
  expect((await fixture.view.list('token/', { limit: 1 }))[0]?.revision).toBe(before?.revision)
})

test('fields of a later version survive a change', async () => {
  await using fixture = await openTokenFixture()
  const token = await fixture.lookup(
    (await fixture.create({ policies: ['web'], num_uses: 3 })).auth.client_token,
  )
  const key = tokenKey(fixture.tokens.keys.hashOf(token.accessor))
  await fixture.view.write([{ key, value: { ...token, from_the_future: { a: 1 } } }])

  await fixture.tokens.spendUse(token)
  await fixture.renew(token, 60)

  expect(await fixture.view.get(key)).toMatchObject({
    num_uses: 2,
    granted_ttl: 60,
    from_the_future: { a: 1 },
  })
})

test.each([undefined, null, 'x', {}, { accessor: 'a' }])(
  'the stored record %j is refused, never taken for a token',
  (value) => {
    expect(() => readToken(value)).toThrow('internal error')
  },
)

test('a record whose policies are not texts is refused', async () => {
  await using fixture = await openTokenFixture()

  expect(() => readToken({ ...fixture.root, policies: [1] })).toThrow('internal error')
  expect(readToken({ ...fixture.root })).toEqual(fixture.root)
})

const draft = {
  parent: '',
  namespace: 'root',
  policies: [],
  path: 'auth/jwt/login',
  meta: null,
  display_name: 'jwt-alice',
  num_uses: 0,
  ttl: 60,
  explicit_max_ttl: 0,
  period: 0,
  entity_id: '',
  bound_cidrs: [],
  type: 'service',
  renewable: true,
  mount_accessor: tokenMount.accessor,
  internal: {},
} as const
