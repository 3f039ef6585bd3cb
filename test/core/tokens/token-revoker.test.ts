import { describe, expect, test } from 'vitest'
import { TokenSweeper } from '../../../src/core/tokens/token-sweeper.ts'
import { jwtMount, openTokenHouse } from '../../support/token-house.ts'

type House = Awaited<ReturnType<typeof openTokenHouse>>

/** A token below `parent` (default: below root), its id and its record. */
async function child(house: House, parent = house.root) {
  const { auth } = await house.create({ policies: ['web'] }, { caller: parent, sudo: true })
  return { id: auth.client_token, token: await house.lookup(auth.client_token) }
}

async function family(house: House) {
  const parent = await child(house)
  const son = await child(house, parent.token)
  const daughter = await child(house, parent.token)
  const grandson = await child(house, son.token)
  return { parent, son, daughter, grandson }
}

const isValid = async (house: House, { id }: { id: string }) => (await house.tokens.lookup(id)) !== undefined
const rowsOf = (house: House) => Promise.all(['token/', 'expire/', 'child/'].map((prefix) => house.view.listKeys(prefix)))

test('a token is revoked with all its descendants, deepest first, and leaves no row', async () => {
  await using house = await openTokenHouse()
  const before = await rowsOf(house)
  const { parent, son, daughter, grandson } = await family(house)

  expect(await house.revoker.revoke(parent.token.accessor)).toBe(true)

  for (const one of [parent, son, daughter, grandson]) expect(await isValid(house, one)).toBe(false)
  expect(await rowsOf(house)).toEqual(before)
  const order = house.revoked.map((token) => token.accessor)
  expect(order.indexOf(grandson.token.accessor)).toBeLessThan(order.indexOf(son.token.accessor))
  expect(order.at(-1)).toBe(parent.token.accessor)
})

test('a revocation leaves ancestors and siblings', async () => {
  await using house = await openTokenHouse()
  const { parent, son, daughter, grandson } = await family(house)

  await house.revoker.revoke(son.token.accessor)

  expect(await isValid(house, grandson)).toBe(false)
  expect(await isValid(house, parent)).toBe(true)
  expect(await isValid(house, daughter)).toBe(true)
})

test('a family larger than a page is revoked completely', async () => {
  await using house = await openTokenHouse()
  const before = await rowsOf(house)
  const parent = await child(house)
  for (let number = 0; number < 450; number += 1) {
    const { token } = await child(house, parent.token)
    if (number % 100 === 0) await child(house, token)
  }

  await house.revoker.revoke(parent.token.accessor)

  expect(await rowsOf(house)).toEqual(before)
  expect(house.revoked).toHaveLength(456)
})

test('no token is revoked twice', async () => {
  await using house = await openTokenHouse()
  const { token } = await child(house)

  expect(await house.revoker.revoke(token.accessor)).toBe(true)
  expect(await house.revoker.revoke(token.accessor)).toBe(false)
  expect(await house.revoker.revoke('unknown')).toBe(false)
})

test('revoke-orphan leaves the children as orphans, the grandchildren with their parents', async () => {
  await using house = await openTokenHouse()
  const { parent, son, daughter, grandson } = await family(house)

  expect(await house.revoker.revokeOrphan(parent.token.accessor)).toBe(true)

  expect(await isValid(house, parent)).toBe(false)
  expect((await house.lookup(son.id)).parent).toBe('')
  expect((await house.lookup(daughter.id)).parent).toBe('')
  expect((await house.lookup(grandson.id)).parent).toBe(son.token.accessor)
  expect(house.revoked.map((token) => token.accessor)).toEqual([parent.token.accessor])
})

test('a clean-up that fails leaves the family unusable, and a sweep ends it later', async () => {
  await using house = await openTokenHouse()
  const before = await rowsOf(house)
  const { parent, grandson } = await family(house)
  const errors: unknown[] = []
  await using sweeper = new TokenSweeper({ revoker: house.revoker, intervalMs: 1, onError: (error) => errors.push(error) })

  house.house.cleanUpFails = true
  await expect(house.revoker.revoke(parent.token.accessor)).rejects.toThrow('the cubbyhole cannot be emptied')
  const { tokens } = await house.restarted()
  expect(await tokens.lookup(parent.id)).toBeUndefined()
  expect(await tokens.lookup(grandson.id)).toBeUndefined()
  await sweeper.sweep()
  expect(errors).toHaveLength(1)

  house.house.cleanUpFails = false
  await sweeper.sweep()
  expect(await rowsOf(house)).toEqual(before)
})

test('a sweep deletes expired tokens with their descendants, and nothing else', async () => {
  await using house = await openTokenHouse()
  const short = await house.login({ ttl: 60 })
  const long = await house.login({ ttl: 600 })
  const parent = await house.lookup((await house.create({ policies: ['web'], ttl: '60' })).auth.client_token)
  await child(house, parent)
  house.clock.advance(60)
  await using sweeper = new TokenSweeper({ revoker: house.revoker, intervalMs: 1, onError: (error) => expect.unreachable(String(error)) })

  await sweeper.sweep()

  expect(house.revoked.map((token) => token.accessor)).toContain(short.auth.accessor)
  expect(house.revoked).toHaveLength(3)
  const [tokens, expiries, children] = await rowsOf(house)
  expect(tokens).toHaveLength(2)
  expect(expiries).toHaveLength(1)
  expect(children).toEqual([])
  expect(await house.tokens.lookup(long.auth.client_token)).toBeDefined()
})

test('one sweep deletes more expired tokens than fit a page', async () => {
  await using house = await openTokenHouse()
  for (let number = 0; number < 450; number += 1) await house.login({ ttl: 60 })
  house.clock.advance(61)
  await using sweeper = new TokenSweeper({ revoker: house.revoker, intervalMs: 1, onError: (error) => expect.unreachable(String(error)) })

  await Promise.all([sweeper.sweep(), sweeper.sweep()])

  expect(house.revoked).toHaveLength(450)
  expect(await house.view.listKeys('expire/')).toEqual([])
})

test('an outdated expiry row is dropped, and the token stays', async () => {
  await using house = await openTokenHouse()
  const { auth } = await house.login({ ttl: 600 })
  const [row] = await house.view.listKeys('expire/')
  const hash = row?.split('/').at(-1)
  await house.view.write([
    { key: `expire/0000000000000005/${hash}`, value: true },
    { key: 'expire/0000000000000006/of-nobody', value: true },
  ])
  await using sweeper = new TokenSweeper({ revoker: house.revoker, intervalMs: 1, onError: (error) => expect.unreachable(String(error)) })

  await sweeper.sweep()

  expect(await house.view.listKeys('expire/')).toEqual([row])
  expect(await house.tokens.lookup(auth.client_token)).toBeDefined()
})

describe('a token whose last use is spent', () => {
  const graceSeconds = 300

  /** Spent by a request after which nobody came to take it away: the server stopped, or storage failed. */
  const spentAndLeft = async (house: House, fields: Parameters<House['create']>[0]) => {
    const token = await house.lookup((await house.create({ num_uses: 2, ...fields })).auth.client_token)
    await house.tokens.spendUse(token)
    expect((await house.tokens.spendUse(token))?.num_uses).toBe(-1)
    return token
  }

  test.each([
    { name: 'never ends', fields: {} },
    { name: 'has much time left', fields: { policies: ['web'], ttl: '700h' } },
  ])('and that $name is left to its request, and taken away by a sweep later', async ({ fields }) => {
    await using house = await openTokenHouse()
    const before = await rowsOf(house)
    const token = await spentAndLeft(house, fields)
    await using sweeper = new TokenSweeper({ revoker: house.revoker, intervalMs: 1, onError: (error) => expect.unreachable(String(error)) })

    house.clock.advance(graceSeconds - 1)
    await sweeper.sweep()
    expect(house.revoked).toEqual([])

    house.clock.advance(1)
    await sweeper.sweep()
    expect(house.revoked.map(({ accessor }) => accessor)).toEqual([token.accessor])
    expect(await rowsOf(house)).toEqual(before)
  })

  test('and that ends soon has no further row', async () => {
    await using house = await openTokenHouse()
    await spentAndLeft(house, { policies: ['web'], ttl: `${graceSeconds}s` })

    expect(await house.view.listKeys('expire/')).toHaveLength(1)
  })

  test('and that was renewed with it goes at its end, and leaves no row', async () => {
    await using house = await openTokenHouse()
    const before = await rowsOf(house)
    const token = await spentAndLeft(house, { policies: ['web'], ttl: '700h' })
    await house.renew(token, 60)

    house.clock.advance(60)
    await using sweeper = new TokenSweeper({ revoker: house.revoker, intervalMs: 1, onError: (error) => expect.unreachable(String(error)) })
    await sweeper.sweep()

    expect(await rowsOf(house)).toEqual(before)
  })

  test('leaves no row when it is revoked at once, nor does one that has its id next', async () => {
    await using house = await openTokenHouse()
    const before = await rowsOf(house)
    const token = await spentAndLeft(house, { id: 'chosen' })
    const next = await house.lookup((await house.create({ id: 'chosen' })).auth.client_token)
    expect(next.cubbyhole_id).not.toBe(token.cubbyhole_id)

    await house.revoker.revoke(next.accessor)

    expect(await rowsOf(house)).toEqual(before)
  })
})

test('a record that cannot be read does not stop a sweep', async () => {
  await using house = await openTokenHouse()
  const broken = await house.lookup((await house.login({ ttl: 60 })).auth.client_token)
  await house.view.write([{ key: `token/${house.tokens.keys.hashOf(broken.accessor)}`, value: 'not a token' }])
  const { auth } = await house.login({ ttl: 90 })
  house.clock.advance(120)
  const errors: unknown[] = []
  await using sweeper = new TokenSweeper({ revoker: house.revoker, intervalMs: 1, onError: (error) => errors.push(error) })

  await sweeper.sweep()

  expect(errors).toEqual([expect.objectContaining({ kind: 'internal' })])
  expect(house.revoked.map((token) => token.accessor)).toEqual([auth.accessor])
})

test('tokens of a disabled mount are swept when they expire', async () => {
  await using house = await openTokenHouse()
  await house.login({ ttl: 60 })
  house.mounts.delete(jwtMount.accessor)
  house.clock.advance(60)
  await using sweeper = new TokenSweeper({ revoker: house.revoker, intervalMs: 1, onError: (error) => expect.unreachable(String(error)) })

  await sweeper.sweep()

  expect(await house.view.listKeys('expire/')).toEqual([])
})

test('tokens that expire in centuries sort after those that expire today', async () => {
  await using house = await openTokenHouse()
  for (let number = 0; number < 70; number += 1) await house.create({ policies: ['root'], explicit_max_ttl: '9223372036' })
  const { auth } = await house.login({ ttl: 60 })
  house.clock.advance(60)

  await using sweeper = new TokenSweeper({ revoker: house.revoker, intervalMs: 1000, onError: () => {} })
  await sweeper.sweep()

  expect(await house.tokens.find(auth.accessor)).toBeUndefined()
})
