import { expect, test } from 'vitest'
import { TokenTidy } from '../../../src/core/tokens/token-tidy.ts'
import { jwtMount, openTokenHouse } from '../../support/token-house.ts'

type House = Awaited<ReturnType<typeof openTokenHouse>>

function tidyOf(house: House, tokens = house.tokens) {
  const logged: object[] = []
  const log = { info: (fields: object) => void logged.push(fields), error: (fields: object) => void logged.push(fields) }
  return { tidy: new TokenTidy({ tokens, revoker: house.revoker, view: house.view, log, endMadeByBatch: async () => {} }), logged }
}

const recordsOf = (house: House) => house.view.listKeys('token/')

test('tidy deletes the tokens of a disabled mount with their descendants, and keeps valid ones', async () => {
  await using house = await openTokenHouse()
  const before = await recordsOf(house)
  const login = await house.login({ policies: ['web'] })
  const caller = await house.lookup(login.auth.client_token)
  await house.create({}, { caller, sudo: false })
  const good = await house.create({ policies: ['web'] })
  house.mounts.delete(jwtMount.accessor)
  const { tidy, logged } = tidyOf(house)
  await using _closed = tidy

  expect(tidy.start()).toBe(true)
  expect(tidy.start()).toBe(false)
  await tidy.idle()

  expect(await recordsOf(house)).toHaveLength(before.length + 1)
  expect(await house.tokens.lookup(good.auth.client_token)).toBeDefined()
  expect(house.revoked).toHaveLength(2)
  expect(logged).toMatchObject([{ event: 'token_tidy', failed: 0 }])
})

test('tidy deletes tokens whose parent is missing, and dangling rows', async () => {
  await using house = await openTokenHouse()
  const parent = await house.lookup((await house.create({ policies: ['web'] })).auth.client_token)
  await house.create({}, { caller: parent, sudo: false })
  const hash = house.tokens.keys.hashOf(parent.accessor)
  await house.view.write([
    { key: `token/${hash}`, value: undefined },
    { key: `child/${'0'.repeat(64)}/${'1'.repeat(64)}`, value: true },
  ])
  house.tokens.forget(parent.accessor)
  const { tidy } = tidyOf(house)
  await using _closed = tidy

  tidy.start()
  await tidy.idle()

  expect(await recordsOf(house)).toHaveLength(1)
  expect(await house.view.listKeys('child/')).toEqual([])
})

test('a cut-off is swept after a restart, once', async () => {
  await using house = await openTokenHouse()
  const { auth } = await house.login()
  const other = await house.login({ alias: { name: 'bob', metadata: {} } })
  await house.create({}, { caller: await house.lookup(auth.client_token), sudo: false })
  await house.tokens.cutOffs.set([auth.entity_id])
  const { tokens } = await house.restarted()
  const { tidy } = tidyOf(house, tokens)
  await using _closed = tidy

  tidy.resume()
  await tidy.idle()

  expect(await recordsOf(house)).toHaveLength(2)
  expect(await tokens.lookup(other.auth.client_token)).toBeDefined()
  expect(tokens.cutOffs.unswept().size).toBe(0)
  expect(await tokens.lookup(auth.client_token)).toBeUndefined()
})

test('tidy covers a store of several pages completely', async () => {
  await using house = await openTokenHouse()
  for (let number = 0; number < 150; number += 1) await house.login()
  house.mounts.delete(jwtMount.accessor)
  const { tidy } = tidyOf(house)
  await using _closed = tidy

  tidy.start()
  await tidy.idle()

  expect(await recordsOf(house)).toHaveLength(1)
})

test('a clean-up that fails leaves the cut-off to be swept', async () => {
  await using house = await openTokenHouse()
  const { auth } = await house.login()
  await house.tokens.cutOffs.set([auth.entity_id])
  house.house.cleanUpFails = true
  const { tidy } = tidyOf(house)
  await using _closed = tidy

  tidy.start()
  await tidy.idle()
  expect(house.tokens.cutOffs.unswept().size).toBe(1)

  house.house.cleanUpFails = false
  tidy.start()
  await tidy.idle()
  expect(house.tokens.cutOffs.unswept().size).toBe(0)
})

test('a stopped tidy does not start again', async () => {
  await using house = await openTokenHouse()
  const { tidy } = tidyOf(house)
  tidy.startAfresh()
  tidy.startAfresh()

  await tidy[Symbol.asyncDispose]()

  expect(tidy.start()).toBe(false)
})

test('tidy keeps a token that was renewed after its page was read', async () => {
  await using house = await openTokenHouse()
  const caller = await house.lookup((await house.create({ policies: ['web'], ttl: '10s' })).auth.client_token)
  const { tidy } = tidyOf(
    house,
    withStalePages(house, async () => {
      await house.renew(caller, 3600)
      house.clock.advance(60)
    }),
  )
  await using _closed = tidy

  tidy.start()
  await tidy.idle()

  expect(await house.tokens.lookupByAccessor(caller.accessor)).toBeDefined()
})

test('tidy keeps a child that became an orphan after its page was read', async () => {
  await using house = await openTokenHouse()
  const parent = await house.lookup((await house.create({ policies: ['web'] })).auth.client_token)
  const child = (await house.create({}, { caller: parent, sudo: false })).auth
  const { tidy } = tidyOf(
    house,
    withStalePages(house, async () => void (await house.revoker.revokeOrphan(parent.accessor))),
  )
  await using _closed = tidy

  tidy.start()
  await tidy.idle()

  expect(await house.tokens.lookup(child.client_token)).toMatchObject({ parent: '' })
})

/** The tokens of a house, of which something happens between the reading of the first page and the look at it. */
function withStalePages({ tokens }: House, happens: () => Promise<void>): House['tokens'] {
  let pages = 0
  const scan: House['tokens']['scan'] = async (...range) => {
    const page = await tokens.scan(...range)
    pages += 1
    if (pages === 1) await happens()
    return page
  }
  return new Proxy(tokens, {
    get(store, name) {
      if (name === 'scan') return scan
      const member: unknown = Reflect.get(store, name, store)
      return typeof member === 'function' ? member.bind(store) : member
    },
  })
}
