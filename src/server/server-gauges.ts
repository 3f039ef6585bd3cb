import type { Core } from '../core/open/core.ts'
import type { Plugin } from '../http/resource/plugin.ts'
import { type Clock, MachineClock } from '../lib/system/clock.ts'
import { timeMilliseconds } from '../lib/text/time.ts'
import { droppedLines, type Log } from '../log/log.ts'
import type { ReadGauge } from '../metrics/instruments.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { combined, mountGauge } from '../metrics/mount-gauges.ts'
import { serverGauges, storeGauges } from '../metrics/server-gauges.ts'
import type { NodeState } from '../plugins/sys/plugin.ts'
import { lastBackup } from '../storage/copies/last-backup.ts'
import type { ServerStorage } from './server-core.ts'

export type ProcessGaugeParts = {
  readonly node: NodeState
  readonly life: { readonly inFlight: number }
  readonly storage: ServerStorage
  readonly server: { readonly counts: Readonly<Record<string, number>> }
  /** Undefined without TLS. */
  readonly tls: { readonly expiresAt: number } | undefined
  readonly clock: Clock
  readonly log: Log
  /** Undefined unless the server's time is that of a database. */
  readonly time: { readonly offsetMs: number } | undefined
  /** Path of the database; undefined for one in memory. */
  readonly database: string | undefined
}

/** The gauges of the process. */
export const processGauges = ({
  node,
  life,
  storage,
  server,
  tls,
  clock,
  time,
  database,
  log,
}: ProcessGaugeParts): ReadGauge[] =>
  serverGauges({
    version: node.gatehouseVersion,
    storageType: node.storageType,
    sealType: node.sealType,
    isInitialized: () => node.isInitialized(),
    isSealed: () => node.isSealed(),
    isStorageUp: () => node.isStorageUp(),
    storageSize: async () => bytesOf(storage),
    poolConnections: () => storage.connectionStates ?? {},
    lastBackup: () => (database === undefined ? undefined : lastBackup(database)),
    clockSource: time === undefined ? 'machine' : 'database',
    clockOffset: () => (time?.offsetMs ?? (clock instanceof MachineClock ? clock.offset() : 0)) / 1000,
    copiesAge: () => {
      const { ageMs = Number.POSITIVE_INFINITY } = storage.shared?.copies ?? {}
      return Number.isFinite(ageMs) ? ageMs / 1000 : undefined
    },
    droppedLogLines: () => droppedLines(log),
    inFlight: () => life.inFlight,
    connections: () => server.counts,
    certificateExpiry: () => tls && tls.expiresAt / 1000,
  })

async function bytesOf(storage: ServerStorage): Promise<Record<string, number>> {
  const size = storage.size?.()
  if (size !== undefined) return { database: size.databaseBytes, wal: size.logBytes, free: size.freeBytes }
  const bytes = await storage.recordBytes?.()
  return bytes === undefined ? {} : { database: bytes }
}

/** The gauges of an open server: those of its store, and those of its plugins. */
export function coreGauges(
  { counts, jobs, barrier, fullPathOf, resealRemaining, audit, leases, mountOf, caches }: Core,
  plugins: readonly Plugin[],
  metrics: Pick<Metrics, 'mountLabel' | 'deviceLabel'>,
): ReadGauge[] {
  const byMount = (counts: ReadonlyMap<string, number>) =>
    combined(
      [...counts].map(([accessor, value]) => {
        const mount = mountOf(accessor)
        return { label: metrics.mountLabel(mount === undefined ? '' : fullPathOf(mount)), value }
      }),
      (one, other) => one + other,
    )
  const own = storeGauges({
    caches: () => caches.entries(),
    keyStatus: () => barrier.keyStatus(),
    resealRemaining,
    jobs: () =>
      jobs
        .status()
        .map(({ kind: job, isHeld, lastSuccess }) => ({
          job,
          isHeld,
          lastSuccess: lastSuccess && lastSuccess / 1000,
        })),
    tokens: () => counts.tokenRecords.total(),
    leases: async () => byMount(await counts.leases.byName()),
    irrevocableLeases: async () => byMount(await counts.irrevocableLeases.byName()),
    leaseLag: async () => (await leases.lagMs()) / 1000,
    entities: () => counts.entities.total(),
    auditDevices: async () => {
      const heads = await audit.chains.heads()
      return audit.log.devices.map(({ description: { path }, isUp }) => {
        const head = heads.find(({ device, replica }) => device === path && replica === audit.replica)
        return {
          device: metrics.deviceLabel(path),
          isUp,
          checkpoint: head && timeMilliseconds(head.time) / 1000,
        }
      })
    },
  })
  const ofPlugins = plugins.flatMap((plugin) =>
    (plugin.gauges ?? []).map(({ read, ...gauge }) =>
      mountGauge({
        ...gauge,
        read: async () =>
          (await read()).map(({ mount, value }) => ({ label: metrics.mountLabel(fullPathOf(mount)), value })),
      }),
    ),
  )
  return [...own, ...ofPlugins]
}
