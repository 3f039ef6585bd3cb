import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { tokenSweeper } from '../../../src/core/tokens/end/token-revoker.ts'
import { many } from '../../support/rounds.ts'
import { jwtMount, openTokenFixture } from '../../support/token-fixture.ts'

type Fixture = Awaited<ReturnType<typeof openTokenFixture>>

/** A token below `parent` (default: below root), its id and its record. */
async function child(fixture: Fixture, parent = fixture.root) {
  const { auth } = await fixture.create({ policies: ['web'] }, { caller: parent, sudo: true })
  return { id: auth.client_token, token: await fixture.lookup(auth.client_token) }
}

async function family(fixture: Fixture) {
  const parent = await child(fixture)
  const son = await child(fixture, parent.token)
  const daughter = await child(fixture, parent.token)
  const grandson = await child(fixture, son.token)
  return { parent, son, daughter, grandson }
}

const isValid = async (fixture: Fixture, { id }: { id: string }) =>
  (await fixture.tokens.lookup(id)) !== undefined
const rowsOf = (fixture: Fixture) =>
  Promise.all(['token/', 'expire/', 'child/'].map((prefix) => fixture.view.listKeys(prefix)))

test('a token is revoked with all its descendants, deepest first, and leaves no row', async () => {
  await using fixture = await openTokenFixture()
  const before = await rowsOf(fixture)
  const { parent, son, daughter, grandson } = await family(fixture)

  expect(await fixture.revoker.revoke(parent.token.accessor)).toBe(true)

  for (const one of [parent, son, daughter, grandson]) expect(await isValid(fixture, one)).toBe(false)
  expect(await rowsOf(fixture)).toEqual(before)
  const order = fixture.revoked.map((token) => token.accessor)
  expect(order.indexOf(grandson.token.accessor)).toBeLessThan(order.indexOf(son.token.accessor))
  expect(order.at(-1)).toBe(parent.token.accessor)
})

test('a revocation leaves ancestors and siblings', async () => {
  await using fixture = await openTokenFixture()
  const { parent, son, daughter, grandson } = await family(fixture)

  await fixture.revoker.revoke(son.token.accessor)

  expect(await isValid(fixture, grandson)).toBe(false)
  expect(await isValid(fixture, parent)).toBe(true)
  expect(await isValid(fixture, daughter)).toBe(true)
})

test('a family larger than a page is revoked completely', async () => {
  await using fixture = await openTokenFixture()
  const before = await rowsOf(fixture)
  const parent = await child(fixture)
  for (let number = 0; number < 450; number += 1) {
    const { token } = await child(fixture, parent.token)
    if (number % 100 === 0) await child(fixture, token)
  }

  await fixture.revoker.revoke(parent.token.accessor)

  expect(await rowsOf(fixture)).toEqual(before)
  expect(fixture.revoked).toHaveLength(456)
})

test('none of thousands of descendants is valid once their ancestor is not, although most still have their records', async () => {
  await using fixture = await openTokenFixture()
  const before = await rowsOf(fixture)
  const parent = await child(fixture)
  const perGeneration = many(40, 100)
  const sons = await Promise.all(Array.from({ length: perGeneration }, () => child(fixture, parent.token)))
  const grandsons = await Promise.all(
    sons.flatMap(({ token }) => Array.from({ length: perGeneration }, () => child(fixture, token))),
  )
  const descendants = [...sons, ...grandsons]
  let isOver = false
  const stored = async () => (await fixture.view.listKeys('token/')).length

  const revocation = fixture.revoker.revoke(parent.token.accessor).then(() => (isOver = true))
  while (await isValid(fixture, parent)) await nextTurn()
  const left = await stored()
  const valid: string[] = []
  for (let asked = 0; !isOver; asked += 37) {
    const one = descendants[asked % descendants.length] ?? parent
    if (await isValid(fixture, one)) valid.push(one.id)
    await nextTurn()
  }
  await revocation

  expect(left).toBeGreaterThan(0.8 * descendants.length)
  expect(valid).toEqual([])
  expect(await rowsOf(fixture)).toEqual(before)
})

test('no token is revoked twice', async () => {
  await using fixture = await openTokenFixture()
  const { token } = await child(fixture)

  expect(await fixture.revoker.revoke(token.accessor)).toBe(true)
  expect(await fixture.revoker.revoke(token.accessor)).toBe(false)
  expect(await fixture.revoker.revoke('unknown')).toBe(false)
})

test('revoke-orphan leaves the children as orphans, the grandchildren with their parents', async () => {
  await using fixture = await openTokenFixture()
  const { parent, son, daughter, grandson } = await family(fixture)

  expect(await fixture.revoker.revokeOrphan(parent.token.accessor)).toBe(true)

  expect(await isValid(fixture, parent)).toBe(false)
  expect((await fixture.lookup(son.id)).parent).toBe('')
  expect((await fixture.lookup(daughter.id)).parent).toBe('')
  expect((await fixture.lookup(grandson.id)).parent).toBe(son.token.accessor)
  expect(fixture.revoked.map((token) => token.accessor)).toEqual([parent.token.accessor])
})

test('a clean-up that fails leaves the family unusable, and a sweep ends it later', async () => {
  await using fixture = await openTokenFixture()
  const before = await rowsOf(fixture)
  const { parent, grandson } = await family(fixture)
  const errors: unknown[] = []
  await using sweeper = tokenSweeper({
    revoker: fixture.revoker,
    intervalMs: 1,
    onError: (error) => errors.push(error),
  })

  fixture.fixture.cleanUpFails = true
  await expect(fixture.revoker.revoke(parent.token.accessor)).rejects.toThrow(
    'the cubbyhole cannot be emptied',
  )
  const { tokens } = await fixture.restarted()
  expect(await tokens.lookup(parent.id)).toBeUndefined()
  expect(await tokens.lookup(grandson.id)).toBeUndefined()
  await sweeper.run()
  expect(errors).toHaveLength(1)

  fixture.fixture.cleanUpFails = false
  await sweeper.run()
  expect(await rowsOf(fixture)).toEqual(before)
})

test('a sweep deletes expired tokens with their descendants, and nothing else', async () => {
  await using fixture = await openTokenFixture()
  const short = await fixture.login({ ttl: 60 })
  const long = await fixture.login({ ttl: 600 })
  const parent = await fixture.lookup(
    (await fixture.create({ policies: ['web'], ttl: '60' })).auth.client_token,
  )
  await child(fixture, parent)
  fixture.clock.advance(60)
  await using sweeper = tokenSweeper({
    revoker: fixture.revoker,
    intervalMs: 1,
    onError: (error) => expect.unreachable(String(error)),
  })

  await sweeper.run()

  expect(fixture.revoked.map((token) => token.accessor)).toContain(short.auth.accessor)
  expect(fixture.revoked).toHaveLength(3)
  const [tokens, expiries, children] = await rowsOf(fixture)
  expect(tokens).toHaveLength(2)
  expect(expiries).toHaveLength(1)
  expect(children).toEqual([])
  expect(await fixture.tokens.lookup(long.auth.client_token)).toBeDefined()
})

test('one sweep deletes more expired tokens than fit a page', async () => {
  await using fixture = await openTokenFixture()
  for (let number = 0; number < 450; number += 1) await fixture.login({ ttl: 60 })
  fixture.clock.advance(61)
  await using sweeper = tokenSweeper({
    revoker: fixture.revoker,
    intervalMs: 1,
    onError: (error) => expect.unreachable(String(error)),
  })

  await Promise.all([sweeper.run(), sweeper.run()])

  expect(fixture.revoked).toHaveLength(450)
  expect(await fixture.view.listKeys('expire/')).toEqual([])
})

test('an outdated expiry row is dropped, and the token stays', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login({ ttl: 600 })
  const [row] = await fixture.view.listKeys('expire/')
  const hash = row?.split('/').at(-1)
  await fixture.view.write([
    { key: `expire/0000000000000005/${hash}`, value: true },
    { key: 'expire/0000000000000006/of-nobody', value: true },
  ])
  await using sweeper = tokenSweeper({
    revoker: fixture.revoker,
    intervalMs: 1,
    onError: (error) => expect.unreachable(String(error)),
  })

  await sweeper.run()

  expect(await fixture.view.listKeys('expire/')).toEqual([row])
  expect(await fixture.tokens.lookup(auth.client_token)).toBeDefined()
})

describe('a token whose last use is spent', () => {
  const graceSeconds = 300

  /** Spent by a request that could not remove it: the server stopped, or storage failed. */
  const spentAndLeft = async (fixture: Fixture, fields: Parameters<Fixture['create']>[0]) => {
    const token = await fixture.lookup((await fixture.create({ num_uses: 2, ...fields })).auth.client_token)
    await fixture.tokens.spendUse(token)
    expect((await fixture.tokens.spendUse(token))?.num_uses).toBe(-1)
    return token
  }

  test.each([
    { name: 'never ends', fields: {} },
    { name: 'has much time left', fields: { policies: ['web'], ttl: '700h' } },
  ])('and that $name is left to its request, and removed by a later sweep', async ({ fields }) => {
    await using fixture = await openTokenFixture()
    const before = await rowsOf(fixture)
    const token = await spentAndLeft(fixture, fields)
    await using sweeper = tokenSweeper({
      revoker: fixture.revoker,
      intervalMs: 1,
      onError: (error) => expect.unreachable(String(error)),
    })

    fixture.clock.advance(graceSeconds - 1)
    await sweeper.run()
    expect(fixture.revoked).toEqual([])

    fixture.clock.advance(1)
    await sweeper.run()
    expect(fixture.revoked.map(({ accessor }) => accessor)).toEqual([token.accessor])
    expect(await rowsOf(fixture)).toEqual(before)
  })

  test('and that expires soon has no other row', async () => {
    await using fixture = await openTokenFixture()
    await spentAndLeft(fixture, { policies: ['web'], ttl: `${graceSeconds}s` })

    expect(await fixture.view.listKeys('expire/')).toHaveLength(1)
  })

  test('and that was renewed with that use ends when it expires, and leaves no row', async () => {
    await using fixture = await openTokenFixture()
    const before = await rowsOf(fixture)
    const token = await spentAndLeft(fixture, { policies: ['web'], ttl: '700h' })
    await fixture.renew(token, 60)

    fixture.clock.advance(60)
    await using sweeper = tokenSweeper({
      revoker: fixture.revoker,
      intervalMs: 1,
      onError: (error) => expect.unreachable(String(error)),
    })
    await sweeper.run()

    expect(await rowsOf(fixture)).toEqual(before)
  })

  test('leaves no row when it is revoked at once, nor does the next token with its id', async () => {
    await using fixture = await openTokenFixture()
    const before = await rowsOf(fixture)
    const token = await spentAndLeft(fixture, { id: 'chosen' })
    const next = await fixture.lookup((await fixture.create({ id: 'chosen' })).auth.client_token)
    expect(next.cubbyhole_id).not.toBe(token.cubbyhole_id)

    await fixture.revoker.revoke(next.accessor)

    expect(await rowsOf(fixture)).toEqual(before)
  })
})

test('a record that cannot be read does not stop a sweep', async () => {
  await using fixture = await openTokenFixture()
  const broken = await fixture.lookup((await fixture.login({ ttl: 60 })).auth.client_token)
  await fixture.view.write([
    { key: `token/${fixture.tokens.keys.hashOf(broken.accessor)}`, value: 'not a token' },
  ])
  const { auth } = await fixture.login({ ttl: 90 })
  fixture.clock.advance(120)
  const errors: unknown[] = []
  await using sweeper = tokenSweeper({
    revoker: fixture.revoker,
    intervalMs: 1,
    onError: (error) => errors.push(error),
  })

  await sweeper.run()

  expect(errors).toEqual([expect.objectContaining({ kind: 'internal' })])
  expect(fixture.revoked.map((token) => token.accessor)).toEqual([auth.accessor])
})

test('tokens of a disabled mount are swept when they expire', async () => {
  await using fixture = await openTokenFixture()
  await fixture.login({ ttl: 60 })
  fixture.mounts.delete(jwtMount.accessor)
  fixture.clock.advance(60)
  await using sweeper = tokenSweeper({
    revoker: fixture.revoker,
    intervalMs: 1,
    onError: (error) => expect.unreachable(String(error)),
  })

  await sweeper.run()

  expect(await fixture.view.listKeys('expire/')).toEqual([])
})

test('tokens that expire in centuries sort after those that expire today', async () => {
  await using fixture = await openTokenFixture()
  for (let number = 0; number < 70; number += 1)
    await fixture.create({ policies: ['root'], explicit_max_ttl: '9223372036' })
  const { auth } = await fixture.login({ ttl: 60 })
  fixture.clock.advance(60)

  await using sweeper = tokenSweeper({ revoker: fixture.revoker, intervalMs: 1000, onError: () => {} })
  await sweeper.run()

  expect(await fixture.tokens.find(auth.accessor)).toBeUndefined()
})
