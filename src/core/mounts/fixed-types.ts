import type { Mount, MountTable } from './mount.ts'

/** The types of the fixed mounts, which every namespace has. docs/contract/mounts.md#what-a-mount-shows */
const fixedTypes: Record<MountTable, ReadonlySet<string>> = {
  auth: new Set(['token']),
  secret: new Set(['system', 'cubbyhole', 'identity']),
}

/** In child namespaces, fixed types have the prefix `ns_`. */
const plainType = (type: string): string => (type.startsWith('ns_') ? type.slice(3) : type)

/** The plugin behind a type that cannot be mounted; undefined for any other type. */
export function fixedPlugin(table: MountTable, type: string): string | undefined {
  const plain = plainType(type)
  return fixedTypes[table].has(plain) ? plain : undefined
}

/** Whether the type is fixed, so that a secrets mount cannot have it. */
export const isFixedSecretType = (type: string): boolean =>
  fixedPlugin('secret', type) !== undefined || isTokenType(type)

export const isTokenType = (type: string): boolean => fixedPlugin('auth', type) !== undefined

/** Whether the mount is one of the fixed ones, which cannot be moved or removed. */
export const isFixedMount = ({ table, type }: Mount): boolean => fixedPlugin(table, type) !== undefined
