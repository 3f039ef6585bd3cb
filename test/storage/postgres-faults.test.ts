import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import type { PostgresStorage } from '../../src/storage/postgres/postgres.ts'
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

/** For `then`: how a call ended. */
const kindOfAnswer = [() => 'done', ({ kind }: { kind: unknown }) => kind] as const

/** Besides the one for changes. The next call uses the connection of the call before. */
const oneConnection = { pool: 2 }

/** A storage that reaches its database through a proxy, and is quiet unless it is used. */
async function openBehindProxy(options: Parameters<typeof openPostgresAt>[1] = {}) {
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
      await pause(5)
    }
  }
}

describe.concurrent('a lost connection', () => {
  test.each<[string, (storage: PostgresStorage) => Promise<unknown>, unknown]>([
    [
      'a record that must be absent',
      (storage) => storage.write([{ key: 'b', value: bytes('b'), expect: 'absent' }]),
      true,
    ],
    ['an update', (storage) => storage.update('b', () => bytes('b')), undefined],
    ['a batch', (storage) => storage.write([{ key: 'b', value: bytes('b') }]), true],
  ])('after the commit of %s: the write is acknowledged, and done once', async (_, write, answer) => {
    await using given = await openBehindProxy()
    const { storage, proxy } = given
    await storage.write([{ key: 'a', value: bytes('a'), expect: 'absent' }])

    proxy.loseAnswer()

    expect(await write(storage)).toBe(answer)
    expect(await storage.listKeys('')).toEqual(['a', 'b'])
  })

  test('after the commit, to a database that is then gone: the write is refused, and stays done', async ({
    expect,
  }) => {
    await using given = await openBehindProxy(oneConnection)
    const { url, storage, proxy } = given
    await storage.write([{ key: 'a', value: bytes('a') }])

    proxy.holdAnswers()
    const refused = expect(storage.write([{ key: 'b', value: bytes('b') }])).rejects.toMatchObject({
      kind: 'unavailable',
    })
    const written = () => query(url, "SELECT key FROM records WHERE key = 'b'")
    await expect.poll(written).toHaveLength(1)
    proxy.refuse()

    // it looks for the outcome for a while
    await refused
    expect(await written()).toHaveLength(1)
    proxy.giveAnswers()
    proxy.allow()
    expect((await eventually(() => storage.get('b')))?.key).toBe('b')
  })

  test('before the commit: the write is repeated, and done once', async () => {
    await using given = await openBehindProxy()
    const { storage, proxy } = given
    await storage.write([{ key: 'a', value: bytes('a'), expect: 'absent' }])

    proxy.loseRequest()

    expect(await storage.write([{ key: 'b', value: bytes('b'), expect: 'absent' }])).toBe(true)
    expect(await storage.listKeys('')).toEqual(['a', 'b'])
  })

  test.each<[string, (storage: PostgresStorage) => Promise<unknown>, 'unavailable' | 'done']>([
    ['a read', (storage) => storage.get('a'), 'unavailable'],
    ['a confirmation', (storage) => storage.copies.confirm(), 'unavailable'],
    ['a write', (storage) => storage.write([{ key: 'b', value: bytes('b'), expect: 'absent' }]), 'done'],
  ])(
    'that is only silent is given up by %s after the time limit, and another one is opened',
    async (...row) => {
      const [, ask, outcome] = row
      await using given = await openBehindProxy({ statementTimeoutMs: 500, ...oneConnection })
      const { storage, proxy } = given
      await storage.write([{ key: 'a', value: bytes('a'), expect: 'absent' }])

      proxy.silence()
      const asked = await ask(storage).then(...kindOfAnswer)

      expect(asked).toBe(outcome)
      expect((await eventually(() => storage.get('a')))?.key).toBe('a')
    },
  )

  test.each<[string, (storage: PostgresStorage) => Promise<unknown>]>([
    ['a read', (storage) => storage.get('a')],
    ['a write', (storage) => storage.update('a', () => bytes('a'))],
    ['a confirmation', (storage) => storage.copies.confirm()],
  ])('at the moment at which it was opened for %s is not kept: another one is opened', async (...row) => {
    const [, ask] = row
    await using given = await openBehindProxy(oneConnection)
    const { storage, proxy } = given
    await storage.write([{ key: 'a', value: bytes('a'), expect: 'absent' }])

    proxy.refuse()
    proxy.allow()
    const ending = proxy.endOpened()
    const answers = () => ask(storage).then(...kindOfAnswer)
    while (ending.ended === 0) expect(await answers()).toBe('unavailable')
    ending.stop()

    await eventually(() => ask(storage))
    expect(await answers()).toBe('done')
  })

  test('leaves no row behind', async () => {
    const url = await newDatabase()
    await using storage = await openPostgresAt(url, { pollMs: never, notifies: false })
    const cut =
      'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity ' +
      'WHERE datname = current_database() AND pid <> pg_backend_pid()'

    const slots = new Set<unknown>()
    for (const key of ['a', 'b', 'c']) {
      await eventually(() => storage.update(key, () => bytes(key)))
      for (const { slot } of await query(url, 'SELECT slot FROM commits')) slots.add(slot)
      await query(url, cut)
    }
    await eventually(() => storage.update('d', () => bytes('d')))

    expect(slots.size).toBe(3)
    expect(await query(url, 'SELECT slot FROM commits')).toHaveLength(1)
  })

  test('is reported once, and so is the first call that works again', async () => {
    const { seen, events } = collected()
    await using given = await openBehindProxy({ events })
    const { storage, proxy } = given
    await storage.write([{ key: 'a', value: bytes('a'), expect: 'absent' }])

    proxy.refuse()
    const failures = await Promise.allSettled([
      storage.get('a'),
      storage.list(''),
      storage.write([{ key: 'b', value: bytes('b'), expect: 'absent' }]),
      storage.copies.confirm(),
    ])
    proxy.allow()
    const written = await eventually(() => storage.write([{ key: 'c', value: bytes('c'), expect: 'absent' }]))

    expect(failures).toMatchObject(
      failures.map(() => ({ reason: { kind: 'unavailable', message: 'storage is unavailable' } })),
    )
    expect(written).toBe(true)
    expect(seen).toEqual(['storage is unavailable', 'works'])
  })
})

/** Lets the next commits fail with this error, and counts them all. */
const failCommits = (code: string, times: number) => `
  CREATE SEQUENCE commits_seen;
  CREATE FUNCTION fail_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('commits_seen') <= ${times} THEN RAISE EXCEPTION 'no' USING ERRCODE = '${code}'; END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER fail_commit BEFORE UPDATE ON commits FOR EACH ROW EXECUTE FUNCTION fail_commit()`

describe.concurrent('a conflict with another server', () => {
  test.each([
    { name: 'a serialization failure', code: '40001' },
    { name: 'a deadlock', code: '40P01' },
  ])('$name is tried again 5 times, and then refused', async ({ code }) => {
    const url = await newDatabase()
    await using storage = await openPostgresAt(url, { pollMs: never, notifies: false })
    await query(url, failCommits(code, 3 + 6))

    const tried = await storage
      .write([{ key: 'a', value: bytes('a'), expect: 'absent' }])
      .catch((error: Error) => error.message)
    const again = await storage.update('b', () => bytes('b')).catch((error: Error) => error.message)
    const [seen] = await query(url, 'SELECT last_value FROM commits_seen')

    expect([tried, again]).toEqual(['storage is unavailable', undefined])
    expect(seen).toEqual({ last_value: String(6 + 4) })
    expect(await storage.listKeys('')).toEqual(['b'])
  })

  test('a step that waits too long for a row is refused; others go on', async () => {
    const url = await newDatabase()
    await using storage = await openPostgresAt(url, { statementTimeoutMs: 300 })
    await storage.write([{ key: 'a', value: bytes('a'), expect: 'absent' }])
    const other = new Client(url)
    await other.connect()
    await other.query("BEGIN; SELECT 1 FROM records WHERE key = 'a' FOR UPDATE")

    const waiting = storage.update('a', () => bytes('x')).catch((error: Error) => error.message)
    const free = await storage.write([{ key: 'b', value: bytes('b'), expect: 'absent' }])
    const refused = await waiting
    await other.end()

    expect([free, refused]).toEqual([true, 'storage is unavailable'])
    expect(await storage.get('a')).toMatchObject({ key: 'a' })
    expect(await storage.write([{ key: 'a', value: undefined }])).toBe(true)
  })

  test('a transaction that a paused server left open ends, and releases its rows', async () => {
    const url = await newDatabase()
    await using storage = await openPostgresAt(url)
    await storage.write([{ key: 'a', value: bytes('a'), expect: 'absent' }])
    await using proxy = await startCuttingProxy(Number(new URL(url).port))
    await using paused = await openPostgresAt(url.replace(/:\d+\//, `:${proxy.port}/`), {
      replicaName: 'paused',
      pollMs: never,
      notifies: false,
      ...oneConnection,
    })
    await paused.update('z', () => bytes('z'))
    // it locks the row, and never hears of it
    proxy.holdAnswers()
    const held = paused.update('a', () => bytes('paused')).catch(() => 'refused')
    await eventually(async () => {
      const open =
        "SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()"
      if ((await query(url, open)).length === 0) throw new Error('not yet')
    })

    const written = await eventually(() => storage.update('a', () => bytes('b')).then(() => true))
    proxy.refuse()

    expect([written, await held]).toEqual([true, 'refused'])
  })
})

describe.concurrent('a database', () => {
  test('that is killed and started again keeps what was acknowledged, and works again', async () => {
    const installation = await postgresInstallation()
    await using server = await installation.start()
    await using storage = await openPostgresAt(server.url())
    const acknowledged: string[] = []
    const write = async (key: string) => {
      await storage.write([{ key: key, value: bytes(key), expect: 'absent' }])
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
    await storage.write([{ key: 'a', value: bytes('a'), expect: 'absent' }])
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
      return await storage
        .write([{ key: 'b', value: bytes('b'), expect: 'absent' }])
        .catch((error: Error) => {
          if (error.message === 'storage is read-only') return error.message
          throw error
        })
    })
    const read = await storage.get('a')
    await query(
      url,
      `BEGIN; SET TRANSACTION READ WRITE; ALTER DATABASE ${name} SET default_transaction_read_only = off; COMMIT`,
    )
    const written = await eventually(() => storage.write([{ key: 'b', value: bytes('b'), expect: 'absent' }]))

    expect(refused).toBe('storage is read-only')
    expect(read?.key).toBe('a')
    expect(written).toBe(true)
    expect(seen.at(-1)).toBe('works')
  })

  test('whose synchronous standby is away gets a few commits only, and serves reads', async ({ expect }) => {
    const installation = await postgresInstallation()
    await using server = await installation.start()
    const size = 5
    const quick = { pool: size, statementTimeoutMs: 1_000, pollMs: never, notifies: false }
    await using storage = await openPostgresAt(server.url(), quick)
    await storage.write([{ key: 'a', value: bytes('a'), expect: 'absent' }])
    const configure = (names: string) =>
      query(server.url(), `ALTER SYSTEM SET synchronous_standby_names = '${names}'`).then(() =>
        query(server.url(), 'SELECT pg_reload_conf()'),
      )
    const hanging = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    await configure('gone')
    const names = "SELECT current_setting('synchronous_standby_names') AS names"
    await expect.poll(() => query(server.url(), names)).toEqual([{ names: 'gone' }])

    const jobs = Array.from({ length: 12 }, (_, at) => storage.holdJob(`job/${at}`, 1_000))
    const held = Promise.allSettled([...jobs, storage.update('b', () => bytes('x'))])
    const read = await storage.get('a')
    const outcomes = await held
    const again = await Promise.allSettled([
      storage.holdJob('late', 1_000),
      storage.update('a', () => undefined),
    ])
    const left = await query(server.url(), hanging)
    await configure('')

    expect(new Set([...outcomes, ...again].map(({ status }) => status))).toEqual(new Set(['rejected']))
    expect([read?.key, (await storage.get('a'))?.key]).toEqual(['a', 'a'])
    expect(left.length).toBeGreaterThan(0)
    expect(left.length).toBeLessThanOrEqual(size)
    expect(
      await eventually(() => storage.write([{ key: 'after', value: bytes('x'), expect: 'absent' }])),
    ).toBe(true)
  })

  test('that is a standby is not used until it is promoted', async () => {
    const installation = await postgresInstallation()
    await using primary = await installation.start({ wal_level: 'replica' })
    await using standby = await installation.startStandby(primary)
    const both = primary.url().replace('@', `@127.0.0.1:${standby.port},`)
    await using storage = await openPostgresAt(both)
    await storage.write([{ key: 'a', value: bytes('a'), expect: 'absent' }])
    const replayed = "SELECT 1 FROM records WHERE key = 'a'"
    await eventually(async () => {
      if ((await query(standby.url(), replayed)).length === 0) throw new Error('not yet')
    })

    await primary.kill()
    await expect(storage.write([{ key: 'b', value: bytes('b'), expect: 'absent' }])).rejects.toMatchObject({
      kind: 'unavailable',
    })
    await query(standby.url(), 'SELECT pg_promote()')

    expect(await eventually(() => storage.write([{ key: 'c', value: bytes('c'), expect: 'absent' }]))).toBe(
      true,
    )
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

  test('with all its connections in use gives one to the changes first, without which nothing is served', async () => {
    const installation = await postgresInstallation()
    await using server = await installation.start({ max_connections: 8, superuser_reserved_connections: 0 })
    await using clients = new AsyncDisposableStack()
    const connect = async () => {
      const client = new Client(server.url())
      client.on('error', () => {})
      await client.connect()
      return clients.adopt(client, () => client.end())
    }
    const first = await connect()
    await using storage = await openPostgresAt(server.url(), { pool: 20, pollMs: never, notifies: false })
    await Promise.all(Array.from({ length: 200 }, (_, at) => storage.get(`k/${at}`)))
    await Promise.all(Array.from({ length: 200 }, (_, at) => storage.update(`k/${at}`, () => bytes('x'))))

    await first.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT v.version%'",
    )
    const taken: unknown[] = []
    for (;;) {
      const one = await connect().catch(() => undefined)
      if (one === undefined && taken.length > 0) break
      if (one !== undefined) taken.push(one)
    }

    await eventually(() => storage.copies.confirm())
    expect(storage.copies.areCurrent()).toBe(true)
  })
})

test.concurrent('a migration may take longer than other statements', async () => {
  const url = await newDatabase()
  await query(
    url,
    "CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1.5); END'",
  )
  await query(
    url,
    "CREATE EVENT TRIGGER slow ON ddl_command_start WHEN TAG IN ('CREATE SEQUENCE') EXECUTE FUNCTION slow()",
  )

  await using storage = await openPostgresAt(url, { statementTimeoutMs: 1_000 })

  expect(await storage.write([{ key: 'a', value: bytes('a'), expect: 'absent' }])).toBe(true)
})

describe.concurrent('a row that is absent', () => {
  test.each<[string, (storage: PostgresStorage) => Promise<unknown>]>([
    ['an update', (storage) => storage.update('a', () => undefined)],
    ['a batch', (storage) => storage.write([{ key: 'a', value: undefined, expect: 'absent' }])],
  ])('is not deleted by %s after another server has added it', async (_, write) => {
    // one connection besides the one for changes, so that what is decided does not wait for a held answer
    await using given = await openBehindProxy({ pool: 2 })
    const { storage, proxy, url } = given
    await storage.update('z', () => bytes('z'))
    await using other = await openPostgresAt(url, { replicaName: 'other', pollMs: never, notifies: false })

    proxy.holdAnswers()
    const deciding = write(storage)
    await eventually(async () => {
      const read =
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction' AND query LIKE '%FOR UPDATE'"
      if ((await query(url, read)).length === 0) throw new Error('not yet')
    })
    await other.write([{ key: 'a', value: bytes('a'), expect: 'absent' }])
    proxy.giveAnswers()
    await deciding

    expect((await other.get('a'))?.key).toBe('a')
  })

  test('is not taken for absent by one step and then deleted by the next', async () => {
    await using storage = await openPostgresAt(await newDatabase(), { pollMs: never, notifies: false })
    await storage.write([{ key: 'a', value: bytes('a'), expect: 'absent' }])

    const [isAdded] = await Promise.all([
      storage.write([{ key: 'a', value: bytes('b'), expect: 'absent' }]),
      storage.write([{ key: 'a', value: undefined }]),
    ])

    expect(isAdded).toBe(false)
    expect(await storage.get('a')).toBeUndefined()
  })
})
