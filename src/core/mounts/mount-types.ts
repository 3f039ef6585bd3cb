import type { Mount, MountTable, PluginName } from './mount.ts'

/**
 * What may be mounted, by the name a client gives. The name stays with the mount; several may share a plugin.
 */
const offered: Record<MountTable, Map<string, PluginName>> = {
  auth: new Map([
    ['jwt', 'jwt'],
    ['oidc', 'jwt'],
  ]),
  secret: new Map([
    ['cloud', 'cloud'],
    ['azure', 'azure'],
  ]),
}

/** The plugins that may be mounted, each once. */
export const offeredPlugins: readonly { readonly table: MountTable; readonly plugin: PluginName }[] = (
  ['secret', 'auth'] as const
).flatMap((table) => [...new Set(offered[table].values())].map((plugin) => ({ table, plugin })))

/** docs/contract/mounts.md#what-a-mount-shows: the types of the mounts every namespace has from its start. */
const fixed: Record<MountTable, ReadonlyMap<string, PluginName>> = {
  auth: new Map([['token', 'token']]),
  secret: new Map([
    ['system', 'system'],
    ['cubbyhole', 'cubbyhole'],
    ['identity', 'identity'],
  ]),
}

/**
 * Lets a secrets engine be mounted under its own name in this process. Only for engines that tests and
 * benchmarks hand in.
 */
export function offerEngine(type: string): void {
  // the name of the engine is the name of its plugin
  offered.secret.set(type, type as PluginName)
}

/** The plugin behind a type that may be mounted. */
export const offeredPlugin = (table: MountTable, type: string): PluginName | undefined =>
  offered[table].get(type)

/**
 * The plugin behind any type a stored mount may have; in child namespaces the fixed ones begin with `ns_`.
 */
export const pluginOf = (table: MountTable, type: string): PluginName | undefined =>
  offered[table].get(type) ?? fixed[table].get(type.startsWith('ns_') ? type.slice(3) : type)

const notMountable = new Set(
  ['system', 'cubbyhole', 'identity', 'token'].flatMap((type) => [type, `ns_${type}`]),
)

/** The fixed types a secrets mount must not ask for. */
export const isFixedSecretType = (type: string): boolean => notMountable.has(type)

export const isTokenType = (type: string): boolean => type === 'token' || type === 'ns_token'

/** Is it one of the mounts every namespace has from its start, which neither move nor go? */
export const isFixedMount = (mount: Mount): boolean => !offered[mount.table].has(mount.type)
