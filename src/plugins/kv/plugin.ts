import type { Core } from '../../core/core.ts'
import { LongLists } from '../../core/long-lists.ts'
import type { PluginDefinition } from '../../http/plugin.ts'
import { dataResources } from './data-resources.ts'
import { firstVersionResources } from './first-version.ts'
import { KvMounts } from './kv-mounts.ts'
import { firstPlugin, kvVersions, secondPlugin } from './kv-versions.ts'
import { metadataResources } from './metadata-resources.ts'
import { otherPaths } from './other-paths.ts'
import { versionResources } from './version-resources.ts'

/** The types `kv`, in two versions, and `generic`. Each version is a plugin of its own. docs/contract/kv.md */
export function kvPlugins(): PluginDefinition[] {
  // each unsealing opens another core
  const openByCore = new WeakMap<Core, ReturnType<typeof open>>()
  const openOver = (core: Core) => {
    const known = openByCore.get(core) ?? open(core)
    openByCore.set(core, known)
    return known
  }
  return [
    {
      ...{ table: 'secret', names: [firstPlugin, 'kv-v1', 'generic'], versions: kvVersions },
      open: (core) => ({ resources: firstVersionResources(openOver(core)) }),
    },
    {
      ...{ table: 'secret', names: [secondPlugin], versions: kvVersions },
      firstDescription: 'key/value secret storage',
      open: (core) => {
        const parts = openOver(core)
        const { kvMounts } = parts
        return {
          resources: [
            ...versionResources(kvMounts),
            ...dataResources(parts),
            ...metadataResources(parts),
            ...otherPaths(kvMounts),
          ],
          tuned: kvMounts.tuned.bind(kvMounts),
          start: () => kvMounts.start(),
          [Symbol.asyncDispose]: () => kvMounts[Symbol.asyncDispose](),
        }
      },
    },
  ]
}

const open = (core: Core) => ({ ...core, kvMounts: new KvMounts(core), longLists: new LongLists() })
