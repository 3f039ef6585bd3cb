import type { Random } from '../../lib/system/random.ts'
import type { Mount, MountTable } from './mount.ts'
import type { SystemTtls } from './mount-config.ts'
import { fixedPaths, type MountPoint, mountPointOf } from './mount-path.ts'
import { MountIndex } from './mount-table.ts'
import type { MountTypeRegistry } from './mount-type-registry.ts'
import { identifiers, newMount } from './new-mount.ts'

/** A mount that the settings request for the first start. */
export type DefaultMount = { readonly table: MountTable; readonly path: string; readonly type: string }

type Fixed = Pick<Mount, 'table' | 'path' | 'description'> &
  Partial<Pick<Mount, 'local' | 'seal_wrap'>> & { type: string; headers?: string[] }

/** docs/contract/mounts.md#what-a-mount-shows */
const fixedMounts: readonly Fixed[] = [
  {
    table: 'secret',
    path: fixedPaths.system,
    type: 'system',
    description: 'system endpoints used for control, policy and debugging',
    seal_wrap: true,
    headers: ['Accept'],
  },
  {
    table: 'secret',
    path: fixedPaths.cubbyhole,
    type: 'cubbyhole',
    description: 'per-token private secret storage',
    local: true,
  },
  {
    table: 'secret',
    path: fixedPaths.identity,
    type: 'identity',
    description: 'identity store',
    headers: ['Authorization'],
  },
  { table: 'auth', path: fixedPaths.token, type: 'token', description: 'token based credentials' },
]

export type FirstMounts = {
  readonly random: Random
  readonly system: SystemTtls
  readonly types: MountTypeRegistry
  readonly defaults: readonly DefaultMount[]
}

/**
 * The mounts of a new server: the fixed ones and those of the settings. Their accessors and UUIDs are random.
 */
export function firstMounts({ random, system, types, defaults }: FirstMounts): Mount[] {
  const namespace = 'root'
  let table = new MountIndex([])
  for (const fixed of fixedMounts) table = table.with([fixedMount(fixed, namespace, table, random)])
  for (const { table: kind, path, type } of defaults) {
    const mountPoint: MountPoint = mountPointOf(namespace, kind, path)
    table = table.with([
      newMount(
        mountPoint,
        { type, options: null, description: types.firstDescription(kind, type) },
        { table, system, types, conflictingNamespace: () => undefined },
        random,
      ),
    ])
  }
  return table.all()
}

/**
 * The fixed mounts of a new namespace below the root, with identifiers that no mount of `table` has.
 * docs/contract/mounts.md#what-a-mount-shows, docs/contract/namespaces.md#isolation
 */
export const namespaceMounts = (random: Random, namespace: string, table: MountIndex): Mount[] =>
  fixedMounts.map((fixed) => fixedMount(fixed, namespace, table, random))

function fixedMount(
  { headers, local = false, seal_wrap = false, ...fixed }: Fixed,
  namespace: string,
  table: MountIndex,
  random: Random,
): Mount {
  const type = namespace === 'root' ? fixed.type : `ns_${fixed.type}`
  return {
    ...fixed,
    type,
    plugin: fixed.type,
    namespace,
    ...identifiers(fixed, type, table, random),
    config: {
      default_lease_ttl: 0,
      max_lease_ttl: 0,
      force_no_cache: false,
      ...(fixed.table === 'auth' ? { token_type: 'default-service' } : {}),
      ...(headers === undefined ? {} : { passthrough_request_headers: headers }),
    },
    options: null,
    local,
    seal_wrap,
    external_entropy_access: false,
    tainted: false,
    moves: 0,
  }
}
