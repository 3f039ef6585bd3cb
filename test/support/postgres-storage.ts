import { parsePostgresUrl } from '../../src/lib/postgres-url.ts'
import {
  openPostgres,
  type PostgresOptions,
  type PostgresStorage,
} from '../../src/storage/postgres/postgres.ts'

type Options = Partial<Omit<PostgresOptions, 'connection'>> & { prepares?: boolean }

/** Opens the storage that a server with this address would open. */
export function openPostgresAt(
  url: string,
  { prepares = true, ...options }: Options = {},
): Promise<PostgresStorage> {
  const address = parsePostgresUrl(url)
  if (typeof address === 'string') throw new Error(address)
  return openPostgres({
    connection: {
      ...{ address, prepares, statementTimeoutMs: 5_000 },
      ...{ password: undefined, passwordFile: undefined, caFile: undefined },
    },
    ...{ pool: 5, notifies: true, pollMs: 250, replicaName: 'one' },
    ...options,
  })
}
