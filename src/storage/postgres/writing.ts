import { StartError } from '../../errors.ts'
import type { ReadRow } from '../record-digest.ts'
import { arrayParameter, textArray } from './array-parameter.ts'
import { liveMs } from './replica.ts'
import type { Session } from './session.ts'
import { liveReplicas } from './statements.ts'

/* What programs do with a PostgreSQL database that no server uses. */

const addRows = {
  name: 'add_rows',
  text: 'INSERT INTO records (key, value) SELECT * FROM unnest($1::text[], $2::bytea[])',
}

/** Adds records that do not exist. */
export async function addRecords(session: Session, page: readonly ReadRow[]): Promise<void> {
  const keys = page.map(([key]) => key)
  const values = page.map(([, value]) => value)
  await session.query(addRows, [textArray(keys), arrayParameter('bytea', values)])
}

/** Throws a StartError 3 while a server uses the database. */
export async function refuseLiveServers(session: Session, name: string): Promise<void> {
  const [server] = await session.query(liveReplicas, [String(liveMs)])
  if (server !== undefined)
    throw new StartError(3, `cannot open ${name}: in use by server ${String(server[1])}`)
}

/** A server that was paused registers again, and trusts nothing that it has copied, before it serves. */
export const fenceAllServers = (session: Session): Promise<unknown> =>
  session.query({ name: 'fence_all', text: 'DELETE FROM replicas' })

export const hasRecords = async (session: Session): Promise<boolean> =>
  (await session.query({ name: 'has_records', text: 'SELECT 1 FROM records LIMIT 1' })).length > 0
