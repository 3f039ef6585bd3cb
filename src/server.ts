import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Config } from './config.ts'
import { Access } from './core/access.ts'
import { type Barrier, isEmpty, openBarrier, rootKeyKey } from './core/barrier/barrier.ts'
import { RotationSchedule } from './core/barrier/rotation-schedule.ts'
import { loadSealKey, readSealKeyFile } from './core/barrier/seal.ts'
import type { View } from './core/barrier/view.ts'
import { CorsStore } from './core/cors/cors-store.ts'
import { GroupStore } from './core/identity/group-store.ts'
import { IdentityKeys } from './core/identity/identity-keys.ts'
import { IdentityStore } from './core/identity/identity-store.ts'
import { migrateNames } from './core/identity/name-migration.ts'
import { IdentityTidy } from './core/identity/identity-tidy.ts'
import { IdentityTokens } from './core/identity-tokens/identity-tokens.ts'
import { KeyRotator } from './core/identity-tokens/key-rotator.ts'
import type { LeaseBackend } from './core/leases/lease-backend.ts'
import { LeaseStore } from './core/leases/lease-store.ts'
import { MessageStore } from './core/messages/message-store.ts'
import { MessageWaits } from './core/messages/message-waits.ts'
import { ShownMessages } from './core/messages/shown-messages.ts'
import { firstMounts } from './core/mounts/first-mounts.ts'
import type { Mount } from './core/mounts/mount.ts'
import type { SystemTtls } from './core/mounts/mount-config.ts'
import { effectiveMaxTtl } from './core/mounts/mount-info.ts'
import { entriesFor } from './core/mounts/mount-record.ts'
import { MountStore } from './core/mounts/mount-store.ts'
import { offerEngine } from './core/mounts/mount-types.ts'
import { NamespaceLife } from './core/namespaces/namespace-life.ts'
import { NamespaceStore } from './core/namespaces/namespace-store.ts'
import { caCertificates, OutboundClient } from './core/outbound.ts'
import { PolicyStore } from './core/policies/policy-store.ts'
import { issueLogin, type Lookalike, planLogin } from './core/tokens/issue-login.ts'
import {
  createInitialRootToken,
  ensureDevRootToken,
  takeRootTokenNote,
  tellInitialRootToken,
} from './core/tokens/root-token.ts'
import { TokenRevoker } from './core/tokens/token-revoker.ts'
import { TokenStore } from './core/tokens/token-store.ts'
import { TimeKeeper } from './core/time-keeper.ts'
import { TokenTidy } from './core/tokens/token-tidy.ts'
import { TokenRoleStore } from './core/tokens/token-role-store.ts'
import { ReplayStore } from './core/tokens/replay-store.ts'
import { TokenSweeper } from './core/tokens/token-sweeper.ts'
import { Cubbyholes } from './core/wrapping/cubbyholes.ts'
import { Wrapper } from './core/wrapping/wrapper.ts'
import { fail, refuse, ServiceError, StartError } from './errors.ts'
import { admission, taintedRefusal } from './http/admission.ts'
import { LongLists } from './core/long-lists.ts'
import { createApp } from './http/app.ts'
import { recordRoutes } from './http/documented-route.ts'
import { explorerRoute } from './http/explorer.ts'
import { ApiDocument } from './http/openapi.ts'
import type { Call } from './http/call.ts'
import { clientAddressReader, connectionCounting } from './http/client-address.ts'
import { corsReader } from './http/cors.ts'
import { type ListenAt, Listener } from './http/listener.ts'
import { startMetricsListener } from './http/metrics-listener.ts'
import { explorerUrl, mountRouter } from './http/mount-router.ts'
import { readyRead } from './http/ready-read.ts'
import { tokenOf } from './http/request-headers.ts'
import { countedAddress } from './lib/address.ts'
import { Buckets } from './lib/buckets.ts'
import { type Clock, type ClockStep, MachineClock, machineClock } from './lib/clock.ts'
import { systemCode } from './lib/private-file.ts'
import { type Random, systemRandom } from './lib/random.ts'
import type { Log } from './log.ts'
import { Metrics } from './metrics/metrics.ts'
import { serverGauges } from './metrics/server-gauges.ts'
import { CloudEngine, type CloudEngineParts, cloud, type OperatorSettings } from './plugins/cloud/index.ts'
import { cubbyhole } from './plugins/cubbyhole/index.ts'
import { identity } from './plugins/identity/index.ts'
import { JwtMethod, jwtAuth } from './plugins/jwt-auth/index.ts'
import {
  beforeLoginPath,
  genericPlaces,
  metricsRoute,
  readyBeforeLogin,
  storedCounts,
  sys,
} from './plugins/sys/index.ts'
import { type NodeState, nodeStateRoutes } from './plugins/sys/node-state.ts'
import { token } from './plugins/token/index.ts'
import type { StorageFaults } from './storage/faults.ts'
import { openMemory, openSqlite, type SqliteStorage } from './storage/sqlite.ts'
import type { Storage } from './storage/storage.ts'
import { StorageWatch } from './storage-watch.ts'
import { gatehouseVersion } from './version.ts'

/** What becomes of the first root token. */
export type RootTokenTeller = {
  /** Called before a store is made; throws a StartError when the token would have nowhere to go. */
  check?(): void
  /** Called before the token is valid. */
  keep(token: string): void
  /** Called once it is; rejects with a StartError when nobody was told. */
  tell(token: string): Promise<void> | void
}

export type ServerParts = {
  log: Log
  rootToken: RootTokenTeller
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
  readonly routes: FastifyPluginAsync
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

const sweepIntervalMs = 5_000
const dataKeyCheckMs = 60_000
/** How long a stopping server serves clients that are about to use an idle connection. */
const lingerMs = 1_000
const pendingLoginsSweepMs = 60_000
const seconds = (milliseconds: number) => Math.floor(milliseconds / 1000)

/**
 * A running server out of all parts. Throws a StartError when settings, storage or seal key do not let it
 * start; then nothing is left open.
 */
export async function startServer(config: Config, given: ServerParts): Promise<Server> {
  const parts = { ...given, clock: given.clock ?? machineClock(), watch: new StorageWatch(given.log) }
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
  const core = await openCore(config, parts, storage)
  opened.use(core.mounts)
  opened.use(core.namespaceLife)
  opened.use(core.cloudEngine)
  opened.use(core.leases)
  opened.defer(() => core.mounts.stopMoves())
  opened.use(core.tidy)
  if (config.background === 'on') {
    opened.use(core.barrier.resealing(parts.log)).start()
    opened.use(core.rotationSchedule).start()
    core.leases.start()
    core.tidy.resume()
    opened.use(core.sweeper).start()
    opened.use(core.keyRotator).start()
    core.cloudEngine.start()
  }
  const state = nodeState(config, core, storage, parts.watch)
  const { app, metrics, sweepLogins } = await buildApp(config, parts, core, state, storage)
  if (parts.clock instanceof MachineClock)
    opened.use(await keepTime(parts.clock, { config, log: parts.log, core, metrics, sweepLogins }))
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
      app.endConnections()
      await listener.linger(Math.min(lingerMs, config.stopTimeoutMs / 2))
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

type TimedParts = { config: Config; log: Log; core: Core; metrics: Metrics; sweepLogins(): Promise<void> }

function keepTime(
  clock: MachineClock,
  { config, log, core, metrics, sweepLogins }: TimedParts,
): Promise<TimeKeeper> {
  return TimeKeeper.start({
    clock,
    view: core.core,
    settle: async () => {
      if (config.background === 'off') return
      await core.sweeper.sweep()
      await core.leases.expiry.endDue()
      await sweepLogins()
    },
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

/** Everything below HTTP. */
type Core = Awaited<ReturnType<typeof openCore>>

async function openCore(config: Config, parts: WatchedParts, storage: SqliteStorage) {
  const { log, clock, random = systemRandom } = parts
  const system = { defaultTtl: seconds(config.defaultLeaseTtlMs), maxTtl: seconds(config.maxLeaseTtlMs) }
  // whatever a setting can be wrong about is known before a store is made
  const outbound = new OutboundClient({
    deny: config.outboundDeny,
    httpsProxy: config.httpsProxy,
    noProxy: config.noProxy,
  })
  const operator = await operatorSettings(config)
  const isNew = await isEmpty(storage)
  if (isNew && !config.dev) parts.rootToken.check?.()
  await using staging = isNew ? await openMemory() : undefined
  const barrier = await openBarrier({
    ...(await sealKeys(config, log, storage)),
    sealKeyChanged: () =>
      log.info(
        { event: 'key_rotated' },
        'the seal key was changed: the previous key no longer opens this store',
      ),
    storage,
    clock,
    random,
    log: {
      error: (fields, text) => log.error(fields, text),
      recordUnreadable: () => parts.watch.recordUnreadable(),
    },
    first: staging && {
      staging,
      fill: async (fresh) => {
        const rootToken = await fillNewStore(config, { clock, random, system, barrier: fresh })
        if (rootToken !== undefined) parts.rootToken.keep(rootToken)
      },
    },
  })
  if (barrier.initialized) log.info({ event: 'initialized' }, 'a new store was initialized')
  log.info({ event: 'unsealed' }, 'the seal key opened the store')
  const root = barrier.view('')
  const core = root.view('core/')
  const namespaces = await openRequired('the namespaces', NamespaceStore.open({ view: core, random }))
  for (const { type } of parts.engines ?? []) offerEngine(type)
  const mounts = await openRequired(
    'the mount table',
    MountStore.open({
      view: root,
      random,
      clock,
      system,
      revokeLeases: (mount, { abandon }) => leases.revokeMount(mount, { byForce: abandon }),
      clear: (mount, { abandon }) => cloudEngine.clear(mount, { abandon }),
      empty: (mount) => cloudEngine.empty(mount),
      namespaceInTheWay: (namespace, path) => namespaces.inTheWay(namespace, path),
      isLive: (namespace) => namespaces.isLive(namespace),
      onFailure: (mount, error) =>
        log.error({ err: error, mount: mount.path }, 'a mount could not be removed or moved'),
      onMoveEnd: ({ migration_id, migration_info }) => {
        log.info({ migration_id, ...migration_info }, 'a mount move has ended')
        leases
          .sweepOwners()
          .catch((err: unknown) => log.error({ err }, 'leases of ended tokens could not be revoked early'))
      },
    }),
  )
  const mountOf = (accessor: string) => mounts.table.byAccessor(accessor)
  // a token ends with the namespace it was issued in, from the moment that is marked
  const liveMountOf = (accessor: string) => {
    const mount = mountOf(accessor)
    return mount !== undefined && namespaces.isLive(mount.namespace) ? mount : undefined
  }
  const tokens = await openRequired(
    'the keys of tokens',
    TokenStore.open({ view: core, clock, random, sealer: barrier, mountOf: liveMountOf }),
  )
  await migrateIdentityNames(core, random, log)
  const groups = await openRequired(
    'the groups',
    GroupStore.open({
      view: core,
      clock,
      random,
      mountOf,
      isSameOrAbove: (upper, lower) => {
        const namespace = namespaces.byId(lower)
        return namespace !== undefined && namespaces.pathBelow(upper, namespace) !== undefined
      },
    }),
  )
  const identities = await openRequired(
    'the keys of identities',
    IdentityStore.open({ view: core, clock, random, memberships: groups }),
  )
  groups.onChange((affected) => identities.forget(affected === 'all' ? 'all' : [...affected]))
  /** Where clients reach the server; its own address is known once it listens. */
  const reached = { url: config.apiAddr ?? '' }
  const identityTokens = new IdentityTokens({
    root,
    clock,
    random,
    apiAddr: () => reached.url,
    identityOf: (entityId) => identities.identityOf(entityId),
  })
  const keyRotator = new KeyRotator({
    root,
    keys: identityTokens.keys,
    clock,
    intervalMs: sweepIntervalMs,
    onError: (err) => log.error({ err }, 'a key of identity tokens could not be rotated'),
  })
  const rotationSchedule = new RotationSchedule({
    barrier,
    clock,
    intervalMs: dataKeyCheckMs,
    onError: (err) => log.error({ err }, 'the data key could not be rotated'),
  })
  const spent = await openRequired(
    'the keys of one-time logins',
    ReplayStore.open({ view: core, random, clock }),
  )
  const tokenRoles = new TokenRoleStore(core)
  const policies = await PolicyStore.open({ view: root.view('policy/'), clock })
  const cubbyholes = new Cubbyholes({
    mountOf: (namespace) => mounts.table.at(namespace, 'cubbyhole/'),
    viewOf: (mount) => mounts.viewOf(mount),
  })
  const revoker = new TokenRevoker({
    tokens,
    view: core,
    clock,
    onRevoked: async (gone) => {
      await cubbyholes.empty(gone)
      await leases.endOwned(gone)
    },
  })
  const leases = new LeaseStore({
    ...{ view: core, clock, random, tokens, log, mountOf, systemTtl: system },
    revokeToken: (accessor) => revoker.revoke(accessor),
  })
  for (const { type, backend } of parts.engines ?? []) leases.register(type, backend)
  const discard = (accessor: string) => {
    revoker.revoke(accessor).catch((err: unknown) => log.error({ err }, 'a spent token could not be removed'))
  }
  const cloudEngine = new CloudEngine({
    ...{ mounts, outbound, clock, random, log, leases, systemTtl: system },
    operator,
    pause: parts.cloudPause,
    ...parts.cloudTimes,
  })
  for (const type of ['cloud', 'azure']) leases.register(type, cloudEngine.credentials)
  const wrapper = new Wrapper({
    tokens,
    cubbyholes,
    root,
    clock,
    tokenMountOf: (namespace) => mounts.table.at(namespace, 'auth/token/'),
    discard,
  })
  const tidy = new TokenTidy({
    tokens,
    revoker,
    view: core,
    log,
    endMadeByBatch: (cutOffs) => leases.endCutOff(cutOffs),
  })
  const sweeper = new TokenSweeper({
    revoker,
    intervalMs: sweepIntervalMs,
    onError: (err) => log.error({ err }, 'expired tokens could not be removed'),
  })
  if (config.dev && config.rootToken !== undefined) {
    parts.rootToken.keep(config.rootToken)
    await ensureDevRootToken(
      { tokens, view: core, tokenMount: fixedMount(mounts, 'auth/token/') },
      config.rootToken,
    )
    await parts.rootToken.tell(config.rootToken)
  } else await tellInitialRootToken(core, (id) => told(parts.rootToken, id, barrier.initialized))
  await logRootTokenNote(core, log)
  const messages = new MessageStore({ view: core, random })
  const shownMessages = new ShownMessages({ messages, namespaces, clock })
  const messageWaits = new MessageWaits({ mostPerAddress: config.messageWaiters })
  messages.onChange((namespaceId) => messageWaits.changed(namespaceId))
  const isAbandoned = (id: string) => namespaces.byId(id)?.abandoned === true
  const namespaceLife = new NamespaceLife({
    namespaces,
    mounts,
    random,
    firstEntries: (id) =>
      policies.firstEntries(id).map((entry) => ({ ...entry, key: `policy/${entry.key}` })),
    steps: [
      { name: 'waits', remove: async (id) => messageWaits.endNamespace(id) },
      { name: 'requests', remove: (id) => mounts.closeNamespace(id) },
      { name: 'leases', remove: (id) => leases.removeNamespace(id, { byForce: isAbandoned(id) }) },
      { name: 'tokens', remove: (id) => revoker.removeNamespace(id) },
      { name: 'cubbyholes', remove: (id) => cubbyholes.removeNamespace(id, namespaces.above(id)) },
      { name: 'token roles', remove: (id) => tokenRoles.removeNamespace(id) },
      { name: 'identities', remove: (id) => identities.removeNamespace(id) },
      { name: 'groups', remove: (id) => groups.removeNamespace(id) },
      { name: 'messages', remove: (id) => messages.removeNamespace(id) },
      { name: 'policies', remove: (id) => policies.removeNamespace(id) },
      { name: 'mounts', remove: (id) => mounts.removeNamespace(id, { abandon: isAbandoned(id) }) },
    ],
    onFailure: ({ id, path }, step, err) =>
      log.error({ err, namespace: id, path, step }, 'could not remove a namespace; will retry'),
    onRemoved: ({ id, path }) =>
      log.info({ event: 'namespace_removed', namespace: id, path }, 'a namespace was removed'),
  })
  mounts.resume()
  namespaceLife.resume()
  const cors = await CorsStore.open({
    view: core,
    onFailure: (err) =>
      log.error({ err }, 'cannot read the CORS settings: no origin is allowed until they are written again'),
  })
  const access = new Access({ tokens, identities, policies, namespaces, clock })
  const clusterId = await clusterIdOf(root)
  return {
    barrier,
    root,
    core,
    namespaces,
    namespaceLife,
    mounts,
    tokens,
    tokenRoles,
    spent,
    tidy,
    groups,
    identities,
    identityTokens,
    keyRotator,
    rotationSchedule,
    reached,
    policies,
    cubbyholes,
    revoker,
    discard,
    wrapper,
    leases,
    sweeper,
    access,
    messages,
    shownMessages,
    messageWaits,
    cors,
    outbound,
    cloudEngine,
    clusterId,
    clock,
    random,
    system,
  }
}

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

/** A start that could not tell the token before has not kept it where this one's settings say. */
async function told(teller: RootTokenTeller, id: string, isKept: boolean): Promise<void> {
  if (!isKept) teller.keep(id)
  await teller.tell(id)
}

/** A root token made while the server stood still must not go unnoticed. docs/operations.md#commands */
async function logRootTokenNote(core: View, log: Log): Promise<void> {
  try {
    const time = await takeRootTokenNote(core)
    if (time !== undefined)
      log.warn({ event: 'root_token_made', made_at: time }, 'the root-token command created a new root token')
  } catch (err) {
    log.error({ err }, 'cannot read whether a root token was created')
  }
}

/**
 * The first records of a new store: mounts, policies, keys, root token. Gives back its id; a development
 * server's is made at each start.
 */
async function fillNewStore(
  config: Config,
  { clock, random, system, barrier }: { clock: Clock; random: Random; system: SystemTtls; barrier: Barrier },
): Promise<string | undefined> {
  const root = barrier.view('')
  const first = mountsOf(config, random, system)
  await root.write(entriesFor(first))
  await PolicyStore.open({ view: root.view('policy/'), clock })
  await root.write([{ key: 'cluster-id', value: random.uuid() }])
  if (config.dev) return undefined
  const core = root.view('core/')
  const tokens = await TokenStore.open({
    view: core,
    clock,
    random,
    sealer: barrier,
    mountOf: () => undefined,
  })
  const tokenMount = first.find((mount) => mount.path === 'auth/token/')
  if (tokenMount === undefined) throw new Error('the fixed mounts have no auth/token/')
  return createInitialRootToken({ tokens, view: core, tokenMount })
}

function mountsOf(config: Config, random: Random, system: SystemTtls): Mount[] {
  try {
    return firstMounts(random, system, config.defaultMounts)
  } catch (error) {
    if (error instanceof ServiceError) throw new StartError(2, `GATEHOUSE_DEFAULT_MOUNTS: ${error.message}`)
    throw error
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

function fixedMount(mounts: MountStore, path: string): Mount {
  const mount = mounts.table.at('root', path)
  if (mount === undefined) throw new Error(`the mount table has no ${path}`)
  return mount
}

/** Stores of before version 0.2.0. */
async function migrateIdentityNames(view: View, random: Random, log: Log): Promise<void> {
  const keys = await openRequired('the keys of identities', IdentityKeys.open(view, random))
  const onFailure = (key: string, err: unknown) =>
    log.error({ err, key }, 'a name of an identity cannot be moved')
  const moved = await migrateNames({ view, keys, onFailure })
  if (moved !== undefined && moved > 0)
    log.info(
      { event: 'migrated', names: moved },
      'migrated identity names: they are now compared by case folding only',
    )
}

const unknownCluster = '00000000-0000-0000-0000-000000000000'

/**
 * Only a name to tell servers apart: one that can not be read, which the log says, keeps nobody from
 * starting.
 */
async function clusterIdOf(root: View): Promise<string> {
  const id = await root.get('cluster-id').catch(() => undefined)
  return typeof id === 'string' ? id : unknownCluster
}

/** Opens what the server cannot run without. docs/operations.md#what-a-damaged-store-does */
async function openRequired<T>(what: string, opened: Promise<T>): Promise<T> {
  try {
    return await opened
  } catch (cause) {
    throw new StartError(1, `cannot start: ${what} can not be read`, { cause })
  }
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
  core: Core,
  state: NodeState,
  storage: SqliteStorage,
): Promise<{ app: FastifyInstance; metrics: Metrics; sweepLogins(): Promise<void> }> {
  const {
    namespaces,
    namespaceLife,
    mounts,
    access,
    random,
    clock,
    system,
    tokens,
    groups,
    identities,
    policies,
    discard,
    revoker,
    wrapper,
    leases,
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
  const counts = storedCounts({ tokens, view: core.core, clock })
  const strangersWraps = new Buckets(clock, { capacity: 10, refillMs: 6000 })
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
      inFlight: () => app.inFlight(),
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
  const app = createApp({
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
    limits: {
      maxBodyBytes,
      maxOpenBodyBytes: Math.min(config.maxLoginSize || maxBodyBytes, maxBodyBytes),
      maxBufferedBytes: config.maxBuffered,
      maxInFlight: config.maxInFlight,
    },
    route: mountRouter({
      random,
      namespaceOf: (header, path) => namespaces.resolve(header, path),
      resolve: (namespace, path) => mounts.table.resolve(namespace, path),
      clientAddress,
    }),
    readyRead: readyRead({
      path: beforeLoginPath,
      find: readyBeforeLogin({ edition: config.edition, shownMessages: core.shownMessages }),
      resolve: (namespace, path) => mounts.table.resolve(namespace, path),
      namespaces,
      clientAddress,
      random,
      isSealed: () => core.barrier.isSealed(),
    }),
    cors: corsReader(() => core.cors.current),
    admit: admission({
      access,
      namespaces,
      resolve: (namespace, path) => mounts.table.resolve(namespace, path),
      jsonLimits,
      openJsonLimits,
      isSealed: () => core.barrier.isSealed(),
      maxTtlOf: (mount) => effectiveMaxTtl(mount, system),
    }),
    onBug: (err, requestId) => log.error({ err, request_id: requestId }, 'a request failed'),
    enter: (call) => {
      const { mount } = call
      // of a mount that is being removed only what is served there comes this far
      const leave = mount?.tainted === true ? mounts.enterRemoved(mount) : mount && mounts.enter(mount)
      if (leave === undefined) throw taintedRefusal(call)
      return leave
    },
    lease: ({ caller, mount, path }, secret) => {
      if (caller === undefined || mount === undefined) throw new Error('a secret was made for nobody')
      return leases.issue({ caller, mount, path, secret })
    },
    wrap: async (call, body, { accessor, leaseId }) => {
      const wrappedAccessor = accessor ?? ''
      const namespace = call.namespace?.id ?? 'root'
      // a login is paid for with a credential; a look at what is wrapped is not
      if (
        call.wrapsForStranger &&
        accessor === undefined &&
        !strangersWraps.take(countedAddress(call.remoteAddress))
      )
        throw refuse('throttled', 'too many responses were wrapped for a client without a token')
      try {
        return await wrapper.wrap({ namespace, path: call.path, ttl: call.wrapTtl, body, wrappedAccessor })
      } catch (error) {
        // nobody will be told the new token or secret
        const isNew = call.caller === undefined || call.path.startsWith('auth/token/create')
        if (isNew && wrappedAccessor !== '') discard(wrappedAccessor)
        if (leaseId !== undefined) {
          await leases
            .revoke({ namespace, id: leaseId }, { sync: true })
            .catch((err: unknown) =>
              log.error({ err }, 'an undelivered secret remains valid until its lease ends'),
            )
        }
        throw error
      }
    },
    describe: (place, path) => document.describePath(place, path),
    afterRequest: (call) => {
      const spent = call.caller?.token
      if (spent?.num_uses === -1) discard(spent.accessor)
    },
    onAccess: config.accessLog ? (line) => log.info(line, 'request') : undefined,
    measure,
  })
  const document = new ApiDocument({ routes: recordRoutes(app), version: gatehouseVersion })
  explorerRoute(app, { url: explorerUrl, document: () => document.describe(genericPlaces(mounts, 'root')) })
  nodeStateRoutes(app, {
    state,
    jsonLimits: openJsonLimits,
    seal: async (request, call) => {
      await checkSudo(access, request, call)
      core.barrier.seal()
      core.messageWaits.lookAgain()
      log.warn({ event: 'sealed' }, 'sealed: no data can be read until the next start')
    },
    stepDown: async () => {},
  })
  metricsRoute(app, {
    metrics,
    access: config.metrics,
    authorize: (request, call) => checkMetricsReader(core, request, call),
    now: () => clock.now(),
  })
  const longLists = new LongLists()
  await app.register(sys, {
    counts,
    prefix: '/system',
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
    isSealed: () => core.barrier.isSealed(),
    clock,
    onInvalid: ({ path, remoteAddress, requestId }) =>
      log.warn(
        { event: 'wrapping_token_invalid', path, remote_address: remoteAddress, request_id: requestId },
        'a wrapping token that is not valid was used',
      ),
  })
  const mountOf = (accessor: string) => mounts.table.byAccessor(accessor)
  const policyExists = async (name: string, namespace: string) =>
    (await policies.get(namespace, name)) !== undefined
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
  await app.register(token, {
    prefix: '/token',
    tokens,
    identity: identities,
    revoker,
    roles: core.tokenRoles,
    longLists,
    tidy: core.tidy,
    view: core.core,
    systemTtl: system,
    clock,
    mountOf,
    policyExists,
    renewalTerms: (issued, mount) => jwtMethod.renewalTerms(issued, mount),
  })
  await app.register(identity, {
    prefix: '/identity',
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
  await app.register(cubbyhole, {
    prefix: '/cubbyhole',
    cubbyholes: core.cubbyholes,
    tokens,
    longLists: new LongLists(),
  })
  for (const type of ['cloud', 'azure'] as const)
    await app.register(cloud, { prefix: `/${type}`, engine: core.cloudEngine, type })
  for (const { type, routes } of engines ?? []) await app.register(routes, { prefix: `/${type}` })
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
    view: core.core,
    clock,
    systemTtl: system,
    onLookalike,
  }
  await app.register(jwtAuth, {
    ...{ prefix: '/jwt', method: jwtMethod, log },
    issue: (login) => issueLogin(loginParts, login),
    plan: (login) => planLogin(loginParts, login),
    policyExists,
    counter: metrics,
    sweepIntervalMs: config.background === 'on' ? pendingLoginsSweepMs : undefined,
  })
  await app.ready()
  return { app, metrics, sweepLogins: () => jwtMethod.sweep() }
}

/** Whoever may read `sys/metrics`, by whichever path. docs/settings.md */
async function checkMetricsReader(
  { access, barrier }: Core,
  request: FastifyRequest,
  call: Call,
): Promise<void> {
  if (barrier.isSealed()) throw refuse('sealed', 'Vault is sealed')
  const caller = await access.authenticate(tokenOf(request.raw), call.remoteAddress)
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
async function checkSudo(access: Access, request: FastifyRequest, call: Call): Promise<void> {
  const caller = await access.authenticate(tokenOf(request.raw), call.remoteAddress)
  call.caller = caller
  const verdict = caller.acl.decide({ operation: 'update', path: call.path })
  if (!verdict.allowed || !verdict.sudo) throw fail('denied', 'permission denied')
}
