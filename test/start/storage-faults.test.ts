import { copyFile, mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Writable } from 'node:stream'
import Database from 'better-sqlite3'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { StorageFaults } from '../../src/storage/faults.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { damage } from '../support/damage.ts'
import { damagePageOf } from '../support/damaged-page.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const aRole = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['ci'] }

type Line = Record<string, unknown>

/** A server on a database file in `folder`, and its log. */
async function serverOn(
  folder: string,
  options: TestServerOptions = {},
): Promise<{ server: TestServer; lines: Line[]; file: string }> {
  const lines: Line[] = []
  const take = new Writable({
    write: (text, _encoding, done) => {
      lines.push(JSON.parse(String(text)))
      done()
    },
  })
  const file = `${folder}/gatehouse.db`
  await mkdir(folder, { recursive: true })
  const settings = {
    STORAGE: `sqlite:${file}`,
    SEAL_KEY_FILE: `${folder}/seal.key`,
    BACKGROUND: 'off',
    ...options.settings,
  }
  return { server: await startTestServer({ ...options, settings, log: pino(take) }), lines, file }
}

/** The value of one line of Prometheus' text. */
async function reading(server: TestServer, line: string): Promise<number> {
  const { text } = await server.root.read('/metrics')
  const found = text.split('\n').find((one) => one.startsWith(`gatehouse_${line} `))
  return found === undefined ? Number.NaN : Number(found.split(' ').at(-1))
}

/** A stopped server's folder with many roles, each large enough that a page holds only a few. */
async function fillWithRoles(folder: string): Promise<string> {
  const { server, file } = await serverOn(folder)
  await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [aSigner().pem] })
  for (let index = 100; index < 130; index++) {
    await server.root.write(`auth/jwt/role/r${index}`, {
      ...aRole,
      bound_audiences: [`${index}`.repeat(400)],
    })
  }
  await server[Symbol.asyncDispose]()
  return file
}

test('a read of a damaged page gets 500, and the server reports damaged storage until it is restarted', async () => {
  await using folder = await temporaryFolder()
  const key = damagePageOf(await fillWithRoles(folder.path), '%role/r115')
  const { server, lines } = await serverOn(folder.path)
  await using _server = server
  const ready = await server.anonymous.read('/health/ready')

  const broken = await server.root.read('auth/jwt/role/r115')
  const login = await server.anonymous.write('auth/jwt/login', { role: 'r115', jwt: 'a.b.c' })
  const whole = await server.root.read('auth/jwt/role/r129')
  const notReady = await server.anonymous.read('/health/ready')
  const health = await server.anonymous.read('sys/health')

  expect(ready.status).toBe(200)
  expect([broken.status, broken.body['errors']]).toEqual([500, ['database disk image is malformed']])
  expect([login.status, login.body['errors']]).toEqual([500, ['database disk image is malformed']])
  expect(whole.status).toBe(200)
  expect([notReady.status, notReady.body]).toEqual([503, { status: 'storage' }])
  expect([health.status, health.body]).toEqual([503, expect.objectContaining({ storage: 'unavailable' })])
  expect(lines).toContainEqual(
    expect.objectContaining({
      event: 'storage_damaged',
      key,
      err: expect.objectContaining({ code: 'SQLITE_CORRUPT' }),
    }),
  )
  expect(await reading(server, 'storage_errors_total{kind="corrupt"}')).toBeGreaterThanOrEqual(2)
  expect(await reading(server, 'storage_up')).toBe(0)
})

test('a record that does not open under its key is counted, and the server stays ready', async () => {
  await using folder = await temporaryFolder()
  damage(await fillWithRoles(folder.path), '%role/r115')
  const { server } = await serverOn(folder.path)
  await using _server = server

  const broken = await server.root.read('auth/jwt/role/r115')

  expect([broken.status, broken.body['errors']]).toEqual([500, ['internal error']])
  expect(await reading(server, 'storage_errors_total{kind="record"}')).toBe(1)
  expect((await server.anonymous.read('/health/ready')).status).toBe(200)
})

test('a write that fails is counted by its kind, and logged once', async () => {
  await using folder = await temporaryFolder()
  const faults = new StorageFaults()
  const { server, lines } = await serverOn(folder.path, { faults })
  await using _server = server
  for (const failure of ['full', 'full', 'io'] as const) {
    faults.arm('storage.before-commit', failure)
    expect((await server.root.write('auth/jwt/role/ci', aRole)).status).toBe(503)
  }

  const after = await server.root.write('auth/jwt/role/ci', aRole)

  expect(after.status).toBe(204)
  expect(await reading(server, 'storage_errors_total{kind="full"}')).toBe(2)
  expect(await reading(server, 'storage_errors_total{kind="io"}')).toBe(1)
  expect(lines.filter(({ event }) => event === 'storage_lost').map(({ reason }) => reason)).toEqual([
    'storage is full',
    'storage is unavailable',
  ])
  expect(lines.filter(({ event }) => event === 'storage_back')).toHaveLength(1)
})

test('a checkpoint that fails shows in the metrics and in the log, and so does its success later', async () => {
  await using folder = await temporaryFolder()
  const faults = new StorageFaults()
  const { server, lines } = await serverOn(folder.path, { faults })
  await using _server = server
  faults.arm('storage.checkpoint', 'io')

  await server.root.write('cubbyhole/large', { text: 'x'.repeat(300_000) })

  await expect.poll(() => reading(server, 'storage_errors_total{kind="checkpoint"}')).toBe(1)
  expect(await reading(server, 'storage_bytes{part="wal"}')).toBeGreaterThan(300_000)
  const event = () =>
    lines.map((line) => line['event']).filter((name) => String(name).startsWith('checkpoints_'))
  await expect.poll(event).toEqual(['checkpoints_lost', 'checkpoints_back'])
  expect(lines).toContainEqual(
    expect.objectContaining({ event: 'checkpoints_lost', reason: 'SQLITE_IOERR_WRITE' }),
  )
})

test('writes stop, with the reason, before the log takes the last room of the disk, and continue when the log can be emptied', async () => {
  await using folder = await temporaryFolder()
  const faults = new StorageFaults()
  const { server, lines, file } = await serverOn(folder.path, { faults })
  await using _server = server
  const reader = new Database(file, { readonly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM records').get()
  faults.setFreeBytes(12 * 1024 * 1024)

  const statuses: number[] = []
  let last = await server.root.write('cubbyhole/first', { text: 'x' })
  for (let index = 0; index < 20 && last.status === 204; index++) {
    last = await server.root.write(`cubbyhole/${index}`, { text: 'x'.repeat(900_000) })
    statuses.push(last.status)
  }
  const read = await server.root.read('cubbyhole/first')
  reader.close()
  const after = await server.root.write('cubbyhole/after', { text: 'x' })

  expect(statuses.length).toBeGreaterThan(8)
  expect([last.status, last.body['errors'], last.headers['retry-after']]).toEqual([
    503,
    [
      'storage is full: the write-ahead log needs the remaining disk space, because another program keeps reading the database',
    ],
    '10',
  ])
  expect([read.status, after.status]).toEqual([200, 204])
  expect(lines).toContainEqual(
    expect.objectContaining({ event: 'storage_lost', reason: expect.stringContaining('another program') }),
  )
})

test('with little room on the disk, deletions and writes that reuse their space still succeed', async () => {
  await using folder = await temporaryFolder()
  const faults = new StorageFaults()
  const { server } = await serverOn(folder.path, { faults })
  await using _server = server
  // the log that one such write leaves is so large that the next write asks the disk for its free space
  const large = { text: 'x'.repeat(1_048_000) }
  for (const name of ['a', 'b']) await server.root.write(`cubbyhole/${name}`, large)
  faults.setFreeBytes(64 * 1024)

  const refused = await server.root.write('cubbyhole/c', large)
  const deleted = await server.root.call('DELETE', 'cubbyhole/a')
  const written = await server.root.write('cubbyhole/c', large)
  const refusedAgain = await server.root.write('cubbyhole/d', large)
  faults.setFreeBytes(undefined)
  const after = await server.root.write('cubbyhole/d', large)

  expect([refused.status, refused.body['errors'], refused.headers['retry-after']]).toEqual([
    503,
    [
      'storage is full: the remaining disk space is reserved for emptying the write-ahead log; deletions still work',
    ],
    '10',
  ])
  expect([deleted.status, written.status, refusedAgain.status, after.status]).toEqual([204, 204, 503, 204])
})

// they wait for the next look at the file, together
test.concurrent.for([
  {
    name: 'the database was removed',
    change: (file: string) => rename(file, `${file}.gone`),
    says: 'gatehouse.db was removed',
  },
  {
    name: 'a backup was put in place of the database',
    change: async (file: string) => {
      await copyFile(file, `${file}.copy`)
      await rename(`${file}.copy`, file)
    },
    says: 'gatehouse.db was replaced',
  },
  {
    name: 'the write-ahead log was removed',
    change: (file: string) => rm(`${file}-wal`),
    says: 'gatehouse.db-wal was removed',
  },
  {
    name: 'the folder was moved',
    change: (file: string) => rename(dirname(file), `${dirname(file)}.gone`),
    says: 'gatehouse.db was removed',
  },
])(
  '$name under a running server makes it not ready and refuse writes',
  async ({ change, says }, { expect }) => {
    await using folder = await temporaryFolder()
    const { server, lines, file } = await serverOn(folder.file('data'))
    await using _server = server
    await server.root.write('auth/jwt/role/ci', aRole)
    const ready = async () => (await server.anonymous.read('/health/ready')).body
    expect(await ready()).toEqual({ status: 'ready' })

    await change(file)
    await expect.poll(ready).toEqual({ status: 'storage' })
    const written = await server.root.write('auth/jwt/role/other', aRole)
    const read = await server.root.read('auth/jwt/role/ci')

    expect([written.status, written.body['errors']]).toEqual([503, ['storage is unavailable']])
    expect(read.status).toBe(200)
    expect(lines.filter(({ event }) => event === 'storage_lost').map(({ reason }) => reason)).toEqual([says])
    expect(await reading(server, 'storage_errors_total{kind="replaced"}')).toBe(1)
  },
)

test.concurrent('a database that is put back is used again', async ({ expect }) => {
  await using folder = await temporaryFolder()
  const { server, lines, file } = await serverOn(folder.file('data'))
  await using _server = server
  const status = async () => (await server.anonymous.read('/health/ready')).status
  await rename(file, `${file}.gone`)
  await expect.poll(status).toBe(503)

  await rename(`${file}.gone`, file)
  await expect.poll(status).toBe(200)
  const written = await server.root.write('auth/jwt/role/ci', aRole)

  expect(written.status).toBe(204)
  expect(lines).toContainEqual(expect.objectContaining({ event: 'storage_back' }))
})
