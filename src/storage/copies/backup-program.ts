import { setPriority } from 'node:os'
import { migrate, readMeta } from '../migrate.ts'
import type { ConnectionSettings } from '../postgres/session.ts'
import { sumOf } from '../record-digest.ts'
import { openExisting } from '../sqlite/existing-database.ts'
import { engineCode } from '../storage-error.ts'
import { type BackupFacts, type GivenFacts, writeFacts } from './backup-facts.ts'

/** The path of a SQLite database, or how to connect to PostgreSQL. */
export type CopySource = string | Omit<ConnectionSettings, 'applicationName'>

/** What the process copies. `target` is an empty file. */
export type CopyTask = { readonly source: CopySource; readonly target: string; readonly given: GivenFacts }
export type CopyOutcome =
  | { readonly facts: BackupFacts }
  | { readonly code: string; readonly message: string }

const lowPriority = 10
const cacheKiB = 64 * 1024

/**
 * Copies a database from one read snapshot, then completes the copy. The snapshot ends before the digest is
 * computed, because the database keeps old rows while it lasts.
 */
async function copy({ source, target, given }: CopyTask): Promise<BackupFacts> {
  if (typeof source === 'string') copyFile(source, target)
  else await copyPostgres(source, target)
  using copied = openExisting(target)
  copied.pragma(`cache_size = -${cacheKiB}`)
  // nobody uses a copy that is not complete
  copied.pragma('journal_mode = MEMORY')
  const schema = readMeta(copied, 'schema') ?? 0
  const compatible_from = readMeta(copied, 'compatible_from') ?? 0
  return writeFacts(copied, { ...given, schema, compatible_from, ...sumOf(copied) })
}

function copyFile(source: string, target: string): void {
  using reading = openExisting(source, { readonly: true })
  reading.prepare('VACUUM INTO ?').run(target)
}

/** The values are sealed alike, so the copy is what SQLite would have stored. */
async function copyPostgres(source: Exclude<CopySource, string>, target: string): Promise<void> {
  // a copy of a file does not need it
  const { PostgresReading } = await import('../postgres/reading.ts')
  await using reading = await PostgresReading.open(source)
  using written = openExisting(target)
  written.pragma('journal_mode = OFF')
  written.pragma('synchronous = OFF')
  migrate(written)
  const insert = written.prepare('INSERT INTO records (key, value) VALUES (?, ?)')
  for await (const page of reading.pages())
    written.transaction(() => {
      for (const row of page) insert.run(...row)
    })()
}

async function outcomeOf(task: CopyTask): Promise<CopyOutcome> {
  try {
    return { facts: await copy(task) }
  } catch (cause) {
    return { code: engineCode(cause), message: cause instanceof Error ? cause.message : '' }
  }
}

// backup-copy.ts, the only code that starts this file, sends one CopyTask
process.once('message', (task: CopyTask) => {
  setPriority(lowPriority)
  void outcomeOf(task).then((outcome) => process.send?.(outcome, () => process.disconnect?.()))
})
