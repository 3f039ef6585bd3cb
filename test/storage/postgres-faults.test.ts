import { describe, expect, test } from 'vitest'
import type { PostgresOptions, PostgresStorage } from '../../src/storage/postgres/postgres.ts'
import { noEvents } from '../../src/storage/storage-events.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { newDatabase, postgresInstallation, query } from '../support/postgres.ts'
import { openPostgresAt } from '../support/postgres-storage.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const never = 2 ** 31 - 1

/** Collects when writes began to fail, with the part of the reason that callers see, and when they worked. */
function collected() {
  const seen: string[] = []
  const writesFail = (reason: string | undefined) => {
    seen.push(reason?.split(':')[0] ?? 'works')
  }
  return { seen, events: { ...noEvents, writesFail } }
}

/** A storage that reaches its database through a proxy, and is quiet unless it is used. */
async function openBehindProxy(options: Partial<PostgresOptions> = {}) {
  const opened = new AsyncDisposableStack()
  const url = await newDatabase()
  const proxy = opened.use(await startCuttingProxy(Number(new URL(url).port)))
  const behind = url.replace(/:\d+\//, `:${proxy.port}/`)
  const quiet = { pollMs: never, notifies: false, ...options }
  const storage = opened.use(await openPostgresAt(behind, quiet))
  return { url, proxy, storage, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

const eventually = async <T>(work: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await work()
    } catch {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

describe('a lost connection', () => {
  test.each<[string, (storage: PostgresStorage) => Promise<unknown>, unknown]>([
    ['a record that must be absent', (storage) => storage.putIfAbsent('b', bytes('b')), true],
    ['an update', (storage) => storage.update('b', () => bytes('b')), undefined],
    ['a batch', (storage) => storage.write([{ key: 'b', value: bytes('b') }]), true],
  ])('after the commit of %s: the write is acknowledged, and done once', async (_, write, answer) => {
    await using given = await openBehindProxy()
    const { storage, proxy } = given
    await storage.putIfAbsent('a', bytes('a'))

    proxy.loseAnswer()

    expect(await write(storage)).toBe(answer)
    expect(await storage.listKeys('')).toEqual(['a', 'b'])
  })

  test('before the commit: the write is repeated, and done once', async () => {
    await using given = await openBehindProxy()
    const { storage, proxy } = given
    await storage.putIfAbsent('a', bytes('a'))

    proxy.loseRequest()

    expect(await storage.putIfAbsent('b', bytes('b'))).toBe(true)
    expect(await storage.listKeys('')).toEqual(['a', 'b'])
  })

  test('is reported once, and so is the first call that works again', async () => {
    const { seen, events } = collected()
    await using given = await openBehindProxy({ events })
    const { storage, proxy } = given
    await storage.putIfAbsent('a', bytes('a'))

    proxy.refuse()
    const failures = await Promise.allSettled([
      storage.get('a'),
      storage.list(''),
      storage.putIfAbsent('b', bytes('b')),
      storage.copies.confirm(),
    ])
    proxy.allow()
    const written = await eventually(() => storage.putIfAbsent('c', bytes('c')))

    expect(failures).toMatchObject(
      failures.map(() => ({ reason: { kind: 'unavailable', message: 'storage is unavailable' } })),
    )
    expect(written).toBe(true)
    expect(seen).toEqual(['storage is unavailable', 'works'])
  })
})

describe('a database', () => {
  test('that is killed and started again keeps what was acknowledged, and works again', async () => {
    const installation = await postgresInstallation()
    await using server = await installation.start()
    await using storage = await openPostgresAt(server.url())
    const acknowledged: string[] = []
    const write = async (key: string) => {
      await storage.putIfAbsent(key, bytes(key))
      acknowledged.push(key)
    }
    const writing = Promise.allSettled(Array.from({ length: 400 }, (_, at) => write(`k/${at}`)))

    await server.kill()
    await writing
    await server.start()
    await eventually(() => write('after'))

    const stored = new Set(await storage.listKeys(''))
    expect(acknowledged.filter((key) => !stored.has(key))).toEqual([])
  })

  test('that becomes read-only serves reads, and writes again once it is over', async () => {
    const { seen, events } = collected()
    const url = await newDatabase()
    await using storage = await openPostgresAt(url, { events })
    await storage.putIfAbsent('a', bytes('a'))
    const name = new URL(url).pathname.slice(1)
    const setReadOnly = async (value: string) => {
      await query(url, `ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`)
      await query(
        url.replace(name, 'postgres'),
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
      )
    }

    await setReadOnly('on')
    const refused = await eventually(async () => {
      await storage.get('a')
      return await storage.putIfAbsent('b', bytes('b')).catch((error: Error) => {
        if (error.message === 'storage is read-only') return error.message
        throw error
      })
    })
    const read = await storage.get('a')
    await query(
      url,
      `BEGIN; SET TRANSACTION READ WRITE; ALTER DATABASE ${name} SET default_transaction_read_only = off; COMMIT`,
    )
    const written = await eventually(() => storage.putIfAbsent('b', bytes('b')))

    expect(refused).toBe('storage is read-only')
    expect(read?.key).toBe('a')
    expect(written).toBe(true)
    expect(seen.at(-1)).toBe('works')
  })

  test('that is a standby is not used until it is promoted', async () => {
    const installation = await postgresInstallation()
    await using primary = await installation.start({ wal_level: 'replica' })
    await using standby = await installation.startStandby(primary)
    const both = primary.url().replace('@', `@127.0.0.1:${standby.port},`)
    await using storage = await openPostgresAt(both)
    await storage.putIfAbsent('a', bytes('a'))
    const replayed = "SELECT 1 FROM records WHERE key = 'a'"
    await eventually(async () => {
      if ((await query(standby.url(), replayed)).length === 0) throw new Error('not yet')
    })

    await primary.kill()
    await expect(storage.putIfAbsent('b', bytes('b'))).rejects.toMatchObject({ kind: 'unavailable' })
    await query(standby.url(), 'SELECT pg_promote()')

    expect(await eventually(() => storage.putIfAbsent('c', bytes('c')))).toBe(true)
    expect((await storage.get('a'))?.key).toBe('a')
  })

  test('with all its connections in use leaves those that are open to work', async () => {
    const installation = await postgresInstallation()
    await using server = await installation.start({ max_connections: 8, superuser_reserved_connections: 0 })
    await using storage = await openPostgresAt(server.url(), { pool: 20, pollMs: never, notifies: false })

    const written = await Promise.all(
      Array.from({ length: 200 }, async (_, at) => {
        await storage.get(`k/${at}`)
        return await storage.update(`k/${at}`, () => bytes('x'))
      }),
    )

    expect(written).toHaveLength(200)
  })
})
