import { isFixedMount } from '../../core/mounts/fixed-types.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import { authPrefix } from '../../core/mounts/mount-path.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { DocumentedPlace } from './openapi.ts'

/** The mounts of a namespace that `isShown` accepts, as places of the OpenAPI document. */
export const mountPlaces = (
  mounts: MountStore,
  namespace: string,
  isShown: (mount: Mount) => boolean,
): DocumentedPlace[] =>
  (['secret', 'auth'] as const)
    .flatMap((table) => mounts.table.list(namespace, table))
    .filter(isShown)
    .map(({ plugin, path }) => ({ group: plugin, path }))

/** The fixed mounts and every plugin that can be mounted. Reveals no existing mount, so anyone may see it. */
export function genericPlaces(mounts: MountStore, namespace: string): DocumentedPlace[] {
  const generic = mounts.types.offeredPlugins().map(({ table, plugin }): DocumentedPlace => {
    const before = table === 'auth' ? authPrefix : ''
    return { group: plugin, path: `${before}${plugin}/`, parameter: `${plugin}_mount_path`, before }
  })
  return [...mountPlaces(mounts, namespace, isFixedMount), ...generic]
}
