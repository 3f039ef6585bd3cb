import { setPriority } from 'node:os'
import Database from 'better-sqlite3'
import { type BackupFacts, type GivenFacts, writeFacts } from './backup-facts.ts'
import { readMeta } from './migrate.ts'
import { readRecords, type RecordSum } from './record-digest.ts'
import { engineCode } from './storage-error.ts'

/** What the process copies. `target` is an empty file. */
export type CopyTask = { readonly source: string; readonly target: string; readonly given: GivenFacts }
export type CopyOutcome =
  | { readonly facts: BackupFacts }
  | { readonly code: string; readonly message: string }

const lowPriority = 10
const cacheKiB = 64 * 1024

/**
 * Copies a database from one read snapshot on a read-only connection, then completes the copy. The snapshot
 * ends before the digest is computed, because the write-ahead log cannot be emptied while it lasts.
 */
function copy({ source, target, given }: CopyTask): BackupFacts {
  const reading = new Database(source, { readonly: true, fileMustExist: true })
  try {
    reading.prepare('VACUUM INTO ?').run(target)
  } finally {
    reading.close()
  }
  const copied = new Database(target, { fileMustExist: true })
  try {
    copied.pragma(`cache_size = -${cacheKiB}`)
    // nobody uses a copy that is not complete
    copied.pragma('journal_mode = MEMORY')
    const schema = readMeta(copied, 'schema') ?? 0
    const compatible_from = readMeta(copied, 'compatible_from') ?? 0
    return writeFacts(copied, { ...given, schema, compatible_from, ...sumOf(copied) })
  } finally {
    copied.close()
  }
}

function sumOf(connection: Database.Database): RecordSum {
  const reading = readRecords(connection)
  for (;;) {
    const { done, value } = reading.next()
    if (done === true) return value
  }
}

function outcomeOf(task: CopyTask): CopyOutcome {
  try {
    return { facts: copy(task) }
  } catch (cause) {
    return { code: engineCode(cause), message: cause instanceof Error ? cause.message : '' }
  }
}

// backup-copy.ts, the only code that starts this file, sends one CopyTask
process.once('message', (task: CopyTask) => {
  setPriority(lowPriority)
  process.send?.(outcomeOf(task), () => process.disconnect?.())
})
