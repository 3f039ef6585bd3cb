import { parsePostgresUrl } from '../../src/lib/net/postgres-url.ts'
import {
  openPostgres,
  type PostgresOptions,
  type PostgresStorage,
} from '../../src/storage/postgres/postgres.ts'

type Options = Partial<Omit<PostgresOptions, 'connection'>> & {
  prepares?: boolean
  statementTimeoutMs?: number
  passwordFile?: string
  caFile?: string
}

/** Opens the storage that a server with this address would open. */
export function openPostgresAt(
  url: string,
  { prepares = true, statementTimeoutMs = 5_000, passwordFile, caFile, ...options }: Options = {},
): Promise<PostgresStorage> {
  const address = parsePostgresUrl(url)
  if (typeof address === 'string') throw new Error(address)
  return openPostgres({
    connection: { address, prepares, statementTimeoutMs, password: undefined, passwordFile, caFile },
    pool: 5,
    notifies: true,
    pollMs: 250,
    replicaName: 'one',
    ...options,
  })
}
