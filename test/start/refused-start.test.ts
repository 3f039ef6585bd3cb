import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { refusedStart, startInFolder } from '../support/folder-server.ts'
import { endOf, logLines, messagesOf } from '../support/log-lines.ts'
import { runServer, type ServerProcess, startProcess } from '../support/process.ts'
import { startTestServer } from '../support/start-server.ts'
import { stoppedServer } from '../support/stopped-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const digestOf = async (path: string) =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex')

/** A store after a first start and an orderly stop. Returns its root token. */
const aStore = stoppedServer()

test('an invalid setting ends the start with 2 and one line that names the setting', async () => {
  await using folder = await temporaryFolder()

  const refused = await runServer({ folder: folder.path, settings: { SEAL_KEY: 'not-a-key-but-secret' } })

  expect(refused.code).toBe(2)
  expect(messagesOf(refused, 'fatal')).toEqual([expect.stringMatching(/^GATEHOUSE_SEAL_KEY\b.+/)])
  expect(refused.stderr).not.toContain('but-secret')
  expect(refused.stdout).toBe('')
})

test.each([
  { name: 'STOP_TIMEOUT', value: '30' },
  { name: 'SEAL_KEY_FILE', value: '' },
  { name: 'DEFAULT_MOUNTS', value: 'kv=none' },
  { name: 'DEFAULT_MOUNTS', value: 'auth/jwt=jwt,auth/jwt=oidc' },
  { name: 'DEFAULT_MOUNTS', value: 'sys=cloud' },
  { name: 'DEFAULT_MOUNTS', value: 'auth/jwt=cloud' },
])('GATEHOUSE_$name=$value is refused with 2 and a text that names the setting', async ({ name, value }) => {
  await using folder = await temporaryFolder()

  const refused = await refusedStart({ folder: folder.path, settings: { [name]: value } })

  expect(refused).toMatchObject({
    code: 2,
    message: expect.stringMatching(new RegExp(`^GATEHOUSE_${name}\\b.+`)),
  })
})

test.each([
  { name: 'CLOUD_ENVIRONMENT', value: 'CloudGermany' },
  { name: 'HTTPS_PROXY', value: 'socks5://proxy:1080' },
])('$name=$value is refused too', async ({ name, value }) => {
  const refused = startTestServer({ environment: { [name]: value } })

  await expect(refused).rejects.toThrow(new RegExp(`^${name}: must be`))
})

// Node's recursive `mkdir` never ends there
test('a database that cannot be created ends the start with one line', async () => {
  await using folder = await temporaryFolder()

  const refused = await refusedStart({ folder: folder.path, settings: { STORAGE: 'sqlite:/proc/g.db' } })

  expect(refused).toMatchObject({ code: 2, message: 'cannot open /proc/g.db: ENOENT' })
})

test('a seal key that cannot be created or read ends the start with 5 and the cause', async () => {
  await using folder = await temporaryFolder()

  const unmade = await refusedStart({
    folder: folder.path,
    settings: { SEAL_KEY_FILE: '/proc/gatehouse/key' },
  })
  const unread = await refusedStart({ folder: folder.path, settings: { SEAL_KEY_FILE: '/proc' } })

  expect(unmade).toMatchObject({
    code: 5,
    message: 'seal key file /proc/gatehouse/key cannot be created: ENOENT',
  })
  expect(unread).toMatchObject({
    code: 5,
    message: 'seal key file /proc cannot be read: EISDIR: it is a folder',
  })
})

test('GATEHOUSE_LOG_FORMAT=text gives the reason in one line of text', async () => {
  await using folder = await temporaryFolder()

  const refused = await runServer({
    folder: folder.path,
    settings: { LOG_FORMAT: 'text', MAX_IN_FLIGHT: 'many' },
  })

  expect(refused).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      /^\[\d\d:\d\d:\d\d\] FATAL: GATEHOUSE_MAX_IN_FLIGHT: must be a whole number\n$/,
    ),
  })
})

test('a refused start is one JSON line, the last one, with the exit code', async () => {
  await using folder = await temporaryFolder()

  const refused = await runServer({
    folder: folder.path,
    settings: { LOG_FORMAT: 'xml', REPLICA_NAME: 'one' },
  })

  expect(logLines(refused)).toEqual([
    {
      level: 'fatal',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      replica: 'one',
      event: 'stopped',
      exit_code: 2,
      msg: expect.stringMatching(/^GATEHOUSE_LOG_FORMAT: /),
    },
  ])
})

test('an unknown argument ends the start with 2', async () => {
  await using folder = await temporaryFolder()

  const refused = await runServer({ folder: folder.path, args: ['--develop'] })

  expect(endOf(refused)).toEqual({ code: 2, stdout: '', fatal: ['unknown argument --develop'] })
})

test('an address in use ends the start with 2 before anything is created, and the next start prints the root token', async () => {
  await using folder = await temporaryFolder()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const address = other.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0

  const refused = await refusedStart({ folder: folder.path, settings: { LISTEN: `127.0.0.1:${port}` } })
  const watched = await refusedStart({
    folder: folder.path,
    settings: { METRICS_LISTEN: `127.0.0.1:${port}` },
  })
  const made = await readdir(folder.path, { recursive: true })
  other.close()
  await using server = await startInFolder({ folder: folder.path })
  const self = await server.as(server.rootToken).read('auth/token/lookup-self')

  expect(refused).toMatchObject({
    code: 2,
    message: `GATEHOUSE_LISTEN: cannot listen on 127.0.0.1:${port}: EADDRINUSE: another program listens there; stop it, or set another address`,
  })
  expect([watched.code, made]).toEqual([2, ['data']])
  expect(self.status).toBe(200)
})

describe('a server that runs, with settings that it does not know', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let server: ServerProcess
  beforeAll(async () => {
    folder = await temporaryFolder()
    const injected = { SERVICE_HOST: 'x', SERVICE_PORT: '1', SERVICE_PORT_HTTP: '1', PORT: 'tcp://x' }
    const settings = { LISTENER: 'x', ...injected, PORT_8200_TCP_ADDR: 'x' }
    server = await startProcess({ folder: folder.path, settings })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })

  test('warns of the unknown one, and not of names that an orchestrator injects', () => {
    expect(messagesOf(server, 'warn')).toContain('unknown setting GATEHOUSE_LISTENER')
    expect(messagesOf(server, 'warn').filter((text) => text.startsWith('unknown'))).toHaveLength(1)
  })

  test('continues when a second process on the same file ends with 3 and names it', async () => {
    const refused = await runServer({ folder: folder.path })
    const self = await server.as(server.rootToken).read('auth/token/lookup-self')

    expect(endOf(refused)).toEqual({
      code: 3,
      stdout: '',
      fatal: [`cannot open data/gatehouse.db: in use by process ${server.pid}`],
    })
    expect(self.status).toBe(200)
  })
})

test('a database that requires a newer program ends the start with 4 and is unchanged', async () => {
  await using folder = await temporaryFolder()
  await aStore(folder.path)
  const file = folder.file('data/gatehouse.db')
  const database = new Database(file)
  database.exec("UPDATE meta SET value = 999 WHERE name = 'compatible_from'")
  database.close()
  const before = await digestOf(file)

  const refused = await refusedStart({ folder: folder.path })

  expect(refused).toMatchObject({
    code: 4,
    message: expect.stringMatching(
      /^cannot open .*\/gatehouse\.db: it needs schema 999 or later, this program knows \d+$/,
    ),
  })
  expect(await digestOf(file)).toBe(before)
})

test.each([
  {
    name: 'text',
    make: (path: string) =>
      writeFile(
        path,
        'this is no database, but a file of text that is long enough to be read as a header\n'.repeat(20),
      ),
  },
  {
    name: 'another program’s database',
    make: async (path: string) => {
      const database = new Database(path)
      database.exec('CREATE TABLE theirs (a)')
      database.close()
    },
  },
])('$name instead of the database ends the start with 2 and is unchanged', async ({ make }) => {
  await using folder = await temporaryFolder()
  await mkdir(folder.file('data'))
  const file = folder.file('data/gatehouse.db')
  await make(file)
  const before = await digestOf(file)

  const refused = await refusedStart({ folder: folder.path })

  expect(refused).toMatchObject({ code: 2, message: `cannot open ${file}: not a Gatehouse database` })
  expect(await digestOf(file)).toBe(before)
})

const otherKey = 'ab'.repeat(32)

test.each([
  {
    name: 'missing',
    spoil: (path: string) => rm(path),
    says: (file: string) => `seal key file ${file} is missing`,
  },
  {
    name: 'wrong',
    spoil: (path: string) => writeFile(path, otherKey),
    says: () => 'seal key does not open this store',
  },
  {
    name: 'damaged',
    spoil: (path: string) => writeFile(path, 'abab'),
    says: (file: string) => `seal key file ${file} does not hold 32 bytes as hex or base64`,
  },
  {
    name: 'empty',
    spoil: (path: string) => writeFile(path, ''),
    says: (file: string) => `seal key file ${file} does not hold 32 bytes as hex or base64`,
  },
])('a seal key file that is $name ends the start with 5, and nothing is written', async ({ spoil, says }) => {
  await using folder = await temporaryFolder()
  const token = await aStore(folder.path)
  const key = await readFile(folder.file('data/seal.key'))
  const file = folder.file('data/seal.key')
  await spoil(file)
  const files = await readdir(folder.file('data'))
  const before = await digestOf(folder.file('data/gatehouse.db'))

  const refused = await refusedStart({ folder: folder.path })

  expect(refused).toMatchObject({ code: 5, message: says(file) })
  expect(await digestOf(folder.file('data/gatehouse.db'))).toBe(before)
  expect(await readdir(folder.file('data'))).toEqual(files)
  await writeFile(folder.file('data/seal.key'), key, { mode: 0o600 })
  await using server = await startInFolder({ folder: folder.path })
  expect((await server.as(token).read('auth/token/lookup-self')).status).toBe(200)
})

test('a seal key file that others can read ends the start with 5, unless that is allowed', async () => {
  await using folder = await temporaryFolder()
  await aStore(folder.path)
  const file = folder.file('data/seal.key')
  await chmod(file, 0o644)

  const refused = await refusedStart({ folder: folder.path })
  await using server = await startInFolder({ folder: folder.path, settings: { ALLOW_OPEN_KEY_FILE: 'true' } })

  expect(refused.code).toBe(5)
  expect(refused.message.startsWith(`seal key file ${file} is open to others`)).toBe(true)
  expect((await server.anonymous.read('sys/health')).status).toBe(200)
})

test('a former seal key that others can read ends the start with 5', async () => {
  await using folder = await temporaryFolder()
  await aStore(folder.path)
  const file = folder.file('former.key')
  await writeFile(file, otherKey)
  await chmod(file, 0o604)

  const refused = await refusedStart({ folder: folder.path, settings: { SEAL_PREVIOUS_KEY_FILE: file } })

  expect(refused.code).toBe(5)
  expect(refused.message.startsWith(`seal key file ${file} is open to others`)).toBe(true)
})

test('a wrong seal key in the environment ends the start with 5', async () => {
  await using folder = await temporaryFolder()
  await aStore(folder.path)

  const refused = await runServer({ folder: folder.path, settings: { SEAL_KEY: otherKey } })

  expect(endOf(refused)).toEqual({ code: 5, stdout: '', fatal: ['seal key does not open this store'] })
})

test('a seal key in the environment needs no file, at the first start and later', async () => {
  await using folder = await temporaryFolder()
  const options = { folder: folder.path, settings: { SEAL_KEY: otherKey } }
  await using first = await startInFolder(options)
  await first.stop()

  await using second = await startInFolder(options)
  const self = await second.as(first.rootToken).read('auth/token/lookup-self')

  expect(self.status).toBe(200)
  await expect(stat(folder.file('data/seal.key'))).rejects.toThrow('ENOENT')
})

test('after a change of the seal key, the store opens with the former key given, and then with the new one alone', async () => {
  await using folder = await temporaryFolder()
  const token = await aStore(folder.path)
  const [current, former] = [folder.file('data/seal.key'), folder.file('former.key')]
  await rename(current, former)
  await writeFile(current, otherKey, { mode: 0o600 })

  await using changing = await startInFolder({
    folder: folder.path,
    settings: { SEAL_PREVIOUS_KEY_FILE: former },
  })
  await changing.stop()
  await using changed = await startInFolder({
    folder: folder.path,
    settings: { SEAL_PREVIOUS_KEY_FILE: former },
  })
  const self = await changed.as(token).read('auth/token/lookup-self')
  await changed.stop()
  const refused = await refusedStart({ folder: folder.path, settings: { SEAL_KEY_FILE: former } })

  expect([changing, changed].map(({ stderr }) => stderr.includes('"event":"key_rotated"'))).toEqual([
    true,
    false,
  ])
  expect(self.status).toBe(200)
  expect(refused).toMatchObject({ code: 5, message: 'seal key does not open this store' })
})
