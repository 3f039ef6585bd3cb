import { expect, test } from 'vitest'
import { EntityCutOffs } from '../../../src/core/tokens/store/entity-cut-offs.ts'
import { openTokenFixture, otherJwtMount } from '../../support/token-fixture.ts'

type Fixture = Awaited<ReturnType<typeof openTokenFixture>>

const isValid = async (fixture: Fixture, id: string) => (await fixture.tokens.lookup(id)) !== undefined

test('all tokens of an entity end at once, including batch tokens and descendants, and no others', async () => {
  await using fixture = await openTokenFixture()
  const service = await fixture.login()
  const batch = await fixture.login({ tokenType: 'batch' })
  const caller = await fixture.lookup(service.auth.client_token)
  const child = await fixture.create({}, { caller, sudo: false })
  const other = await fixture.login({ alias: { name: 'bob', metadata: {} } })
  const ids = [service, batch, child].map(({ auth }) => auth.client_token)
  for (const id of ids) expect(await isValid(fixture, id)).toBe(true)

  await fixture.tokens.cutOffs.set([service.auth.entity_id])

  for (const id of ids) expect(await isValid(fixture, id)).toBe(false)
  expect(await fixture.tokens.lookupByAccessor(service.auth.accessor)).toBeUndefined()
  expect(await isValid(fixture, other.auth.client_token)).toBe(true)
})

test('a login after a cut-off gets a valid token until the next cut-off, whatever the clock says', async () => {
  await using fixture = await openTokenFixture()
  const first = await fixture.login()
  await fixture.tokens.cutOffs.set([first.auth.entity_id])

  const second = await fixture.login()
  fixture.clock.advance(-3600)
  const third = await fixture.login({ tokenType: 'batch' })
  for (const { auth } of [second, third]) expect(await isValid(fixture, auth.client_token)).toBe(true)

  await fixture.tokens.cutOffs.set([first.auth.entity_id])
  for (const { auth } of [second, third]) expect(await isValid(fixture, auth.client_token)).toBe(false)
})

test('a cut-off survives a restart', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login()
  await fixture.tokens.cutOffs.set([auth.entity_id])

  const { tokens } = await fixture.restarted()

  expect(await tokens.lookup(auth.client_token)).toBeUndefined()
  expect([...tokens.cutOffs.unswept().keys()]).toEqual([auth.entity_id])
})

test('no token issued before the response to a cut-off survives it, however many logins run concurrently', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login()
  const made: string[] = []
  let isSet = false
  const logins = Array.from({ length: 20 }, async () => {
    while (!isSet) {
      const login = await fixture.login()
      if (!isSet) made.push(login.auth.client_token)
    }
  })

  await Promise.all(Array.from({ length: 3 }, () => fixture.tokens.cutOffs.set([auth.entity_id])))
  isSet = true

  for (const id of made) expect(await isValid(fixture, id)).toBe(false)
  await Promise.all(logins)
  expect(await isValid(fixture, (await fixture.login()).auth.client_token)).toBe(true)
})

test('a cut-off with an unknown outcome applies on this server until its record can be read', async () => {
  await using fixture = await openTokenFixture()
  let isDown = true
  const failing = <T>(call: () => Promise<T>) => (isDown ? Promise.reject(new Error('no storage')) : call())
  const { view } = fixture
  const cutOffs = await EntityCutOffs.open({
    ...view,
    async *pages() {},
    watch: () => () => {},
    get: (key) => failing(() => view.get(key)),
    update: (...step) => failing(() => view.update(...step)),
  })

  await expect(cutOffs.set(['someone'])).rejects.toThrow('no storage')
  const afterFailure = [cutOffs.of('someone'), cutOffs.ofNewToken('someone')]
  isDown = false
  await cutOffs.set(['someone'])

  expect(afterFailure).toEqual([1, 0])
  expect([cutOffs.of('someone'), cutOffs.ofNewToken('someone')]).toEqual([1, 1])
})

test('more cut-offs than fit a page are read', async () => {
  await using fixture = await openTokenFixture()
  await fixture.tokens.cutOffs.set(Array.from({ length: 1500 }, (_one, at) => `entity-${at}`))

  const { tokens } = await fixture.restarted()

  expect(tokens.cutOffs.unswept().size).toBe(1500)
  await tokens.cutOffs.markSwept(tokens.cutOffs.unswept())
  expect((await fixture.restarted()).tokens.cutOffs.unswept().size).toBe(0)
})

test('a cut-off set during a sweep stays for the next sweep', async () => {
  await using fixture = await openTokenFixture()
  const { cutOffs } = fixture.tokens
  await cutOffs.set(['a', 'b'])
  const before = cutOffs.unswept()

  await cutOffs.set(['b'])
  await cutOffs.markSwept(before)

  expect([...cutOffs.unswept().keys()]).toEqual(['b'])
  expect([...(await fixture.restarted()).tokens.cutOffs.unswept().keys()]).toEqual(['b'])
})

test('a cut-off does not affect an entity of another mount', async () => {
  await using fixture = await openTokenFixture()
  const here = await fixture.login()
  const there = await fixture.login({}, otherJwtMount)

  await fixture.tokens.cutOffs.set([here.auth.entity_id])

  expect(await isValid(fixture, there.auth.client_token)).toBe(true)
})
