import type { Config } from './config.ts'
import { isEmpty } from './core/barrier/barrier.ts'
import { loadSealKey, readSealKeyFile } from './core/barrier/seal.ts'
import { type Core, type CoreSettings, openCore } from './core/core.ts'
import { authPrefix } from './core/mounts/mount-path.ts'
import type { MountTypeRegistry } from './core/mounts/mount-type-registry.ts'
import { OutboundClient } from './core/outbound.ts'
import type { RootTokenTeller } from './core/tokens/root-token.ts'
import { StartError } from './errors.ts'
import { type Clock, machineClock } from './lib/clock.ts'
import { type Random, systemRandom } from './lib/random.ts'
import type { Log } from './log.ts'
import type { StorageFaults } from './storage/faults.ts'
import { openMemory, openSqlite, type SqliteStorage } from './storage/sqlite.ts'
import type { StorageWatch } from './storage-watch.ts'

export type ServerCoreParts = {
  readonly log: Log
  readonly rootToken: RootTokenTeller & { check?(): void }
  readonly clock?: Clock
  readonly random?: Random
  readonly mountTypes: MountTypeRegistry
  readonly watch: StorageWatch
}

export const openStorage = (
  { storage, allowNetworkDisk }: Config,
  { events }: StorageWatch,
  faults: StorageFaults | undefined,
): Promise<SqliteStorage> =>
  storage.kind === 'memory'
    ? openMemory({ faults, events })
    : openSqlite({ path: storage.path, allowNetworkDisk, events, faults })

/**
 * Opens the core over a storage, according to the settings. Throws a StartError before it creates a store.
 */
export async function openServerCore(
  config: Config,
  storage: SqliteStorage,
  { clock = machineClock(), random = systemRandom, watch, ...parts }: ServerCoreParts,
): Promise<Core> {
  // a wrong proxy setting must be found before a store is created
  const outbound = new OutboundClient({
    deny: config.outboundDeny,
    httpsProxy: config.httpsProxy,
    noProxy: config.noProxy,
  })
  const isNew = await isEmpty(storage)
  if (isNew && !config.dev) parts.rootToken.check?.()
  await using staging = isNew ? await openMemory() : undefined
  const settings = await coreSettings(config, isNew, parts.log)
  try {
    return await openCore(settings, {
      ...{ ...parts, storage, staging, clock, random, outbound },
      onUnreadable: () => watch.recordUnreadable(),
    })
  } finally {
    settings.sealKey.fill(0)
    settings.previousSealKey?.fill(0)
  }
}

/** The settings of the core. Reads the seal key, or creates one for a new store. */
async function coreSettings(config: Config, isNewStore: boolean, log: Log): Promise<CoreSettings> {
  return {
    ...(await sealKeys(config, isNewStore, log)),
    systemTtl: { defaultTtl: seconds(config.defaultLeaseTtlMs), maxTtl: seconds(config.maxLeaseTtlMs) },
    defaultMounts: config.defaultMounts,
    devRootToken: config.dev ? config.rootToken : undefined,
    apiAddr: config.apiAddr ?? '',
    background: config.background === 'on',
  }
}

const seconds = (milliseconds: number) => Math.floor(milliseconds / 1000)

/** The seal keys according to the settings; an in-memory store gets one that ends with it. */
async function sealKeys(
  config: Config,
  storeIsEmpty: boolean,
  log: Log,
): Promise<Pick<CoreSettings, 'sealKey' | 'previousSealKey'>> {
  if (config.storage.kind === 'memory') return { sealKey: systemRandom.bytes(32) }
  const { sealKey: text, sealKeyFile: file, allowOpenKeyFile: allowOpen } = config
  const { key, made } = await loadSealKey({ text, file, allowOpen, storeIsEmpty })
  if (made)
    log.warn({ file }, `created seal key ${file}; in production, keep it on another disk than the database`)
  if (config.sealPreviousKeyFile === undefined) return { sealKey: key }
  return { sealKey: key, previousSealKey: await readSealKeyFile(config.sealPreviousKeyFile, { allowOpen }) }
}

/** Throws a StartError if a default mount has an unknown type. */
export function checkDefaultMounts({ defaultMounts }: Config, mountTypes: MountTypeRegistry): void {
  for (const { table, path, type } of defaultMounts) {
    if (mountTypes.offeredPlugin(table, type) !== undefined) continue
    const item = `${table === 'auth' ? authPrefix : ''}${path}=${type}`
    throw new StartError(2, `GATEHOUSE_DEFAULT_MOUNTS: "${item}" is not a valid PATH=TYPE of a mount`)
  }
}
