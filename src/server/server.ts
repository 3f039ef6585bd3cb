import { setTimeout as pause } from 'node:timers/promises'
import type { Reloadable } from '../config/config.ts'
import { listenAddresses, tlsSettings } from '../config/connections.ts'
import { sealSource } from '../config/seal-source.ts'
import type { Config } from '../config/settings.ts'
import { ownKey } from '../core/seal/own-key.ts'
import type { RootTokenTeller } from '../core/tokens/store/root-token.ts'
import { ApiDocument } from '../http/document/openapi.ts'
import type { CommonHeaders } from '../http/exchange/common-headers.ts'
import { RequestsInProgress } from '../http/exchange/requests-in-progress.ts'
import { openHttp } from '../http/http.ts'
import { closedHttpParts, type HttpBase, jsonLimits, webServerOptions } from '../http/http-parts.ts'
import type { PluginDefinition, RegisterMountTypes } from '../http/resource/plugin.ts'
import { publicUrl } from '../http/wire/listen-address.ts'
import type { SharedDoors } from '../http/wire/shared-addresses.ts'
import { WebServer } from '../http/wire/web-server.ts'
import { type Clock, machineClock } from '../lib/system/clock.ts'
import { type Random, systemRandom } from '../lib/system/random.ts'
import { type Log, logLevelsOf, recentLines, watchLog } from '../log/log.ts'
import type { MetricFamily } from '../metrics/metric-families.ts'
import { Metrics } from '../metrics/metrics.ts'
import type { ShownMetrics } from '../metrics/shown-metrics.ts'
import { approlePlugin } from '../plugins/approle/plugin.ts'
import { type CloudTimes, cloudPlugins, operatorSettings } from '../plugins/cloud/plugin.ts'
import { cubbyholePlugin } from '../plugins/cubbyhole/plugin.ts'
import { customMessages } from '../plugins/custom-messages/plugin.ts'
import { identityPlugin } from '../plugins/identity/plugin.ts'
import { jwtPlugin } from '../plugins/jwt-auth/plugin.ts'
import { kubernetesPlugin } from '../plugins/kubernetes/plugin.ts'
import { kvPlugins } from '../plugins/kv/plugin.ts'
import { nodeResources, sysPlugin } from '../plugins/sys/plugin.ts'
import { tokenPlugin } from '../plugins/token/plugin.ts'
import { type Argon2Cost, userpassPlugin } from '../plugins/userpass/plugin.ts'
import type { StorageFaults } from '../storage/faults.ts'
import { gatehouseVersion } from '../version.ts'
import { followDatabase } from './clock-keeping.ts'
import { LifeCycle } from './life-cycle.ts'
import { ProcessState } from './node-state.ts'
import { openServer } from './open-server.ts'
import { overloadLog } from './overload-log.ts'
import { rootTokenRequests } from './root-token-requests.ts'
import { openServedFiles } from './served-files.ts'
import {
  checkDefaultMounts,
  createServerStore,
  openServerCore,
  openStorage,
  outboundClient,
  ownKeys,
  refuseLostStore,
  type ServerStorage,
  storedSeal,
} from './server-core.ts'
import { processGauges } from './server-gauges.ts'
import { bindListeners, sharedListener } from './server-listeners.ts'
import { snapshotTaker } from './snapshot-taker.ts'
import { StorageWatch } from './storage-watch.ts'
import type { Tracing } from './tracing.ts'

export type ServerParts = {
  log: Log
  /** `check` is called before a store is created; it throws a StartError if the token could not be delivered. */
  rootToken: RootTokenTeller & { check?(): void }
  clock?: Clock
  random?: Random
  /** In one of several processes that share the listener. docs/replicas.md#worker-processes */
  worker?: WorkerParts
  /** Ends a start that waits for its database: it rejects with the signal's reason. */
  stopping?: AbortSignal
  /** Monotonic milliseconds, which tell the age of copies. Tests and benchmarks only. */
  steady?: () => number
  /** Tests and benchmarks only. */
  faults?: StorageFaults
  /** Tests and benchmarks only. */
  cloudTimes?: CloudTimes
  /** Tests and benchmarks only. */
  passwordCost?: Argon2Cost
  /** False: each signature of a JWT is checked each time. Tests only. */
  keepsSignatures?: boolean
  /** Additional mount types. Tests and benchmarks only. */
  plugins?: readonly PluginDefinition[]
}

type WorkerParts = SharedDoors & {
  /** Whether no other process serves the addresses yet. */
  readonly isFirst: boolean
  metricsOfAll(own: Metrics): ShownMetrics
  opened(): void
}

export type Server = AsyncDisposable & {
  /** `http://host:port`, or `unix:PATH` */
  readonly urls: readonly string[]
  /** The first of them. */
  readonly url: string
  readonly metricsPort: number | undefined
  /**
   * Reports not ready, waits while still accepting connections, then closes the listener:
   * docs/operations.md#start-stop-restart. `metricsPort` responds until the server is disposed.
   */
  drain(delayMs: number): Promise<void>
  /**
   * Continues in new files if the audit files were renamed, and reads the files of these settings again. Never
   * rejects.
   */
  reload(settings?: Reloadable): Promise<void>
  /** Opens the store with the server's own key, if it is not open. */
  open(): Promise<void>
  metrics(): Promise<readonly MetricFamily[]>
  /** `ready`, or the first reason why not. */
  readiness(): Promise<string>
}

/** How long a stopping server serves clients that still use an idle connection. */
const lingerMs = 1_000

/** As reported to clients. */
const storageTypes = { memory: 'inmem', sqlite: 'sqlite', postgres: 'postgresql' } as const

/** The settings as Vault's Community edition shows its own, without anything secret. */
const shownSettings = (config: Config): Record<string, unknown> => ({
  api_addr: config.apiAddr ?? '',
  cluster_addr: '',
  cluster_name: '',
  default_lease_ttl: config.defaultLeaseTtlMs / 1000,
  disable_mlock: true,
  listeners: listenAddresses(config).map((at) => ({
    config:
      'path' in at
        ? { address: at.path }
        : { address: `${at.host}:${at.port}`, tls_disable: tlsSettings(config) === undefined },
    type: 'path' in at ? 'unix' : 'tcp',
  })),
  log_format: config.logFormat,
  log_level: config.logLevel,
  max_lease_ttl: config.maxLeaseTtlMs / 1000,
  seals: [{ disabled: false, type: config.seal }],
  storage: { type: storageTypes[config.storage.kind] },
  ui: config.ui,
})

function mountTypesOf(config: Config, given: Built) {
  const [cloud, azure] = cloudPlugins({ operator: given.operator, times: given.cloudTimes })
  const [kv, kvVersion2] = kvPlugins({ maxWaiters: config.messageWaiters, metrics: given.metrics })
  return {
    system: sysPlugin({
      document: given.document,
      version: config.reportedVersion,
      shownSettings: shownSettings(config),
      takeSnapshot: snapshotTaker(config, given.clock),
      ownKey: (seal) => ownKey(seal, sealSource(config)),
      databasePath: config.storage.kind === 'sqlite' ? config.storage.path : undefined,
      requestsInProgress: () => given.inProgress.list(),
      logLevels: logLevelsOf(given.log),
      watchLog: (level, read) => watchLog(given.log, level, read),
      recentLines: (level) => recentLines(given.log, level),
    }),
    customMessages: customMessages({
      edition: config.edition,
      maxWaiters: config.messageWaiters,
      warns: config.messageWarnings,
    }),
    token: tokenPlugin,
    identity: identityPlugin,
    cubbyhole: cubbyholePlugin,
    cloud,
    azure,
    kv,
    kvVersion2,
    jwtAuth: jwtPlugin({
      maxJwtSize: config.maxJwtSize,
      failuresKept: config.loginFailuresKept,
      keepsSignatures: given.keepsSignatures !== false,
      metrics: given.logins,
    }),
    userpass: userpassPlugin({
      metrics: given.logins,
      processes: config.processes ?? 1,
      failuresKept: config.loginFailuresKept,
      passwordCost: given.passwordCost,
    }),
    approle: approlePlugin({ metrics: given.logins, failuresKept: config.loginFailuresKept }),
    kubernetes: kubernetesPlugin({
      maxJwtSize: config.maxJwtSize,
      failuresKept: config.loginFailuresKept,
      serviceAccountDir: config.serviceAccountDir,
      metrics: given.logins,
    }),
    additional: given.plugins ?? [],
  }
}

type MountTypes = ReturnType<typeof mountTypesOf>

const listOf = ({ additional, ...types }: MountTypes): PluginDefinition[] => [
  ...Object.values(types),
  ...additional,
]

/** Each mount type is a Fastify plugin, below the name to which the mount router leads its requests. */
const registerMountTypes =
  (types: MountTypes): RegisterMountTypes =>
  (app, routesOf) => {
    app.register(routesOf(types.jwtAuth), { prefix: '/jwt' })
    app.register(routesOf(types.customMessages), { prefix: '/system' })
    app.register(routesOf(types.cloud), { prefix: '/cloud' })
    app.register(routesOf(types.azure), { prefix: '/azure' })
    app.register(routesOf(types.kv), { prefix: '/kv' })
    app.register(routesOf(types.kvVersion2), { prefix: '/kv-v2' })
    app.register(routesOf(types.userpass), { prefix: '/userpass' })
    app.register(routesOf(types.approle), { prefix: '/approle' })
    app.register(routesOf(types.kubernetes), { prefix: '/kubernetes' })
    app.register(routesOf(types.system), { prefix: '/system' })
    app.register(routesOf(types.token), { prefix: '/token' })
    app.register(routesOf(types.identity), { prefix: '/identity' })
    app.register(routesOf(types.cubbyhole), { prefix: '/cubbyhole' })
    for (const type of types.additional) app.register(routesOf(type), { prefix: `/${type.names[0]}` })
  }

/** Counts logins, and adds them to the traces of their requests. */
const tracedLogins = (metrics: Metrics, tracing: Tracing) => ({
  lookalike: metrics.lookalike.bind(metrics),
  keysFetched: metrics.keysFetched.bind(metrics),
  keyAlert: metrics.keyAlert.bind(metrics),
  beginLogins: metrics.beginLogins.bind(metrics),
  beginKeyLogins: metrics.beginKeyLogins.bind(metrics),
  login: (login: Parameters<Metrics['login']>[0]) => {
    metrics.login(login)
    const { mount, method, result, reason, seconds } = login
    tracing.ended('login', seconds, { mount, method, result, reason })
  },
})

type Built = Awaited<ReturnType<typeof build>>

async function build(config: Config, parts: ServerParts) {
  const { log, clock = machineClock(), random = systemRandom } = parts
  // loaded only if traces are wanted
  const tracing =
    config.tracing &&
    new (await import('./tracing.ts')).Tracing(config.tracing, { version: gatehouseVersion, log })
  const metrics = new Metrics()
  const watch = new StorageWatch(
    log,
    metrics,
    tracing && ((operation, seconds) => tracing.ended(`storage ${operation}`, seconds)),
  )
  const storageType = storageTypes[config.storage.kind]
  const measure = config.metrics === 'off' && config.metricsListen === undefined ? undefined : metrics
  const version = config.reportedVersion
  return {
    ...parts,
    clock,
    random,
    watch,
    metrics,
    measure,
    onOverload: overloadLog(log),
    inProgress: new RequestsInProgress(),
    tracing,
    logins: tracing === undefined ? metrics : tracedLogins(metrics, tracing),
    document: new ApiDocument(gatehouseVersion),
    state: new ProcessState({
      watch,
      version,
      storageType,
      exactListMatching: config.exactListMatching,
      sealType: config.seal,
      clock,
    }),
    operator: await operatorSettings(config.cloud),
    // a wrong proxy setting must be found before a store is created
    outbound: outboundClient(config, measure, tracing?.outgoing),
  }
}

type LifeParts = Built & {
  readonly common: CommonHeaders
  readonly config: Config
  readonly storage: ServerStorage
  readonly types: MountTypes
}

/** Opens the store, unless somebody has to initialize or unseal it. Throws a StartError. */
async function openLife(given: LifeParts): Promise<LifeCycle> {
  const { config, storage, log, clock, random, state, metrics, measure, types, document } = given
  const definitions = listOf(types)
  const { inProgress, tracing, common, onOverload } = given
  const seal = await storedSeal(config, storage)
  const baseOf = (life: LifeCycle): HttpBase => ({
    settings: config,
    measure,
    onOverload,
    inProgress,
    tracing,
    common,
    node: nodeResources({
      state: state.of({ life, storage }),
      metricsAccess: config.metrics,
      metrics: given.worker?.metricsOfAll(metrics) ?? metrics,
      jsonLimits: jsonLimits(config).open,
      openCeremonies: config.openCeremonies,
      random,
    }),
  })
  const life = new LifeCycle({
    storage,
    log,
    seal,
    clock,
    random,
    onOpened: given.worker?.opened,
    openClosed: (life) =>
      openHttp(closedHttpParts({ ...baseOf(life), random, log, pageSettings: () => life.pageSettings })),
    ownKeys: () => ownKeys(config, given),
    checkDelivery: () => {
      if (!config.dev) given.rootToken.check?.()
    },
    open: (life, keys) =>
      openServer({
        ...baseOf(life),
        definitions,
        document,
        metrics,
        register: registerMountTypes(types),
        openCore: (mountTypes) =>
          openServerCore(keys, { ...given, mountTypes, keysLost: () => life.keysLost() }),
      }),
    create: (created, key) => createServerStore(created, key, { ...given, types: definitions }),
  })
  if (config.seal !== 'shamir' && (seal !== undefined || config.autoInit)) await life.openByItself()
  else await life.prepareSealed()
  return life
}

/** Starts a server. Throws a StartError, and closes everything, if settings, storage or seal key prevent a start. */
export async function startServer(config: Config, parts: ServerParts): Promise<Server> {
  const given = await build(config, parts)
  const { metrics, state } = given
  const types = mountTypesOf(config, given)
  checkDefaultMounts(config, listOf(types))

  await using opened = new AsyncDisposableStack()
  if (given.tracing !== undefined) opened.use(given.tracing)
  // bind before a store is created: an address in use must not lose the first root token
  const files = await openServedFiles(config, given)
  const { tls, common } = files
  const listeners = given.worker
    ? sharedListener(given.worker, { state, files, ui: config.ui })
    : bindListeners(config, { metrics, state, files })
  const { listener, watching } = opened.use(await listeners)
  refuseLostStore(config)
  const storage = opened.use(await openStorage(config, given.watch, parts))
  const time = opened.use(await followDatabase(storage, given.clock, given.log))
  const apiAddr = config.apiAddr ?? publicUrl(listener.urls)
  const life = opened.use(
    await openLife({ ...given, common, config: { ...config, apiAddr }, storage, types }),
  )
  const server = new WebServer(
    { ...webServerOptions({ ...given, settings: config, common }), tls },
    life.receive,
  )
  const database = config.storage.kind === 'sqlite' ? config.storage.path : undefined
  const node = state.of({ life, storage })
  metrics.add(
    processGauges({
      node,
      life,
      storage,
      server,
      tls: tls?.identity,
      database,
      clock: given.clock,
      time,
      log: given.log,
    }),
  )

  // close both at once: the listener waits for long polls, which end when the requests do
  opened.defer(async () => {
    await Promise.all([life.endRequests(), listener.close()])
  })
  if (database !== undefined) {
    const { clock, log } = given
    const requests = opened.use(rootTokenRequests({ database, core: () => life.core, clock, log }))
    requests.start()
  }
  await listener.serve(server)
  state.started({ life, storage, time })
  // disposal is in reverse order: requests first, storage last
  const held = opened.move()
  return {
    urls: listener.urls,
    url: listener.urls[0] ?? '',
    metricsPort: watching?.port,
    drain: async (delayMs) => {
      state.stopping()
      if (delayMs > 0) await pause(delayMs)
      await listener.stopListening()
      life.endConnections()
      server.endConnections()
      await listener.linger(Math.min(lingerMs, config.stopTimeoutMs / 2))
    },
    reload: async (settings = config) => {
      await Promise.all([life.core?.audit.log.reopen(), files.reload(settings)])
    },
    open: () => life.openByItself(),
    metrics: () => metrics.families(),
    readiness: () => state.readiness(),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}
