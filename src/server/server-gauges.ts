import { rootNamespace } from '../core/namespaces/namespace.ts'
import type { Core } from '../core/open/core.ts'
import { windowEffects } from '../core/settings/announcements.ts'
import type { MountGauge, Plugin } from '../http/resource/plugin.ts'
import { type Clock, MachineClock } from '../lib/system/clock.ts'
import { timeMilliseconds } from '../lib/text/time.ts'
import { droppedLines, type Log } from '../log/log.ts'
import { droppedLinesMetric, gauge, gaugeBy, type ReadGauge } from '../metrics/instruments.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { NodeState } from '../plugins/sys/plugin.ts'
import { lastBackup } from '../storage/copies/last-backup.ts'
import type { ServerStorage } from './server-core.ts'

export type ProcessGaugeParts = {
  readonly node: NodeState
  readonly life: { readonly inFlight: number }
  readonly storage: ServerStorage
  /** Open connections by protocol. */
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

/** The gauges of the process. docs/monitoring.md#metrics */
export function processGauges(parts: ProcessGaugeParts): ReadGauge[] {
  const { node, life, storage, server, tls, clock, time, database, log } = parts
  const offsetMs = () => time?.offsetMs ?? (clock instanceof MachineClock ? clock.offset() : 0)
  return [
    {
      name: 'build_info',
      help: 'Version, storage and seal of this server',
      labels: ['version', 'storage', 'seal'],
      read: () => [
        {
          labels: { version: node.gatehouseVersion, storage: node.storageType, seal: node.sealType },
          value: 1,
        },
      ],
    },
    gauge('initialized', '1 once the store exists', () => node.isInitialized()),
    gauge('sealed', '1 while the server is sealed', () => node.isSealed()),
    gauge('storage_up', '1 while the storage can be read', () => node.isStorageUp()),
    gaugeBy('part', 'storage_bytes', 'Size of the database, its free part, and the write-ahead log', () =>
      bytesOf(storage),
    ),
    gaugeBy(
      'state',
      'storage_pool_connections',
      'Connections to PostgreSQL: idle, busy, or being opened',
      () => Object.entries(storage.connectionStates ?? {}),
    ),
    gauge('last_backup_timestamp_seconds', 'Time of the last backup, by the command or from the API', () =>
      secondsOf(database === undefined ? undefined : lastBackup(database)),
    ),
    gaugeBy(
      'source',
      'clock_offset_seconds',
      'Seconds by which the system clock is ahead of the server’s time, or of the database’s',
      () => [[time === undefined ? 'machine' : 'database', offsetMs() / 1000]],
    ),
    gauge(
      'cache_confirmed_age_seconds',
      'Seconds since the copies of records that this server keeps were current',
      () => secondsOf(storage.shared?.copies.ageMs),
    ),
    droppedLinesMetric(() => droppedLines(log)),
    gauge('http_in_flight_requests', 'Requests in progress', () => life.inFlight),
    gaugeBy('protocol', 'http_connections', 'Open connections', () => Object.entries(server.counts)),
    gauge('tls_certificate_expiry_timestamp_seconds', 'When the certificate of the server expires', () =>
      secondsOf(tls?.expiresAt),
    ),
  ]
}

/** Undefined for what never was. */
const secondsOf = (milliseconds: number | undefined): number | undefined =>
  milliseconds !== undefined && Number.isFinite(milliseconds) ? milliseconds / 1000 : undefined

/** The parts of the storage's files, in bytes; of a database server, what the records take. */
async function bytesOf(storage: ServerStorage) {
  const size = storage.size?.()
  const database = size?.databaseBytes ?? (await storage.recordBytes?.())
  return [
    ['database', database] as const,
    ['wal', size?.logBytes] as const,
    ['free', size?.freeBytes] as const,
  ]
}

/** The gauges of an open server: those of its store, and those of its plugins. docs/monitoring.md#metrics */
export function coreGauges(
  core: Core,
  plugins: readonly Plugin[],
  metrics: Pick<Metrics, 'mountLabel' | 'deviceLabel'>,
): ReadGauge[] {
  const { counts, jobs, barrier, fullPathOf, resealRemaining, leases, mountOf, caches, audit } = core
  const labelOf = (mount: Parameters<typeof fullPathOf>[0] | undefined) =>
    metrics.mountLabel(mount === undefined ? '' : fullPathOf(mount))
  const leasesBy = (name: string, help: string, count: typeof counts.leases): ReadGauge =>
    mountGauge({
      name,
      help,
      combine: (one, other) => one + other,
      read: async () =>
        [...(await count.byName())].map(([accessor, value]) => ({
          mount: labelOf(mountOf(accessor)),
          value,
        })),
    })
  const byName = Map.groupBy(
    plugins.flatMap(({ gauges = [] }) => gauges),
    ({ name }) => name,
  )
  const ofPlugins = [...byName.values()].flatMap((gauges) =>
    gauges
      .slice(0, 1)
      .map((shown) =>
        mountGauge({
          ...shown,
          read: async () =>
            (await Promise.all(gauges.map((one) => one.read())))
              .flat()
              .map((reading) => ({ ...reading, mount: labelOf(reading.mount) })),
        }),
      ),
  )
  return [
    gauge('barrier_term', 'Term of the data key that seals new records', () => barrier.keyStatus().term),
    gauge(
      'barrier_encryptions',
      'Encryptions with that key, including those reserved by earlier starts',
      () => barrier.keyStatus().encryptions,
    ),
    gauge(
      'reseal_remaining_records',
      'Records that the background pass after a rotation has still to visit',
      resealRemaining,
    ),
    gaugeBy('job', 'background_held', '1 while this server does the background job', () =>
      jobs.status().map(({ kind, isHeld }) => [kind, isHeld] as const),
    ),
    gaugeBy(
      'job',
      'background_last_success_timestamp_seconds',
      'When the background job last ran without a failure on this server',
      () => jobs.status().map(({ kind, lastSuccess }) => [kind, secondsOf(lastSuccess)] as const),
    ),
    ...auditGauges(audit, metrics),
    cacheGauge(caches),
    gaugeBy('type', 'tokens', 'Stored service tokens; batch tokens are not stored', async () => [
      ['service', await counts.tokenRecords.total()],
    ]),
    leasesBy('leases', 'Leases of secrets that can still be revoked', counts.leases),
    leasesBy('leases_irrevocable', 'Leases whose revocation was given up', counts.irrevocableLeases),
    gauge('lease_expiry_lag_seconds', 'How long the oldest due lease has been due', async () =>
      secondsOf(await leases.lagMs()),
    ),
    gaugeBy('effect', 'window_active', '1 while a message of the root namespace has this effect', () =>
      activeEffects(core.announcements),
    ),
    gauge('entities', 'Entities', () => counts.entities.total()),
    ...ofPlugins,
  ]
}

async function activeEffects(announcements: Core['announcements']) {
  const windows = await announcements.windowsOf(rootNamespace)
  return windowEffects.map((known) => [known, windows.some(({ effect }) => effect === known)] as const)
}

const auditGauges = (
  { log, chains, replica: own }: Core['audit'],
  metrics: Pick<Metrics, 'deviceLabel'>,
): ReadGauge[] => [
  gaugeBy('device', 'audit_device_up', '1 while the audit device can write', () =>
    log.devices.map(({ description: { path }, isUp }) => [metrics.deviceLabel(path), isUp] as const),
  ),
  gaugeBy(
    'device',
    'audit_checkpoint_timestamp_seconds',
    'When the chain of the audit device was signed last',
    async () => {
      const heads = await chains.heads()
      return log.devices.map(({ description: { path } }) => {
        const head = heads.find(({ device, replica }) => device === path && replica === own)
        return [metrics.deviceLabel(path), secondsOf(head && timeMilliseconds(head.time))] as const
      })
    },
  ),
]

const cacheGauge = (caches: Core['caches']): ReadGauge => ({
  name: 'cache_requests_total',
  type: 'counter',
  help: 'Reads of cached records, by whether the cache had them',
  labels: ['cache', 'outcome'],
  read: () =>
    [...caches.entries()].flatMap(([cache, { hits, misses }]) => [
      { labels: { cache, outcome: 'hit' }, value: hits },
      { labels: { cache, outcome: 'miss' }, value: misses },
    ]),
})

type LabelledGauge = Pick<MountGauge, 'name' | 'help' | 'combine' | 'label'> & { read(): Promise<Readings> }

/** `mount` has a limited number of values. */
type Readings = readonly {
  readonly mount: string
  readonly value: number | undefined
  readonly of?: string
}[]

/** A gauge with a value for each mount, or for parts of it. Values with the same labels are combined. */
const mountGauge = ({ name, help, combine, read, label }: LabelledGauge): ReadGauge => ({
  name,
  help,
  labels: label === undefined ? ['mount'] : ['mount', label],
  read: async () => {
    const known = new Map<string, { readonly labels: Record<string, string>; readonly value: number }>()
    for (const { mount, value, of } of await read()) {
      if (value === undefined) continue
      const labels = { mount, ...(label !== undefined && { [label]: of ?? '' }) }
      const key = JSON.stringify(labels)
      const before = known.get(key)
      known.set(key, { labels, value: before === undefined ? value : combine(before.value, value) })
    }
    return [...known.values()]
  },
})
