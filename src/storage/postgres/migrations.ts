import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { StartError } from '../../errors.ts'
import { migrationsIn, newestSchema, schemaOf } from '../migrate.ts'
import { engineCode } from '../storage-error.ts'
import { type ConnectionSettings, openSession, type Session } from './session.ts'

/** A migration of many records takes longer than any other statement. */
const migrationMs = 3_600_000

const folder = new URL('../../../migrations/postgres/', import.meta.url)

/**
 * Applies each missing file of `migrations/postgres` in order, in a transaction of its own, while no other
 * server does. Throws a StartError 4 if the database requires a newer version of the program, and what
 * `refusalOfNew` returns if the database has no tables.
 */
export async function migratePostgres(
  connection: ConnectionSettings,
  refusalOfNew?: () => StartError | undefined,
): Promise<void> {
  const session = await openSession({ ...connection, statementTimeoutMs: migrationMs })
  try {
    // asked first: another server that leaves a file on its first start has made the tables before
    const refusal = refusalOfNew?.()
    if (refusal !== undefined && !(await hasTables(session))) throw refusal
    await createMeta(session)
    await checkPostgresSchema(session)
    for (const name of migrationsIn(folder)) await apply(session, name)
  } finally {
    await session.end()
  }
}

/** Throws a StartError 4 if the database requires a newer version of the program. */
export async function checkPostgresSchema(session: Session): Promise<void> {
  const newest = newestSchema(folder)
  const compatibleFrom = await meta(session, 'compatible_from')
  if (newest < compatibleFrom)
    throw new StartError(
      4,
      `cannot open the database: it needs schema ${compatibleFrom} or later, this program knows ${newest}`,
    )
}

const hasTables = async (session: Session): Promise<boolean> =>
  (await session.text("SELECT 1 WHERE to_regclass('meta') IS NOT NULL")).length > 0

async function apply(session: Session, name: string): Promise<void> {
  const schema = schemaOf(name)
  if ((await meta(session, 'schema')) >= schema) return
  await session.beginTransaction()
  try {
    // another server may have migrated in the meantime
    const current = await meta(session, 'schema', 'FOR UPDATE')
    if (current < schema) {
      await session.text(readFileSync(new URL(name, folder), 'utf8'))
      await session.text(`UPDATE meta SET value = ${schema} WHERE name = 'schema'`)
    }
    if (!(await session.commit())) throw new Error(`the migration ${name} was rolled back`)
  } catch (cause) {
    session.destroy()
    throw cause
  }
}

async function meta(session: Session, name: string, lock = ''): Promise<number> {
  const rows = await session.text(`SELECT value FROM meta WHERE name = '${name}' ${lock}`)
  return Number(rows[0]?.[0] ?? 0)
}

/** PostgreSQL may refuse one of several servers that create a table at the same time. */
async function createMeta(session: Session): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await session.text(
        "CREATE TABLE IF NOT EXISTS meta (name text PRIMARY KEY, value bigint NOT NULL); INSERT INTO meta (name, value) VALUES ('schema', 0) ON CONFLICT (name) DO NOTHING",
      )
      return
    } catch (cause) {
      if (attempt === 5 || !['23505', '42P07', '40001'].includes(engineCode(cause))) throw cause
      await pause(50)
    }
  }
}
