import { chmod, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { commandHere } from '../support/command-here.ts'
import { startInFolder } from '../support/folder-server.ts'
import { logLines } from '../support/log-lines.ts'
import { runCommand } from '../support/process.ts'
import { stoppedServer } from '../support/stopped-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const rootToken = (folder: string, args: string[] = [], settings: Record<string, string> = {}) =>
  commandHere('root-token', { folder, args, settings })

const aStoppedServer = stoppedServer()

test('root-token prints a new root token that works, the old one stays, and the next start says so once', async () => {
  await using folder = await temporaryFolder()
  const old = await aStoppedServer(folder.path)

  const made = await runCommand('root-token', { folder: folder.path })
  const token = /^Root token: (hvs\.\w{24})\n$/.exec(made.stdout)?.[1] ?? ''
  await using server = await startInFolder({ folder: folder.path })
  const self = await server.as(token).read('auth/token/lookup-self')
  const before = await server.as(old).read('auth/token/lookup-self')
  await server.stop()
  await using later = await startInFolder({ folder: folder.path })

  expect([made.code, made.stderr, self.status, before.status]).toEqual([0, '', 200, 200])
  expect(self.body['data']).toMatchObject({
    policies: ['root'],
    path: 'auth/token/root',
    display_name: 'root',
    ttl: 0,
    orphan: true,
  })
  expect(token).not.toBe(old)
  expect(server.stderr).toContain('"event":"root_token_made"')
  expect(server.stderr).not.toContain(token)
  expect(later.stderr).not.toContain('root_token_made')
})

test('root-token --out writes it for its owner only, and prints where', async () => {
  await using folder = await temporaryFolder()
  await aStoppedServer(folder.path)
  await writeFile(folder.file('token'), 'old', { mode: 0o644 })

  const made = await rootToken(folder.path, ['--out', 'token'])
  const token = (await readFile(folder.file('token'), 'utf8')).trim()
  await using server = await startInFolder({ folder: folder.path })
  const self = await server.as(token).read('auth/token/lookup-self')

  expect(made).toEqual({ code: 0, stdout: 'Root token written to token\n', stderr: '' })
  expect((await stat(folder.file('token'))).mode & 0o777).toBe(0o600)
  expect(self.status).toBe(200)
})

test.each(['data/seal.key', './data/gatehouse.db', 'data/gatehouse.db-wal'])(
  'root-token does not overwrite %s',
  async (out) => {
    await using folder = await temporaryFolder()
    await aStoppedServer(folder.path)
    const before = await readFile(folder.file('data/seal.key'), 'utf8')

    const refused = await rootToken(folder.path, ['--out', out])

    expect(refused).toEqual({ code: 2, stdout: '', stderr: `${out} is a database file or a seal key file\n` })
    expect(await readFile(folder.file('data/seal.key'), 'utf8')).toBe(before)
  },
)

test('root-token creates no token if it cannot write the file', async () => {
  await using folder = await temporaryFolder()
  await aStoppedServer(folder.path)

  const refused = await rootToken(folder.path, ['--out', 'no/folder/token'])
  await using server = await startInFolder({ folder: folder.path })

  expect(refused).toEqual({ code: 1, stdout: '', stderr: 'cannot write no/folder/token: ENOENT\n' })
  expect(server.stderr).not.toContain('root_token_made')
})

test('root-token has a running server make the token, which logs it at once and leaves no file', async () => {
  await using folder = await temporaryFolder()
  await using server = await startInFolder({ folder: folder.path })
  const before = (await readdir(folder.file('data'))).toSorted()

  const made = await rootToken(folder.path, ['--out', 'token'])
  const token = (await readFile(folder.file('token'), 'utf8')).trim()
  const self = await server.as(token).read('auth/token/lookup-self')
  const after = (await readdir(folder.file('data'))).toSorted()
  await server.stop()
  await using later = await startInFolder({ folder: folder.path })

  expect(made).toEqual({ code: 0, stdout: 'Root token written to token\n', stderr: '' })
  expect((await stat(folder.file('token'))).mode & 0o777).toBe(0o600)
  expect([self.status, self.body.data?.['policies']]).toEqual([200, ['root']])
  expect(after).toEqual(before)
  expect(logLines(server).filter(({ event }) => event === 'root_token_made')).toHaveLength(1)
  expect(server.stderr).not.toContain(token)
  expect(later.stderr).not.toContain('root_token_made')
})

test('root-token finds the server of a database behind a link', async () => {
  await using folder = await temporaryFolder()
  await aStoppedServer(folder.path)
  await rename(folder.file('data/gatehouse.db'), folder.file('real.db'))
  await symlink(folder.file('real.db'), folder.file('data/gatehouse.db'))
  await using server = await startInFolder({ folder: folder.path })

  const made = await rootToken(folder.path)

  expect(made).toMatchObject({ code: 0, stderr: '' })
  const token = /^Root token: (\S+)\n$/.exec(made.stdout)?.[1] ?? ''
  expect(await server.as(token).read('auth/token/lookup-self')).toMatchObject({ status: 200 })
})

test('a running server makes no root token while it is sealed, or if others can write its folder', async () => {
  await using folder = await temporaryFolder()
  await using server = await startInFolder({ folder: folder.path })
  await server.as(server.rootToken).write('sys/seal')

  const sealed = await rootToken(folder.path)
  const unwritable = await rootToken(folder.path, ['--out', 'no/folder/token'])
  await chmod(folder.file('data'), 0o770)
  const open = await rootToken(folder.path)

  expect(sealed).toEqual({ code: 1, stdout: '', stderr: 'the server made no root token: Vault is sealed\n' })
  expect(unwritable).toEqual({ code: 1, stdout: '', stderr: 'cannot write no/folder/token: ENOENT\n' })
  expect([open.code, open.stderr]).toEqual([
    1,
    'a running server makes no root token, because data can be written by other users (mode 0770); stop it and try again\n',
  ])
  expect(server.stderr).not.toContain('root_token_made')
})

test('root-token exits with 1 without the seal key', async () => {
  await using folder = await temporaryFolder()
  await aStoppedServer(folder.path)

  const missing = await rootToken(folder.path, [], { SEAL_KEY_FILE: 'no.key' })
  const wrong = await rootToken(folder.path, [], { SEAL_KEY: 'cd'.repeat(32) })

  expect(missing).toEqual({ code: 1, stdout: '', stderr: 'seal key file no.key is missing\n' })
  expect(wrong).toEqual({ code: 1, stdout: '', stderr: 'seal key does not open this store\n' })
})

test('root-token creates no token without a store', async () => {
  await using folder = await temporaryFolder()

  const refused = await rootToken(folder.path)

  expect(refused).toEqual({ code: 1, stdout: '', stderr: 'cannot open data/gatehouse.db: ENOENT\n' })
  expect(await readdir(folder.path)).toEqual([])
})

test.each<{ name: string; args: string[]; settings: Record<string, string>; says: string }>([
  {
    name: 'an unknown option',
    args: ['--force'],
    settings: {},
    says: 'usage: gatehouse root-token [--out FILE]',
  },
  { name: 'an argument', args: ['token'], settings: {}, says: 'usage: gatehouse root-token [--out FILE]' },
  {
    name: 'a wrong setting',
    args: [],
    settings: { STORAGE: 'x' },
    says: 'GATEHOUSE_STORAGE: must be memory:, sqlite:PATH or postgres://USER@HOST/DATABASE',
  },
  {
    name: 'a store in memory',
    args: [],
    settings: { STORAGE: 'memory:' },
    says: 'GATEHOUSE_STORAGE: memory: storage has no root token to replace',
  },
])('root-token exits with 2 with $name', async ({ args, settings, says }) => {
  await using folder = await temporaryFolder()

  const refused = await rootToken(folder.path, args, settings)

  expect(refused).toEqual({ code: 2, stdout: '', stderr: `${says}\n` })
})
