import type { Mount } from '../../core/mounts/mount.ts'
import type { Core } from '../../core/open/core.ts'
import { Waits } from '../../core/servers/waits.ts'
import type { PluginDefinition } from '../../http/resource/plugin.ts'
import { kvGauges } from './gauges.ts'
import { dataResources } from './paths/data-resources.ts'
import { firstVersionResources } from './paths/first-version.ts'
import { topicOf } from './paths/held-reads.ts'
import { metadataResources } from './paths/metadata-resources.ts'
import { moveResources } from './paths/move-resources.ts'
import { otherPaths } from './paths/other-paths.ts'
import { versionResources } from './paths/version-resources.ts'
import { counted, type KvOperation } from './store/counted.ts'
import { KvMounts } from './store/kv-mounts.ts'
import { firstPlugin, kvVersions, secondPlugin } from './store/kv-versions.ts'

/** What the plugin reports to metrics. `mount` is a full path. */
type KvMetrics = { kvOperation(done: KvOperation & { readonly mount: string }): void }

export type KvOptions = {
  readonly metrics: KvMetrics
  /** Maximum number of requests per client address that wait for secrets to change. */
  readonly maxWaiters: number
}

/** The types `kv`, in two versions, and `generic`. Each version is a plugin of its own. docs/contract/kv.md */
export function kvPlugins({
  maxWaiters,
  metrics,
}: KvOptions): [version1: PluginDefinition, version2: PluginDefinition] {
  // each unsealing opens another core
  const openByCore = new WeakMap<Core, ReturnType<typeof open>>()
  const openOver = (core: Core) => {
    const known = openByCore.get(core) ?? open(core, maxWaiters)
    openByCore.set(core, known)
    return known
  }
  const countOf = (core: Core) => (mount: Mount, done: KvOperation) =>
    metrics.kvOperation({ ...done, mount: core.fullPathOf(mount) })
  return [
    {
      table: 'secret',
      names: [firstPlugin, 'kv-v1', 'generic'],
      versions: kvVersions,
      help: 'Secrets by path, without versions.',
      open: (core) => ({
        resources: firstVersionResources(openOver(core)).map((one) => counted(one, countOf(core))),
        gauges: kvGauges(openOver(core)),
      }),
    },
    {
      table: 'secret',
      names: [secondPlugin],
      versions: kvVersions,
      help: 'Secrets by path, with their earlier versions.',
      firstDescription: 'key/value secret storage',
      open: (core) => {
        const parts = openOver(core)
        const { kvMounts } = parts
        return {
          resources: [
            ...versionResources(kvMounts),
            ...dataResources(parts),
            ...metadataResources(parts),
            ...moveResources(parts),
          ]
            .map((one) => counted(one, countOf(core)))
            .concat(otherPaths(kvMounts)),
          tuned: kvMounts.tuned.bind(kvMounts),
          start: () => kvMounts.start(),
          onClosing: () => parts.waits.endAll(),
          [Symbol.asyncDispose]: () => kvMounts[Symbol.asyncDispose](),
        }
      },
    },
  ]
}

function open(core: Core, maxWaiters: number) {
  const waits = new Waits({ maxPerAddress: maxWaiters })
  const kvMounts = new KvMounts(core, (mount, path) =>
    waits.changed(path === undefined ? undefined : topicOf(mount, path)),
  )
  core.onRecheck(() => waits.wakeAll())
  const { access, clock, mostListBytes, mounts, namespaces, passwordPolicies, random, systemTtl } = core
  return {
    kvMounts,
    waits,
    access,
    clock,
    mostListBytes,
    mounts,
    namespaces,
    passwordPolicies,
    random,
    systemTtl,
    confirmCopies: core.confirmCopies,
    isSealed: () => core.barrier.isSealed(),
  }
}
