import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { type Failure, StorageFaults } from '../../src/storage/faults.ts'
import { openMemory, openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { noEvents } from '../../src/storage/storage-events.ts'
import { damagePageOf } from '../support/damaged-page.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { describeStorage, type StorageUnderTest } from './contract.ts'

async function openTemporarySqlite(): Promise<StorageUnderTest> {
  const opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder())
  const faults = new StorageFaults()
  const path = folder.file('gatehouse.db')
  const storage = opened.use(await openSqlite({ path, faults }))
  return {
    storage,
    failNextCommit: () => faults.arm('storage.before-commit', 'full'),
    reopen: async () => {
      await storage[Symbol.asyncDispose]()
      return opened.use(await openSqlite({ path }))
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function openTemporaryMemory(): Promise<StorageUnderTest> {
  const faults = new StorageFaults()
  const storage = await openMemory({ faults })
  return {
    storage,
    failNextCommit: () => faults.arm('storage.before-commit', 'full'),
    reopen: undefined,
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}

describeStorage('sqlite', openTemporarySqlite)
describeStorage('memory', openTemporaryMemory)

const value = (text: string) => Buffer.from(text)

describe('the SQLite file', () => {
  test('is created, readable only by its owner, like all files beside it', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')
    await using storage = await openSqlite({ path })
    await storage.update('a', () => value('x'))

    const modes = await Promise.all(
      ['', '-wal', '-shm', '.lock'].map(async (suffix) => (await stat(path + suffix)).mode & 0o777),
    )

    expect(modes).toEqual([0o600, 0o600, 0o600, 0o600])
  })

  test('can be read by another program while the server uses it', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')
    await using storage = await openSqlite({ path })
    await storage.update('a', () => value('x'))

    const reading = new Database(path, { readonly: true })
    const keys = reading.prepare('SELECT key FROM records').pluck().all()
    reading.close()

    expect(keys).toEqual(['a'])
  })

  test('is complete without its log after a stop, also while another program has it open', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')
    const storage = await openSqlite({ path })
    await storage.update('a', () => value('x'))
    const reading = new Database(path, { readonly: true })
    const keys = reading.prepare('SELECT key FROM records').pluck()
    keys.all()

    await storage[Symbol.asyncDispose]()

    expect((await stat(`${path}-wal`)).size).toBe(0)
    expect(keys.all()).toEqual(['a'])
    reading.close()
  })

  test.each([
    [
      'some other text',
      async (path: string) => writeFile(path, 'not a database, but long enough to be looked at'.repeat(40)),
    ],
    [
      'the database of another program',
      async (path: string) => void new Database(path).exec('CREATE TABLE other (id INTEGER)').close(),
    ],
  ])('is refused and left unchanged if it is %s', async (_, make) => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')
    await make(path)
    const before = await readFile(path)

    await expect(openSqlite({ path })).rejects.toMatchObject({
      exitCode: 2,
      message: `cannot open ${path}: not a Gatehouse database`,
    })

    expect(Buffer.compare(await readFile(path), before)).toBe(0)
  })

  test('is refused with the reason if its folder cannot be created', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.file('plain'), '')
    const path = folder.file('plain/gatehouse.db')

    await expect(openSqlite({ path })).rejects.toMatchObject({
      exitCode: 2,
      message: `cannot open ${path}: ENOTDIR`,
    })
  })
})

describe('the SQLite writer', () => {
  test.each<[Failure, string]>([
    ['full', 'storage is full'],
    ['read-only', 'storage is read-only'],
    ['io', 'storage is unavailable'],
  ])(
    'reports a %s disk as "%s", keeps serving reads, and writes again once that is over',
    async (failure, message) => {
      await using folder = await temporaryFolder()
      const faults = new StorageFaults()
      await using storage = await openSqlite({ path: folder.file('gatehouse.db'), faults })
      await storage.update('a', () => value('before'))
      faults.arm('storage.before-commit', failure)

      await expect(storage.update('a', () => value('lost'))).rejects.toMatchObject({
        kind: 'unavailable',
        message,
      })
      expect((await storage.get('a'))?.value.toString()).toBe('before')
      await storage.update('a', (current) => Buffer.concat([current ?? value(''), value(' and after')]))

      expect((await storage.get('a'))?.value.toString()).toBe('before and after')
      expect(storage.stats()).toMatchObject({ commits: 2, failedCommits: 1 })
    },
  )

  test('reports once for each reason why writes fail, and when they work again', async () => {
    await using folder = await temporaryFolder()
    const faults = new StorageFaults()
    const told: (string | undefined)[] = []
    const events = { ...noEvents, writesFail: (reason: string | undefined) => void told.push(reason) }
    await using storage = await openSqlite({ path: folder.file('gatehouse.db'), faults, events })
    await storage.update('a', () => value('before'))
    for (const failure of ['full', 'full', 'read-only'] as const) {
      faults.arm('storage.before-commit', failure)
      await expect(storage.update('a', () => value('lost'))).rejects.toThrow('storage is')
    }
    await storage.update('a', () => value('after'))
    await storage.update('a', () => value('later'))

    expect(told).toEqual(['storage is full', 'storage is read-only', undefined])
  })

  test.each([
    { point: 'storage.before-commit', outcome: 'rejected', stored: undefined },
    { point: 'storage.after-commit', outcome: 'fulfilled', stored: 'first' },
  ] as const)(
    'knows whether the write happened if its thread ends at $point, and continues in a new thread',
    async ({ point, outcome, stored }) => {
      await using folder = await temporaryFolder()
      const faults = new StorageFaults()
      await using storage = await openSqlite({ path: folder.file('gatehouse.db'), faults })
      faults.arm(point, 'end-thread')

      const [first] = await Promise.allSettled([storage.update('a', () => value('first'))])
      const seen = (await storage.get('a'))?.value.toString()
      await storage.update('b', () => value('second'))

      expect(first.status).toBe(outcome)
      expect(seen).toBe(stored)
      expect((await storage.get('b'))?.value.toString()).toBe('second')
    },
  )

  test('knows that a write which keeps its revision did not happen if its thread ends before the commit', async () => {
    await using folder = await temporaryFolder()
    const faults = new StorageFaults()
    await using storage = await openSqlite({ path: folder.file('gatehouse.db'), faults })
    await storage.update('a', () => value('first'))
    const expected = (await storage.get('a'))?.revision ?? 0
    faults.arm('storage.before-commit', 'end-thread')

    const lost = storage.write([{ key: 'a', value: value('second'), expect: expected, keepsRevision: true }])

    await expect(lost).rejects.toMatchObject({ kind: 'unavailable' })
    expect((await storage.get('a'))?.value.toString()).toBe('first')
  })

  test('commits the steps of one event loop turn together', async () => {
    await using folder = await temporaryFolder()
    await using storage = await openSqlite({ path: folder.file('gatehouse.db') })

    await Promise.all(
      Array.from({ length: 32 }, (_, index) => storage.update(`n/${index}`, () => value('x'))),
    )

    expect(storage.stats()).toMatchObject({ commits: 1, steps: 32 })
  })

  test('commits what waited before the callers of the last commit go on', async () => {
    await using folder = await temporaryFolder()
    const faults = new StorageFaults()
    await using storage = await openSqlite({ path: folder.file('gatehouse.db'), faults })
    const order: string[] = []
    faults.arm('storage.before-commit', 'hang')
    const first = storage.update('a', () => value('x')).then(() => order.push('a is durable'))
    await nextTurn()
    const second = storage.update('b', () => {
      order.push('b is decided')
      return value('x')
    })
    faults.disarm('storage.before-commit')
    await Promise.all([first, second])

    expect(order).toEqual(['b is decided', 'a is durable'])
    expect(storage.stats()).toMatchObject({ commits: 2 })
  })

  test('splits a burst into groups of limited size', async () => {
    await using folder = await temporaryFolder()
    await using storage = await openSqlite({ path: folder.file('gatehouse.db') })

    await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => storage.update(`n/${index}`, () => value('x'))),
    )

    expect(storage.stats()).toMatchObject({ commits: 4, steps: 1_000 })
  })

  test('keeps the log small with checkpoints between commits', async () => {
    await using folder = await temporaryFolder()
    await using storage = await openSqlite({ path: folder.file('gatehouse.db'), logGoalBytes: 64 * 1024 })
    const large = Buffer.alloc(32 * 1024)

    // a checkpoint follows the answer, and on one core the next write may come first
    const writeMore = async () => {
      await storage.update('n', () => large)
      return storage.stats()
    }
    for (let index = 0; index < 40; index += 1) await writeMore()
    await expect.poll(async () => (await writeMore()).checkpoints, { timeout: 10_000 }).toBeGreaterThan(5)
    await expect.poll(async () => (await writeMore()).logBytes, { timeout: 10_000 }).toBeLessThan(256 * 1024)
  })

  test('continues when a checkpoint fails', async () => {
    await using folder = await temporaryFolder()
    const faults = new StorageFaults()
    await using storage = await openSqlite({
      path: folder.file('gatehouse.db'),
      logGoalBytes: 64 * 1024,
      faults,
    })
    const large = Buffer.alloc(32 * 1024)
    faults.arm('storage.checkpoint', 'io')

    for (let index = 0; index < 20; index += 1) await storage.update(`n/${index}`, () => large)

    expect(await storage.listKeys('n/')).toHaveLength(20)
    const afterNextWrite = async () => {
      await storage.update('n/0', () => large)
      return storage.stats().checkpoints
    }
    await expect.poll(afterNextWrite, { timeout: 10_000 }).toBeGreaterThan(1)
  })

  test('reports a growing log each time it has doubled, and when it is small again', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')
    const told: (number | undefined)[] = []
    const events = { ...noEvents, logGrows: (bytes: number | undefined) => void told.push(bytes) }
    await using storage = await openSqlite({ path, logGoalBytes: 16 * 1024, events })
    const large = Buffer.alloc(64 * 1024)
    await storage.update('n', () => large)
    const reading = new Database(path, { readonly: true })
    reading.exec('BEGIN')
    reading.prepare('SELECT count(*) FROM records').get()

    for (let index = 0; index < 20; index += 1) await storage.update(`n/${index}`, () => large)
    const grown = [...told]
    reading.close()
    for (let index = 0; index < 10; index += 1) await storage.update(`n/${index}`, () => Buffer.alloc(1))

    const [first = 0, second = 0, third = 0] = grown
    expect(grown).toHaveLength(3)
    expect([first >= 256 * 1024, second >= 2 * first, third >= 2 * second]).toEqual([true, true, true])
    expect(told).toEqual([...grown, undefined])
  })

  test('refuses writes once a long reader elsewhere has let the log exceed its limit, and accepts them when the reader is gone', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')
    await using storage = await openSqlite({ path, logGoalBytes: 64 * 1024, logLimitBytes: 512 * 1024 })
    const large = Buffer.alloc(64 * 1024)
    await storage.update('n', () => large)
    const reading = new Database(path, { readonly: true })
    reading.exec('BEGIN')
    reading.prepare('SELECT count(*) FROM records').get()

    const writeMany = async () => {
      for (let index = 0; index < 40; index += 1) await storage.update(`n/${index}`, () => large)
    }
    await expect(writeMany()).rejects.toMatchObject({
      kind: 'unavailable',
      message:
        'storage is full: the write-ahead log has reached its limit of 0.5 MiB, because another program keeps reading the database',
    })
    const logBytes = storage.stats().logBytes
    reading.close()
    await writeMany()

    expect(logBytes).toBeLessThan(1024 * 1024)
    expect(await storage.listKeys('n/')).toHaveLength(40)
  })
})

describe('a damaged or replaced database file', () => {
  test('makes a write to a damaged page fail with 500, and later writes are refused', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')
    await using filled = await openSqlite({ path })
    for (let index = 0; index < 40; index += 1)
      await filled.update(`n/${index}`, () => Buffer.alloc(1_000, `${index}/`))
    await filled[Symbol.asyncDispose]()
    const key = damagePageOf(path, 'n/20')
    const kinds: string[] = []
    const events = { ...noEvents, failed: ({ kind }: { kind: string }) => void kinds.push(kind) }
    await using storage = await openSqlite({ path, events })

    await expect(storage.write([{ key, value: value('new') }])).rejects.toMatchObject({
      kind: 'internal',
      message: 'database disk image is malformed',
    })
    await expect(storage.update('other', () => value('x'))).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'storage is unavailable',
    })

    expect(kinds).toEqual(['corrupt', 'corrupt'])
    expect((await storage.get('n/39'))?.value.length).toBe(1_000)
  })

  test('is never opened by the writer if it was put in place of the database', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')
    const faults = new StorageFaults()
    await using storage = await openSqlite({ path, faults })
    await storage.update('a', () => value('x'))
    await writeFile(folder.file('other'), 'another file')
    await rename(folder.file('other'), path)
    faults.arm('storage.before-commit', 'io')
    await expect(storage.update('a', () => value('lost'))).rejects.toThrow('storage is unavailable')

    await expect(storage.update('a', () => value('lost, too'))).rejects.toThrow('storage is unavailable')

    expect(await readFile(path, 'utf8')).toBe('another file')
    expect((await storage.get('a'))?.value.toString()).toBe('x')
  })
})
