import { hostname } from 'node:os'
import { postgresConnection } from '../config/connections.ts'
import { sealSource } from '../config/seal-source.ts'
import type { Config } from '../config/settings.ts'
import { isEmpty } from '../core/barrier/barrier.ts'
import { loadSealKey, readSealKeyFile } from '../core/barrier/seal.ts'
import { type OwnSeal, readSealConfig, type SealConfig } from '../core/barrier/seal-config.ts'
import { authPrefix } from '../core/mounts/mount-path.ts'
import type { MountTypeNames } from '../core/mounts/mount-type.ts'
import { MountTypeRegistry } from '../core/mounts/mount-type-registry.ts'
import { type Core, type CoreSettings, openCore } from '../core/open/core.ts'
import { createStore, type NewSeal } from '../core/open/first-store.ts'
import { OutboundClient, type OutboundTrace } from '../core/outbound/outbound.ts'
import { ownKey } from '../core/seal/own-key.ts'
import { makeWrappedKey } from '../core/seal/wrapped-key.ts'
import type { CoreEvents } from '../core/tokens/store/core-events.ts'
import type { RootTokenTeller } from '../core/tokens/store/root-token.ts'
import { StartError } from '../errors.ts'
import type { Clock } from '../lib/system/clock.ts'
import { isAbsentOrEmpty } from '../lib/system/private-file.ts'
import { type Random, systemRandom } from '../lib/system/random.ts'
import type { Log } from '../log/log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { StorageFaults } from '../storage/faults.ts'
import { openMemory, openSqlite, type StorageSize } from '../storage/sqlite/sqlite.ts'
import type { Storage } from '../storage/storage.ts'
import { gatehouseDate, gatehouseVersion } from '../version.ts'
import type { StorageWatch } from './storage-watch.ts'

export type ServerCoreParts = {
  readonly config: Config
  readonly storage: ServerStorage
  readonly log: Log
  readonly rootToken: RootTokenTeller
  readonly clock: Clock
  readonly random: Random
  readonly outbound: OutboundClient
  readonly watch: StorageWatch
  /** Undefined without metrics. */
  readonly measure: Pick<Metrics, 'audited' | 'jobRan' | keyof CoreEvents> | undefined
  /** Called when another server has replaced keys, and this one cannot find the new ones. */
  keysLost?(): void
}

/** A key that opens the store. `previous` opens it if `key` does not; then the store is sealed with `key`. */
export type UnsealKeys = { readonly key: Uint8Array; readonly previous?: Uint8Array | undefined }

/** The key of a server that unseals itself. A store that does not exist yet gets `seal`, by default a static one. */
export type OwnKeys = UnsealKeys & { readonly seal?: OwnSeal | undefined }

/** What metrics show of a storage: the size of its files, or of what it keeps on a database server. */
export type ServerStorage = Storage & {
  size?(): StorageSize
  recordBytes?(): Promise<number>
  readonly connectionStates?: Readonly<Record<'idle' | 'busy' | 'opening', number>>
}

export async function openStorage(
  config: Config,
  { events }: StorageWatch,
  {
    faults,
    stopping,
    steady,
  }: { readonly faults?: StorageFaults; readonly stopping?: AbortSignal; readonly steady?: () => number },
): Promise<ServerStorage> {
  const { storage, allowNetworkDisk } = config
  if (storage.kind === 'memory') return await openMemory({ faults, events })
  if (storage.kind === 'sqlite')
    return await openSqlite({ path: storage.path, allowNetworkDisk, events, faults })
  const connection = postgresConnection(config)
  if (connection === undefined) throw new Error('the storage has an unknown kind')
  const { openPostgres } = await import('../storage/postgres/postgres.ts')
  return await openPostgres({
    connection,
    pool: config.postgresPool,
    notifies: config.postgresNotify,
    pollMs: config.postgresPollMs,
    replicaName: config.replicaName ?? hostname(),
    events,
    stopping,
    refusalOfNew: () => lostStore(config, 'the database has no tables', 'check GATEHOUSE_STORAGE'),
    ...(steady && { steady }),
  })
}

export const outboundClient = (
  config: Config,
  measure: Pick<Metrics, 'upstream'> | undefined,
  trace?: OutboundTrace,
): OutboundClient =>
  new OutboundClient({
    deny: config.outboundDeny,
    httpsProxy: config.httpsProxy,
    noProxy: config.noProxy,
    trace,
    onEnd: measure && ((event) => measure.upstream(event)),
  })

/** How the store is sealed; undefined for an empty one. Throws a StartError if the settings say otherwise. */
export async function storedSeal(config: Config, storage: ServerStorage): Promise<SealConfig | undefined> {
  if (await isEmpty(storage)) return undefined
  const seal = await readSealConfig(storage)
  if (seal.type !== config.seal)
    throw new StartError(2, `GATEHOUSE_SEAL: the seal of this store is ${seal.type}, not ${config.seal}`)
  return seal
}

/** Opens the core over the storage, according to the settings. An empty store is created. */
export async function openServerCore(
  keys: OwnKeys,
  parts: ServerCoreParts & { readonly mountTypes: MountTypeRegistry },
): Promise<Core> {
  await using staging = (await isEmpty(parts.storage)) ? await openMemory() : undefined
  const { config, log } = parts
  const core = await openCore(coreSettings(config, keys), { ...storeParts(parts), staging })
  if (config.storage.kind !== 'memory' && !core.audit.log.isOn)
    log.warn({ event: 'audit_off' }, 'no audit device is enabled: requests leave no trace')
  if (config.exactListMatching)
    log.warn(
      { event: 'exact_list_matching' },
      'policies compare values as a whole: a denied value inside a list, or in other letters, is allowed',
    )
  return core
}

/**
 * Throws a StartError 7 if a start would create a store in a file although files of an earlier one are there: its
 * disk may be missing. docs/operations.md#the-database-is-missing
 */
export function refuseLostStore(config: Config): void {
  const { storage } = config
  if (storage.kind !== 'sqlite' || emptiness(storage.path) !== true) return
  const refusal = lostStore(config, `${storage.path} is missing or empty`, 'mount its disk')
  if (refusal !== undefined) throw refusal
}

/** Undefined if nothing tells of an earlier store, or if a start creates none. */
function lostStore(config: Config, what: string, remedy: string): StartError | undefined {
  const { storage, seal, autoInit, sealKey, sealKeyFile, rootTokenFile } = config
  if (seal === 'shamir' || !autoInit) return undefined
  // each server of a shared database has the seal key before its first start
  const hasOwnKey = seal === 'static' && storage.kind === 'sqlite' && sealKey === undefined
  const files = [hasOwnKey ? sealKeyFile : undefined, rootTokenFile]
  const left = files.find((file) => file !== undefined && emptiness(file) === false)
  if (left === undefined) return undefined
  return new StartError(
    7,
    `${what}, but ${left} of an earlier start is there: ${remedy}, or restore a backup (gatehouse restore FILE). ` +
      'To create a new store, start with GATEHOUSE_AUTO_INIT=false and run gatehouse init',
  )
}

/** Whether a file is missing or empty. Undefined if nobody knows: what opens the file says why. */
function emptiness(path: string): boolean | undefined {
  try {
    return isAbsentOrEmpty(path)
  } catch {
    return undefined
  }
}

export async function createServerStore(
  seal: NewSeal,
  key: Uint8Array,
  { types, ...parts }: ServerCoreParts & { readonly types: readonly MountTypeNames[] },
): Promise<string> {
  await using staging = await openMemory()
  const mountTypes = new MountTypeRegistry(types)
  return await createStore(
    { ...coreSettings(parts.config, { key }), seal },
    { ...storeParts(parts), staging, mountTypes },
  )
}

const storeParts = <Parts extends ServerCoreParts>(parts: Parts) => ({
  ...parts,
  onUnreadable: () => parts.watch.recordUnreadable(),
  ...(parts.measure && {
    onAudited: parts.measure.audited.bind(parts.measure),
    onJobRun: parts.measure.jobRan.bind(parts.measure),
    events: {
      tokenCreated: parts.measure.tokenCreated.bind(parts.measure),
      tokenDeleted: parts.measure.tokenDeleted.bind(parts.measure),
      leaseRevoked: parts.measure.leaseRevoked.bind(parts.measure),
    },
  }),
})

const coreSettings = (config: Config, { key, previous, seal }: OwnKeys): CoreSettings => ({
  sealKey: key,
  ...(seal && { seal: { config: seal, isTold: false } }),
  ...(previous === undefined ? {} : { previousSealKey: previous }),
  systemTtl: { defaultTtl: seconds(config.defaultLeaseTtlMs), maxTtl: seconds(config.maxLeaseTtlMs) },
  defaultMounts: config.defaultMounts,
  userLockout: config.userLockout,
  exactListMatching: config.exactListMatching,
  history: { versions: config.historyVersions, days: config.historyDays },
  policyUses: config.policyUses,
  mostListBytes: config.maxBuffered,
  devRootToken: config.dev ? config.rootToken : undefined,
  apiAddr: config.apiAddr ?? '',
  server: {
    name: config.replicaName ?? hostname(),
    address: config.apiAddr ?? '',
    version: config.reportedVersion,
    product: { version: gatehouseVersion, made: gatehouseDate },
  },
  background: config.background === 'on',
  audit: {
    fixed: config.audit ?? [],
    isOpenToApi: config.auditApi,
    limits: { directories: config.auditDirs, hosts: config.auditHttpHosts, worker: config.worker },
    sync: config.auditSync,
    replica: config.replicaName ?? hostname(),
    version: config.reportedVersion,
  },
})

const seconds = (milliseconds: number) => Math.floor(milliseconds / 1000)

/**
 * The key of a server that unseals itself, created for an empty store; an in-memory store gets one that ends with it.
 * The caller must erase it. Throws a StartError.
 */
export async function ownKeys(
  config: Config,
  { storage, random, log }: Pick<ServerCoreParts, 'storage' | 'random' | 'log'>,
): Promise<OwnKeys> {
  if (config.storage.kind === 'memory') return { key: systemRandom.bytes(32) }
  const source = sealSource(config)
  // a store that has taken the place of another one may have another seal than the settings say
  const stored = (await isEmpty(storage)) ? undefined : await readSealConfig(storage)
  if (stored?.type === 'command') return { key: await ownKey(stored, source) }
  if (stored === undefined && config.seal === 'command' && source.commands !== undefined) {
    const { key, wrapped } = await makeWrappedKey(source.commands, random)
    return { key, seal: { type: 'command', wrapped } }
  }
  // servers that share a storage would create different ones
  const mayCreate = storage.shared === undefined && stored === undefined
  const { key, made } = await loadSealKey({ ...source, mayCreate })
  if (made)
    log.warn(
      { event: 'seal_key_made', file: source.file },
      `created seal key ${source.file}; in production, keep it on another disk than the database`,
    )
  if (config.sealPreviousKeyFile === undefined) return { key }
  return { key, previous: await readSealKeyFile(config.sealPreviousKeyFile, source) }
}

/** Throws a StartError if a default mount has an unknown type. */
export function checkDefaultMounts({ defaultMounts }: Config, types: readonly MountTypeNames[]): void {
  const mountTypes = new MountTypeRegistry(types)
  for (const { table, path, type } of defaultMounts) {
    if (mountTypes.offeredPlugin(table, type) !== undefined) continue
    const item = `${table === 'auth' ? authPrefix : ''}${path}=${type}`
    throw new StartError(2, `GATEHOUSE_DEFAULT_MOUNTS: "${item}" is not a valid PATH=TYPE of a mount`)
  }
}
