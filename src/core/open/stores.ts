import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { corePrefix } from '../barrier/view.ts'
import type { CoreLog } from '../core-log.ts'
import { type HistoryBounds, HistoryStore } from '../history/history-store.ts'
import { IdentityStore } from '../identity/entities/identity-store.ts'
import { migrateIdentityNames } from '../identity/entities/name-migration.ts'
import { GroupStore } from '../identity/groups/group-store.ts'
import { IdentityTokens } from '../identity-tokens/identity-tokens.ts'
import { KeyMounts } from '../identity-tokens/key-mounts.ts'
import { MountTokens } from '../identity-tokens/mount-tokens.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { LeaseStore } from '../leases/lease-store.ts'
import type { LockoutTerms } from '../lockout/lockout-terms.ts'
import { Lockouts } from '../lockout/lockouts.ts'
import type { Mount } from '../mounts/mount.ts'
import type { SystemTtls } from '../mounts/mount-config.ts'
import { fixedPaths } from '../mounts/mount-path.ts'
import { MountStore } from '../mounts/mount-store.ts'
import type { MountTypeRegistry } from '../mounts/mount-type-registry.ts'
import { NamespaceStore } from '../namespaces/namespace-store.ts'
import { openRequired } from '../open-required.ts'
import type { OutboundClient } from '../outbound/outbound.ts'
import { PasswordPolicyStore } from '../policies/password-policy-store.ts'
import { PolicyStore } from '../policies/policy-store.ts'
import { PolicyUses } from '../policies/policy-uses.ts'
import type { CacheUses } from '../records/cache-use.ts'
import { openNameKeys } from '../sealed-names/name-cipher.ts'
import type { Servers } from '../servers/servers.ts'
import { TokenRevoker } from '../tokens/end/token-revoker.ts'
import { TokenTidy } from '../tokens/end/token-tidy.ts'
import type { CoreEvents } from '../tokens/store/core-events.ts'
import { ReplayStore } from '../tokens/store/replay-store.ts'
import { TokenRoleStore } from '../tokens/store/token-role-store.ts'
import { TokenStore } from '../tokens/store/token-store.ts'
import { Cubbyholes } from '../wrapping/cubbyholes.ts'
import { Wrapper } from '../wrapping/wrapper.ts'

/** The dependencies of all stores. */
type StoreBase = {
  readonly barrier: Barrier
  readonly clock: Clock
  readonly random: Random
  readonly log: CoreLog
  readonly jobs: Jobs
  readonly shared: SharedStorage | undefined
  readonly servers: Servers
  readonly outbound: OutboundClient
  readonly mountTypes: MountTypeRegistry
  readonly systemTtl: SystemTtls
  /** Where clients reach the server, without a trailing slash. */
  readonly apiAddr: string
  readonly caches: CacheUses
  readonly events: CoreEvents | undefined
  readonly userLockout: LockoutTerms | undefined
  readonly exactListMatching: boolean | undefined
  readonly historyBounds: HistoryBounds
  readonly mostPolicyUses: number
}

export type Stores = Awaited<ReturnType<typeof openStores>>

/** Opens the stores, each after those it depends on, and subscribes them to each other. */
export async function openStores(base: StoreBase) {
  const mounted = { ...base, ...(await openMounts(base)) }
  const history = await openRequired('the keys of the history', openHistory(mounted))
  const lockouts = await openRequired('the keys of locked users', openLockouts(mounted))
  const policyUses = new PolicyUses({ ...mounted, most: base.mostPolicyUses })
  return {
    ...mounted,
    ...(await openTokens(mounted)),
    ...(await openIdentity(mounted)),
    lockouts,
    history,
    policyUses,
  }
}

async function openMounts(opened: StoreBase) {
  const { barrier, shared, random, clock, log, jobs, systemTtl, mountTypes } = opened
  const root = barrier.view('')
  const view = root.view(corePrefix)
  const onUnreadable = (err: unknown) =>
    log.error(
      { event: 'record_unreadable', err },
      'could not read what another server has written: it does not apply here',
    )
  const namespaces = await openRequired('the namespaces', NamespaceStore.open({ view, random, onUnreadable }))
  const mounts = await openRequired(
    'the mount table',
    MountStore.open({
      view: root,
      shared,
      random,
      clock,
      namespaces,
      jobs,
      onUnreadable,
      system: systemTtl,
      types: mountTypes,
      onFailure: (mount, error) =>
        log.error(
          { event: 'work_failed', err: error, mount: mount.path },
          'could not remove or move a mount',
        ),
    }),
  )
  mounts.onMoveEnd(({ migration_id, migration_info }) =>
    log.info({ event: 'mount_moved', migration_id, ...migration_info }, 'a mount move has ended'),
  )
  return { root, view, namespaces, mounts, mountOf: (accessor: string) => mounts.table.byAccessor(accessor) }
}

type Mounted = StoreBase & Awaited<ReturnType<typeof openMounts>>

async function openHistory({
  view,
  clock,
  random,
  shared,
  mounts,
  historyBounds: bounds,
}: Mounted): Promise<HistoryStore> {
  const confirmCopies = async () => await shared?.copies.confirm()
  const history = await HistoryStore.open({ view, clock, random, bounds, confirmCopies })
  mounts.onRemoval((mount) => history.removeOwner(mount.uuid))
  return history
}

async function openLockouts({
  view,
  shared,
  clock,
  random,
  log,
  mounts,
  userLockout: terms,
}: Mounted): Promise<Lockouts> {
  const lockouts = await Lockouts.open({
    view,
    shared,
    clock,
    random,
    terms,
    mountOf: (uuid) => mounts.table.byUuid(uuid),
    onLock: ({ mount, name }) =>
      log.warn(
        { event: 'user_locked', namespace: mount.namespace, mount: mount.path, user: name },
        'too many wrong secrets: a user was locked',
      ),
    onFailure: (err) =>
      log.error({ event: 'record_unreadable', err }, 'could not read a lock of a user: it does not hold'),
  })
  mounts.onRemoval((mount) => lockouts.removeMounts([mount.uuid]))
  return lockouts
}

/** The key of the marker that no cubbyhole has a path in clear. */
const encryptedKey = 'cubbyhole-paths'

async function openCubbyholes(opened: Mounted): Promise<Cubbyholes> {
  const { view, random, mounts } = opened
  const cubbyholes = new Cubbyholes({
    names: await openRequired('the keys of cubbyholes', openNameKeys(view, random, 'cubbyhole-names')),
    mountOf: (namespace) => mounts.table.at(namespace, fixedPaths.cubbyhole),
    viewOf: (mount) => mounts.viewOf(mount).view('', { isUncopied: true }),
  })
  await openRequired('the paths of cubbyholes', encryptCubbyholes(opened, cubbyholes))
  return cubbyholes
}

async function encryptCubbyholes({ view, mounts, log }: Mounted, cubbyholes: Cubbyholes): Promise<void> {
  if ((await view.get(encryptedKey)) === true) return
  const moved = await cubbyholes.encryptPaths(
    mounts.table.all().filter(({ path }) => path === fixedPaths.cubbyhole),
  )
  await view.write([{ key: encryptedKey, value: true }])
  if (moved > 0) log.info({ event: 'migrated', entries: moved }, 'encrypted the paths of cubbyholes')
}

async function openIdentity({
  caches,
  root,
  view,
  servers,
  clock,
  random,
  log,
  namespaces,
  mountOf,
  apiAddr,
  mounts,
}: Mounted) {
  const parts = { view, clock, random }
  await migrateIdentityNames(view, random, log)
  const groups = await openRequired(
    'the groups',
    GroupStore.open({
      ...parts,
      servers,
      mountOf,
      isSameOrAbove: (upper, lower) => {
        const namespace = namespaces.byId(lower)
        return namespace !== undefined && namespaces.pathBelow(upper, namespace) !== undefined
      },
    }),
  )
  const identities = await openRequired(
    'the keys of identities',
    IdentityStore.open({ ...parts, memberships: groups, caches }),
  )
  groups.onChange((change) => identities.groupsChanged(change))
  const keyMounts = new KeyMounts({ mounts, namespaces })
  const identityTokens = new IdentityTokens({
    root,
    clock,
    random,
    apiAddr,
    identityOf: (entityId) => identities.identityOf(entityId),
    keyMounts,
  })
  const mountTokens = new MountTokens({ identityTokens, keyMounts, clock, random })
  mounts.beforeChange((mount) =>
    keyMounts.checkMount(mount, (issuer, name) => identityTokens.keys.settingsOf(issuer, name)),
  )
  // they may name other keys
  mounts.onChange(() => identityTokens.publishedForMounts.dropAll())
  return { groups, identities, identityTokens, mountTokens }
}

async function openTokens(opened: Mounted) {
  const { root, view, clock, random, log, jobs, barrier, shared, namespaces, mounts, mountOf, mountTypes } =
    opened
  const { caches, events, exactListMatching } = opened
  const uncopied = view.view('', { isUncopied: true })
  // tokens are invalid as soon as their namespace is tainted
  const liveMountOf = (accessor: string) => {
    const mount = mountOf(accessor)
    return mount !== undefined && namespaces.isLive(mount.namespace) ? mount : undefined
  }
  const tokens = await openRequired(
    'the keys of tokens',
    TokenStore.open({
      view,
      clock,
      random,
      sealer: barrier,
      copies: shared?.copies,
      mountOf: liveMountOf,
      caches,
      ...(events && { onCreated: events.tokenCreated }),
    }),
  )
  const spent = await openRequired('the keys of one-time logins', ReplayStore.open({ view, random, clock }))
  const policies = await PolicyStore.open({
    view: root.view('policy/'),
    clock,
    caches,
    log,
    wholly: exactListMatching,
  })
  const passwordPolicies = new PasswordPolicyStore(view, random)
  const cubbyholes = await openCubbyholes(opened)
  const revoker = new TokenRevoker({ tokens, view, clock, ...(events && { onDeleted: events.tokenDeleted }) })
  const discard = (accessor: string) => {
    revoker.revoke(accessor).catch((err: unknown) => {
      // the token that sealed the server: it is swept once the server is unsealed
      if (!barrier.isSealed()) log.error({ event: 'work_failed', err }, 'could not remove a spent token')
    })
  }
  const wrapper = new Wrapper({
    tokens,
    cubbyholes,
    root,
    clock,
    discard,
    tokenMountOf: (namespace) => mounts.table.at(namespace, fixedPaths.token),
  })
  const leases = new LeaseStore({
    view: uncopied,
    clock,
    random,
    tokens,
    log,
    mountOf,
    systemTtl: opened.systemTtl,
    job: jobs.job('leases'),
    backendOf: (plugin) => mountTypes.leaseBackend(plugin),
    revokeToken: (accessor) => revoker.revoke(accessor),
    onRevoked: ({ mount_accessor }, outcome) =>
      events?.leaseRevoked(fullPathOf(opened, mountOf(mount_accessor)), outcome),
  })
  revoker.onRevoked((token) => cubbyholes.empty(token))
  revoker.onRevoked((token) => leases.endOwned(token))
  mounts.beforeRemoval((mount, { abandon }) => leases.revokeMount(mount, { byForce: abandon }))
  mounts.onMoveEnd(() => {
    leases.owners
      .sweep()
      .catch((err: unknown) =>
        log.error({ event: 'work_failed', err }, 'could not revoke leases of invalid tokens early'),
      )
  })
  const tidy = new TokenTidy({
    tokens,
    revoker,
    view,
    log,
    job: jobs.job('token-tidy'),
    endBatchLeases: (cutOffs) => leases.endCutOff(cutOffs),
  })
  const tokenRoles = new TokenRoleStore(view)
  return {
    tokens,
    tokenRoles,
    spent,
    policies,
    passwordPolicies,
    cubbyholes,
    revoker,
    discard,
    wrapper,
    leases,
    tidy,
  }
}

/** The path of a mount, including that of its namespace; empty for none. */
export const fullPathOf = ({ namespaces }: Pick<Mounted, 'namespaces'>, mount: Mount | undefined): string =>
  mount === undefined ? '' : `${namespaces.byId(mount.namespace)?.path ?? ''}${mount.path}`
