import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import {
  begin,
  callback,
  clientId,
  redirectUri,
  startSmallProvider,
  verdict,
} from '../plugins/jwt-auth/oidc/small-provider.ts'
import { programFile } from '../support/bundled.ts'
import { commandHere } from '../support/command-here.ts'
import { damage } from '../support/damage.ts'
import { damagePageOf } from '../support/damaged-page.ts'
import { type FolderServer, startInFolder } from '../support/folder-server.ts'
import { logLines } from '../support/log-lines.ts'
import { runCommand, startProcess, startScriptFlags } from '../support/process.ts'
import { stoppedServer } from '../support/stopped-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const policy = { policy: 'path "a" { capabilities = ["read"] }' }
const run =
  (name: string) =>
  (folder: string, args: string[] = [], settings: Record<string, string> = {}) =>
    commandHere(name, { folder, args, settings })
/** The copy is made by a process of its own in any case, which is found ready only in the bundle. */
const backup = (folder: string, args: string[]) => runCommand('backup', { folder, args })
/** A backup that is refused before anything is copied. */
const refusedBackup = run('backup')
const restore = run('restore')
const verify = run('verify')

const aStoppedServer = stoppedServer((server) =>
  server.as(server.rootToken).write('sys/policies/acl/kept', policy),
)

let made: Promise<Buffer> | undefined

/** Fills an empty folder with a stopped server and a backup `b` of it, and resolves with the root token. */
async function aBackedUpServer({
  path,
  file,
}: {
  path: string
  file(name: string): string
}): Promise<string> {
  const token = await aStoppedServer(path)
  made ??= backup(path, ['b']).then(() => readFile(file('b')))
  await writeFile(file('b'), await made, { mode: 0o600 })
  return token
}

const isValid = async (server: FolderServer, token: string): Promise<boolean> =>
  (await server.as(token).read('auth/token/lookup-self')).status === 200

const factsIn = (file: string): Record<string, unknown> => {
  const database = new Database(file, { readonly: true })
  try {
    return Object.fromEntries(database.prepare<[], [string, unknown]>('SELECT * FROM backup').raw().all())
  } finally {
    database.close()
  }
}

test('a backup of a running server is that server at that moment, when it is restored with the seal key', async () => {
  await using folder = await temporaryFolder()
  await using other = await temporaryFolder()
  await using server = await startInFolder({ folder: folder.path })
  const root = server.as(server.rootToken)
  await root.write('sys/policies/acl/before', policy)
  const token = await tokenOf(root.write('auth/token/create', { ttl: '1h' }))
  const { body: health } = await root.read('sys/health')

  const made = await backup(folder.path, ['b'])
  const metrics = await root.read('/metrics')
  await root.write('sys/policies/acl/after', policy)
  await root.write('auth/token/revoke', { token })
  await mkdir(other.file('data'))
  await copyFile(folder.file('data/seal.key'), other.file('data/seal.key'))
  const done = await restore(other.path, [folder.file('b')])
  await using restored = await startInFolder({ folder: other.path })

  const facts = factsIn(folder.file('b'))
  expect(made).toEqual({
    code: 0,
    stdout: `Backup written to b: ${facts['records']} records, digest ${facts['digest']}\n`,
    stderr: '',
  })
  expect(facts).toMatchObject({
    format: 1,
    schema: 2,
    compatible_from: 2,
    seal_type: 'static',
    cluster_id: health['cluster_id'],
    digest: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect((await stat(folder.file('b'))).mode & 0o777).toBe(0o600)
  expect(metrics.text).toMatch(/^gatehouse_last_backup_timestamp_seconds \d/m)
  expect(done.code).toBe(0)
  expect(done.stdout).toBe(
    `Restored ${facts['records']} records of ${facts['created_time']} to data/gatehouse.db\n`,
  )
  expect(done.stderr).toContain('are valid again')
  const again = restored.as(server.rootToken)
  expect((await again.read('sys/policies/acl/before')).status).toBe(200)
  expect((await again.read('sys/policies/acl/before?history=true')).body.data?.versions).toHaveLength(1)
  expect((await again.read('sys/policies/acl/after')).status).toBe(404)
  expect([await isValid(restored, token), await isValid(server, token)]).toEqual([true, false])
})

test('what may be used only once does not come back with a backup, and the next start says once that it restored', async () => {
  await using folder = await temporaryFolder()
  await using other = await temporaryFolder()
  await using provider = await startSmallProvider()
  await using server = await startInFolder({ folder: folder.path })
  const root = server.as(server.rootToken)
  await root.write('sys/auth/oidc', { type: 'oidc' })
  const client = { oidc_client_id: clientId, oidc_client_secret: 'def', default_role: 'test' }
  await root.write('auth/oidc/config', { oidc_discovery_url: provider.url, ...client })
  await root.write('auth/oidc/role/test', { user_claim: 'sub', allowed_redirect_uris: [redirectUri] })
  const login = await begin(server.anonymous)
  const wrap = { headers: { 'X-Vault-Wrap-TTL': '1h' } }
  const { body } = await root.write('sys/wrapping/wrap', { a: 1 }, wrap)
  const wrapping = String(body['wrap_info']?.['token'])
  const counted = await tokenOf(root.write('auth/token/create', { num_uses: 5, ttl: '1h' }))
  const plain = await tokenOf(root.write('auth/token/create', { ttl: '1h' }))

  await backup(folder.path, ['b'])
  await mkdir(other.file('data'))
  await copyFile(folder.file('data/seal.key'), other.file('data/seal.key'))
  await restore(other.path, [folder.file('b')])
  await using restored = await startInFolder({ folder: other.path })
  const query = { state: login.get('state'), code: provider.codeFor(login) }
  const refused = await callback(restored.anonymous, query)
  const unwrapped = await restored.as(wrapping).write('sys/wrapping/unwrap')
  const valid = [await isValid(restored, counted), await isValid(restored, plain)]
  await restored.stop()
  await using next = await startInFolder({ folder: other.path })

  expect(verdict(refused)).toBe('400 Vault login failed. Expired or missing OAuth state.')
  expect(unwrapped.status).toBe(400)
  expect(valid).toEqual([false, true])
  expect(logLines(restored).filter(({ event }) => event === 'restored')).toEqual([
    expect.objectContaining({
      level: 'warn',
      backup_time: factsIn(folder.file('b'))['created_time'],
      revoke_tokens: false,
      tokens_dropped: 2,
    }),
  ])
  expect(next.stderr).not.toContain('"restored"')
  expect(await isValid(next, counted)).toBe(false)
  expect(await isValid(server, counted)).toBe(true)
})

test('restore --force --revoke-tokens keeps the old database beside the new one, and only root tokens stay valid', async () => {
  await using folder = await temporaryFolder()
  const rootToken = await aStoppedServer(folder.path)
  await using server = await startInFolder({ folder: folder.path })
  const root = server.as(rootToken)
  const token = await tokenOf(root.write('auth/token/create', { ttl: '1h', policies: ['default'] }))
  await backup(folder.path, ['b'])
  await root.write('sys/policies/acl/after', policy)
  const held = await restore(folder.path, ['b', '--force'])
  await server.stop()

  const refused = await restore(folder.path, ['b'])
  const untouched = await verify(folder.path)
  const done = await restore(folder.path, ['b', '--force', '--revoke-tokens'])
  await using restored = await startInFolder({ folder: folder.path })

  expect([held.code, held.stderr]).toEqual([
    3,
    `cannot open data/gatehouse.db: in use by process ${process.pid}\n`,
  ])
  expect([refused.code, refused.stderr]).toEqual([
    1,
    'data/gatehouse.db is not empty: with --force it is replaced, and kept beside the new one\n',
  ])
  expect(untouched.code).toBe(0)
  expect([done.code, done.stderr]).toEqual([
    0,
    'warning: the next start revokes all service tokens except root tokens; batch tokens stay valid\n',
  ])
  const kept = /^The replaced database is (.*)$/m.exec(done.stdout)?.[1] ?? ''
  const old = await temporaryFolder()
  await using _old = old
  await mkdir(old.file('data'))
  await copyFile(kept, old.file('data/gatehouse.db'))
  await copyFile(folder.file('data/seal.key'), old.file('data/seal.key'))
  await using before = await startInFolder({ folder: old.path })
  expect((await before.as(rootToken).read('sys/policies/acl/after')).status).toBe(200)
  expect((await restored.as(rootToken).read('sys/policies/acl/after')).status).toBe(404)
  expect([await isValid(before, token), await isValid(restored, token)]).toEqual([true, false])
  expect((await readdir(folder.file('data'))).filter((name) => name.endsWith('.part'))).toEqual([])
})

test('a database whose server was killed can be backed up, and the backup has what the server acknowledged', async () => {
  await using folder = await temporaryFolder()
  const token = await aStoppedServer(folder.path)
  await using killed = await startProcess({ folder: folder.path })
  await killed.as(token).write('sys/policies/acl/last', policy)
  await killed.stop('SIGKILL')

  const made = await backup(folder.path, ['b'])
  const done = await restore(folder.path, ['b', '--force'])
  await using server = await startInFolder({ folder: folder.path })

  expect([made.code, done.code]).toEqual([0, 0])
  expect((await server.as(token).read('sys/policies/acl/last')).status).toBe(200)
})

test('verify checks the storage of a running server and a backup alike, with the seal key and without', async () => {
  await using folder = await temporaryFolder()
  await aBackedUpServer(folder)
  const { records, digest, created_time, product_version, cluster_id } = factsIn(folder.file('b'))
  const sum = `${records} records, digest ${digest}`

  const ofBackup = await verify(folder.path, ['b'])
  const ofStorage = await verify(folder.path)
  const withoutKey = await verify(folder.path, ['b'], { SEAL_KEY_FILE: 'none' })
  const withWrongKey = await verify(folder.path, ['b'], { SEAL_KEY: 'cd'.repeat(32) })
  await using _server = await startInFolder({ folder: folder.path })
  const ofRunning = await verify(folder.path)

  const made = `, backup of ${created_time} by version ${product_version}, cluster ${cluster_id}`
  expect(ofBackup).toEqual({ code: 0, stdout: `b: ${sum}${made}\nintact; every seal opened\n`, stderr: '' })
  expect(ofStorage.stdout).toBe(`data/gatehouse.db: ${sum}\nintact; every seal opened\n`)
  expect([withoutKey.code, withoutKey.stdout]).toEqual([
    0,
    `b: ${sum}${made}\nintact; seals not checked: no seal key\n`,
  ])
  expect(withWrongKey).toEqual({ code: 1, stdout: '', stderr: 'seal key does not open this store\n' })
  expect([ofRunning.code, ofRunning.stderr]).toEqual([0, ''])
})

const spoiled: { name: string; spoil(file: string): Promise<unknown> | unknown; says: string }[] = [
  {
    name: 'a changed record',
    spoil: (file) => damage(file, 'policy/%'),
    says: 'its records do not have the digest of the backup',
  },
  {
    name: 'a record that is gone',
    spoil: (file) => changed(file, "DELETE FROM records WHERE key LIKE 'policy/%'"),
    says: 'records instead of',
  },
  {
    name: 'a missing end',
    spoil: async (file) => writeFile(file, (await readFile(file)).subarray(0, 3 * 4096)),
    says: 'the file is damaged',
  },
  {
    name: 'other content',
    spoil: (file) => writeFile(file, 'x'.repeat(9000)),
    says: 'not a Gatehouse database',
  },
  {
    name: 'a format of a later version',
    spoil: (file) => changed(file, "UPDATE backup SET value = 2 WHERE name = 'format'"),
    says: 'its format 2 is unknown',
  },
  {
    name: 'a schema of a later version',
    spoil: (file) => changed(file, "UPDATE meta SET value = 9 WHERE name = 'compatible_from'"),
    says: 'it needs schema 9 or later, this program knows 2',
  },
  {
    name: 'no facts, because it is a database',
    spoil: (file) => changed(file, 'DROP TABLE backup'),
    says: 'b is not a backup of Gatehouse',
  },
]

test('a backup that is damaged or unknown is not restored, and the old database stays', async () => {
  await using folder = await temporaryFolder()
  const token = await aBackedUpServer(folder)
  const good = await readFile(folder.file('b'))
  const database = () => readFile(folder.file('data/gatehouse.db'))
  const before = await database()

  for (const { name, spoil, says } of spoiled) {
    await writeFile(folder.file('b'), good)
    await spoil(folder.file('b'))
    const refused = await restore(folder.path, ['b', '--force'])
    expect([refused.code, refused.stdout], name).toEqual([1, ''])
    expect(refused.stderr, name).toContain(says)
    expect(before.equals(await database()), name).toBe(true)
    expect((await readdir(folder.file('data'))).filter((file) => /part|replaced/.test(file))).toEqual([])
  }

  await using server = await startInFolder({ folder: folder.path })
  expect((await server.as(token).read('sys/policies/acl/kept')).status).toBe(200)
})

/** Leaves at `path` what a process leaves that is killed while it changes a copy of a database. */
async function leaveKilledCopy(of: string, path: string): Promise<void> {
  await copyFile(of, `${path}.open`)
  const connection = new Database(`${path}.open`)
  connection.pragma('journal_mode = DELETE')
  connection.pragma('cache_size = 2')
  connection.exec('BEGIN IMMEDIATE; UPDATE records SET value = zeroblob(50000)')
  for (const end of ['', '-journal']) await copyFile(`${path}.open${end}`, path + end)
  connection.close()
  await rm(`${path}.open`)
}

test('what a killed restoration or backup left neither stops nor changes the next one', async () => {
  await using folder = await temporaryFolder()
  const token = await aStoppedServer(folder.path)
  await backup(folder.path, ['b'])
  await leaveKilledCopy(folder.file('b'), folder.file('data/gatehouse.db.part'))
  await leaveKilledCopy(folder.file('b'), folder.file('c.part'))

  const made = await backup(folder.path, ['c'])
  const done = await restore(folder.path, ['c', '--force'])
  await using server = await startInFolder({ folder: folder.path })

  expect([made.code, done.code]).toEqual([0, 0])
  expect((await server.as(token).read('sys/policies/acl/kept')).status).toBe(200)
  const left = [...(await readdir(folder.path)), ...(await readdir(folder.file('data')))]
  expect(left.filter((name) => name.includes('part'))).toEqual([])
})

test('verify names a record that the keys do not open', async () => {
  await using folder = await temporaryFolder()
  await aStoppedServer(folder.path)
  const key = damage(folder.file('data/gatehouse.db'), 'policy/%')

  const found = await verify(folder.path)

  expect(found).toEqual({
    code: 1,
    stdout: '',
    stderr: `data/gatehouse.db: broken: its keys do not open the record ${key}\n`,
  })
})

test('a backup does not replace the database or the key of a store behind links', async () => {
  await using folder = await temporaryFolder()
  await aStoppedServer(folder.path)
  await mkdir(folder.file('real'))
  for (const [name, real] of [
    ['gatehouse.db', 'real/gatehouse.db'],
    ['seal.key', 'key'],
  ] as const) {
    await rename(folder.file(`data/${name}`), folder.file(real))
    await symlink(folder.file(real), folder.file(`data/${name}`))
  }

  for (const file of ['real/gatehouse.db', 'data/gatehouse.db', 'real/../real/gatehouse.db-wal', 'key'])
    expect(await refusedBackup(folder.path, [file]), file).toEqual({
      code: 2,
      stdout: '',
      stderr: `${file} is a database file or a seal key file\n`,
    })
})

test('a backup that is stopped leaves no incomplete file', async () => {
  await using folder = await temporaryFolder()
  await aStoppedServer(folder.path)
  const names = () => readdir(folder.path)
  const command = [...startScriptFlags, programFile('src/process/main.ts'), 'backup', 'b']
  const child = spawn(process.execPath, command, { cwd: folder.path })
  const ended = once(child, 'exit')

  await expect.poll(names, { interval: 1, timeout: 10_000 }).toContain('b.part')
  child.kill('SIGTERM')
  const [code] = await ended

  const left = (await names()).filter((name) => name.startsWith('b'))
  // the copy may have been complete already
  expect([
    [1, []],
    [0, ['b']],
  ]).toContainEqual([code, left])
})

test('a damaged database is not backed up, and the backup of yesterday stays', async () => {
  await using folder = await temporaryFolder()
  await aBackedUpServer(folder)
  const before = await readFile(folder.file('b'))
  damagePageOf(folder.file('data/gatehouse.db'), 'policy/%')

  const refused = await backup(folder.path, ['b'])
  const found = await verify(folder.path)

  expect(refused).toEqual({
    code: 1,
    stdout: '',
    stderr: 'cannot back up data/gatehouse.db to b: database disk image is malformed\n',
  })
  expect(await readFile(folder.file('b'))).toEqual(before)
  expect([found.code, found.stderr]).toEqual([
    1,
    expect.stringContaining('data/gatehouse.db: broken: the file is damaged'),
  ])
})

test.each<{ name: string; args: string[]; settings: Record<string, string>; says: string }>([
  { name: 'backup', args: [], settings: {}, says: 'usage: gatehouse backup FILE' },
  { name: 'backup', args: ['--all'], settings: {}, says: 'usage: gatehouse backup FILE' },
  { name: 'backup', args: ['b', 'c'], settings: {}, says: 'usage: gatehouse backup FILE' },
  {
    name: 'backup',
    args: ['data/seal.key'],
    settings: {},
    says: 'data/seal.key is a database file or a seal key file',
  },
  {
    name: 'backup',
    args: ['b'],
    settings: { STORAGE: 'memory:' },
    says: 'GATEHOUSE_STORAGE: memory: storage has nothing to back up',
  },
  {
    name: 'restore',
    args: [],
    settings: {},
    says: 'usage: gatehouse restore FILE [--force] [--revoke-tokens]',
  },
  {
    name: 'restore',
    args: ['data/gatehouse.db'],
    settings: {},
    says: 'data/gatehouse.db is a database file or a seal key file',
  },
  {
    name: 'verify',
    args: ['a', 'b'],
    settings: {},
    says:
      'usage: gatehouse verify [FILE] | --against URL --against-token-file FILE --to URL --to-token-file FILE ' +
      '[--only SECTIONS] [--except MOUNTS] [--json]',
  },
])('$name $args exits with 2', async ({ name, args, settings, says }) => {
  await using folder = await temporaryFolder()

  const refused = await run(name)(folder.path, args, settings)

  expect(refused).toEqual({ code: 2, stdout: '', stderr: `${says}\n` })
})

test.each([
  { name: 'backup', args: ['b'], says: 'cannot open data/gatehouse.db: ENOENT' },
  { name: 'verify', args: [], says: 'cannot open data/gatehouse.db: ENOENT' },
  { name: 'verify', args: ['b'], says: 'cannot open b: ENOENT' },
  { name: 'restore', args: ['b'], says: 'cannot restore b to data/gatehouse.db: ENOENT' },
])('$name $args exits with 1 without that file', async ({ name, args, says }) => {
  await using folder = await temporaryFolder()

  const refused = await run(name)(folder.path, args)

  expect([refused.code, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toContain(says)
})

const tokenOf = async (created: Promise<{ body: { auth?: { client_token?: unknown } } }>): Promise<string> =>
  String((await created).body.auth?.client_token)

function changed(file: string, sql: string): void {
  const database = new Database(file)
  database.exec(sql)
  database.close()
}
