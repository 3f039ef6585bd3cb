import { expect, test } from 'vitest'
import { EntityCutOffs } from '../../../src/core/tokens/entity-cut-offs.ts'
import { openTokenHouse, otherJwtMount } from '../../support/token-house.ts'

type House = Awaited<ReturnType<typeof openTokenHouse>>

const isValid = async (house: House, id: string) => (await house.tokens.lookup(id)) !== undefined

test('all tokens of an entity end at once, including batch tokens and descendants, and no others', async () => {
  await using house = await openTokenHouse()
  const service = await house.login()
  const batch = await house.login({ tokenType: 'batch' })
  const caller = await house.lookup(service.auth.client_token)
  const child = await house.create({}, { caller, sudo: false })
  const other = await house.login({ alias: { name: 'bob', metadata: {} } })
  const ids = [service, batch, child].map(({ auth }) => auth.client_token)
  for (const id of ids) expect(await isValid(house, id)).toBe(true)

  await house.tokens.cutOffs.set([service.auth.entity_id])

  for (const id of ids) expect(await isValid(house, id)).toBe(false)
  expect(await house.tokens.lookupByAccessor(service.auth.accessor)).toBeUndefined()
  expect(await isValid(house, other.auth.client_token)).toBe(true)
})

test('a login after a cut-off gets a valid token until the next cut-off, whatever the clock says', async () => {
  await using house = await openTokenHouse()
  const first = await house.login()
  await house.tokens.cutOffs.set([first.auth.entity_id])

  const second = await house.login()
  house.clock.advance(-3600)
  const third = await house.login({ tokenType: 'batch' })
  for (const { auth } of [second, third]) expect(await isValid(house, auth.client_token)).toBe(true)

  await house.tokens.cutOffs.set([first.auth.entity_id])
  for (const { auth } of [second, third]) expect(await isValid(house, auth.client_token)).toBe(false)
})

test('a cut-off survives a restart', async () => {
  await using house = await openTokenHouse()
  const { auth } = await house.login()
  await house.tokens.cutOffs.set([auth.entity_id])

  const { tokens } = await house.restarted()

  expect(await tokens.lookup(auth.client_token)).toBeUndefined()
  expect([...tokens.cutOffs.unswept().keys()]).toEqual([auth.entity_id])
})

test('no token issued before a cut-off is answered survives it, however many log in meanwhile', async () => {
  await using house = await openTokenHouse()
  const { auth } = await house.login()
  const made: string[] = []
  let isSet = false
  const logins = Array.from({ length: 20 }, async () => {
    while (!isSet) {
      const login = await house.login()
      if (!isSet) made.push(login.auth.client_token)
    }
  })

  await Promise.all(Array.from({ length: 3 }, () => house.tokens.cutOffs.set([auth.entity_id])))
  isSet = true

  for (const id of made) expect(await isValid(house, id)).toBe(false)
  await Promise.all(logins)
  expect(await isValid(house, (await house.login()).auth.client_token)).toBe(true)
})

test('a cut-off that could not be written still applies on this server', async () => {
  await using house = await openTokenHouse()
  const failing = { ...house.view, list: async () => [], update: () => Promise.reject(new Error('no storage')) }
  const cutOffs = await EntityCutOffs.open(failing)

  await expect(cutOffs.set(['someone'])).rejects.toThrow('no storage')

  expect(cutOffs.of('someone')).toBeGreaterThan(cutOffs.ofNewToken('someone'))
})

test('more cut-offs than fit a page are read', async () => {
  await using house = await openTokenHouse()
  await house.tokens.cutOffs.set(Array.from({ length: 1500 }, (_one, at) => `entity-${at}`))

  const { tokens } = await house.restarted()

  expect(tokens.cutOffs.unswept().size).toBe(1500)
  await tokens.cutOffs.markSwept(tokens.cutOffs.unswept())
  expect((await house.restarted()).tokens.cutOffs.unswept().size).toBe(0)
})

test('a cut-off set during a sweep stays for the next sweep', async () => {
  await using house = await openTokenHouse()
  const { cutOffs } = house.tokens
  await cutOffs.set(['a', 'b'])
  const before = cutOffs.unswept()

  await cutOffs.set(['b'])
  await cutOffs.markSwept(before)

  expect([...cutOffs.unswept().keys()]).toEqual(['b'])
  expect([...(await house.restarted()).tokens.cutOffs.unswept().keys()]).toEqual(['b'])
})

test('an entity of another mount is another person', async () => {
  await using house = await openTokenHouse()
  const here = await house.login()
  const there = await house.login({}, otherJwtMount)

  await house.tokens.cutOffs.set([here.auth.entity_id])

  expect(await isValid(house, there.auth.client_token)).toBe(true)
})
