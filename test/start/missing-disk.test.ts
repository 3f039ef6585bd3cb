import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { commandHere } from '../support/command-here.ts'
import { refusedStart, startInFolder } from '../support/folder-server.ts'
import { messagesOf } from '../support/log-lines.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { runServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const wayOutAfter = (remedy: string) =>
  `${remedy}, or restore a backup (gatehouse restore FILE). ` +
  'To create a new store, start with GATEHOUSE_AUTO_INIT=false and run gatehouse init'
const wayOut = wayOutAfter('mount its disk')

/** A folder in which a server has started once. The disk `disk` has its database. */
async function usedFolder() {
  const folder = await temporaryFolder()
  await mkdir(folder.file('disk'))
  const settings = {
    STORAGE: `sqlite:${folder.file('disk/gatehouse.db')}`,
    SEAL_KEY_FILE: folder.file('keys/seal.key'),
    ROOT_TOKEN_FILE: folder.file('root-token'),
  }
  await using server = await startInFolder({ folder: folder.path, settings })
  await server.stop()
  const files = () => readdir(folder.path, { recursive: true })
  return { ...folder, settings, files }
}

const goneDatabase = (path: string) => rm(path, { recursive: true })

test.each([
  { name: 'is missing', lose: goneDatabase },
  { name: 'has 0 bytes', lose: (path: string) => truncate(path) },
])(
  'a database that $name beside the seal key ends the start with 7, and nothing changes',
  async ({ lose }) => {
    await using folder = await usedFolder()
    const token = await readFile(folder.file('root-token'), 'utf8')
    await lose(folder.file('disk/gatehouse.db'))
    const before = await folder.files()

    const refused = await refusedStart({ folder: folder.path, settings: folder.settings })
    const again = await refusedStart({ folder: folder.path, settings: folder.settings })

    expect([refused.code, again.code]).toEqual([7, 7])
    expect(refused.message).toBe(
      `${folder.file('disk/gatehouse.db')} is missing or empty, but ${folder.file('keys/seal.key')} of an earlier start is there: ${wayOut}`,
    )
    expect(await folder.files()).toEqual(before)
    expect(await readFile(folder.file('root-token'), 'utf8')).toBe(token)
  },
)

test('a root token file alone, with the key in the environment, tells of an earlier start too', async () => {
  await using folder = await temporaryFolder()
  await writeFile(folder.file('root-token'), 'hvs.of-an-earlier-start\n')
  const settings = { SEAL_KEY: '5e'.repeat(32), ROOT_TOKEN_FILE: 'root-token' }

  const refused = await runServer({ folder: folder.path, settings })

  expect(refused.code).toBe(7)
  expect(messagesOf(refused, 'fatal')).toEqual([
    `data/gatehouse.db is missing or empty, but root-token of an earlier start is there: ${wayOut}`,
  ])
  expect(await readdir(folder.path)).toEqual(['root-token'])
})

describe('with PostgreSQL', () => {
  type Folder = { file(name: string): string }
  const settingsFor = (folder: Folder, database: string) => ({
    STORAGE: database,
    SEAL_KEY_FILE: folder.file('seal.key'),
    ROOT_TOKEN_FILE: folder.file('root-token'),
  })

  /** A folder as before the first start of a replica: it has the seal key. */
  async function replicaFolder() {
    const folder = await temporaryFolder()
    await writeFile(folder.file('seal.key'), '5e'.repeat(32), { mode: 0o600 })
    return folder
  }

  test('a database without tables beside the root token file ends the start with 7, and nothing changes', async () => {
    await using folder = await replicaFolder()
    await writeFile(folder.file('root-token'), 'hvs.of-an-earlier-start\n')
    const database = await newDatabase()

    const refused = await refusedStart({ folder: folder.path, settings: settingsFor(folder, database) })

    expect(refused).toMatchObject({
      code: 7,
      message: `the database has no tables, but ${folder.file('root-token')} of an earlier start is there: ${wayOutAfter('check GATEHOUSE_STORAGE')}`,
    })
    expect(await readFile(folder.file('root-token'), 'utf8')).toBe('hvs.of-an-earlier-start\n')
    expect(await query(database, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'")).toEqual([])
  })

  test('a first server starts with a seal key that was made before, one that joins with a root token file of its own', async () => {
    await using first = await replicaFolder()
    await using second = await replicaFolder()
    await writeFile(second.file('root-token'), 'hvs.of-the-first\n')
    const database = await newDatabase()

    await using one = await startInFolder({ folder: first.path, settings: settingsFor(first, database) })
    await using other = await startInFolder({
      folder: second.path,
      settings: { ...settingsFor(second, database), REPLICA_NAME: 'second' },
    })
    const token = (await readFile(first.file('root-token'), 'utf8')).trim()

    expect((await one.as(token).read('auth/token/lookup-self')).status).toBe(200)
    expect((await other.as(token).read('auth/token/lookup-self')).status).toBe(200)
    expect(await readFile(second.file('root-token'), 'utf8')).toBe('hvs.of-the-first\n')
  })
})

test('the folder of the database is not created: its disk may be missing', async () => {
  await using folder = await temporaryFolder()
  const settings = { STORAGE: 'sqlite:mnt/store/gatehouse.db' }
  const backup = folder.file('b')
  await writeFile(backup, '')

  const refused = await runServer({ folder: folder.path, settings })
  const restored = await commandHere('restore', { folder: folder.path, args: [backup], settings })

  const says =
    'cannot open mnt/store/gatehouse.db: the folder mnt/store is missing: mount its disk, or make it'
  expect(refused.code).toBe(7)
  expect(messagesOf(refused, 'fatal')).toEqual([says])
  expect(restored).toMatchObject({ code: 1, stderr: `${says}\n` })
  expect(await readdir(folder.path)).toEqual(['b'])
})

test('with GATEHOUSE_AUTO_INIT=false a server without its database is not ready, until gatehouse init creates a store', async () => {
  await using folder = await usedFolder()
  await goneDatabase(folder.file('disk'))
  await mkdir(folder.file('disk'))
  const settings = { ...folder.settings, AUTO_INIT: 'false' }
  await using server = await startInFolder({ folder: folder.path, settings })
  const { host } = new URL(server.url)
  const init = (...args: string[]) =>
    commandHere('init', { folder: folder.path, args, settings: { ...settings, LISTEN: host } })

  const before = await fetch(`${server.url}/health/ready`)
  const made = await init('--out', 'new-token')
  const token = (await readFile(folder.file('new-token'), 'utf8')).trim()
  const self = await server.as(token).read('auth/token/lookup-self')
  const again = await init()

  expect([before.status, await before.json()]).toEqual([503, { status: 'uninitialized' }])
  expect(made).toMatchObject({ code: 0, stdout: 'Root token written to new-token\n', stderr: '' })
  expect(self.status).toBe(200)
  expect(again).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'the server made no store: Vault is already initialized\n',
  })
})
