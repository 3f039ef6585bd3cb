import { Buffer } from 'node:buffer'
import { StartError } from '../../errors.ts'
import type { CopyMark, CopyMarks } from '../copy-marks.ts'
import type { ReadRow } from '../record-digest.ts'
import type { CopyEnd } from '../store-copy.ts'
import { arrayParameter, textArray } from './array-parameter.ts'
import { migratePostgres } from './migrations.ts'
import { PostgresReading } from './reading.ts'
import { liveMs } from './replica.ts'
import { type ConnectionSettings, openSession, type Session } from './session.ts'
import { statements } from './statements.ts'

/** A PostgreSQL database; its tables are created if they are missing. */
export async function openPostgresEnd(
  connection: Omit<ConnectionSettings, 'applicationName'>,
  name: string,
): Promise<CopyEnd> {
  const settings = { ...connection, applicationName: 'gatehouse storage:copy' }
  await migratePostgres(settings)
  const session = await openSession(settings)
  return {
    name,
    refuseServers: async () => {
      await refuseLiveServers(session, name)
      await fenceAllServers(session)
    },
    value: async (key) => {
      const value = (await session.query(statements.readOne, [key]))[0]?.[1]
      return Buffer.isBuffer(value) ? value : undefined
    },
    marks: () => readMarks(session),
    mark: (mark, value) => setMark(session, mark, value),
    lastKey: async () => {
      const [row] = await session.query({
        name: 'last_key',
        text: 'SELECT key FROM records ORDER BY key DESC LIMIT 1',
      })
      return row && String(row[0])
    },
    pages: async function* (after) {
      await using reading = await PostgresReading.open(connection)
      yield* reading.pages(after)
    },
    append: (page) => addRecords(session, page),
    sum: async () => {
      await using reading = await PostgresReading.open(connection)
      return await reading.sum()
    },
    [Symbol.asyncDispose]: () => session.end(),
  }
}

/** The marks of a database with a table `meta`. */
export async function readMarks(session: Session): Promise<CopyMarks> {
  const rows = await session.text("SELECT name, value FROM meta WHERE name IN ('unfinished_copy', 'moved')")
  const found = new Map(rows.map(([name, value]) => [name, Number(value)]))
  return { unfinished_copy: found.get('unfinished_copy'), moved: found.get('moved') }
}

async function setMark(session: Session, mark: CopyMark, value: number | undefined): Promise<void> {
  await session.text(
    value === undefined
      ? `DELETE FROM meta WHERE name = '${mark}'`
      : `INSERT INTO meta (name, value) VALUES ('${mark}', ${value}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  )
}

const addRows = {
  name: 'add_rows',
  text: 'INSERT INTO records (key, value) SELECT * FROM unnest($1::text[], $2::bytea[])',
}

export async function addRecords(session: Session, page: readonly ReadRow[]): Promise<void> {
  const keys = page.map(([key]) => key)
  const values = page.map(([, value]) => value)
  await session.query(addRows, [textArray(keys), arrayParameter('bytea', values)])
}

/** Throws a StartError 3 while a server uses the database. */
export async function refuseLiveServers(session: Session, name: string): Promise<void> {
  const [server] = await session.query(statements.liveReplicas, [String(liveMs)])
  if (server !== undefined)
    throw new StartError(3, `cannot open ${name}: in use by server ${String(server[1])}`)
}

/** A server that was paused registers again, and trusts nothing that it has copied, before it serves. */
export const fenceAllServers = (session: Session): Promise<unknown> =>
  session.query({ name: 'fence_all', text: 'DELETE FROM replicas' })

export const hasRecords = async (session: Session): Promise<boolean> =>
  (await session.query({ name: 'has_records', text: 'SELECT 1 FROM records LIMIT 1' })).length > 0
