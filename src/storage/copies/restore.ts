import { constants, createReadStream, createWriteStream } from 'node:fs'
import { chown, copyFile, link, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { StartError } from '../../errors.ts'
import { isAbsentOrEmpty, syncFolder } from '../../lib/system/private-file.ts'
import { realPathOf } from '../../lib/system/real-path.ts'
import type { StorageFaults } from '../faults.ts'
import { requireFolderOf } from '../sqlite/database-folder.ts'
import { openExisting } from '../sqlite/existing-database.ts'
import { holdLock } from '../sqlite/lock-file.ts'
import type { StoredRecord } from '../storage.ts'
import { removeCopy } from './backup-copy.ts'
import type { BackupFacts } from './backup-facts.ts'
import { BrokenDatabase, type Verified, verifyDatabase } from './verify.ts'

export type RestoreOptions = {
  readonly backup: string
  readonly path: string
  /** Whether a database with records may be replaced. */
  readonly force: boolean
  /** A record to add to the restored ones: it tells the next start about the restoration. */
  noteOf(facts: BackupFacts): Pick<StoredRecord, 'key' | 'value'>
  /** Part of the name under which the replaced database is kept. */
  readonly stamp: string
  /** Tests only. */
  readonly faults?: StorageFaults
}

/** `kept`: where the replaced database is. */
export type Restored = { readonly facts: BackupFacts; readonly kept: string | undefined }

/**
 * Puts the records of a backup in place of a database. Until the last step, a rename, the old database is
 * unchanged. Throws a StartError: 3 while a server holds the database, 1 for a refusal.
 * docs/operations.md#backup-and-restore
 */
export async function restoreBackup({
  backup,
  path,
  force,
  noteOf,
  stamp,
  faults,
}: RestoreOptions): Promise<Restored> {
  requireFolderOf(path)
  const target = realPathOf(path)
  using _lock = holdLock(target, path)
  await giveToOwner(`${target}.lock`)
  if (!force && hasRecords(target) !== false)
    throw new StartError(1, `${path} is not empty: with --force it is replaced, and kept beside the new one`)
  const part = `${target}.part`
  await removeCopy(part)
  try {
    await copyDurably(backup, part)
    const facts = prepare(part, backup, noteOf)
    await syncFile(part)
    await giveToOwner(part)
    const end = `.replaced-${stamp}`
    const isKept = await keepAside(target, target + end)
    faults?.pass('restore.before-rename')
    await rename(part, target)
    syncFolder(dirname(target))
    return { facts, kept: isKept ? target + end : undefined }
  } finally {
    await removeCopy(part)
  }
}

/** Undefined for a file that is no database or cannot be read: it may be a damaged one. */
function hasRecords(path: string): boolean | undefined {
  if (isAbsentOrEmpty(path) && isAbsentOrEmpty(`${path}-wal`)) return false
  try {
    using connection = openExisting(path, { readonly: true })
    return connection.prepare('SELECT 1 FROM records LIMIT 1').get() !== undefined
  } catch {
    return undefined
  }
}

/** The copy has mode 0600 whatever the mode of the original. */
async function copyDurably(from: string, to: string): Promise<void> {
  const source = createReadStream(from)
  await pipeline(source, createWriteStream(to, { flags: 'wx', mode: 0o600 }))
}

/** Makes a database of the copied backup. */
function prepare(part: string, backup: string, noteOf: RestoreOptions['noteOf']): BackupFacts {
  const facts = verifiedBackup(part, backup)
  const { key, value } = noteOf(facts)
  using connection = openExisting(part)
  connection.exec('DROP TABLE backup')
  connection.prepare('INSERT OR REPLACE INTO records (key, value) VALUES (?, ?)').run(key, value)
  return facts
}

/** What a sound backup says about itself. Throws a StartError 1 for any other file. `backup` is its name. */
export function verifiedBackup(path: string, backup: string): BackupFacts {
  const { facts } = verified(path, backup)
  if (facts === undefined) throw new StartError(1, `${backup} is not a backup of Gatehouse`)
  return facts
}

function verified(part: string, backup: string): Verified {
  try {
    return verifyDatabase(part)
  } catch (cause) {
    if (cause instanceof BrokenDatabase) throw new StartError(1, `${backup}: ${cause.message}`, { cause })
    throw cause
  }
}

async function syncFile(path: string): Promise<void> {
  await using file = await open(path, 'r+')
  await file.sync()
}

/** A command that root runs must not leave files that the server cannot open. */
export async function giveToOwner(path: string): Promise<void> {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = await stat(dirname(path))
  await chown(path, uid, gid)
}

/**
 * Gives the old database a second name, together with its write-ahead log if that cannot be emptied. Then the
 * log is removed from beside the database, because SQLite would apply it to the restored one. True if there
 * was something to keep.
 */
async function keepAside(path: string, kept: string): Promise<boolean> {
  // SQLite could drop the log of a damaged database
  if (hasRecords(path) === true) emptyLog(path)
  let isKept = false
  for (const end of ['', '-wal']) {
    if (isAbsentOrEmpty(path + end)) continue
    await link(path + end, kept + end).catch(() => copyFile(path + end, kept + end, constants.COPYFILE_EXCL))
    isKept = true
  }
  if (isKept) syncFolder(dirname(path))
  for (const end of ['-wal', '-shm']) await rm(path + end, { force: true })
  return isKept
}

/** Moves what is in the write-ahead log into the database, if that is possible. */
function emptyLog(path: string): void {
  try {
    using connection = openExisting(path)
    connection.pragma('wal_checkpoint(TRUNCATE)')
  } catch {
    // it is kept as it is, with its log
  }
}
