import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Config } from './config.ts'
import type { Access } from './core/access.ts'
import { Periodic } from './core/background.ts'
import { isEmpty, rootKeyKey } from './core/barrier/barrier.ts'
import { loadSealKey, readSealKeyFile } from './core/barrier/seal.ts'
import { type Core, openCore } from './core/core.ts'
import { IdentityTidy } from './core/identity/identity-tidy.ts'
import type { LeaseBackend } from './core/leases/lease-backend.ts'
import { LongLists } from './core/long-lists.ts'
import { MessageStore } from './plugins/custom-messages/message-store.ts'
import { MessageWaits } from './plugins/custom-messages/message-waits.ts'
import { ShownMessages } from './plugins/custom-messages/shown-messages.ts'
import type { Mount } from './core/mounts/mount.ts'
import { effectiveMaxTtl } from './core/mounts/mount-info.ts'
import type { Removal } from './core/mounts/mount-type.ts'
import { MountTypeRegistry } from './core/mounts/mount-type-registry.ts'
import { caCertificates, OutboundClient } from './core/outbound.ts'
import { TimeKeeper } from './core/time-keeper.ts'
import { issueLogin, type Lookalike, planLogin } from './core/tokens/issue-login.ts'
import type { RootTokenTeller } from './core/tokens/root-token.ts'
import { fail, refuse, StartError } from './errors.ts'
import { admission } from './http/admission.ts'
import { clientAddressReader, connectionCounting } from './http/client-address.ts'
import { corsReader } from './http/cors.ts'
import { coreHost } from './http/host.ts'
import { type Http, openHttp } from './http/http.ts'
import { type ListenAt, Listener } from './http/listener.ts'
import { startMetricsListener } from './http/metrics-listener.ts'
import { mountRouter } from './http/mount-router.ts'
import type { NodeExchange } from './http/node-resource.ts'
import { ApiDocument } from './http/openapi.ts'
import type { Resource } from './http/resource.ts'
import { type Clock, type ClockStep, MachineClock, machineClock } from './lib/clock.ts'
import { systemCode } from './lib/private-file.ts'
import { type Random, systemRandom } from './lib/random.ts'
import type { Log } from './log.ts'
import { Metrics } from './metrics/metrics.ts'
import { serverGauges } from './metrics/server-gauges.ts'
import {
  CloudEngine,
  type CloudEngineParts,
  cloudResources,
  type OperatorSettings,
} from './plugins/cloud/index.ts'
import { cubbyholeResources } from './plugins/cubbyhole/index.ts'
import { identityResources } from './plugins/identity/index.ts'
import { JwtMethod, jwtAuthResources } from './plugins/jwt-auth/index.ts'
import { genericPlaces, metricsResource, storedCounts, sysResources } from './plugins/sys/index.ts'
import { type NodeState, nodeStateResources } from './plugins/sys/node-state.ts'
import { tokenResources } from './plugins/token/index.ts'
import type { StorageFaults } from './storage/faults.ts'
import { openMemory, openSqlite, type SqliteStorage } from './storage/sqlite.ts'
import type { Storage } from './storage/storage.ts'
import { StorageWatch } from './storage-watch.ts'
import { gatehouseVersion } from './version.ts'

export type ServerParts = {
  log: Log
  /** `check` is called before a store is made; it throws a StartError if the token would have nowhere to go. */
  rootToken: RootTokenTeller & { check?(): void }
  clock?: Clock
  random?: Random
  /** Tests and benchmarks only. */
  faults?: StorageFaults
  /** How the cloud engine waits before it tries something upstream again. Tests and benchmarks only. */
  cloudPause?: CloudEngineParts['pause']
  /**
   * How long it takes at most, and for how long it does not believe that something is gone. Tests and
   * benchmarks only.
   */
  cloudTimes?: Pick<CloudEngineParts, 'patience' | 'requestLimitMs'>
  /** Secrets engines beside those of the product, each mounted by its own name. Tests and benchmarks only. */
  engines?: readonly Engine[]
}

/** A secrets engine: its routes below a mount, and what becomes of the leases it hands out. */
export type Engine = {
  readonly type: string
  readonly resources: readonly Resource[]
  readonly backend: LeaseBackend
}

export type Server = AsyncDisposable & {
  /** `http://host:port` */
  readonly url: string
  /** Of the listener for metrics, if there is one. */
  readonly metricsPort: number | undefined
  /**
   * Says not ready, waits with the addresses open, then closes them: docs/operations.md#start-stop-restart.
   * `metricsPort` answers until the end.
   */
  drain(delayMs: number): Promise<void>
}

/** How long a stopping server serves clients that are about to use an idle connection. */
const lingerMs = 1_000
const pendingLoginsSweepMs = 60_000
const seconds = (milliseconds: number) => Math.floor(milliseconds / 1000)

/**
 * A running server out of all parts. Throws a StartError when settings, storage or seal key do not let it
 * start; then nothing is left open.
 */
export async function startServer(config: Config, given: ServerParts): Promise<Server> {
  const mountTypes = new MountTypeRegistry([
    ...[jwtType, cloudType, azureType],
    ...(given.engines ?? []).map(({ type }) => ({ table: 'secret' as const, names: [type] as const })),
  ])
  checkMountTypes(config, mountTypes)
  const parts = {
    ...given,
    mountTypes,
    clock: given.clock ?? machineClock(),
    watch: new StorageWatch(given.log),
  }
  await using opened = new AsyncDisposableStack()
  let running: { state: NodeState; metrics: Metrics } | undefined
  // taken before anything is made: an address in use must not cost the first root token
  const listener = opened.use(await listening('LISTEN', config.listen, Listener.bind(config.listen)))
  const watched = config.metricsListen && {
    ...config.metricsListen,
    metrics: async () => await running?.metrics.text(),
    readiness: async () => (await running?.state.readiness()) ?? 'starting',
  }
  const watching =
    watched && opened.use(await listening('METRICS_LISTEN', watched, startMetricsListener(watched)))
  const storage = opened.use(await openStorage(config, parts))
  const stores = opened.use(await openStores(config, parts, storage))
  const core = { ...stores, cloudEngine: openCloud(stores, parts) }
  for (const { type, backend } of given.engines ?? [])
    core.mountTypes.add({ table: 'secret', names: [type], leases: backend })
  const state = nodeState(config, core, storage, parts.watch)
  const { app, pipeline, metrics } = await buildApp(config, parts, core, state, storage)
  core.start()
  if (parts.clock instanceof MachineClock)
    opened.use(await keepTime(parts.clock, { log: parts.log, core, metrics }))
  // requests that wait are ended by the plugins' own `preClose`, before the listener has seen the last one
  // answered
  opened.defer(async () => {
    await Promise.all([app.close(), listener.close()])
  })
  await listener.serve(app.server)
  if (config.apiAddr === undefined) core.reached.url = listener.url
  running = { state, metrics }
  state.started()
  // what it held is disposed in reverse order: requests first, the storage last
  const held = opened.move()
  return {
    url: listener.url,
    metricsPort: watching?.port,
    drain: async (delayMs) => {
      state.stopping()
      if (delayMs > 0) await pause(delayMs)
      await listener.stopListening()
      pipeline.endConnections()
      await listener.linger(Math.min(lingerMs, config.stopTimeoutMs / 2))
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

type TimedParts = { log: Log; core: ServerCore; metrics: Metrics }

function keepTime(clock: MachineClock, { log, core, metrics }: TimedParts): Promise<TimeKeeper> {
  return TimeKeeper.start({
    clock,
    view: core.view,
    settle: () => core.settle(),
    onStep: ({ before, after }: ClockStep) => {
      const direction = after < before ? 'back' : 'forward'
      metrics.clockStepped(direction)
      const times = { before: new Date(before).toISOString(), after: new Date(after).toISOString() }
      log.warn(
        { event: 'clock_step', direction, ...times, seconds: (after - before) / 1000 },
        `the clock of this machine was set ${direction}`,
      )
      // whoever waits for a moment would wait for the wrong one
      core.messageWaits.lookAgain()
    },
    onError: (err) => log.error({ err }, 'could not end expired leases before the clock was set back'),
  })
}

/** `setting` names the one that asks for the address. */
function listening<T>(setting: string, { host, port }: ListenAt, bound: Promise<T>): Promise<T> {
  return bound.catch((cause: unknown) => {
    throw new StartError(2, `GATEHOUSE_${setting}: cannot listen on ${host}:${port}: ${systemCode(cause)}`, {
      cause,
    })
  })
}

type WatchedParts = ServerParts & { readonly clock: Clock; readonly watch: StorageWatch }

function openStorage(
  { storage, allowNetworkDisk }: Config,
  { faults, watch: { events } }: WatchedParts,
): Promise<SqliteStorage> {
  return storage.kind === 'memory'
    ? openMemory({ faults, events })
    : openSqlite({ path: storage.path, allowNetworkDisk, events, faults })
}

const checkMountTypes = ({ defaultMounts }: Config, mountTypes: MountTypeRegistry): void => {
  for (const { table, path, type } of defaultMounts) {
    if (mountTypes.offeredPlugin(table, type) !== undefined) continue
    const item = `${table === 'auth' ? 'auth/' : ''}${path}=${type}`
    throw new StartError(2, `GATEHOUSE_DEFAULT_MOUNTS: "${item}" is not a valid PATH=TYPE of a mount`)
  }
}

type Parts = WatchedParts & { readonly mountTypes: MountTypeRegistry }

/** The core, and what builds on it below HTTP. */
type ServerCore = Core & {
  readonly operator: OperatorSettings
  readonly messages: MessageStore
  readonly shownMessages: ShownMessages
  readonly messageWaits: MessageWaits
  readonly cloudEngine: CloudEngine
}

async function openStores(config: Config, parts: Parts, storage: SqliteStorage) {
  const { log, clock, random = systemRandom, mountTypes, rootToken, watch } = parts
  // whatever a setting can be wrong about is known before a store is made
  const outbound = new OutboundClient({
    deny: config.outboundDeny,
    httpsProxy: config.httpsProxy,
    noProxy: config.noProxy,
  })
  const operator = await operatorSettings(config)
  const isNew = await isEmpty(storage)
  if (isNew && !config.dev) rootToken.check?.()
  await using staging = isNew ? await openMemory() : undefined
  const settings = {
    ...(await sealKeys(config, log, storage)),
    systemTtl: { defaultTtl: seconds(config.defaultLeaseTtlMs), maxTtl: seconds(config.maxLeaseTtlMs) },
    defaultMounts: config.defaultMounts,
    devRootToken: config.dev ? config.rootToken : undefined,
    apiAddr: config.apiAddr ?? '',
    background: config.background === 'on',
  }
  const core = await openCore(settings, {
    ...{ storage, staging, log, clock, random, mountTypes, rootToken, outbound },
    onUnreadable: () => watch.recordUnreadable(),
  })
  return { ...core, operator, ...openMessages(config, core) }
}

function openMessages(config: Config, core: Core) {
  const { view, random, namespaces, clock } = core
  const messages = new MessageStore({ view, random })
  const shownMessages = new ShownMessages({ messages, namespaces, clock })
  const messageWaits = new MessageWaits({ mostPerAddress: config.messageWaiters })
  messages.onChange((namespaceId) => messageWaits.changed(namespaceId))
  core.namespaceLife.removes({
    name: 'waits',
    phase: 'waiting requests',
    remove: (id) => messageWaits.endNamespace(id),
  })
  core.namespaceLife.removes({
    name: 'messages',
    phase: 'data',
    remove: (id) => messages.removeNamespace(id),
  })
  return { messages, shownMessages, messageWaits }
}

function openCloud({ operator, ...core }: Core & { operator: OperatorSettings }, parts: Parts): CloudEngine {
  const { mounts, outbound, clock, random, log, leases, systemTtl, mountTypes } = core
  const engine = new CloudEngine({
    ...{ mounts, outbound, clock, random, log, leases, systemTtl, operator },
    pause: parts.cloudPause,
    ...parts.cloudTimes,
  })
  const behaviour = {
    leases: engine.credentials,
    clear: (mount: Mount, how: Removal) => engine.clear(mount, how),
    empty: (mount: Mount) => engine.empty(mount),
  }
  mountTypes.add({
    ...cloudType,
    ...behaviour,
    start: () => engine.start(),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  })
  mountTypes.add({ ...azureType, ...behaviour })
  return engine
}

const jwtType = { table: 'auth', names: ['jwt', 'oidc'] } as const
const cloudType = { table: 'secret', names: ['cloud'] } as const
const azureType = { table: 'secret', names: ['azure'] } as const

/** What the operator gives the cloud engine. docs/contract/cloud.md#endpoints */
async function operatorSettings({ cloud }: Config): Promise<OperatorSettings> {
  if (cloud.caFile === undefined) return cloud
  try {
    const caPem = await readFile(cloud.caFile, 'utf8')
    if (caCertificates(caPem).length === 0)
      throw new StartError(2, `CLOUD_CA_FILE: there is no certificate in ${cloud.caFile}`)
    return { ...cloud, caPem }
  } catch (cause) {
    throw cause instanceof StartError
      ? cause
      : new StartError(2, `CLOUD_CA_FILE: cannot read ${cloud.caFile}: ${systemCode(cause)}`, { cause })
  }
}

/** The seal key as the settings say; of a store in memory, one that dies with it. docs/storage.md#seal-key */
async function sealKeys(
  config: Config,
  log: Log,
  storage: Storage,
): Promise<{ sealKey: Uint8Array; previousSealKey?: Uint8Array }> {
  if (config.storage.kind === 'memory') return { sealKey: systemRandom.bytes(32) }
  const allowOpen = config.allowOpenKeyFile
  const { key, made } = await loadSealKey({
    text: config.sealKey,
    file: config.sealKeyFile,
    allowOpen,
    storeIsEmpty: await isEmpty(storage),
  })
  if (made) {
    log.warn(
      { file: config.sealKeyFile },
      `made seal key ${config.sealKeyFile}: in production keep it on another disk than the database`,
    )
  }
  if (config.sealPreviousKeyFile === undefined) return { sealKey: key }
  return { sealKey: key, previousSealKey: await readSealKeyFile(config.sealPreviousKeyFile, { allowOpen }) }
}

type LivingState = NodeState & { started(): void; stopping(): void }

function nodeState(
  config: Config,
  { barrier, clusterId, clock }: Core,
  storage: SqliteStorage,
  watch: StorageWatch,
): LivingState {
  let phase: 'starting' | 'ready' | 'stopping' = 'starting'
  const isStorageUp = async () => {
    try {
      return watch.isSound() && (await storage.get(rootKeyKey)) !== undefined
    } catch {
      return false
    }
  }
  return {
    isInitialized: () => true,
    isSealed: () => barrier.isSealed(),
    isStorageUp,
    readiness: async () =>
      phase !== 'ready' ? phase : barrier.isSealed() ? 'sealed' : (await isStorageUp()) ? 'ready' : 'storage',
    version: config.reportedVersion,
    gatehouseVersion,
    clusterId,
    storageType: config.storage.kind === 'memory' ? 'inmem' : 'sqlite',
    now: () => clock.now(),
    started: () => {
      phase = 'ready'
    },
    stopping: () => {
      phase = 'stopping'
    },
  }
}

async function buildApp(
  config: Config,
  { log, engines, watch }: WatchedParts,
  core: ServerCore,
  state: NodeState,
  storage: SqliteStorage,
): Promise<Http & { metrics: Metrics }> {
  const {
    namespaces,
    namespaceLife,
    mounts,
    access,
    random,
    clock,
    systemTtl: system,
    tokens,
    groups,
    identities,
    policies,
    discard,
    revoker,
    wrapper,
    leases,
    policyExists,
  } = core
  const jsonLimits = { maxStrings: config.maxJsonStrings, maxMemory: config.maxJsonMemory, maxDepth: 10_000 }
  const openJsonLimits = { ...jsonLimits, maxValues: 10_000 }
  const maxBodyBytes = config.maxRequestSize || Number.POSITIVE_INFINITY
  const proxies = {
    trusted: config.trustedProxies,
    hops: config.trustedProxyHops,
    required: config.trustedProxyRequired,
  }
  const clientAddress = clientAddressReader(proxies)
  const counts = storedCounts({ tokens, view: core.view, clock })
  const mountName = (mount: Mount) => `${namespaces.byId(mount.namespace)?.path ?? ''}${mount.path}`
  const metrics = new Metrics(
    serverGauges({
      version: gatehouseVersion,
      storageType: state.storageType,
      isSealed: () => core.barrier.isSealed(),
      isStorageUp: () => state.isStorageUp(),
      storageSize: () => storage.size(),
      barrierTerm: () => core.barrier.keyStatus().term,
      clockOffset: () => (clock instanceof MachineClock ? clock.offset() / 1000 : 0),
      inFlight: () => pipeline.inFlight,
      connections: () => connectionsOf(app),
      keysets: async () =>
        (await jwtMethod.keysets()).map((keyset) => ({
          ...keyset,
          mount: metrics.mountLabel(mountName(keyset.mount)),
        })),
      cloudMounts: async () =>
        (await core.cloudEngine.credentials.figures()).map((figure) => ({
          ...figure,
          mount: metrics.mountLabel(mountName(figure.mount)),
        })),
      serviceTokens: () => counts.serviceTokens.total(),
      entities: () => counts.entities.total(),
    }),
    watch.counters,
  )
  const measure = config.metrics === 'off' && config.metricsListen === undefined ? undefined : metrics
  const document = new ApiDocument(gatehouseVersion)
  const resolve = (namespace: string, path: string) => mounts.table.resolve(namespace, path)
  const isSealed = () => core.barrier.isSealed()
  const longLists = new LongLists()
  const node = [
    ...nodeStateResources({
      state,
      jsonLimits: openJsonLimits,
      seal: async (exchange) => {
        await checkSudo(access, exchange)
        core.barrier.seal()
        core.messageWaits.lookAgain()
        log.warn({ event: 'sealed' }, 'sealed: no data can be read until the next start')
      },
    }),
    metricsResource({
      metrics,
      access: config.metrics,
      authorize: (exchange) => checkMetricsReader(core, exchange),
      now: () => clock.now(),
    }),
  ]
  const sys = sysResources({
    counts,
    namespaces,
    namespaceLife,
    mounts,
    document,
    policies,
    access,
    barrier: core.barrier,
    random,
    systemTtls: system,
    version: config.reportedVersion,
    leases,
    longLists,
    mountOf: (accessor) => mounts.table.byAccessor(accessor),
    wrapper,
    cors: core.cors,
    edition: config.edition,
    messages: core.messages,
    shownMessages: core.shownMessages,
    messageWaits: core.messageWaits,
    identities,
    isSealed,
    clock,
    onInvalid: ({ path, remoteAddress, requestId }) =>
      log.warn(
        { event: 'wrapping_token_invalid', path, remote_address: remoteAddress, request_id: requestId },
        'a wrapping token that is not valid was used',
      ),
  })
  const mountOf = (accessor: string) => mounts.table.byAccessor(accessor)
  const jwtMethod = new JwtMethod({
    mounts,
    outbound: core.outbound,
    clock,
    random,
    log,
    systemTtl: system,
    spent: core.spent,
    maxJwtSize: config.maxJwtSize,
    failuresKept: config.loginFailuresKept,
    onFetch: (mount, succeeded) => metrics.keysFetched(mountName(mount), succeeded),
  })
  const sweeper = new Periodic({
    run: () => jwtMethod.sweep(),
    intervalMs: pendingLoginsSweepMs,
    onError: (err) => log.error({ err }, 'expired logins could not be removed'),
  })
  core.mountTypes.add({
    ...jwtType,
    renewalTerms: (issued, mount) => jwtMethod.renewalTerms(issued, mount),
    start: () => sweeper.start(),
    settle: () => jwtMethod.sweep(),
    [Symbol.asyncDispose]: () => sweeper[Symbol.asyncDispose](),
  })
  const token = tokenResources({
    tokens,
    identity: identities,
    revoker,
    roles: core.tokenRoles,
    longLists,
    tidy: core.tidy,
    view: core.view,
    systemTtl: system,
    clock,
    mountOf,
    policyExists,
    renewalTerms: (issued, mount) => core.mountTypes.renewalTerms(issued, mount),
  })
  const identity = identityResources({
    identityTokens: core.identityTokens,
    longLists,
    now: () => clock.now(),
    identities,
    groups,
    mountOf,
    cutOffs: tokens.cutOffs,
    tidy: core.tidy,
    identityTidy: new IdentityTidy({
      store: identities,
      tokens,
      systemTtl: system,
      mountOf,
      tokenMountOf: (namespace) => mounts.table.at(namespace, 'auth/token/'),
    }),
  })
  const cubbyhole = cubbyholeResources({
    cubbyholes: core.cubbyholes,
    tokens,
    longLists: new LongLists(),
  })
  const onLookalike = ({ mount, entityId, resembles }: Lookalike) => {
    const fields = {
      event: 'login_lookalike',
      namespace: mount.namespace,
      mount: mount.path,
      entity_id: entityId,
      resembled_entity_id: resembles,
    }
    log.warn(fields, 'the name of a login looks like the name of another entity')
    metrics.lookalike(mountName(mount))
  }
  const loginParts = {
    tokens,
    identity: identities,
    spent: core.spent,
    view: core.view,
    clock,
    systemTtl: system,
    onLookalike,
  }
  const jwt = jwtAuthResources({
    method: jwtMethod,
    log,
    issue: (login) => issueLogin(loginParts, login),
    plan: (login) => planLogin(loginParts, login),
    policyExists,
    counter: metrics,
  })
  const { app, pipeline } = await openHttp({
    document,
    plugins: [
      { name: 'system', resources: sys, fixedAt: 'sys/' },
      { name: 'token', resources: token },
      { name: 'identity', resources: identity },
      { name: 'cubbyhole', resources: cubbyhole },
      ...(['cloud', 'azure'] as const).map((type) => ({
        name: type,
        resources: cloudResources({ engine: core.cloudEngine, type }),
      })),
      ...(engines ?? []).map(({ type, resources }) => ({ name: type, resources })),
      { name: 'jwt', resources: jwt },
    ],
    node,
    server: {
      headerTimeoutMs: config.headerTimeoutMs,
      bodyTimeoutMs: config.bodyTimeoutMs,
      idleTimeoutMs: config.idleTimeoutMs,
      connections: {
        most: config.maxConnections,
        mostPerClient: Math.max(1, Math.floor(config.maxConnections * config.maxConnectionShare)),
        ...connectionCounting(proxies),
        onCrowded: () => measure?.refused('overload'),
      },
    },
    route: mountRouter({
      random,
      namespaceOf: (header, path) => namespaces.resolve(header, path),
      resolve,
      clientAddress,
    }),
    admit: admission({
      access,
      namespaces,
      resolve,
      jsonLimits,
      openJsonLimits,
      isSealed,
      maxTtlOf: (mount) => effectiveMaxTtl(mount, system),
    }),
    host: coreHost({ mounts, leases, wrapper, clock, discard, log }),
    pipeline: {
      limits: {
        maxBodyBytes,
        maxOpenBodyBytes: Math.min(config.maxLoginSize || maxBodyBytes, maxBodyBytes),
        maxBufferedBytes: config.maxBuffered,
        maxInFlight: config.maxInFlight,
      },
      cors: corsReader(() => core.cors.current),
      onBug: (err, requestId) => log.error({ err, request_id: requestId }, 'a request failed'),
      afterRequest: (call) => {
        const spent = call.caller?.token
        if (spent?.num_uses === -1) discard(spent.accessor)
      },
      onAccess: config.accessLog ? (line) => log.info(line, 'request') : undefined,
      measure,
    },
    prepared: { resolve, namespaces, clientAddress, random, isSealed },
    onClosing: () => core.messageWaits.endAll(),
    shownDocument: () => document.describe(genericPlaces(mounts, 'root')),
  })
  return { app, pipeline, metrics }
}

/** Whoever may read `sys/metrics`, by whichever path. docs/settings.md */
async function checkMetricsReader(
  { access, barrier }: Core,
  { call, presented }: NodeExchange,
): Promise<void> {
  if (barrier.isSealed()) throw refuse('sealed', 'Vault is sealed')
  const caller = await access.authenticate(presented(), call.remoteAddress)
  call.caller = caller
  if (!caller.acl.decide({ operation: 'read', path: 'sys/metrics' }).allowed)
    throw fail('denied', 'permission denied')
}

const connectionsOf = (app: FastifyInstance): Promise<number> =>
  new Promise((settle, reject) =>
    app.server.getConnections((error, count) => (error === null ? settle(count) : reject(error))),
  )

/**
 * `sys/seal` and its like look at the token themselves. docs/contract/tokens-and-policies.md#protected-paths
 */
async function checkSudo(access: Access, { call, presented }: NodeExchange): Promise<void> {
  const caller = await access.authenticate(presented(), call.remoteAddress)
  call.caller = caller
  const verdict = caller.acl.decide({ operation: 'update', path: call.path })
  if (!verdict.allowed || !verdict.sudo) throw fail('denied', 'permission denied')
}
