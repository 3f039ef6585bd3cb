import type { AuditLogParts } from '../audit/audit-log.ts'
import { type AuditSettings, openAudit } from '../audit/open-audit.ts'
import type { View } from '../barrier/view.ts'
import { Access } from '../callers/access.ts'
import type { HistoryBounds } from '../history/history-store.ts'
import { Jobs, type JobsParts } from '../jobs/jobs.ts'
import { countedLease } from '../leases/lease.ts'
import type { CountedLease } from '../leases/lease-limit.ts'
import type { LockoutTerms } from '../lockout/lockout-terms.ts'
import type { Mount } from '../mounts/mount.ts'
import type { MountStore } from '../mounts/mount-store.ts'
import type { NamespaceLife } from '../namespaces/namespace-life.ts'
import type { OutboundClient } from '../outbound/outbound.ts'
import { LeaseQuotas } from '../quotas/lease-quotas.ts'
import { QuotaStore } from '../quotas/quota-store.ts'
import { CacheUses } from '../records/cache-use.ts'
import { openCeremonies } from '../seal/ceremonies.ts'
import { type OwnServer, ServerList } from '../servers/server-list.ts'
import { Servers } from '../servers/servers.ts'
import { Announcements } from '../settings/announcements.ts'
import { openPageSettings } from '../settings/page-settings.ts'
import type { CoreEvents } from '../tokens/store/core-events.ts'
import { storeRootToken } from '../tokens/store/root-token.ts'
import { countedToken } from '../tokens/store/token.ts'
import { backgroundJobs } from './background-jobs.ts'
import { openStore, type StoreParts, type StoreSettings } from './first-store.ts'
import { namespaceRemoval } from './namespace-removal.ts'
import { completeRestoration } from './restoration.ts'
import { storedCounts } from './stored-counts.ts'
import { fullPathOf, openStores, type Stores } from './stores.ts'
import { noteVersion } from './version-history.ts'

export type CoreSettings = StoreSettings & {
  /** Where clients reach the server, without a trailing slash. */
  readonly apiAddr: string
  /** A longer list is refused; undefined: none is. */
  readonly mostListBytes?: number
  /** When a wrong secret locks a user, if a mount says nothing else; undefined: never. */
  readonly userLockout?: LockoutTerms | undefined
  /** Parameter rules of policies compare values as a whole only. */
  readonly exactListMatching?: boolean | undefined
  /** How much of the history of configuration is kept. */
  readonly history?: HistoryBounds
  /** Most uses of policies that are remembered; 0 by default. */
  readonly policyUses?: number
  /** How this server appears among those that share its storage. */
  readonly server?: OwnServer
  /** Whether background jobs run. */
  readonly background: boolean
  readonly audit?: AuditSettings
}

export type CoreParts = StoreParts & {
  readonly outbound: OutboundClient
  readonly onAudited?: AuditLogParts['onWrite']
  /** Absent without metrics. */
  readonly events?: CoreEvents
  /** Called after each run of a background job. */
  readonly onJobRun?: JobsParts['onRun']
  /** Changed by tests only. */
  readonly jobTimes?: JobsParts['times']
}

/** All layers below HTTP. */
export type Core = Awaited<ReturnType<typeof openCore>>

/**
 * Opens all stores over one storage; initializes an empty one. Throws a StartError if the store or the seal
 * key prevents a start. No background job runs before `start`. Does not retain the seal key.
 */
export async function openCore(settings: CoreSettings, parts: CoreParts) {
  const barrier = await openStore(settings, parts)
  await using opened = new AsyncDisposableStack()
  opened.defer(() => barrier.seal())
  const { storage, clock, random, log, outbound, mountTypes, rootToken } = parts
  const { systemTtl, apiAddr, devRootToken } = settings
  const { shared } = storage
  const { onJobRun: onRun, jobTimes: times } = parts
  const jobs = opened.use(new Jobs({ shared, clock, log, onRun, ...(times && { times }) }))
  const base = {
    barrier,
    clock,
    random,
    log,
    jobs,
    shared,
    servers: new Servers(shared, random),
    outbound,
    mountTypes,
    systemTtl,
    apiAddr,
    caches: new CacheUses(),
    events: parts.events,
    userLockout: settings.userLockout,
    exactListMatching: settings.exactListMatching,
    historyBounds: settings.history ?? { versions: 20, days: 90 },
    mostPolicyUses: settings.policyUses ?? 0,
  }
  const stores = await openStores(base)
  const { root, view, namespaces, mounts, tokens, identities, policies } = stores
  await completeRestoration({ ...stores, storage })
  await storeRootToken({ storage, tokens, view, mounts, barrier, rootToken, log }, devRootToken)
  const namespaceLife = namespaceRemoval(stores)
  const background = backgroundJobs(stores)
  const pageSettings = await openPageSettings(view, log)
  const quotas = await openQuotas(stores, namespaceLife)
  const leaseQuotas = await openLeaseQuotas(stores, namespaceLife)
  const serverList = new ServerList({ view, shared, own: settings.server })
  if (settings.server !== undefined) await noteVersion(view, settings.server.product, clock)
  const rechecks = rechecking()
  const ceremonies = openCeremonies({ ...stores, storage })
  rechecks.onRecheck(() => {
    tokens.forgetAll()
    if (!barrier.isSealed()) return
    // no share may stay in memory
    ceremonies[Symbol.dispose]()
    mounts.seal()
  })
  const audit = opened.use(await openAudit(settings.audit, { ...stores, onWrite: parts.onAudited }))
  for (const one of [mounts, namespaceLife, mountTypes, stores.leases]) opened.use(one)
  opened.defer(() => mounts.moves.stop())
  for (const one of [stores.tidy, background]) opened.use(one)
  opened.use(ceremonies)
  const held = opened.move()
  return {
    ...stores,
    ...rechecks,
    serverList,
    /** For a request that has waited: resolves once what this server has copied is current. */
    confirmCopies: async () => {
      if (shared?.copies.areCurrent() === false) await shared.copies.confirm()
    },
    /**
     * Closes the audit log, at the latest after its time limit, and erases the keys. Requests that run are
     * refused with `sealed`. Gives the leases of background jobs back.
     */
    seal: async () => {
      // does not wait for a job that hangs: disposing does
      void jobs[Symbol.asyncDispose]()
      try {
        await audit[Symbol.asyncDispose]()
      } finally {
        barrier.seal()
        rechecks.recheck()
      }
    },
    namespaceLife,
    ...pageSettings,
    announcements: new Announcements(),
    quotas,
    leaseQuotas,
    clusterId: await clusterIdOf(root),
    ceremonies,
    audit,
    access: new Access({ tokens, identities, policies, namespaces, clock }),
    mostListBytes: settings.mostListBytes ?? Number.POSITIVE_INFINITY,
    counts: storedCounts(stores),
    resealRemaining: background.resealRemaining,
    fullPathOf: (mount: Mount) => fullPathOf(stores, mount),
    policyExists: async (name: string, namespace: string) =>
      (await policies.get(namespace, name)) !== undefined,
    /**
     * Resumes interrupted removals and moves, and starts the background jobs if they are on. Must be called
     * once, after the mount types are added.
     */
    start: () => {
      mounts.resume()
      namespaceLife.resume()
      serverList
        .announce()
        .catch((err: unknown) =>
          log.error({ event: 'work_failed', err }, 'could not tell other servers the address of this one'),
        )
      if (settings.background) background.start()
    },
    /** Durably ends everything that has expired, because the clock is about to be set back. */
    settle: async () => {
      if (settings.background) await background.settle()
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

/** Opens the rate limits. A rule is deleted with its mount or namespace. */
async function openQuotas(
  { view, shared, clock, log, mounts }: Stores,
  life: NamespaceLife,
): Promise<QuotaStore> {
  const quotas = await QuotaStore.open({
    view,
    shared,
    clock,
    onFailure: (err) =>
      log.error({ event: 'record_unreadable', err }, 'could not read a rate limit: it does not apply'),
  })
  removeWithPlaces('quotas', quotas, { mounts, life })
  return quotas
}

/** Opens the limits on the number of leases and tokens. A rule is deleted with its mount or namespace. */
async function openLeaseQuotas(stores: Stores, life: NamespaceLife): Promise<LeaseQuotas> {
  const { view, shared, log, namespaces, mounts, leases, tokens } = stores
  const quotas = await LeaseQuotas.open({
    view,
    shared,
    namespaces,
    mounts,
    stored: () => countedLeases(stores),
    onFailure: (err) =>
      log.error({ event: 'record_unreadable', err }, 'could not read a lease count quota: it does not apply'),
  })
  removeWithPlaces('lease-quotas', quotas, { mounts, life })
  tokens.limitBy(quotas)
  leases.limitBy(quotas)
  return quotas
}

/** Live leases and usable tokens that count, in pages. */
async function* countedLeases({ leases, tokens }: Stores): AsyncGenerator<readonly CountedLease[]> {
  for await (const page of leases.live()) yield page.map(countedLease)
  for await (const page of tokens.pages()) {
    const usable = page.filter(({ token }) => tokens.isUsable(token))
    yield usable.flatMap(({ hash, token }) => countedToken(token, hash) ?? [])
  }
}

type Removable = { removeRulesOn(mounts: readonly string[], namespace?: string): Promise<void> }

function removeWithPlaces(
  name: string,
  { rules }: { readonly rules: Removable },
  { mounts, life }: { mounts: MountStore; life: NamespaceLife },
): void {
  mounts.onRemoval((mount) => rules.removeRulesOn([mount.uuid]))
  life.addRemovalStep({
    name,
    phase: 'data',
    remove: (id) =>
      rules.removeRulesOn(
        mounts.table.of(id).map(({ uuid }) => uuid),
        id,
      ),
  })
}

/** Long polls must repeat their checks when the server is sealed or the clock is set. */
function rechecking() {
  const listeners: (() => void)[] = []
  const recheck = () => {
    for (const listener of listeners) listener()
  }
  return { onRecheck: (listener: () => void) => void listeners.push(listener), recheck }
}

const unknownCluster = '00000000-0000-0000-0000-000000000000'

/** The id only distinguishes servers. If it cannot be read, which is logged, the server starts without it. */
async function clusterIdOf(root: View): Promise<string> {
  const id = await root.get('cluster-id').catch(() => undefined)
  return typeof id === 'string' ? id : unknownCluster
}
