import Database from 'better-sqlite3'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { parsePostgresUrl } from '../../src/lib/net/postgres-url.ts'
import { openSqliteEnd } from '../../src/storage/copies/sqlite-copy-end.ts'
import { openPostgresEnd } from '../../src/storage/postgres/copy-end.ts'
import { type CopyEnd, copyStore } from '../../src/storage/store-copy.ts'
import { commandHere } from '../support/command-here.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { type Outcome, StartedProcess } from '../support/process.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const sealKey = '5e'.repeat(32)
const policy = { policy: 'path "a" { capabilities = ["read"] }' }

const optionsOf = (folder: string, args: string[]) => ({ folder, args, settings: { SEAL_KEY: sealKey } })
const copy = (folder: string, ...args: string[]) => commandHere('storage-copy', optionsOf(folder, args))

async function startOn(storage: string) {
  let rootToken = ''
  const server = await startTestServer({
    dev: false,
    settings: { STORAGE: storage, SEAL_KEY: sealKey, REPLICA_NAME: 'one', POSTGRES_POOL: '3' },
    rootToken: {
      keep: () => {},
      tell: (token) => {
        rootToken = token
      },
    },
  })
  return { ...server, rootToken }
}

/** Creates a store with a policy, and returns its root token. */
async function createStore(storage: string): Promise<string> {
  await using server = await startOn(storage)
  await server.as(server.rootToken).write('sys/policies/acl/moved', policy)
  return server.rootToken
}

/** Whether a PostgreSQL database or a file holds records. Both may still be without tables. */
async function lookInto(storage: string): Promise<AsyncDisposable & { hasRecords(): Promise<boolean> }> {
  if (storage.startsWith('postgres:')) {
    const client = new Client(storage)
    await client.connect()
    return {
      hasRecords: () =>
        client.query('SELECT 1 FROM records LIMIT 1').then(
          ({ rowCount }) => rowCount === 1,
          () => false,
        ),
      [Symbol.asyncDispose]: () => client.end(),
    }
  }
  const hasRecords = async () => {
    try {
      const database = new Database(storage.slice('sqlite:'.length), { readonly: true })
      try {
        return database.prepare('SELECT 1 FROM records LIMIT 1').get() !== undefined
      } finally {
        database.close()
      }
    } catch {
      return false
    }
  }
  return { hasRecords, [Symbol.asyncDispose]: async () => {} }
}

/** Adds many records, so that a copy takes a while. */
async function fill(storage: string): Promise<void> {
  const rows = 15_000
  if (storage.startsWith('postgres:')) {
    await query(
      storage,
      `INSERT INTO records (key, value) SELECT 'z/' || n, repeat('v', 300)::bytea FROM generate_series(1, ${rows}) n`,
    )
    return
  }
  const database = new Database(storage.slice('sqlite:'.length))
  const insert = database.prepare('INSERT INTO records (key, value) VALUES (?, zeroblob(300))')
  database.transaction(() => {
    for (let row = 0; row < rows; row += 1) insert.run(`z/${row}`)
  })()
  database.close()
}

function openEnd(storage: string): Promise<CopyEnd> {
  const address = parsePostgresUrl(storage)
  if (typeof address === 'string') return openSqliteEnd(storage.slice('sqlite:'.length))
  const unset = { password: undefined, passwordFile: undefined, caFile: undefined }
  return openPostgresEnd({ ...unset, address, statementTimeoutMs: 5_000, prepares: true }, storage)
}

/** Why the command refuses to copy, without a process. */
async function refusalToCopy(from: string, to: string, { resume } = { resume: false }): Promise<unknown> {
  await using source = await openEnd(from)
  await using target = await openEnd(to)
  return await copyStore(source, target, { resume }).catch((error: unknown) => error)
}

const refusalOf = ({ code, stderr }: Outcome) => ({ code, stderr: stderr.trimEnd() })

test.each([
  { from: 'sqlite', to: 'postgres' },
  { from: 'postgres', to: 'sqlite' },
])(
  'a store moves from $from to $to, also after kill -9 in the middle, and nothing starts on half of it',
  async ({ from }) => {
    await using folder = await temporaryFolder()
    const places = [`sqlite:${folder.file('gatehouse.db')}`, await newDatabase()]
    const [source = '', target = ''] = from === 'sqlite' ? places : places.reverse()
    const token = await createStore(source)
    await fill(source)
    await using view = await lookInto(target)

    const killed = new StartedProcess(
      'src/process/main.ts',
      optionsOf(folder.path, ['storage-copy', source, target]),
    )
    await expect.poll(() => view.hasRecords(), { interval: 5, timeout: 20_000 }).toBe(true)
    await killed.end('SIGKILL')
    const half = await startOn(target).catch((error: unknown) => error)
    const again = await copy(folder.path, source, target)
    const resumed = await copy(folder.path, source, target, '--resume')
    const verified = await copy(folder.path, source, target, '--verify-only')
    const moved = await startOn(source).catch((error: unknown) => error)

    expect(half).toMatchObject({ exitCode: 2, message: expect.stringContaining('it is an unfinished copy') })
    expect(refusalOf(again)).toEqual({
      code: 1,
      stderr: expect.stringMatching(/ is an unfinished copy: continue it with --resume$/),
    })
    expect([resumed.code, resumed.stderr]).toEqual([0, ''])
    const [, digest = ''] = /^Copied \d+ records, digest ([0-9a-f]{64}), from /.exec(resumed.stdout) ?? []
    expect(verified.code).toBe(0)
    expect(verified.stdout.split(`digest ${digest}`)).toHaveLength(3)
    expect(moved).toMatchObject({ exitCode: 2, message: expect.stringContaining('its records were moved') })
    await using server = await startOn(target)
    expect((await server.as(token).read('sys/policies/acl/moved')).status).toBe(200)
    const history = await server.as(token).read('sys/policies/acl/moved?history=true')
    expect(history.body.data?.versions).toHaveLength(1)
  },
)

test('a store that a server uses is neither copied nor a target', async () => {
  await using folder = await temporaryFolder()
  const [file, database, other] = [
    `sqlite:${folder.file('gatehouse.db')}`,
    await newDatabase(),
    await newDatabase(),
  ]
  await using _one = await startOn(file)
  await using _other = await startOn(database)

  const held = await copy(folder.path, file, other)
  const live = await copy(folder.path, database, `sqlite:${folder.file('copy.db')}`)
  const busy = await copy(folder.path, file, database)

  expect(refusalOf(held)).toMatchObject({ code: 3, stderr: expect.stringMatching(/in use by process \d+$/) })
  expect(refusalOf(live)).toMatchObject({ code: 3, stderr: expect.stringMatching(/in use by server one$/) })
  expect(busy.code).toBe(3)
})

test('only a store is copied, into an empty target, or the unfinished copy of the same store', async () => {
  await using folder = await temporaryFolder()
  const file = (name: string) => `sqlite:${folder.file(`${name}.db`)}`
  const [empty, another] = [await newDatabase(), file('another')]
  for (const storage of [file('one'), another]) await createStore(storage)
  const target = await newDatabase()
  expect((await copy(folder.path, file('one'), target)).code).toBe(0)

  const refused = [
    await refusalToCopy(empty, file('new')),
    await refusalToCopy(another, target),
    await refusalToCopy(another, target, { resume: true }),
    await refusalToCopy(file('one'), await newDatabase()),
  ]
  const outcomes = [
    await copy(folder.path, another, target, '--verify-only'),
    await copy(folder.path, file('missing'), target),
    await copy(folder.path, another),
    await copy(folder.path, another, 'memory:'),
  ]

  expect(refused).toMatchObject([
    { exitCode: 1, message: expect.stringMatching(/ is empty: there is nothing to copy$/) },
    { exitCode: 1, message: expect.stringMatching(/ is not empty$/) },
    { exitCode: 1, message: expect.stringMatching(/ is not empty$/) },
    { exitCode: 2, message: expect.stringContaining('its records were moved') },
  ])
  expect(outcomes.map(({ code }) => code)).toEqual([1, 1, 2, 2])
  expect(outcomes.map(({ stderr }) => stderr).join('')).toMatch(
    /^the records differ\n.*ENOENT\nusage: .*\nmemory: has nothing to copy\n$/,
  )
})
