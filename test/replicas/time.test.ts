import { expect, test } from 'vitest'
import { TimeKeeper } from '../../src/core/servers/time-keeper.ts'
import { MachineClock } from '../../src/lib/system/clock.ts'
import { openTestCore } from '../support/open-core.ts'
import { emptyDatabase } from '../support/postgres.ts'
import { openPostgresAt } from '../support/postgres-storage.ts'
import type { TestServer } from '../support/start-server.ts'
import { startTwoServers } from '../support/two-servers.ts'

/** A machine whose clock is wrong, and whose time a test lets pass. */
function aMachine(ahead: number) {
  let passed = 0
  const steady = () => performance.now() + passed
  return {
    clock: new MachineClock({ wall: () => Date.now() + passed + ahead, steady }),
    pass: (ms: number) => {
      passed += ms
    },
  }
}
type Machine = ReturnType<typeof aMachine>

const twoServers = (one: Machine, other: Machine) =>
  startTwoServers({ of: (replica) => ({ clock: (replica === 0 ? one : other).clock }) })

const isValid = async (server: TestServer, token: string) =>
  (await server.as(token).read('auth/token/lookup-self')).status === 200

test('servers whose clocks are 30 s fast and 30 s slow agree on when a token expires', async () => {
  const machines = [aMachine(30_000), aMachine(-30_000)] as const
  await using servers = await twoServers(...machines)
  const { one: fast, other: slow } = servers
  const { auth } = (await fast.root.write('auth/token/create', { ttl: '60s' })).body
  const token = String(auth?.client_token)
  const seen = await Promise.all(
    [fast, slow].map(async (server) => (await server.as(token).read('auth/token/lookup-self')).body.data),
  )
  expect(seen.map((data) => Number(data?.['ttl']))).toEqual([60, 60].map(() => expect.closeTo(60, -0.5)))

  const validity: boolean[][] = []
  for (const seconds of [57, 8]) {
    for (const machine of machines) machine.pass(seconds * 1000)
    validity.push([await isValid(fast, token), await isValid(slow, token)])
  }
  expect(validity).toEqual([
    [true, true],
    [false, false],
  ])
  const { text } = await slow.root.read('/metrics')
  expect(text).toMatch(/^gatehouse_cache_confirmed_age_seconds 0\./m)
  expect(text).toMatch(/^gatehouse_clock_offset_seconds\{source="database"\} -(29\.9|30)/m)
})

test('a server whose clock is far off is not ready', async () => {
  await using servers = await twoServers(aMachine(61_000), aMachine(-59_000))

  const { one, other } = servers
  const ready = await Promise.all([one, other].map((server) => server.anonymous.read('/health/ready')))
  expect(ready.map(({ status, body }) => [status, (body as { status?: string }).status])).toEqual([
    [503, 'clock'],
    [200, 'ready'],
  ])
})

const hour = 3_600_000
const begin = Date.parse('2026-01-01T00:00:00Z')

/** What keeps the time of a server over this database. */
async function aKeeper(database: string, replicaName: string, stepped = 0) {
  await using opened = new AsyncDisposableStack()
  const storage = opened.use(await openPostgresAt(database, { replicaName }))
  const core = opened.use(await openTestCore({ storage, sealKey: Buffer.alloc(32, 7) }))
  let passed = 0
  let set = stepped
  const clock = new MachineClock({ wall: () => begin + passed + set, steady: () => passed })
  let noticed = Promise.withResolvers<void>()
  const keeper = await TimeKeeper.start({
    clock,
    view: core.view,
    settle: async () => {},
    onStep: () => noticed.resolve(),
    onError: () => {},
  })
  opened.use(keeper)
  const held = opened.move()
  return {
    clock,
    /** Resolves when the server has noticed a step. */
    setBack: async (ms: number, afterMs: number) => {
      noticed = Promise.withResolvers<void>()
      passed += afterMs
      clock.now()
      set -= ms
      passed += 200
      clock.now()
      await noticed.promise
    },
    confirm: () => storage.copies.confirm(),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

test('a step back of the time of all servers is stored once, so that tokens can refer to it by number', async () => {
  await using emptied = await emptyDatabase()
  const database = emptied.url
  await using one = await aKeeper(database, 'one')
  await using other = await aKeeper(database, 'other')
  await one.setBack(hour, 1_000)
  await other.confirm()
  expect([one.clock.stepsBack.length, other.clock.stepsBack]).toEqual([1, one.clock.stepsBack])
  expect(other.clock.now()).toBe(begin)

  await other.setBack(hour, 9_000)
  await one.confirm()
  await using third = await aKeeper(database, 'third', -hour)
  expect([one, other, third].map(({ clock }) => clock.stepsBack)).toEqual(Array(3).fill(one.clock.stepsBack))
  expect(one.clock.stepsBack).toHaveLength(1)

  await other.setBack(hour, 1_000)
  await one.confirm()
  expect([one.clock.stepsBack.length, one.clock.stepsBack]).toEqual([2, other.clock.stepsBack])
})
