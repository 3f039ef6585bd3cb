import { StartError } from '../../errors.ts'
import { addRecords, fenceAllServers, hasRecords, refuseLiveServers } from '../postgres/copy-end.ts'
import { migratePostgres } from '../postgres/migrations.ts'
import { type ConnectionSettings, openSession, type Session } from '../postgres/session.ts'
import { readPages } from '../record-digest.ts'
import { openExisting } from '../sqlite/existing-database.ts'
import type { Restored, RestoreOptions } from './restore.ts'
import { verifiedBackup } from './restore.ts'

export type PostgresRestoreOptions = Omit<RestoreOptions, 'path' | 'faults'> & {
  readonly connection: Omit<ConnectionSettings, 'applicationName'>
  /** The database's name for the operator. */
  readonly name: string
}

/**
 * Puts the records of a backup into a PostgreSQL database, in one transaction. Throws a StartError: 3 while a
 * server uses the database, 1 for a refusal. docs/operations.md#backup-and-restore
 */
export async function restoreToPostgres(options: PostgresRestoreOptions): Promise<Restored> {
  const { backup, connection } = options
  const facts = verifiedBackup(backup, backup)
  const settings = { ...connection, applicationName: 'gatehouse restore' }
  await migratePostgres(settings)
  const session = await openSession(settings)
  using source = openExisting(backup, { readonly: true })
  try {
    await session.text("BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10min'")
    await refuseLiveServers(session, options.name)
    const kept = await makeRoom(session, options)
    for (const page of readPages(source)) await addRecords(session, page)
    const { key, value } = options.noteOf(facts)
    await session.query({ name: 'drop_note', text: 'DELETE FROM records WHERE key = $1' }, [key])
    await addRecords(session, [[key, Buffer.from(value)]])
    await fenceAllServers(session)
    if (!(await session.commit())) throw new Error('the database rolled the restoration back')
    return { facts, kept }
  } finally {
    session.destroy()
  }
}

/** Keeps the records that are there in a table of their own. */
async function makeRoom(
  session: Session,
  { force, name, stamp }: PostgresRestoreOptions,
): Promise<string | undefined> {
  if (!(await hasRecords(session))) return undefined
  if (!force)
    throw new StartError(
      1,
      `${name} is not empty: with --force its records are replaced, and kept beside the new ones`,
    )
  const kept = `records_replaced_${stamp.toLowerCase().replaceAll(/[^0-9a-z]/g, '_')}`
  await session.text(`ALTER TABLE records RENAME TO ${kept}`)
  await session.text(`CREATE TABLE records (LIKE ${kept} INCLUDING ALL)`)
  return `the table ${kept}`
}
