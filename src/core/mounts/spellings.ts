import type { Namespace } from '../namespaces/namespace.ts'
import type { NamespaceStore } from '../namespaces/namespace-store.ts'
import type { Canonicalize } from '../policies/acl.ts'
import type { MountStore } from './mount-store.ts'
import type { MountTypeRegistry } from './mount-type-registry.ts'

export type SpellingParts = {
  readonly namespaces: Pick<NamespaceStore, 'resolve'>
  readonly mounts: Pick<MountStore, 'table'>
  readonly mountTypes: Pick<MountTypeRegistry, 'spellingAt'>
}

/** What makes the spellings of a path one, which may lead into a namespace below. Undefined if it has only one. */
export function spellingOf(
  path: string,
  namespace: Namespace,
  { namespaces, mounts, mountTypes }: SpellingParts,
): Canonicalize | undefined {
  const inside = namespaces.resolve(namespace.path, path)
  if (inside === undefined) return undefined
  const found = mounts.table.resolve(inside.namespace.id, path.slice(inside.taken))
  const spelling = found && mountTypes.spellingAt(found.mount.plugin, found.below)
  if (found === undefined || spelling === undefined) return undefined
  const mountPath = path.slice(0, path.length - found.below.length)
  return belowMount(mountPath, spelling)
}

/** For whole paths. Paths outside of the mount stay as they are. */
export const belowMount =
  (mountPath: string, spelling: (below: string) => string): Canonicalize =>
  (text) =>
    text.startsWith(mountPath) ? mountPath + spelling(text.slice(mountPath.length)) : text
