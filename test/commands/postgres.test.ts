import { readdir, readFile, writeFile } from 'node:fs/promises'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { commandHere } from '../support/command-here.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { runCommand } from '../support/process.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const sealKey = '5e'.repeat(32)
const policy = { policy: 'path "a" { capabilities = ["read"] }' }

/** Runs a command with the settings of a database. */
const run = (name: string, folder: string, database: string, args: string[] = []) =>
  (name === 'backup' ? runCommand : commandHere)(name, {
    folder,
    args,
    settings: { STORAGE: database, SEAL_KEY: sealKey },
  })

/** A server on a database, with its first root token and its log. */
async function startOn(database: string, name = 'one') {
  const lines: string[] = []
  let rootToken = ''
  const server = await startTestServer({
    dev: false,
    settings: { STORAGE: database, SEAL_KEY: sealKey, REPLICA_NAME: name, POSTGRES_POOL: '3' },
    log: pino({}, { write: (line) => void lines.push(line) }),
    rootToken: {
      keep: () => {},
      tell: (token) => {
        rootToken = token
      },
    },
  })
  return { ...server, rootToken, log: () => lines.join('') }
}

const digestIn = ({ stdout }: { stdout: string }) =>
  /(\d+) records, digest ([0-9a-f]{64})/.exec(stdout)?.slice(1)

test('a backup of running servers is restored into SQLite and into an empty PostgreSQL database', async () => {
  await using folder = await temporaryFolder()
  const [database, other] = [await newDatabase(), await newDatabase()]
  await using server = await startOn(database)
  const root = server.as(server.rootToken)
  await root.write('sys/policies/acl/before', policy)

  const made = await run('backup', folder.path, database, ['b'])
  const verified = await run('verify', folder.path, database, ['b'])
  await root.write('sys/policies/acl/after', policy)
  const { stream } = await root.read('sys/storage/snapshot').then(({ text }) => ({ stream: text }))
  const held = await run('restore', folder.path, database, ['b', '--force'])
  const restored = await run('restore', folder.path, other, ['b'])
  const again = await run('restore', folder.path, other, ['b'])
  const toFile = await run('restore', folder.path, `sqlite:${folder.file('gatehouse.db')}`, ['b'])

  expect(made).toMatchObject({ code: 0, stderr: '' })
  expect(digestIn(verified)).toEqual(digestIn(made))
  expect(verified.stdout).toContain('every seal opened')
  expect(stream.startsWith('SQLite format 3')).toBe(true)
  expect([held.code, held.stderr]).toEqual([3, expect.stringContaining('in use by server one\n')])
  expect([restored.code, again.code, toFile.code]).toEqual([0, 1, 0])
  expect(again.stderr).toContain('is not empty: with --force its records are replaced')
  for (const storage of [other, `sqlite:${folder.file('gatehouse.db')}`]) {
    await using copy = await startOn(storage, 'copy')
    const statuses = ['before', 'after'].map(async (name) => {
      return (await copy.as(server.rootToken).read(`sys/policies/acl/${name}`)).status
    })
    expect(await Promise.all(statuses)).toEqual([200, 404])
    expect(copy.log()).toContain('"restored"')
  }
})

test('restore --force keeps the replaced records in a table of their own', async () => {
  await using folder = await temporaryFolder()
  const database = await newDatabase()
  const first = await startOn(database)
  expect((await run('backup', folder.path, database, ['b'])).code).toBe(0)
  await first.as(first.rootToken).write('sys/policies/acl/kept', policy)
  await first[Symbol.asyncDispose]()
  const before = await query(database, 'SELECT key, value FROM records ORDER BY key')

  const done = await run('restore', folder.path, database, ['b', '--force', '--revoke-tokens'])

  const [, table = ''] = /^The replaced database is the table (\w+)$/m.exec(done.stdout) ?? []
  expect(await query(database, `SELECT key, value FROM ${table} ORDER BY key`)).toEqual(before)
  await using server = await startOn(database)
  expect((await server.as(first.rootToken).read('sys/policies/acl/kept')).status).toBe(404)
})

test('verify checks a PostgreSQL database, and names a record that does not open', async () => {
  await using folder = await temporaryFolder()
  const database = await newDatabase()
  await using server = await startOn(database)

  const sound = await run('verify', folder.path, database)
  await query(database, "UPDATE records SET value = 'x' WHERE key = 'cluster-id'")
  const damaged = await run('verify', folder.path, database)

  expect([sound.code, sound.stdout]).toEqual([
    0,
    expect.stringMatching(/^postgres:\/\/gatehouse@127\.0\.0\.1:\d+\/\w+: \d+ records/),
  ])
  expect([damaged.code, damaged.stderr]).toEqual([
    1,
    expect.stringContaining('broken: its keys do not open the record cluster-id'),
  ])
  expect((await server.anonymous.read('sys/health')).status).toBe(200)
})

test('root-token makes a token beside running servers, of which one logs it', async () => {
  await using folder = await temporaryFolder()
  const database = await newDatabase()
  await using one = await startOn(database)
  await using other = await startOn(database, 'other')

  const made = await run('root-token', folder.path, database)
  const refused = await commandHere('root-token', {
    folder: folder.path,
    settings: { STORAGE: database, SEAL_KEY: '66'.repeat(32) },
  })

  const [, token = ''] = /^Root token: (hvs\.\w+)\n$/.exec(made.stdout) ?? []
  for (const server of [one, other])
    expect((await server.as(token).read('auth/token/lookup-self')).body.data?.['policies']).toEqual(['root'])
  const lines = () => [one, other].map((server) => server.log().split('"root_token_made"').length - 1)
  while (lines().every((count) => count === 0)) await one.anonymous.read('sys/health')
  expect(lines().sort()).toEqual([0, 1])
  expect([refused.code, refused.stdout]).toEqual([1, ''])
})

test('a database that cannot be reached is a failure of the command, without its password', async () => {
  await using folder = await temporaryFolder()
  await writeFile(folder.file('password'), 'hunter2')
  const settings = {
    STORAGE: 'postgres://gatehouse@127.0.0.1:1/none',
    SEAL_KEY: sealKey,
    STORAGE_PASSWORD_FILE: folder.file('password'),
  }
  for (const [name, args] of [
    ['backup', ['b']],
    ['verify', []],
    ['root-token', []],
  ] as const) {
    const { code, stdout, stderr } = await commandHere(name, { folder: folder.path, args, settings })

    expect([code, stdout], name).toEqual([1, ''])
    expect(stderr, name).toMatch(/^cannot .*postgres:\/\/gatehouse@127\.0\.0\.1:1\/none.*ECONNREFUSED/)
    expect(stderr, name).not.toContain('hunter2')
  }
  expect((await readdir(folder.path)).includes('b')).toBe(false)
  expect(await readFile(folder.file('password'), 'utf8')).toBe('hunter2')
})
