import { rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { KeyedMutex } from '../../lib/concurrency/keyed-mutex.ts'
import { syncFolder } from '../../lib/system/private-file.ts'
import type { StorageFaults } from '../faults.ts'
import { identityOf, isSameFile } from '../file-watch.ts'
import { engineCode, ownCodes } from '../storage-error.ts'
import { type CopyOptions, copyDatabase } from './backup-copy.ts'
import type { BackupFacts } from './backup-facts.ts'

type BackupOptions = Omit<CopyOptions, 'target'>

const mutex = new KeyedMutex()

/**
 * Writes a backup to `file`, which exists completely or not at all; an existing one is replaced. Rejects with
 * an error that has a `code`. Backups of this process to the same file take turns; of two processes at once, at most one
 * succeeds. docs/operations.md#backup-and-restore
 */
export const backUp = (file: string, options: BackupOptions, faults?: StorageFaults): Promise<BackupFacts> =>
  mutex.runExclusive(resolve(file), () => write(file, options, faults))

async function write(
  file: string,
  options: BackupOptions,
  faults: StorageFaults | undefined,
): Promise<BackupFacts> {
  const target = `${file}.part`
  const { facts, handle } = await copyDatabase({ ...options, target })
  try {
    faults?.pass('backup.before-rename')
    if (!isSameFile(await handle.stat({ bigint: true }), identityOf(target)))
      throw Object.assign(new Error(`another backup is writing ${target}`), { code: ownCodes.replaced })
    await rename(target, file)
  } catch (cause) {
    if (engineCode(cause) !== ownCodes.replaced) await rm(target, { force: true })
    throw cause
  } finally {
    await handle.close()
  }
  syncFolder(dirname(file))
  return facts
}
