import { Access } from './access.ts'
import { backgroundJobs } from './background-jobs.ts'
import { type Barrier, rootKeyKey } from './barrier/barrier.ts'
import type { View } from './barrier/view.ts'
import { CorsStore } from './cors/cors-store.ts'
import { openStore, type StoreParts, type StoreSettings } from './first-store.ts'
import { LongLists } from './long-lists.ts'
import type { Mount } from './mounts/mount.ts'
import { namespaceRemoval } from './namespaces/namespace-removal.ts'
import type { OutboundClient } from './outbound.ts'
import { storedCounts } from './stored-counts.ts'
import { openStores } from './stores.ts'
import { storeRootToken } from './tokens/root-token.ts'

export type CoreSettings = StoreSettings & {
  /** Where clients reach the server, without a trailing slash; empty if known only once it listens. */
  readonly apiAddr: string
  /** Whether background jobs run. */
  readonly background: boolean
}

export type CoreParts = StoreParts & { readonly outbound: OutboundClient }

/** Everything below HTTP. */
export type Core = Awaited<ReturnType<typeof openCore>>

/**
 * Opens all stores over one storage; initialises an empty one. Throws a StartError if the store or the seal
 * key prevents a start. Nothing runs in the background before `start`. Does not keep the seal key.
 */
export async function openCore(settings: CoreSettings, parts: CoreParts) {
  const barrier = await openStore(settings, parts)
  const { clock, random, log, outbound, mountTypes, storage, rootToken } = parts
  const { systemTtl, apiAddr, background, devRootToken } = settings
  const stores = await openStores({ barrier, clock, random, log, outbound, mountTypes, systemTtl, apiAddr })
  const { root, view, namespaces, mounts, tokens, identities, policies } = stores
  await storeRootToken({ tokens, view, mounts, barrier, rootToken, log }, devRootToken)
  const namespaceLife = namespaceRemoval(stores)
  const jobs = backgroundJobs(stores)
  const onFailure = (err: unknown) =>
    log.error({ err }, 'cannot read the CORS settings: no origin is allowed until they are written again')
  const cors = await CorsStore.open({ view, onFailure })
  const clusterId = await clusterIdOf(root)
  const held = new AsyncDisposableStack()
  for (const one of [mounts, namespaceLife, mountTypes, stores.leases]) held.use(one)
  held.defer(() => mounts.stopMoves())
  for (const one of [stores.tidy, jobs]) held.use(one)
  return {
    ...stores,
    ...rechecking(barrier),
    ...{ namespaceLife, cors, clusterId },
    access: new Access({ tokens, identities, policies, namespaces, clock }),
    longLists: new LongLists(),
    counts: storedCounts(stores),
    /** The path of a mount with that of its namespace. */
    fullPathOf: (mount: Mount) => `${namespaces.byId(mount.namespace)?.path ?? ''}${mount.path}`,
    policyExists: async (name: string, namespace: string) =>
      (await policies.get(namespace, name)) !== undefined,
    /** Never rejects. */
    isStorageReadable: () =>
      storage.get(rootKeyKey).then(
        (key) => key !== undefined,
        () => false,
      ),
    /**
     * Resumes interrupted removals and moves, and starts the background jobs if they are on. To be called
     * once, when the mount types are added.
     */
    start: () => {
      mounts.resume()
      namespaceLife.resume()
      if (background) jobs.start()
    },
    /** Ends, durably, what has expired by now: the clock is about to be set back. */
    settle: async () => {
      if (background) await jobs.settle()
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
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
async function clusterIdOf(root: View): Promise<string> {
  const id = await root.get('cluster-id').catch(() => undefined)
  return typeof id === 'string' ? id : unknownCluster
}
