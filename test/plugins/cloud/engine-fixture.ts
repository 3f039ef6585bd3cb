import { randomUUID } from 'node:crypto'
import type { Directory, DirectoryOptions } from '../../../simulators/directory/directory.ts'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import type { View } from '../../../src/core/barrier/view.ts'
import { Jobs } from '../../../src/core/jobs/jobs.ts'
import type { Mount } from '../../../src/core/mounts/mount.ts'
import { MountIndex } from '../../../src/core/mounts/mount-table.ts'
import { OutboundClient } from '../../../src/core/outbound/outbound.ts'
import { Servers } from '../../../src/core/servers/servers.ts'
import { ServiceError } from '../../../src/errors.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import type { ConfigRecord } from '../../../src/plugins/cloud/config/config-record.ts'
import { emptyConfig } from '../../../src/plugins/cloud/config/config-record.ts'
import type { OperatorSettings } from '../../../src/plugins/cloud/config/effective-settings.ts'
import { CloudEngine } from '../../../src/plugins/cloud/engine.ts'
import type { MountState } from '../../../src/plugins/cloud/mount-state.ts'
import { openCoreView } from '../../support/core-view.ts'
import { PausingClock } from './upstream/aimed.ts'

export type EngineFixture = AsyncDisposable & {
  readonly directory: Directory
  readonly clock: PausingClock
  readonly mount: Mount
  /** The second mount, if there is one. */
  readonly neighbour: Mount
  readonly view: View
  readonly lines: { level: string; fields: object }[]
  /** The engine that runs now. */
  readonly engine: CloudEngine
  readonly state: MountState
  /** Ends the engine like a crash, and starts another one with the same records. */
  restart(): void
  /**
   * Makes the storage fail after this many writes, until `restart`. The first failed write may be stored all
   * the same.
   */
  breakStorage(writes: number, last: 'stored' | 'lost'): void
  /** Like `breakStorage`, but only one write fails. */
  refuseOneWrite(writes: number, last: 'stored' | 'lost'): void
  /** The stored configuration. */
  config(): Promise<ConfigRecord>
  /** Display names and key ids of the root's passwords. */
  rootPasswords(): Promise<{ keyId: string; displayName: string | undefined }[]>
}

export type EngineHouseOptions = {
  directory?: Omit<DirectoryOptions, 'now'>
  config?: Partial<ConfigRecord>
  operator?: OperatorSettings
  /** Changed fields in the configuration of a second mount. Undefined: there is only one mount. */
  neighbour?: Partial<ConfigRecord> | undefined
}

/** An engine with one configured mount and real storage, and a stand-in that shares its clock. */
export async function openEngineFixture({
  directory: options = {},
  config = {},
  operator = {},
  neighbour,
}: EngineHouseOptions = {}): Promise<EngineFixture> {
  await using stack = new AsyncDisposableStack()
  const clock = new PausingClock(Date.UTC(2026, 4, 5, 6, 7, 8))
  const directory = stack.use(await startDirectory({ ...options, now: () => clock.now() }))
  const core = stack.use(await openCoreView())
  const uuid = randomUUID()
  const view = core.barrier.view(`mount/${uuid}/`)
  const disk = breakable(view)
  const mount: Mount = {
    table: 'secret',
    namespace: 'root',
    path: 'cloud/',
    type: 'cloud',
    plugin: 'cloud',
    accessor: 'cloud_1234abcd',
    uuid,
    description: '',
    config: { default_lease_ttl: 0, max_lease_ttl: 0, force_no_cache: false },
    options: null,
    local: false,
    seal_wrap: false,
    external_entropy_access: false,
    tainted: false,
    moves: 0,
  }
  const other: Mount = {
    ...mount,
    uuid: randomUUID(),
    path: 'azure/',
    type: 'azure',
    accessor: 'azure_5678abcd',
  }
  const otherView = core.barrier.view(`mount/${other.uuid}/`)
  const lines: EngineFixture['lines'] = []
  const log = (level: string) => (fields: object) => void lines.push({ level, fields })
  const logger = { info: log('info'), warn: log('warn'), error: log('error') }
  const open = () =>
    new CloudEngine({
      mounts: {
        viewOf: ({ uuid: asked }) => (asked === uuid ? disk.view : otherView),
        table: new MountIndex(neighbour === undefined ? [mount] : [mount, other]),
        enter: () => () => {},
      },
      outbound: new OutboundClient({ deny: [] }),
      clock,
      random: systemRandom,
      pause: clock.pause,
      patience: { retry: 10 },
      staticTimes: { restMs: 0 },
      log: logger,
      servers: new Servers(undefined, systemRandom),
      jobs: new Jobs({ shared: undefined, clock, log: logger }),
      mountTokens: {
        check: async () => {},
        identityOf: async () => ({ issuer: 'https://gate', subject: 'mount', jwksUri: 'https://gate/keys' }),
        signingKeyOf: async () => ({ name: 'default', id: 'key', rotationPeriod: 86_400 }),
        sign: async () => ({ token: 'a.b.c', expiresAt: clock.now() + 3_600_000 }),
      },
      leases: {
        find: async () => undefined,
        revoke: async () => undefined,
        checkRoom: async () => undefined,
      },
      systemTtl: { defaultTtl: 2_764_800, maxTtl: 2_764_800 },
      fullPathOf: ({ path }) => path,
      operator: {
        metadataEndpoint: 'http://127.0.0.1:9',
        authorityHost: directory.authorityUrl,
        directoryEndpoint: directory.directoryUrl,
        resourceManagerEndpoint: directory.resourceManagerUrl,
        caPem: directory.ca,
        ...operator,
      },
    })
  let engine = open()
  stack.defer(() => engine[Symbol.asyncDispose]())
  const root: Partial<ConfigRecord> = {
    subscription_id: directory.subscriptionId,
    tenant_id: directory.tenantId,
    client_id: directory.rootClientId,
    client_secret: directory.rootClientSecret,
  }
  await view.write([
    { key: 'config', value: { ...emptyConfig, ...root, rotation_counts_from: clock.now(), ...config } },
  ])
  if (neighbour !== undefined) {
    await otherView.write([
      { key: 'config', value: { ...emptyConfig, ...root, rotation_counts_from: clock.now(), ...neighbour } },
    ])
  }
  const ended: CloudEngine[] = []
  stack.defer(async () => {
    for (const one of ended) await one[Symbol.asyncDispose]()
  })
  const held = stack.move()
  return {
    directory,
    clock,
    mount,
    neighbour: other,
    view,
    lines,
    get engine() {
      return engine
    },
    get state() {
      return engine.stateOf(mount)
    },
    restart: () => {
      disk.replace()
      ended.push(engine)
      engine = open()
    },
    breakStorage: disk.break,
    refuseOneWrite: disk.refuseOne,
    // the engine wrote this record, so it has this shape
    config: async () => (await view.get('config')) as ConfigRecord,
    rootPasswords: async () => {
      const state = engine.stateOf(mount)
      const { directory: api } = await state.upstream()
      const found = await api.getApplication(directory.rootApplicationId, {
        deadline: clock.now() + 60_000,
        correlationId: randomUUID(),
      })
      return found.passwordCredentials.map(({ keyId, displayName }) => ({ keyId, displayName }))
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

/** The view of one engine. Once broken, it stays broken until the engine is restarted. */
function breakable(sound: View) {
  let life = aLife(sound)
  return {
    get view() {
      return life.view
    },
    break: (writes: number, last: 'stored' | 'lost') => life.break(writes, last),
    refuseOne: (writes: number, last: 'stored' | 'lost') => life.break(writes, last, { once: true }),
    replace: () => {
      life.break(0, 'lost')
      life = aLife(sound)
    },
  }
}

function aLife(sound: View) {
  let left = Number.POSITIVE_INFINITY
  let ends: 'stored' | 'lost' = 'lost'
  let isOnce = false
  const guarded = async <T>(write: () => Promise<T>): Promise<T> => {
    left -= 1
    if (left >= 0) return write()
    const isFirst = left === -1
    if (isOnce) left = Number.POSITIVE_INFINITY
    if (isFirst && ends === 'stored') await write()
    throw new ServiceError('unavailable', 'storage is gone')
  }
  const view: View = {
    get: (key) => sound.get(key),
    read: (key) => sound.read(key),
    watch: (prefix, listener) => sound.watch(prefix, listener),
    fromRoot: (entry) => sound.fromRoot(entry),
    list: (prefix, range) => sound.list(prefix, range),
    listKeys: (prefix, range) => sound.listKeys(prefix, range),
    pages: (prefix, after) => sound.pages(prefix, after),
    keyPages: (prefix, after) => sound.keyPages(prefix, after),
    update: (key, change) => guarded(() => sound.update(key, change)),
    take: (key) => guarded(() => sound.take(key)),
    write: (batch) => guarded(() => sound.write(batch)),
    putIfAbsent: (key, value) => guarded(() => sound.putIfAbsent(key, value)),
    deletePrefix: (prefix) => guarded(() => sound.deletePrefix(prefix)),
    // the engine asks only for plain numbers, which this view has
    view: () => view,
  }
  return {
    view,
    break: (writes: number, last: 'stored' | 'lost', { once = false } = {}) => {
      left = writes
      ends = last
      isOnce = once
    },
  }
}
