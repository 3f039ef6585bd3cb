import { lstat, mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { backUp } from '../../src/storage/copies/backup.ts'
import { copyDatabase } from '../../src/storage/copies/backup-copy.ts'
import { restoreBackup } from '../../src/storage/copies/restore.ts'
import { verifyDatabase } from '../../src/storage/copies/verify.ts'
import { StorageFaults } from '../../src/storage/faults.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { runProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const given = { product_version: '1.0.0', cluster_id: 'c', created_time: 'now', seal_type: 'static' }
const note = { key: 'note', value: Buffer.from('{}') }
const restoration = { force: false, stamp: 'then', noteOf: () => note }

/** A closed database with these records. */
async function databaseWith(path: string, records: Record<string, string>): Promise<void> {
  await using storage = await openSqlite({ path })
  const batch = Object.entries(records).map(([key, value]) => ({ key, value: Buffer.from(value) }))
  await storage.write(batch)
}

const killed = (folder: string, what: 'backup' | 'restore') =>
  runProcess('test/storage/copying-program.ts', { folder, args: [what, 'a.db', 'b'] })

async function recordsIn(path: string): Promise<Record<string, string>> {
  await using storage = await openSqlite({ path })
  const rows = await storage.list('')
  return Object.fromEntries(rows.map(({ key, value }) => [key, Buffer.from(value).toString()]))
}

test('the digest is SHA-256 over the keys and values in key order, each after its length', async () => {
  await using folder = await temporaryFolder()
  await databaseWith(folder.file('a.db'), { b: 'two', 'a/ä': 'one' })

  const facts = await backUp(folder.file('b'), { source: folder.file('a.db'), given })

  // printf '\0\0\0\4a/\xc3\xa4\0\0\0\3one\0\0\0\1b\0\0\0\3two' | sha256sum
  expect(facts.digest).toBe('2a77be936f304e9c43c81706553593e82eb15a95d486f7a1637872323b6dedbd')
  expect(facts).toMatchObject({ ...given, records: 2 })
})

test('a backup needs no lock of the writer, and has nothing that is not committed', async () => {
  await using folder = await temporaryFolder()
  const source = folder.file('a.db')
  await databaseWith(source, { a: '1' })
  const writer = new Database(source)
  writer.exec("BEGIN IMMEDIATE; INSERT INTO records (key, value) VALUES ('b', x'00')")

  const { records } = await backUp(folder.file('b'), { source, given })
  writer.close()

  expect(records).toBe(1)
})

test('a backup replaces an earlier one and what an interrupted one left', async () => {
  await using folder = await temporaryFolder()
  const source = folder.file('a.db')
  await databaseWith(source, { a: '1' })
  await writeFile(folder.file('b'), 'old')
  await writeFile(folder.file('b.part'), 'left')

  await backUp(folder.file('b'), { source, given })

  expect(verifyDatabase(folder.file('b')).records).toBe(1)
  expect(await readdir(folder.path)).not.toContain('b.part')
})

test('a copy gives up before the write-ahead log becomes too large, and leaves nothing', async () => {
  await using folder = await temporaryFolder()
  const source = folder.file('a.db')
  await using storage = await openSqlite({ path: source })
  const value = Buffer.alloc(8 * 1024 * 1024)
  await Promise.all(
    ['a', 'b', 'c', 'd'].map((key) => storage.write([{ key: key, value: value, expect: 'absent' }])),
  )

  const copy = copyDatabase({ source, target: folder.file('b'), given, maxLogBytes: 4096 })

  await expect(copy).rejects.toMatchObject({
    code: 'LOG_FULL',
    message: expect.stringContaining('the write-ahead log has grown'),
  })
  expect(await readdir(folder.path)).not.toContain('b')
})

test('a copy that is ended early leaves nothing', async () => {
  await using folder = await temporaryFolder()
  const source = folder.file('a.db')
  await databaseWith(source, { a: '1' })
  const ending = new AbortController()

  const copy = copyDatabase({ source, target: folder.file('b'), given, signal: ending.signal })
  ending.abort()

  await expect(copy).rejects.toMatchObject({ code: 'COPY_ABORTED' })
  expect(await readdir(folder.path)).not.toContain('b')
})

test('two backups to one file take turns', async () => {
  await using folder = await temporaryFolder()
  const source = folder.file('a.db')
  await databaseWith(source, { a: '1' })

  const both = await Promise.allSettled([1, 2].map(() => backUp(folder.file('b'), { source, given })))

  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
  expect(verifyDatabase(folder.file('b')).records).toBe(1)
})

test('a backup that fails at its end leaves the earlier one', async () => {
  await using folder = await temporaryFolder()
  const source = folder.file('a.db')
  await databaseWith(source, { a: '1' })
  await backUp(folder.file('b'), { source, given })
  await databaseWith(source, { b: '2' })
  const faults = new StorageFaults()
  faults.arm('backup.before-rename', 'io')

  await expect(backUp(folder.file('b'), { source, given }, faults)).rejects.toMatchObject({
    code: 'SQLITE_IOERR_WRITE',
  })

  expect(verifyDatabase(folder.file('b')).records).toBe(1)
  expect(await readdir(folder.path)).not.toContain('b.part')
})

test('a backup that is killed at its last step leaves the earlier one, and the next one succeeds', async () => {
  await using folder = await temporaryFolder()
  const source = folder.file('a.db')
  await databaseWith(source, { a: '1' })
  await backUp(folder.file('b'), { source, given })
  await databaseWith(source, { b: '2' })

  const { code } = await killed(folder.path, 'backup')
  const before = verifyDatabase(folder.file('b')).records
  await backUp(folder.file('b'), { source, given })

  expect([code, before, verifyDatabase(folder.file('b')).records]).toEqual([null, 1, 2])
})

describe('a restoration', () => {
  test('that is killed at its last step leaves the old database, and can be repeated', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('a.db')
    await databaseWith(path, { a: '1' })
    await backUp(folder.file('b'), { source: path, given })
    await databaseWith(path, { b: '2' })

    const { code } = await killed(folder.path, 'restore')
    const before = await recordsIn(path)
    await restoreBackup({ ...restoration, backup: folder.file('b'), path, force: true })

    expect([code, before]).toEqual([null, { a: '1', b: '2' }])
    expect(await recordsIn(path)).toEqual({ a: '1', note: '{}' })
    expect(await recordsIn(folder.file('a.db.replaced-killed'))).toEqual({ a: '1', b: '2' })
  })

  test('that fails before its last step leaves the old database, and can be repeated', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('a.db')
    await databaseWith(path, { a: '1' })
    await backUp(folder.file('b'), { source: path, given })
    await databaseWith(path, { b: '2' })
    const faults = new StorageFaults()
    faults.arm('restore.before-rename', 'io')
    const options = { ...restoration, backup: folder.file('b'), path, force: true }

    await expect(restoreBackup({ ...options, faults })).rejects.toThrow('injected')
    const before = await recordsIn(path)
    const { kept } = await restoreBackup({ ...options, stamp: 'later' })

    expect(before).toEqual({ a: '1', b: '2' })
    expect(await recordsIn(path)).toEqual({ a: '1', note: '{}' })
    expect(await recordsIn(kept ?? '')).toEqual({ a: '1', b: '2' })
  })

  test('keeps revisions, and no later record gets one that was used before', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('a.db')
    await databaseWith(path, { a: '1' })
    await using before = await openSqlite({ path })
    await before.update('b', () => Buffer.from('2'))
    const used = (await before.get('b'))?.revision ?? 0
    await before.write([{ key: 'b', value: undefined }])
    const kept = (await before.get('a'))?.revision
    await backUp(folder.file('b'), { source: path, given })
    await mkdir(folder.file('new'))

    const target = folder.file('new/a.db')
    await restoreBackup({ ...restoration, backup: folder.file('b'), path: target })
    await using restored = await openSqlite({ path: target })
    await restored.update('c', () => Buffer.from('3'))

    expect((await restored.get('a'))?.revision).toBe(kept)
    expect((await restored.get('c'))?.revision).toBeGreaterThan(used)
  })

  test('replaces a damaged database, and keeps it with its write-ahead log', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('a.db')
    await databaseWith(path, { a: '1' })
    await backUp(folder.file('b'), { source: path, given })
    await writeFile(path, 'x'.repeat(9000))
    await writeFile(`${path}-wal`, 'y')
    const options = { ...restoration, backup: folder.file('b'), path }

    await expect(restoreBackup(options)).rejects.toMatchObject({ exitCode: 1 })
    await restoreBackup({ ...options, force: true })

    expect(await recordsIn(path)).toEqual({ a: '1', note: '{}' })
    expect(await readdir(folder.path)).toEqual(
      expect.arrayContaining(['a.db.replaced-then', 'a.db.replaced-then-wal']),
    )
  })

  test('follows a symbolic link to the database', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('a.db')
    await databaseWith(path, { a: '1' })
    await backUp(folder.file('b'), { source: path, given })
    await mkdir(folder.file('disk'))
    await rename(path, folder.file('disk/real.db'))
    await symlink('disk/real.db', path)

    await restoreBackup({ ...restoration, backup: folder.file('b'), path, force: true })

    expect((await lstat(path)).isSymbolicLink()).toBe(true)
    expect(await recordsIn(folder.file('disk/real.db'))).toEqual({ a: '1', note: '{}' })
  })
})
