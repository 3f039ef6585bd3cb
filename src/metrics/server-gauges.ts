import type { ReadGauge, Reading } from './instruments.ts'

/** Where the gauges read their values. */
export type GaugeSources = {
  readonly version: string
  readonly storageType: string
  isSealed(): boolean
  isStorageUp(): Promise<boolean>
  storageSize(): { readonly databaseBytes: number; readonly logBytes: number; readonly freeBytes: number }
  /** The term of the data key that seals new records. */
  barrierTerm(): number
  /** Seconds the machine's clock is ahead of the server's time. */
  clockOffset(): number
  inFlight(): number
  connections(): Promise<number>
  /** One for each mount that was used since the start. */
  keysets(): Promise<readonly Keyset[]>
  cloudMounts(): Promise<readonly CloudMount[]>
  serviceTokens(): Promise<number>
  entities(): Promise<number>
}

/** Values of mounts with the same label are combined. */
type Keyset = {
  readonly mount: string
  readonly keys: number
  /** Undefined if nothing was fetched. */
  readonly ageSeconds: number | undefined
  readonly pending: number
}

/** `rootSecretEnd` is in seconds since the epoch; undefined until a rotation sets it. */
type CloudMount = {
  readonly mount: string
  readonly debris: number
  readonly rootSecretEnd: number | undefined
}

const one = (value: number | boolean): Reading => [{ labels: {}, value: Number(value) }]

type Combine = (one: number, other: number) => number

function readings<Source extends { readonly mount: string }>(
  sources: readonly Source[],
  value: (source: Source) => number | undefined,
  combine: Combine,
): Reading {
  const byMount = new Map<string, number>()
  for (const source of sources) {
    const read = value(source)
    const known = byMount.get(source.mount)
    if (read !== undefined) byMount.set(source.mount, known === undefined ? read : combine(known, read))
  }
  return [...byMount].map(([mount, read]) => ({ labels: { mount }, value: read }))
}

/** The gauges of docs/operations.md#metrics */
export function serverGauges(sources: GaugeSources): ReadGauge[] {
  const { version, storageType: storage } = sources
  const perMount = (value: (keyset: Keyset) => number | undefined, combine: Combine) => async () =>
    readings(await sources.keysets(), value, combine)
  const perCloudMount = (value: (mount: CloudMount) => number | undefined, combine: Combine) => async () =>
    readings(await sources.cloudMounts(), value, combine)
  const sum = (one: number, other: number) => one + other
  const labels = ['mount']
  return [
    {
      name: 'build_info',
      help: 'Version, storage and seal of this server',
      labels: ['version', 'storage', 'seal'],
      read: () => [{ labels: { version, storage, seal: 'static' }, value: 1 }],
    },
    { name: 'initialized', help: '1 once the store exists', labels: [], read: () => one(1) },
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
      read: () => {
        const { databaseBytes, logBytes, freeBytes } = sources.storageSize()
        return Object.entries({ database: databaseBytes, wal: logBytes, free: freeBytes }).map(
          ([part, value]) => ({ labels: { part }, value }),
        )
      },
    },
    {
      name: 'barrier_term',
      help: 'Term of the data key that seals new records',
      labels: [],
      read: () => one(sources.barrierTerm()),
    },
    {
      name: 'clock_offset_seconds',
      help: 'Seconds by which the system clock is ahead of the server’s time',
      labels: ['source'],
      read: () => [{ labels: { source: 'machine' }, value: sources.clockOffset() }],
    },
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
      read: async () => [{ labels: { protocol: 'http/1.1' }, value: await sources.connections() }],
    },
    { name: 'keys', help: 'Usable keys that verify tokens', labels, read: perMount(({ keys }) => keys, sum) },
    {
      name: 'keyset_age_seconds',
      help: 'Time since keys were last fetched',
      labels,
      read: perMount(({ ageSeconds }) => ageSeconds, Math.max),
    },
    {
      name: 'pending_logins',
      help: 'Browser logins that wait for their callback',
      labels,
      read: perMount(({ pending }) => pending, sum),
    },
    {
      name: 'cloud_debris_objects',
      help: 'Objects in the cloud that still have to be removed',
      labels,
      read: perCloudMount(({ debris }) => debris, sum),
    },
    {
      name: 'cloud_root_secret_expiry_timestamp_seconds',
      help: 'Expiry of the root secret, if a rotation created it',
      labels,
      read: perCloudMount(({ rootSecretEnd }) => rootSecretEnd, Math.min),
    },
    {
      name: 'tokens',
      help: 'Valid service tokens; batch tokens are not stored',
      labels: ['type'],
      read: async () => [{ labels: { type: 'service' }, value: await sources.serviceTokens() }],
    },
    {
      name: 'entities',
      help: 'Entities',
      labels: [],
      read: async () => one(await sources.entities()),
    },
  ]
}
