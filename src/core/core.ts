import { Access } from './access.ts'
import { type Barrier, rootKeyKey } from './barrier/barrier.ts'
import { rotationSchedule } from './barrier/rotation-schedule.ts'
import { LongLists } from './long-lists.ts'
import { storedCounts } from './stored-counts.ts'
import type { Mount } from './mounts/mount.ts'
import { CorsStore } from './cors/cors-store.ts'
import { openStore, type StoreParts, type StoreSettings } from './first-store.ts'
import { GroupStore } from './identity/group-store.ts'
import { IdentityStore } from './identity/identity-store.ts'
import { migrateIdentityNames } from './identity/name-migration.ts'
import { IdentityTokens } from './identity-tokens/identity-tokens.ts'
import { keyRotator } from './identity-tokens/key-rotator.ts'
import { LeaseStore } from './leases/lease-store.ts'
import { MountStore } from './mounts/mount-store.ts'
import { NamespaceLife } from './namespaces/namespace-life.ts'
import { NamespaceStore } from './namespaces/namespace-store.ts'
import { openRequired } from './open-required.ts'
import type { OutboundClient } from './outbound.ts'
import { PolicyStore } from './policies/policy-store.ts'
import { ReplayStore } from './tokens/replay-store.ts'
import { storeRootToken } from './tokens/root-token.ts'
import { TokenRevoker } from './tokens/token-revoker.ts'
import { TokenRoleStore } from './tokens/token-role-store.ts'
import { TokenStore } from './tokens/token-store.ts'
import { tokenSweeper } from './tokens/token-sweeper.ts'
import { TokenTidy } from './tokens/token-tidy.ts'
import { Cubbyholes } from './wrapping/cubbyholes.ts'
import { Wrapper } from './wrapping/wrapper.ts'
import { fixedPaths } from './mounts/mount-path.ts'
import { corePrefix } from './barrier/view.ts'

export type CoreSettings = StoreSettings & {
  /** Where clients reach the server, without a trailing slash; empty if known only once it listens. */
  readonly apiAddr: string
  /** Whether background jobs run. */
  readonly background: boolean
}

export type CoreParts = StoreParts & { readonly outbound: OutboundClient }

/** Everything below HTTP. */
export type Core = Awaited<ReturnType<typeof openCore>>

type Opened = CoreParts & { readonly settings: CoreSettings; readonly barrier: Barrier }

const sweepIntervalMs = 5_000
const dataKeyCheckMs = 60_000

/**
 * Opens all stores over one storage; initialises an empty one. Throws a StartError if the store or the seal
 * key prevents a start. Nothing runs in the background before `start`.
 */
export async function openCore(settings: CoreSettings, parts: CoreParts) {
  const opened: Opened = { ...parts, settings, barrier: await openStore(settings, parts) }
  const mounts = await openMounts(opened)
  const identity = await openIdentity({ ...opened, ...mounts })
  const tokens = await openTokens({ ...opened, ...mounts })
  await storeRootToken({ ...opened, ...mounts, ...tokens }, settings.devRootToken)
  const core = { ...opened, ...mounts, ...identity, ...tokens, systemTtl: settings.systemTtl }
  const { namespaces, policies, identities, root, view, clock, log } = core
  const namespaceLife = removingNamespaces(core)
  const jobs = backgroundJobs(core)
  const cors = await CorsStore.open({
    view,
    onFailure: (err) =>
      log.error({ err }, 'cannot read the CORS settings: no origin is allowed until they are written again'),
  })
  await using stack = new AsyncDisposableStack()
  stack.use(core.mounts)
  stack.use(namespaceLife)
  stack.use(core.mountTypes)
  stack.use(core.leases)
  stack.defer(() => core.mounts.stopMoves())
  stack.use(core.tidy)
  stack.use(jobs)
  const held = stack.move()
  return {
    ...core,
    ...rechecking(core.barrier),
    namespaceLife,
    cors,
    longLists: new LongLists(),
    counts: storedCounts(core),
    /** The path of a mount with that of its namespace. */
    fullPathOf: (mount: Mount) => `${namespaces.byId(mount.namespace)?.path ?? ''}${mount.path}`,
    /** Whether the storage can be read; never rejects. */
    isStorageReadable: () =>
      parts.storage.get(rootKeyKey).then(
        (key) => key !== undefined,
        () => false,
      ),
    access: new Access({ tokens: core.tokens, identities, policies, namespaces, clock }),
    clusterId: await clusterIdOf(root),
    policyExists: async (name: string, namespace: string) =>
      (await policies.get(namespace, name)) !== undefined,
    /**
     * Resumes interrupted removals and moves, and starts the background jobs if they are on. To be called
     * once, when the mount types are added.
     */
    start: () => {
      core.mounts.resume()
      namespaceLife.resume()
      if (settings.background) jobs.start()
    },
    /** Ends, durably, what has expired by now: the clock is about to be set back. */
    settle: async () => {
      if (settings.background) await jobs.settle()
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

async function openMounts(opened: Opened) {
  const { barrier, random, clock, log, settings, mountTypes } = opened
  const root = barrier.view('')
  const view = root.view(corePrefix)
  const namespaces = await openRequired('the namespaces', NamespaceStore.open({ view, random }))
  const mounts = await openRequired(
    'the mount table',
    MountStore.open({
      ...{ view: root, random, clock, namespaces },
      system: settings.systemTtl,
      types: mountTypes,
      onFailure: (mount, error) =>
        log.error({ err: error, mount: mount.path }, 'a mount could not be removed or moved'),
    }),
  )
  mounts.onMoveEnd(({ migration_id, migration_info }) =>
    log.info({ migration_id, ...migration_info }, 'a mount move has ended'),
  )
  return { root, view, namespaces, mounts, mountOf: (accessor: string) => mounts.table.byAccessor(accessor) }
}

type Mounted = Opened & Awaited<ReturnType<typeof openMounts>>

async function openIdentity({ root, view, clock, random, log, namespaces, mountOf, settings }: Mounted) {
  const parts = { view, clock, random }
  await migrateIdentityNames(view, random, log)
  const groups = await openRequired(
    'the groups',
    GroupStore.open({
      ...parts,
      mountOf,
      isSameOrAbove: (upper, lower) => {
        const namespace = namespaces.byId(lower)
        return namespace !== undefined && namespaces.pathBelow(upper, namespace) !== undefined
      },
    }),
  )
  const identities = await openRequired(
    'the keys of identities',
    IdentityStore.open({ ...parts, memberships: groups }),
  )
  groups.onChange((affected) => identities.forget(affected === 'all' ? 'all' : [...affected]))
  /** Where clients reach the server; its own address is known once it listens. */
  const reached = { url: settings.apiAddr }
  const identityTokens = new IdentityTokens({
    ...{ root, clock, random },
    apiAddr: () => reached.url,
    identityOf: (entityId) => identities.identityOf(entityId),
  })
  return { groups, identities, reached, identityTokens }
}

async function openTokens(opened: Mounted) {
  const { root, view, clock, random, log, barrier, namespaces, mounts, mountOf, mountTypes } = opened
  // a token ends with the namespace it was issued in, from the moment that is marked
  const liveMountOf = (accessor: string) => {
    const mount = mountOf(accessor)
    return mount !== undefined && namespaces.isLive(mount.namespace) ? mount : undefined
  }
  const tokens = await openRequired(
    'the keys of tokens',
    TokenStore.open({ view, clock, random, sealer: barrier, mountOf: liveMountOf }),
  )
  const spent = await openRequired('the keys of one-time logins', ReplayStore.open({ view, random, clock }))
  const policies = await PolicyStore.open({ view: root.view('policy/'), clock })
  const cubbyholes = new Cubbyholes({
    mountOf: (namespace) => mounts.table.at(namespace, fixedPaths.cubbyhole),
    viewOf: (mount) => mounts.viewOf(mount),
  })
  const revoker = new TokenRevoker({ tokens, view, clock })
  const discard = (accessor: string) => {
    revoker.revoke(accessor).catch((err: unknown) => log.error({ err }, 'a spent token could not be removed'))
  }
  const wrapper = new Wrapper({
    ...{ tokens, cubbyholes, root, clock, discard },
    tokenMountOf: (namespace) => mounts.table.at(namespace, fixedPaths.token),
  })
  const leases = new LeaseStore({
    ...{ view, clock, random, tokens, log, mountOf, systemTtl: opened.settings.systemTtl },
    backendOf: (plugin) => mountTypes.leaseBackend(plugin),
    revokeToken: (accessor) => revoker.revoke(accessor),
  })
  revoker.onRevoked((token) => cubbyholes.empty(token))
  revoker.onRevoked((token) => leases.endOwned(token))
  mounts.beforeRemoval((mount, { abandon }) => leases.revokeMount(mount, { byForce: abandon }))
  mounts.onMoveEnd(() => {
    leases
      .sweepOwners()
      .catch((err: unknown) => log.error({ err }, 'leases of ended tokens could not be revoked early'))
  })
  const tidy = new TokenTidy({
    ...{ tokens, revoker, view, log },
    endMadeByBatch: (cutOffs) => leases.endCutOff(cutOffs),
  })
  const tokenRoles = new TokenRoleStore(view)
  return { tokens, tokenRoles, spent, policies, cubbyholes, revoker, discard, wrapper, leases, tidy }
}

type Stores = Mounted & Awaited<ReturnType<typeof openIdentity>> & Awaited<ReturnType<typeof openTokens>>

/** Everything but the data of mount types that is removed with a namespace. */
function removingNamespaces(stores: Stores): NamespaceLife {
  const { namespaces, mounts, random, policies, log, leases, revoker, cubbyholes } = stores
  const life = new NamespaceLife({
    ...{ namespaces, mounts, random },
    firstEntries: (id) =>
      policies.firstEntries(id).map((entry) => ({ ...entry, key: `policy/${entry.key}` })),
    onFailure: ({ id, path }, step, err) =>
      log.error({ err, namespace: id, path, step }, 'could not remove a namespace; will retry'),
    onRemoved: ({ id, path }) =>
      log.info({ event: 'namespace_removed', namespace: id, path }, 'a namespace was removed'),
  })
  const { tokenRoles, identities, groups } = stores
  life.removes({ name: 'requests', phase: 'requests', remove: (id) => mounts.closeNamespace(id) })
  life.removes({
    name: 'leases',
    phase: 'leases',
    remove: (id, { abandon }) => leases.removeNamespace(id, { byForce: abandon }),
  })
  life.removes({ name: 'tokens', phase: 'tokens', remove: (id) => revoker.removeNamespace(id) })
  life.removes({
    name: 'cubbyholes',
    phase: 'data',
    remove: (id) => cubbyholes.removeNamespace(id, namespaces.above(id)),
  })
  const data = { 'token roles': tokenRoles, identities, groups, policies }
  for (const [name, store] of Object.entries(data))
    life.removes({ name, phase: 'data', remove: (id) => store.removeNamespace(id) })
  life.removes({ name: 'mounts', phase: 'mounts', remove: (id, how) => mounts.removeNamespace(id, how) })
  return life
}

/** Everything that happens without a request. Disposing stops it and waits for the work in progress. */
function backgroundJobs({
  barrier,
  clock,
  log,
  root,
  identityTokens,
  revoker,
  leases,
  tidy,
  mountTypes,
}: Stores) {
  const stack = new AsyncDisposableStack()
  const resealer = stack.use(barrier.resealing(log))
  const dataKeys = stack.use(
    rotationSchedule({
      ...{ barrier, clock, intervalMs: dataKeyCheckMs },
      onError: (err) => log.error({ err }, 'the data key could not be rotated'),
    }),
  )
  const sweeper = stack.use(
    tokenSweeper({
      ...{ revoker, intervalMs: sweepIntervalMs },
      onError: (err) => log.error({ err }, 'expired tokens could not be removed'),
    }),
  )
  const identityKeys = stack.use(
    keyRotator({
      ...{ root, clock, keys: identityTokens.keys, intervalMs: sweepIntervalMs },
      onError: (err) => log.error({ err }, 'a key of identity tokens could not be rotated'),
    }),
  )
  return {
    start: () => {
      resealer.start()
      dataKeys.start()
      leases.start()
      tidy.resume()
      sweeper.start()
      identityKeys.start()
      mountTypes.start()
    },
    settle: async () => {
      await sweeper.run()
      await leases.expiry.endDue()
      await mountTypes.settle()
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** Waiting requests must check everything again when the server is sealed or the clock is set. */
function rechecking(barrier: Barrier) {
  const listeners: (() => void)[] = []
  const recheck = () => {
    for (const listener of listeners) listener()
  }
  return {
    onRecheck: (listener: () => void) => void listeners.push(listener),
    recheck,
    seal: () => {
      barrier.seal()
      recheck()
    },
  }
}

const unknownCluster = '00000000-0000-0000-0000-000000000000'

/** The id only tells servers apart: if it cannot be read, which is logged, the server starts without it. */
async function clusterIdOf(root: Stores['root']): Promise<string> {
  const id = await root.get('cluster-id').catch(() => undefined)
  return typeof id === 'string' ? id : unknownCluster
}
