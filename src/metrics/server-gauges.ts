import type { ReadGauge, Reading } from './instruments.ts'

/** What a server tells of itself at any time. */
export type GaugeSources = {
  readonly version: string
  readonly storageType: string
  isSealed(): boolean
  isStorageUp(): Promise<boolean>
  storageSize(): { readonly databaseBytes: number; readonly logBytes: number; readonly freeBytes: number }
  /** Of the data key that seals what is written. */
  barrierTerm(): number
  /** Seconds the machine's clock is ahead of the server's time. */
  clockOffset(): number
  inFlight(): number
  connections(): Promise<number>
  /** Of the mounts that were used since the start. `ageSeconds` is undefined where nothing was fetched. */
  keysets(): Promise<readonly Keyset[]>
  cloudMounts(): Promise<readonly CloudMount[]>
  serviceTokens(): Promise<number>
  entities(): Promise<number>
}

/** Those of mounts that share a label are taken together. */
type Keyset = {
  readonly mount: string
  readonly keys: number
  readonly ageSeconds: number | undefined
  readonly pending: number
}

/** `rootSecretEnd` is seconds since the epoch; undefined where no rotation has told it. */
type CloudMount = {
  readonly mount: string
  readonly debris: number
  readonly rootSecretEnd: number | undefined
}

const one = (value: number | boolean): Reading => [{ labels: {}, value: Number(value) }]

type Together = (one: number, other: number) => number

function readings<Source extends { readonly mount: string }>(
  sources: readonly Source[],
  value: (source: Source) => number | undefined,
  together: Together,
): Reading {
  const byMount = new Map<string, number>()
  for (const source of sources) {
    const read = value(source)
    const known = byMount.get(source.mount)
    if (read !== undefined) byMount.set(source.mount, known === undefined ? read : together(known, read))
  }
  return [...byMount].map(([mount, read]) => ({ labels: { mount }, value: read }))
}

/** Gauges by the names of docs/operations.md#metrics */
export function serverGauges(sources: GaugeSources): ReadGauge[] {
  const { version, storageType: storage } = sources
  const perMount = (value: (keyset: Keyset) => number | undefined, together: Together) => async () =>
    readings(await sources.keysets(), value, together)
  const perCloudMount = (value: (mount: CloudMount) => number | undefined, together: Together) => async () =>
    readings(await sources.cloudMounts(), value, together)
  const sum = (one: number, other: number) => one + other
  const labels = ['mount']
  return [
    {
      name: 'build_info',
      help: 'What runs here',
      labels: ['version', 'storage', 'seal'],
      read: () => [{ labels: { version, storage, seal: 'static' }, value: 1 }],
    },
    { name: 'initialized', help: '1 once there is a store', labels: [], read: () => one(1) },
    { name: 'sealed', help: '1 while nothing can be read', labels: [], read: () => one(sources.isSealed()) },
    {
      name: 'storage_up',
      help: '1 while the storage can be read',
      labels: [],
      read: async () => one(await sources.isStorageUp()),
    },
    {
      name: 'storage_bytes',
      help: 'Bytes of the database, those of them that are free for new records, and of the write-ahead log',
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
      help: 'Number of the data key that seals what is written',
      labels: [],
      read: () => one(sources.barrierTerm()),
    },
    {
      name: 'clock_offset_seconds',
      help: 'How far the machine’s clock is ahead of the server’s time',
      labels: ['source'],
      read: () => [{ labels: { source: 'machine' }, value: sources.clockOffset() }],
    },
    {
      name: 'http_in_flight_requests',
      help: 'Requests under way',
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
      help: 'Since keys were last fetched',
      labels,
      read: perMount(({ ageSeconds }) => ageSeconds, Math.max),
    },
    {
      name: 'pending_logins',
      help: 'Browser logins between their start and their callback',
      labels,
      read: perMount(({ pending }) => pending, sum),
    },
    {
      name: 'cloud_debris_objects',
      help: 'What is left in the cloud and still to be removed',
      labels,
      read: perCloudMount(({ debris }) => debris, sum),
    },
    {
      name: 'cloud_root_secret_expiry_timestamp_seconds',
      help: 'End of the root secret, where a rotation made it',
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
      help: 'People and machines that are known',
      labels: [],
      read: async () => one(await sources.entities()),
    },
  ]
}
