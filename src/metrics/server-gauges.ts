import type { ReadGauge, Reading } from './instruments.ts'

/** Where the gauges of the process read their values. */
export type ServerSources = {
  readonly version: string
  readonly storageType: string
  readonly sealType: string
  isInitialized(): boolean
  isSealed(): boolean
  isStorageUp(): Promise<boolean>
  /** The parts of the storage's files, in bytes; of a database server, what the records take. */
  storageSize(): Promise<Readonly<Record<string, number>>>
  /** The connections to a database server, by their state. */
  poolConnections(): Readonly<Record<string, number>>
  /** Time of the last backup in milliseconds; undefined if there was none. */
  lastBackup(): number | undefined
  /** Where the server's time comes from. */
  readonly clockSource: 'machine' | 'database'
  /** Seconds the machine's clock is ahead of the server's time, or of the database's. */
  clockOffset(): number
  /** Seconds since copies of records were confirmed; undefined if no other server writes them. */
  copiesAge(): number | undefined
  /** Lines of the log that were dropped because nobody read them in time. */
  droppedLogLines(): number
  inFlight(): number
  /** Open connections by protocol. */
  connections(): Readonly<Record<string, number>>
  /** When the certificate expires, in seconds; undefined without TLS. */
  certificateExpiry(): number | undefined
}

/** Where the gauges of an open store read their values. */
export type StoreSources = {
  /** The data key that seals new records. */
  keyStatus(): { readonly term: number; readonly encryptions: number }
  /** Number of records that may still be sealed under an older data key. */
  resealRemaining(): number
  /** The background jobs of this server. `lastSuccess`: time of the last run that succeeded, in seconds. */
  jobs(): readonly {
    readonly job: string
    readonly isHeld: boolean
    readonly lastSuccess: number | undefined
  }[]
  /** How often each cache had what was asked for. */
  caches(): Iterable<readonly [string, { readonly hits: number; readonly misses: number }]>
  tokens(): Promise<number>
  /** By the label of the mount. */
  leases(): Promise<Reading>
  irrevocableLeases(): Promise<Reading>
  /** How long the oldest due lease has been due, in seconds. */
  leaseLag(): Promise<number>
  entities(): Promise<number>
  /** `checkpoint`: time of the last one in seconds. */
  auditDevices(): Promise<
    readonly { readonly device: string; readonly isUp: boolean; readonly checkpoint: number | undefined }[]
  >
}

const one = (value: number | boolean): Reading => [{ labels: {}, value: Number(value) }]

const labelled = (label: string, values: Readonly<Record<string, number>>): Reading =>
  Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }))

export const droppedLinesMetric = (read: () => number): ReadGauge => ({
  name: 'log_lines_dropped_total',
  type: 'counter',
  help: 'Lines of the log that were dropped because nobody read them in time',
  labels: [],
  read: () => one(read()),
})

/** docs/monitoring.md#metrics */
export function serverGauges(sources: ServerSources): ReadGauge[] {
  const { version, storageType: storage, sealType: seal } = sources
  return [
    {
      name: 'build_info',
      help: 'Version, storage and seal of this server',
      labels: ['version', 'storage', 'seal'],
      read: () => [{ labels: { version, storage, seal }, value: 1 }],
    },
    {
      name: 'initialized',
      help: '1 once the store exists',
      labels: [],
      read: () => one(sources.isInitialized()),
    },
    { name: 'sealed', help: '1 while the server is sealed', labels: [], read: () => one(sources.isSealed()) },
    {
      name: 'storage_up',
      help: '1 while the storage can be read',
      labels: [],
      read: async () => one(await sources.isStorageUp()),
    },
    {
      name: 'storage_bytes',
      help: 'Size of the database, its free part, and the write-ahead log',
      labels: ['part'],
      read: async () => labelled('part', await sources.storageSize()),
    },
    {
      name: 'storage_pool_connections',
      help: 'Connections to PostgreSQL: idle, busy, or being opened',
      labels: ['state'],
      read: () => labelled('state', sources.poolConnections()),
    },
    {
      name: 'last_backup_timestamp_seconds',
      help: 'Time of the last backup, by the command or from the API',
      labels: [],
      read: () => {
        const time = sources.lastBackup()
        return time === undefined ? [] : one(time / 1000)
      },
    },
    {
      name: 'clock_offset_seconds',
      help: 'Seconds by which the system clock is ahead of the server’s time, or of the database’s',
      labels: ['source'],
      read: () => [{ labels: { source: sources.clockSource }, value: sources.clockOffset() }],
    },
    {
      name: 'cache_confirmed_age_seconds',
      help: 'Seconds since the copies of records that this server keeps were current',
      labels: [],
      read: () => {
        const age = sources.copiesAge()
        return age === undefined ? [] : one(age)
      },
    },
    droppedLinesMetric(() => sources.droppedLogLines()),
    {
      name: 'http_in_flight_requests',
      help: 'Requests in progress',
      labels: [],
      read: () => one(sources.inFlight()),
    },
    {
      name: 'http_connections',
      help: 'Open connections',
      labels: ['protocol'],
      read: () =>
        Object.entries(sources.connections()).map(([protocol, value]) => ({ labels: { protocol }, value })),
    },
    {
      name: 'tls_certificate_expiry_timestamp_seconds',
      help: 'When the certificate of the server expires',
      labels: [],
      read: () => {
        const expiry = sources.certificateExpiry()
        return expiry === undefined ? [] : one(expiry)
      },
    },
  ]
}

/** docs/monitoring.md#metrics */
export function storeGauges(sources: StoreSources): ReadGauge[] {
  return [
    {
      name: 'barrier_term',
      help: 'Term of the data key that seals new records',
      labels: [],
      read: () => one(sources.keyStatus().term),
    },
    {
      name: 'barrier_encryptions',
      help: 'Encryptions with that key, including those reserved by earlier starts',
      labels: [],
      read: () => one(sources.keyStatus().encryptions),
    },
    {
      name: 'reseal_remaining_records',
      help: 'Records that the background pass after a rotation has still to visit',
      labels: [],
      read: () => one(sources.resealRemaining()),
    },
    {
      name: 'background_held',
      help: '1 while this server does the background job',
      labels: ['job'],
      read: () => sources.jobs().map(({ job, isHeld }) => ({ labels: { job }, value: Number(isHeld) })),
    },
    {
      name: 'background_last_success_timestamp_seconds',
      help: 'When the background job last ran without a failure on this server',
      labels: ['job'],
      read: () =>
        sources
          .jobs()
          .flatMap(({ job, lastSuccess: value }) =>
            value === undefined ? [] : [{ labels: { job }, value }],
          ),
    },
    {
      name: 'audit_device_up',
      help: '1 while the audit device can write',
      labels: ['device'],
      read: async () =>
        (await sources.auditDevices()).map(({ device, isUp }) => ({
          labels: { device },
          value: Number(isUp),
        })),
    },
    {
      name: 'audit_checkpoint_timestamp_seconds',
      help: 'When the chain of the audit device was signed last',
      labels: ['device'],
      read: async () =>
        (await sources.auditDevices()).flatMap(({ device, checkpoint }) =>
          checkpoint === undefined ? [] : [{ labels: { device }, value: checkpoint }],
        ),
    },
    {
      name: 'cache_requests_total',
      type: 'counter',
      help: 'Reads of cached records, by whether the cache had them',
      labels: ['cache', 'outcome'],
      read: () =>
        [...sources.caches()].flatMap(([cache, { hits, misses }]) => [
          { labels: { cache, outcome: 'hit' }, value: hits },
          { labels: { cache, outcome: 'miss' }, value: misses },
        ]),
    },
    {
      name: 'tokens',
      help: 'Stored service tokens; batch tokens are not stored',
      labels: ['type'],
      read: async () => [{ labels: { type: 'service' }, value: await sources.tokens() }],
    },
    {
      name: 'leases',
      help: 'Leases of secrets that can still be revoked',
      labels: ['mount'],
      read: () => sources.leases(),
    },
    {
      name: 'leases_irrevocable',
      help: 'Leases whose revocation was given up',
      labels: ['mount'],
      read: () => sources.irrevocableLeases(),
    },
    {
      name: 'lease_expiry_lag_seconds',
      help: 'How long the oldest due lease has been due',
      labels: [],
      read: async () => one(await sources.leaseLag()),
    },
    { name: 'entities', help: 'Entities', labels: [], read: async () => one(await sources.entities()) },
  ]
}
