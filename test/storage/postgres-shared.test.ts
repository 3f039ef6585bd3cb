import { describe, expect, test } from 'vitest'
import type { PostgresStorage } from '../../src/storage/postgres/postgres.ts'
import { fenced } from '../../src/storage/shared-storage.ts'
import { keep, type Storage } from '../../src/storage/storage.ts'
import { noEvents } from '../../src/storage/storage-events.ts'
import { emptyDatabase, newDatabase, query } from '../support/postgres.ts'
import { openPostgresAt } from '../support/postgres-storage.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (value: Uint8Array | undefined) =>
  value === undefined ? undefined : new TextDecoder().decode(value)
const increment = (current: Uint8Array | undefined) => bytes(String(Number(text(current) ?? 0) + 1))

/** Never, so that only `confirm` reads what has changed. */
const never = 2 ** 31 - 1

type Shared = AsyncDisposable & {
  readonly url: string
  readonly one: PostgresStorage
  readonly two: PostgresStorage
  /** The monotonic clock of `two`. */
  readonly clock: { now: number }
}

/** Two servers' storages over one database. The second hears of changes only when it asks. */
async function openTwo(): Promise<Shared> {
  const opened = new AsyncDisposableStack()
  const { url } = opened.use(await emptyDatabase())
  const clock = { now: 0 }
  const one = opened.use(await openPostgresAt(url, { replicaName: 'one' }))
  const two = opened.use(
    await openPostgresAt(url, {
      replicaName: 'two',
      notifies: false,
      pollMs: never,
      steady: () => clock.now,
    }),
  )
  return { url, one, two, clock, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

describe('two servers over one database', () => {
  test('count each update of one key', async () => {
    await using shared = await openTwo()
    const storages = [shared.one, shared.two]

    await Promise.all(Array.from({ length: 80 }, (_, at) => storages[at % 2]?.update('n', increment)))

    expect(text((await shared.one.get('n'))?.value)).toBe('80')
  })

  test('let one of all callers take a record, create it, or replace a revision', async () => {
    await using shared = await openTwo()
    const everywhere = async <T>(step: (storage: Storage, at: number) => Promise<T>) =>
      await Promise.all(
        Array.from({ length: 20 }, (_, at) => step(at % 2 === 0 ? shared.one : shared.two, at)),
      )

    const created = await everywhere((storage, at) =>
      storage.write([{ key: 'a', value: bytes(String(at)), expect: 'absent' }]),
    )
    const revision = (await shared.one.get('a'))?.revision ?? 0
    const replaced = await everywhere((storage) =>
      storage.write([{ key: 'a', value: bytes('x'), expect: revision }]),
    )
    const taken = await everywhere(async (storage) => {
      let found: Uint8Array | undefined
      await storage.update('a', (current) => {
        found = current
        return current === undefined ? keep : undefined
      })
      return found
    })

    expect([created, replaced].map((results) => results.filter(Boolean).length)).toEqual([1, 1])
    expect(taken.filter((record) => record !== undefined)).toHaveLength(1)
  })

  test('write batches with the same keys in another order', async () => {
    await using shared = await openTwo()
    const keys = Array.from({ length: 20 }, (_, at) => `k/${at}`)
    const batch = (names: readonly string[], value: string) =>
      names.map((key) => ({ key, value: bytes(value) }))

    for (let round = 0; round < 10; round += 1) {
      await Promise.all([
        shared.one.write(batch(keys, 'one')),
        shared.two.write(batch(keys.toReversed(), 'two')),
      ])
      const values = new Set((await shared.one.list('k/')).map(({ value }) => text(value)))
      expect(values.size).toBe(1)
    }
  })
})

describe('copies', () => {
  test('a write is reported to the listeners of its keys, at both servers', async () => {
    await using shared = await openTwo()
    const heard: unknown[] = []
    shared.one.watch('a/', (keys) => void heard.push(['one', keys]))
    shared.two.watch('a/', (keys) => void heard.push(['two', keys]))
    shared.two.watch('b/', (keys) => void heard.push(['b', keys]))

    await shared.one.write([
      { key: 'a/1', value: bytes('x') },
      { key: 'a/"2", {}\\ é', value: bytes('x') },
      { key: 'c', value: bytes('x') },
    ])
    await shared.two.copies.confirm()
    await shared.one.copies.confirm()

    const keys = ['a/1', 'a/"2", {}\\ é']
    expect(heard).toEqual(
      expect.arrayContaining([
        ['two', keys],
        ['one', keys],
      ]),
    )
    expect(heard).toHaveLength(2)
  })

  test('a write of records that nobody copies is not reported', async () => {
    await using shared = await openTwo()
    const heard: unknown[] = []
    shared.two.watch('', (keys) => void heard.push(keys))

    await shared.one.write([{ key: 'a', value: bytes('x'), isUncopied: true }])
    await shared.one.update('b', increment, { isUncopied: true })
    await shared.one.update('b', () => undefined, { isUncopied: true })
    await shared.one.deletePrefix('a', { isUncopied: true })
    await shared.two.copies.confirm()

    expect(heard).toEqual([])
  })

  test('many keys, and a deleted prefix, are reported as any key under it', async () => {
    await using shared = await openTwo()
    const heard: unknown[] = []
    const removers = ['p/1', 'p/', 'q/'].map((prefix) =>
      shared.two.watch(prefix, (keys) => void heard.push([prefix, keys])),
    )

    await shared.one.write(Array.from({ length: 101 }, (_, at) => ({ key: `p/${at}`, value: bytes('x') })))
    await shared.two.copies.confirm()
    for (const remove of removers) remove()
    await shared.one.deletePrefix('p/')
    await shared.two.copies.confirm()

    expect(heard).toEqual([
      ['p/1', undefined],
      ['p/', undefined],
    ])
  })

  test('copies are current for a second from the moment at which their confirmation began', async () => {
    await using shared = await openTwo()
    const { two, clock } = shared
    await two.copies.confirm()
    const current = (now: number) => {
      clock.now = now
      return two.copies.areCurrent()
    }

    expect([current(999), current(1_000)]).toEqual([true, false])

    two.watch('', () => {
      clock.now += 600
    })
    await shared.one.write([{ key: 'a', value: bytes('x'), expect: 'absent' }])
    await two.copies.confirm()
    expect([two.copies.areCurrent(), current(2_000)]).toEqual([true, false])
  })

  test('copies are not current before the listeners have finished', async () => {
    await using shared = await openTwo()
    const { two, clock } = shared
    const gate = Promise.withResolvers<void>()
    two.watch('a', () => gate.promise)
    await shared.one.write([{ key: 'a', value: bytes('x'), expect: 'absent' }])
    clock.now = 5_000
    let isConfirmed = false
    const confirming = two.copies.confirm().then(() => {
      isConfirmed = true
    })
    // a later read waits for the one before
    const again = two.copies.confirm()
    await shared.one.write([{ key: 'b', value: bytes('x'), expect: 'absent' }])

    expect([isConfirmed, two.copies.areCurrent()]).toEqual([false, false])

    gate.resolve()
    await Promise.all([confirming, again])
    expect(two.copies.areCurrent()).toBe(true)
  })

  test('while a listener takes too long, nothing is confirmed, and it is told again once it has ended', async () => {
    const failures: (string | undefined)[] = []
    const writesFail = (reason: string | undefined) => void failures.push(reason)
    const url = await newDatabase()
    await using storage = await openPostgresAt(url, {
      notifies: false,
      pollMs: never,
      listenerMs: 50,
      events: { ...noEvents, writesFail },
    })
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const heard: unknown[] = []
    storage.watch('secret/a', (keys) => {
      heard.push(keys)
      return gates[heard.length - 1]?.promise
    })
    await storage.write([{ key: 'secret/a', value: bytes('x'), expect: 'absent' }])

    for (const _ of [1, 2])
      await expect(storage.copies.confirm()).rejects.toMatchObject({ kind: 'unavailable' })
    expect(heard).toHaveLength(1)
    gates[0]?.resolve()
    gates[1]?.resolve()
    await expect.poll(() => storage.copies.confirm().then(() => 'confirmed')).toBe('confirmed')

    expect(heard).toEqual([['secret/a'], ['secret/a']])
    expect(failures).toEqual([expect.stringContaining('copies of secret/a were not brought up'), undefined])
  })

  test.each([
    ['has been pruned', 'DELETE FROM changes; UPDATE cache_version SET version = version + 1'],
    ['belongs to another history', "UPDATE changes SET commit_id = 'other'"],
    [
      'is ahead of the database',
      'DELETE FROM changes WHERE version > 1; UPDATE cache_version SET version = 1',
    ],
  ])('anything may have changed if what a server has heard last %s', async (_, statement) => {
    await using shared = await openTwo()
    await shared.one.write([{ key: 'a', value: bytes('x'), expect: 'absent' }])
    await shared.two.copies.confirm()
    const heard: unknown[] = []
    shared.two.watch('z/', (keys) => void heard.push(keys))

    await query(shared.url, statement)
    await shared.two.copies.confirm()

    expect(heard).toEqual([undefined])
  })

  test('a server is answered before its listeners hear of its own write', async () => {
    await using shared = await openTwo()
    const order: string[] = []
    shared.one.watch('a', () => void order.push('heard'))

    for (let round = 0; round < 20; round += 1) {
      const written = shared.one.update('a', increment).then(() => order.push('answered'))
      await Promise.all([written, shared.one.copies.confirm()])
      await shared.one.copies.confirm()
    }

    const firstHeard = order.map((event, at) => [event, at] as const).filter(([event]) => event === 'heard')
    expect(firstHeard.length).toBeGreaterThan(0)
    for (const [, at] of firstHeard)
      expect(order.slice(0, at).filter((event) => event === 'answered').length).toBeGreaterThan(
        order.slice(0, at).filter((event) => event === 'heard').length,
      )
  })

  test('a notification reaches a server that polls rarely', async () => {
    await using shared = await openTwo()
    await using third = await openPostgresAt(shared.url, { replicaName: 'three', pollMs: never })
    const heard = Promise.withResolvers<unknown>()
    third.watch('a', (keys) => heard.resolve(keys))

    await shared.one.write([{ key: 'a', value: bytes('x'), expect: 'absent' }])

    expect(await heard.promise).toEqual(['a'])
  })

  test('confirmedByAll waits until the listeners of every server have finished', async () => {
    await using shared = await openTwo()
    const gate = Promise.withResolvers<void>()
    await using third = await openPostgresAt(shared.url, { replicaName: 'three' })
    third.watch('a', () => gate.promise)
    await shared.one.write([{ key: 'a', value: bytes('x'), expect: 'absent' }])
    const order: string[] = []
    const all = shared.one.confirmedByAll().then(() => order.push('all'))
    await shared.two.copies.confirm()
    order.push('opened')

    gate.resolve()
    await all

    expect(order).toEqual(['opened', 'all'])
  })

  test('confirmedByAll ends without a server whose listener hangs, which writes nothing until it has ended', async () => {
    const url = await newDatabase()
    const gate = Promise.withResolvers<void>()
    await using hung = await openPostgresAt(url, { replicaName: 'hung', listenerMs: 50 })
    hung.watch('a', () => gate.promise)
    await using waiting = await openPostgresAt(url, { replicaName: 'waiting', listenerMs: 50 })
    await waiting.write([{ key: 'a', value: bytes('x'), expect: 'absent' }])

    await waiting.confirmedByAll()

    await expect(hung.write([{ key: 'b', value: bytes('x'), expect: 'absent' }])).rejects.toMatchObject({
      kind: 'unavailable',
    })
    gate.resolve()
    await expect
      .poll(() =>
        hung
          .write([{ key: 'b', value: bytes('x'), expect: 'absent' }])
          .catch((error: Error) => error.message),
      )
      .toBe(true)
  })
})

describe('the right to a job', () => {
  test('is taken in one statement with those that are asked for at the same time', async () => {
    await using shared = await openTwo()
    const { one, two, url } = shared
    const taken = await two.holdJob('b', 10_000)

    const held = await Promise.all(['c', 'b', 'a'].map((job) => one.holdJob(job, 10_000)))

    expect(held).toEqual([
      { job: 'c', epoch: expect.any(Number) },
      undefined,
      { job: 'a', epoch: expect.any(Number) },
    ])
    expect(taken).toMatchObject({ job: 'b' })
    const ofOne = `SELECT DISTINCT xmin::text FROM jobs WHERE replica = '${one.replicaId}'`
    expect(await query(url, ofOne)).toHaveLength(1)
  })

  test('is held by one server, and a write without it is refused', async () => {
    await using shared = await openTwo()
    const { one, two, url } = shared
    const first = await one.holdJob('sweep', 10_000)
    const kept = await one.holdJob('sweep', 10_000)
    const refused = await two.holdJob('sweep', 10_000)
    if (first === undefined) throw new Error('the job is free')
    await fenced(first, () => one.update('done', increment))
    await query(url, "UPDATE jobs SET until = now() - interval '1 second'")
    const second = await two.holdJob('sweep', 10_000)
    if (second === undefined) throw new Error('the lease has ended')

    await expect(fenced(first, () => one.update('done', increment))).rejects.toMatchObject({
      kind: 'unavailable',
    })
    await fenced(second, () => two.write([{ key: 'done/2', value: bytes('x'), expect: 'absent' }]))

    expect([kept, refused]).toEqual([first, undefined])
    expect(second.epoch).toBeGreaterThan(first.epoch)
    expect(text((await one.get('done'))?.value)).toBe('1')
    await one.releaseJob(first)
    expect(await two.holdJob('sweep', 10_000)).toEqual(second)
    await two.releaseJob(second)
    expect((await one.holdJob('sweep', 10_000))?.epoch).toBeGreaterThan(second.epoch)
  })
})

test('a job that nobody has done for ten minutes leaves no row; who held it then may still not write', async () => {
  await using shared = await openTwo()
  const { one, two, url, clock } = shared
  const first = await one.holdJob('turn/a', 10_000)
  const used = await one.holdJob('turn/b', 10_000)
  if (first === undefined || used === undefined) throw new Error('the job is free')
  await query(url, "UPDATE jobs SET until = now() - interval '11 minutes' WHERE name = 'turn/a'")
  await one.releaseJob(used)

  clock.now = 40_000
  await two.copies.confirm()

  const names = async () => (await query(url, 'SELECT name FROM jobs')).map(({ name }) => name)
  await expect.poll(names).toEqual(['turn/b'])
  const second = await two.holdJob('turn/a', 10_000)
  expect(second?.epoch).toBeGreaterThan(first.epoch)
  const late = fenced(first, () => one.write([{ key: 'a', value: bytes('x'), expect: 'absent' }]))
  await expect(late).rejects.toMatchObject({ kind: 'unavailable' })
})

describe('registration', () => {
  test('each server is listed while it runs', async () => {
    await using shared = await openTwo()
    await using third = await openPostgresAt(shared.url, { replicaName: 'three' })
    const before = await shared.one.replicas()
    await third[Symbol.asyncDispose]()

    expect(before.map(({ name }) => name)).toEqual(['one', 'three', 'two'])
    expect((await shared.one.replicas()).map(({ id }) => id)).toEqual([
      shared.one.replicaId,
      shared.two.replicaId,
    ])
  })

  test('a name that a running server has is refused', async () => {
    await using shared = await openTwo()

    await expect(openPostgresAt(shared.url, { replicaName: 'one' })).rejects.toMatchObject({
      exitCode: 2,
      message: 'GATEHOUSE_REPLICA_NAME: another server that is running is called one',
    })
  })

  test('a server whose row was deleted writes nothing until its copies are current again', async () => {
    await using shared = await openTwo()
    const { one, url } = shared
    await one.write([{ key: 'a', value: bytes('1'), expect: 'absent' }])
    const heard = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    one.watch('a', (keys) => {
      if (keys !== undefined) return
      heard.resolve()
      return gate.promise
    })

    await query(url, `DELETE FROM replicas WHERE id = '${one.replicaId}'`)
    await expect(one.write([{ key: 'b', value: bytes('1'), expect: 'absent' }])).rejects.toMatchObject({
      kind: 'unavailable',
    })
    await heard.promise
    await expect(one.write([{ key: 'c', value: bytes('1'), expect: 'absent' }])).rejects.toMatchObject({
      kind: 'unavailable',
    })
    expect(one.copies.areCurrent()).toBe(false)
    gate.resolve()
    await expect
      .poll(() => one.write([{ key: 'd', value: bytes('1'), expect: 'absent' }]).catch(() => undefined))
      .toBe(true)

    expect(await one.listKeys('')).toEqual(['a', 'd'])
    expect(one.copies.areCurrent()).toBe(true)
  })

  test('five servers may start at once on an empty database', async () => {
    const url = await newDatabase()
    await using opened = new AsyncDisposableStack()

    const storages = await Promise.all(
      Array.from({ length: 5 }, async (_, at) =>
        opened.use(await openPostgresAt(url, { replicaName: `r${at}` })),
      ),
    )

    const created = await Promise.all(
      storages.map((storage) => storage.write([{ key: 'first', value: bytes('x'), expect: 'absent' }])),
    )
    expect(created.filter(Boolean)).toHaveLength(1)
  })
})

test('the time is that of the database', async () => {
  await using shared = await openTwo()

  const before = Date.now()
  const time = await shared.one.databaseTime()

  expect(time).toBeGreaterThanOrEqual(before - 1)
  expect(time).toBeLessThanOrEqual(Date.now() + 1)
})
