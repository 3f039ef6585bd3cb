import { randomBytes } from 'node:crypto'
import type { Config } from '../config/settings.ts'
import { type Barrier, openBarrier } from '../core/barrier/barrier.ts'
import { systemClock } from '../lib/system/clock.ts'
import { systemRandom } from '../lib/system/random.ts'
import type { CopySource } from '../storage/copies/backup-program.ts'
import { openPostgres } from '../storage/postgres/postgres.ts'
import { PostgresReading } from '../storage/postgres/reading.ts'
import { openSqlite } from '../storage/sqlite/sqlite.ts'
import type { Storage } from '../storage/storage.ts'
import { commandFailure } from './command.ts'
import type { StoreSource } from './stored-database.ts'

/**
 * Opens a database to write it. Throws a StartError (3) if a server holds a SQLite database. A command joins the servers
 * of a PostgreSQL database under a name that begins with `as`.
 */
export async function openDirectly(
  config: Config,
  { source, name }: StoreSource,
  as: string,
): Promise<Storage> {
  if (typeof source === 'string')
    return await openSqlite({ path: source, allowNetworkDisk: config.allowNetworkDisk })
  await checkConnection(source, name)
  return await openPostgres({
    connection: source,
    pool: 2,
    notifies: config.postgresNotify,
    pollMs: config.postgresPollMs,
    replicaName: `${as}-${randomBytes(6).toString('hex')}`,
  })
}

/** A server waits for its database, a command does not. */
async function checkConnection(connection: Exclude<CopySource, string>, name: string): Promise<void> {
  try {
    await using _reading = await PostgresReading.open(connection)
  } catch (cause) {
    throw commandFailure(`cannot open ${name}`, cause)
  }
}

/** The keys of a store; erases the seal key. Throws a StartError (5) if it is another one. */
export function openWith(key: Uint8Array, storage: Storage): Promise<Barrier> {
  const log = {
    error: ({ key: record }: { key: string }, text: string) =>
      void process.stderr.write(`${text}: ${record}\n`),
  }
  const barrier = openBarrier({ storage, sealKey: key, clock: systemClock, random: systemRandom, log })
  return barrier.finally(() => key.fill(0))
}
