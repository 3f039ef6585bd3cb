import { accessSync, existsSync } from 'node:fs'
import { type Config, readConfig } from '../config.ts'
import { loadSealKey } from '../core/barrier/seal.ts'
import { StoredKeys } from '../core/barrier/stored-keys.ts'
import { systemCode } from '../lib/private-file.ts'
import type { StoredRecord } from '../storage/storage.ts'
import { CommandError, UsageError } from './command.ts'

/** The settings of the server. Throws a SettingError. */
export const settingsOf = (environment: NodeJS.ProcessEnv): Config =>
  readConfig(environment, { dev: false, warn: (text) => process.stderr.write(`warning: ${text}\n`) })

/** The path of the server's database, which exists. `has` ends the refusal of a store in memory. */
export function databaseOf({ storage }: Config, has: string): string {
  if (storage.kind !== 'sqlite')
    throw new UsageError(`GATEHOUSE_STORAGE: ${storage.kind}: storage has ${has}`)
  try {
    accessSync(storage.path)
  } catch (cause) {
    throw new CommandError(`cannot open ${storage.path}: ${systemCode(cause)}`, { cause })
  }
  return storage.path
}

type ReadRecord = (key: string) => StoredRecord | undefined

/** The keys of a store; undefined without a seal key. Throws if there is one that does not open the store. */
export async function keysOf(config: Config, read: ReadRecord): Promise<StoredKeys | undefined> {
  const { sealKey: text, sealKeyFile: file, allowOpenKeyFile: allowOpen } = config
  if (text === undefined && !existsSync(file)) return undefined
  const { key } = await loadSealKey({ text, file, allowOpen, mayCreate: false })
  const keys = StoredKeys.open(read, key)
  key.fill(0)
  if (keys === undefined) throw new CommandError('seal key does not open this store')
  return keys
}

/** The id is sealed, so that it is known only with the seal key. */
export async function clusterIdOf(config: Config, read: ReadRecord): Promise<string> {
  const record = read('cluster-id')
  if (record === undefined) return 'unknown'
  try {
    using keys = await keysOf(config, read)
    return String(JSON.parse(keys?.unseal(record.key, record.value)?.toString('utf8') ?? '"unknown"'))
  } catch {
    return 'unknown'
  }
}
