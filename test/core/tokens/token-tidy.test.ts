import { expect, test } from 'vitest'
import { Jobs } from '../../../src/core/jobs/jobs.ts'
import { TokenTidy } from '../../../src/core/tokens/end/token-tidy.ts'
import { quietLog } from '../../support/start-server.ts'
import { jwtMount, openTokenFixture } from '../../support/token-fixture.ts'

type Fixture = Awaited<ReturnType<typeof openTokenFixture>>

function tidyOf(fixture: Fixture, tokens = fixture.tokens) {
  const logged: object[] = []
  const log = {
    info: (fields: object) => void logged.push(fields),
    error: (fields: object) => void logged.push(fields),
  }
  return {
    tidy: new TokenTidy({
      tokens,
      revoker: fixture.revoker,
      view: fixture.view,
      log,
      job: new Jobs({ shared: undefined, clock: fixture.clock, log: quietLog }).job('token-tidy'),
      endBatchLeases: async () => {},
    }),
    logged,
  }
}

const recordsOf = (fixture: Fixture) => fixture.view.listKeys('token/')

test('tidy deletes the tokens of a disabled mount with their descendants, and keeps valid ones', async () => {
  await using fixture = await openTokenFixture()
  const before = await recordsOf(fixture)
  const login = await fixture.login({ policies: ['web'] })
  const caller = await fixture.lookup(login.auth.client_token)
  await fixture.create({}, { caller, sudo: false })
  const good = await fixture.create({ policies: ['web'] })
  fixture.mounts.delete(jwtMount.accessor)
  const { tidy, logged } = tidyOf(fixture)
  await using _closed = tidy

  expect(tidy.start()).toBe(true)
  expect(tidy.start()).toBe(false)
  await tidy.idle()

  expect(await recordsOf(fixture)).toHaveLength(before.length + 1)
  expect(await fixture.tokens.lookup(good.auth.client_token)).toBeDefined()
  expect(fixture.revoked).toHaveLength(2)
  expect(logged).toMatchObject([{ event: 'token_tidy', failed: 0 }])
})

test('tidy deletes tokens whose parent is missing, and dangling rows', async () => {
  await using fixture = await openTokenFixture()
  const parent = await fixture.lookup((await fixture.create({ policies: ['web'] })).auth.client_token)
  await fixture.create({}, { caller: parent, sudo: false })
  const hash = fixture.tokens.keys.hashOf(parent.accessor)
  await fixture.view.write([
    { key: `token/${hash}`, value: undefined },
    { key: `child/${'0'.repeat(64)}/${'1'.repeat(64)}`, value: true },
  ])
  fixture.tokens.forget(hash)
  const { tidy } = tidyOf(fixture)
  await using _closed = tidy

  tidy.start()
  await tidy.idle()

  expect(await recordsOf(fixture)).toHaveLength(1)
  expect(await fixture.view.listKeys('child/')).toEqual([])
})

test('a cut-off is swept after a restart, once', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login()
  const other = await fixture.login({ alias: { name: 'bob', metadata: {} } })
  await fixture.create({}, { caller: await fixture.lookup(auth.client_token), sudo: false })
  await fixture.tokens.cutOffs.set([auth.entity_id])
  const { tokens } = await fixture.restarted()
  const { tidy } = tidyOf(fixture, tokens)
  await using _closed = tidy

  tidy.begin()
  await tidy.idle()

  expect(await recordsOf(fixture)).toHaveLength(2)
  expect(await tokens.lookup(other.auth.client_token)).toBeDefined()
  expect(tokens.cutOffs.unswept().size).toBe(0)
  expect(await tokens.lookup(auth.client_token)).toBeUndefined()
})

test('tidy covers a store of several pages completely', async () => {
  await using fixture = await openTokenFixture()
  for (let number = 0; number < 150; number += 1) await fixture.login()
  fixture.mounts.delete(jwtMount.accessor)
  const { tidy } = tidyOf(fixture)
  await using _closed = tidy

  tidy.start()
  await tidy.idle()

  expect(await recordsOf(fixture)).toHaveLength(1)
})

test('a clean-up that fails leaves the cut-off to be swept', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login()
  await fixture.tokens.cutOffs.set([auth.entity_id])
  fixture.fixture.cleanUpFails = true
  const { tidy } = tidyOf(fixture)
  await using _closed = tidy

  tidy.start()
  await tidy.idle()
  expect(fixture.tokens.cutOffs.unswept().size).toBe(1)

  fixture.fixture.cleanUpFails = false
  tidy.start()
  await tidy.idle()
  expect(fixture.tokens.cutOffs.unswept().size).toBe(0)
})

test('a stopped tidy does not start again', async () => {
  await using fixture = await openTokenFixture()
  const { tidy } = tidyOf(fixture)
  tidy.startAfresh()
  tidy.startAfresh()

  await tidy[Symbol.asyncDispose]()

  expect(tidy.start()).toBe(false)
})

test('tidy keeps a token that was renewed after its page was read', async () => {
  await using fixture = await openTokenFixture()
  const caller = await fixture.lookup(
    (await fixture.create({ policies: ['web'], ttl: '10s' })).auth.client_token,
  )
  const { tidy } = tidyOf(
    fixture,
    withStalePages(fixture, async () => {
      await fixture.renew(caller, 3600)
      fixture.clock.advance(60)
    }),
  )
  await using _closed = tidy

  tidy.start()
  await tidy.idle()

  expect(await fixture.tokens.lookupByAccessor(caller.accessor)).toBeDefined()
})

test('tidy keeps a child that became an orphan after its page was read', async () => {
  await using fixture = await openTokenFixture()
  const parent = await fixture.lookup((await fixture.create({ policies: ['web'] })).auth.client_token)
  const child = (await fixture.create({}, { caller: parent, sudo: false })).auth
  const { tidy } = tidyOf(
    fixture,
    withStalePages(fixture, async () => void (await fixture.revoker.revokeOrphan(parent.accessor))),
  )
  await using _closed = tidy

  tidy.start()
  await tidy.idle()

  expect(await fixture.tokens.lookup(child.client_token)).toMatchObject({ parent: '' })
})

/** The tokens of a fixture, with a change between the reading of the first page and its processing. */
function withStalePages({ tokens }: Fixture, happens: () => Promise<void>): Fixture['tokens'] {
  let isFirst = true
  const pages: Fixture['tokens']['pages'] = async function* (...walk) {
    for await (const page of tokens.pages(...walk)) {
      if (isFirst) await happens()
      isFirst = false
      yield page
    }
  }
  return new Proxy(tokens, {
    get(store, name) {
      if (name === 'pages') return pages
      const member: unknown = Reflect.get(store, name, store)
      return typeof member === 'function' ? member.bind(store) : member
    },
  })
}
