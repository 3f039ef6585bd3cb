import { setTimeout as pause } from 'node:timers/promises'
import { keepTime } from './clock-keeping.ts'
import type { Config } from './config.ts'
import { MountTypeRegistry } from './core/mounts/mount-type-registry.ts'
import type { RootTokenTeller } from './core/tokens/root-token.ts'
import { checkDefaultMounts, openServerCore, openStorage } from './server-core.ts'
import { openHttp } from './http/http.ts'
import { httpParts, jsonLimits } from './http/http-parts.ts'
import { ApiDocument } from './http/openapi.ts'
import { openPlugins, type PluginDefinition } from './http/plugin.ts'
import type { Clock } from './lib/clock.ts'
import type { Random } from './lib/random.ts'
import type { Log } from './log.ts'
import { Metrics } from './metrics/metrics.ts'
import { ProcessState } from './node-state.ts'
import { type CloudTimes, cloudPlugins, operatorSettings } from './plugins/cloud/plugin.ts'
import { cubbyholePlugin } from './plugins/cubbyhole/plugin.ts'
import { customMessages } from './plugins/custom-messages/plugin.ts'
import { identityPlugin } from './plugins/identity/plugin.ts'
import { jwtPlugin } from './plugins/jwt-auth/plugin.ts'
import { sysPlugin } from './plugins/sys/plugin.ts'
import { tokenPlugin } from './plugins/token/plugin.ts'
import { gauges } from './server-gauges.ts'
import { bindListeners } from './server-listeners.ts'
import type { StorageFaults } from './storage/faults.ts'
import { StorageWatch } from './storage-watch.ts'
import { gatehouseVersion } from './version.ts'

export type ServerParts = {
  log: Log
  /**
   * `check` is called before a store is created; it throws a StartError if the token could not be delivered.
   */
  rootToken: RootTokenTeller & { check?(): void }
  clock?: Clock
  random?: Random
  /** Tests and benchmarks only. */
  faults?: StorageFaults
  /** Tests and benchmarks only. */
  cloudTimes?: CloudTimes
  /** Additional mount types. Tests and benchmarks only. */
  plugins?: readonly PluginDefinition[]
}

export type Server = AsyncDisposable & {
  /** `http://host:port` */
  readonly url: string
  /** Port of the listener for metrics, if there is one. */
  readonly metricsPort: number | undefined
  /**
   * Reports not ready, waits while still accepting connections, then closes the listener:
   * docs/operations.md#start-stop-restart. `metricsPort` responds until the server is disposed.
   */
  drain(delayMs: number): Promise<void>
}

/** How long a stopping server serves clients that still use an idle connection. */
const lingerMs = 1_000

/** The list of all mount types. */
const mountTypesOf = (config: Config, given: Built): PluginDefinition[] => [
  sysPlugin({
    ...{ document: given.document, metrics: given.metrics, metricsAccess: config.metrics },
    version: config.reportedVersion,
    jsonLimits: jsonLimits(config).open,
    nodeState: (core) => given.state.with(core),
  }),
  customMessages({ edition: config.edition, maxWaiters: config.messageWaiters }),
  tokenPlugin,
  identityPlugin,
  cubbyholePlugin,
  ...cloudPlugins({ operator: given.operator, times: given.cloudTimes }),
  jwtPlugin({
    maxJwtSize: config.maxJwtSize,
    failuresKept: config.loginFailuresKept,
    metrics: given.metrics,
  }),
  ...(given.plugins ?? []),
]

/** The parts that are created before anything is opened. */
type Built = ServerParts & Awaited<ReturnType<typeof build>>

async function build(config: Config, { log }: ServerParts) {
  const watch = new StorageWatch(log)
  const storageType = config.storage.kind === 'memory' ? 'inmem' : 'sqlite'
  return {
    watch,
    metrics: new Metrics(watch.counters),
    document: new ApiDocument(gatehouseVersion),
    state: new ProcessState({ watch, version: config.reportedVersion, storageType }),
    operator: await operatorSettings(config.cloud),
  }
}

/**
 * Starts a server. Throws a StartError, and closes everything, if settings, storage or seal key prevent a
 * start.
 */
export async function startServer(config: Config, parts: ServerParts): Promise<Server> {
  const given = { ...parts, ...(await build(config, parts)) }
  const { metrics, state, document } = given
  const definitions = mountTypesOf(config, given)
  const mountTypes = new MountTypeRegistry(definitions)
  checkDefaultMounts(config, mountTypes)

  await using opened = new AsyncDisposableStack()
  // bind before a store is created: an address in use must not lose the first root token
  const { listener, watching } = opened.use(await bindListeners(config, { metrics, state }))
  const storage = opened.use(await openStorage(config, given.watch, given.faults))
  const core = opened.use(await openServerCore(config, storage, { ...given, mountTypes }))
  const plugins = openPlugins(definitions, core)
  const measure = config.metrics === 'off' && config.metricsListen === undefined ? undefined : metrics
  const http = await openHttp(httpParts(core, plugins, { settings: config, document, measure }))
  metrics.add(gauges({ core, plugins, http, storage, metrics, node: state.with(core) }))

  core.start()
  opened.use(await keepTime(core, metrics))
  // close both at once: the listener waits for long polls, which end when the app closes
  opened.defer(async () => {
    await Promise.all([http.app.close(), listener.close()])
  })
  await listener.serve(http.app.server)
  if (config.apiAddr === undefined) core.reached.url = listener.url
  state.started(core)
  // disposal is in reverse order: requests first, storage last
  const held = opened.move()
  return {
    url: listener.url,
    metricsPort: watching?.port,
    drain: async (delayMs) => {
      state.stopping()
      if (delayMs > 0) await pause(delayMs)
      await listener.stopListening()
      http.pipeline.endConnections()
      await listener.linger(Math.min(lingerMs, config.stopTimeoutMs / 2))
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}
