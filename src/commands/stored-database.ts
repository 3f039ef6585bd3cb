import { accessSync, existsSync } from 'node:fs'
import { readConfig } from '../config/config.ts'
import { postgresConnection } from '../config/connections.ts'
import { sealSource } from '../config/seal-source.ts'
import type { Config } from '../config/settings.ts'
import { isStoreFile } from '../config/store-files.ts'
import { readSealConfig } from '../core/barrier/seal-config.ts'
import { type ReadStored, StoredKeys } from '../core/barrier/stored-keys.ts'
import { ownKey } from '../core/seal/own-key.ts'
import { postgresName } from '../lib/net/postgres-url.ts'
import type { CopySource } from '../storage/copies/backup-program.ts'
import { PostgresReading } from '../storage/postgres/reading.ts'
import { openReadOnly } from '../storage/sqlite/existing-database.ts'
import { CommandError, orFail, UsageError } from './command.ts'

/** The settings of the server. Throws a SettingError. */
export const settingsOf = (environment: NodeJS.ProcessEnv): Config =>
  readConfig(environment, { dev: false, warn: (text) => process.stderr.write(`warning: ${text}\n`) })

/** Throws a UsageError for a file that a command would write or read in place of one of the server's own. */
export function checkIsOther(config: Config, file: string | undefined): void {
  if (file !== undefined && isStoreFile(config, file))
    throw new UsageError(`${file} is a database file or a seal key file`)
}

export type StoreSource = { readonly source: CopySource; readonly name: string }

/** The server's database, whether it exists or not. Undefined for a store in memory. */
export function placeOf(config: Config): StoreSource | undefined {
  const { storage } = config
  const connection = postgresConnection(config)
  if (connection !== undefined) return { source: connection, name: postgresName(connection.address) }
  return storage.kind === 'sqlite' ? { source: storage.path, name: storage.path } : undefined
}

export function mustExist({ source, name }: StoreSource): void {
  if (typeof source === 'string') orFail(`cannot open ${name}`, () => accessSync(source))
}

/** The server's database; a file exists. `has` ends the refusal of a store in memory. */
export function sourceOf(config: Config, has: string): StoreSource {
  const place = placeOf(config)
  if (place === undefined)
    throw new UsageError(`GATEHOUSE_STORAGE: ${config.storage.kind}: storage has ${has}`)
  mustExist(place)
  return place
}

/** Reads single records, while servers write or not. */
export async function openForReading(source: CopySource): Promise<AsyncDisposable & { get: ReadStored }> {
  if (typeof source !== 'string') return await PostgresReading.open(source)
  const reader = openReadOnly(source)
  return { get: reader.get, [Symbol.asyncDispose]: async () => reader[Symbol.dispose]() }
}

/** The keys of a store; undefined without a seal key. Throws if there is one that does not open the store. */
export async function keysOf(config: Config, read: ReadStored): Promise<StoredKeys | undefined> {
  const source = sealSource(config)
  const seal = await readSealConfig({ get: async (key) => read(key) })
  const isFound =
    seal.type === 'command'
      ? source.commands !== undefined
      : source.text !== undefined || existsSync(source.file)
  if (!isFound || seal.type === 'shamir') return undefined
  const key = await ownKey(seal, source)
  const keys = await StoredKeys.open(read, key).finally(() => key.fill(0))
  if (keys === undefined) throw new CommandError('seal key does not open this store')
  return keys
}

/** The id is sealed, so that it is known only with the seal key. */
export async function clusterIdOf(config: Config, read: ReadStored): Promise<string> {
  const record = await read('cluster-id')
  if (record === undefined) return 'unknown'
  try {
    using keys = await keysOf(config, read)
    return String(JSON.parse(keys?.unseal(record.key, record.value)?.toString('utf8') ?? '"unknown"'))
  } catch {
    return 'unknown'
  }
}
