/** A tenant of the server. docs/contract/namespaces.md#managing-namespaces */
export type Namespace = {
  /** `root`, or six base62 characters that are never reused. */
  readonly id: string
  /** Full path with trailing slash; empty for the root. */
  readonly path: string
}

/** A stored namespace. docs/contract/namespaces.md#managing-namespaces */
export type NamespaceRecord = Namespace & {
  readonly uuid: string
  /** True while the namespace is being deleted: it serves no requests. */
  readonly tainted: boolean
  /** Set during a deletion that gives up on external objects that cannot be revoked. */
  readonly abandoned?: boolean
  /** Hash of the key that unlocks the API; empty if it is not locked. */
  readonly unlock_key_hash: string
  readonly custom_metadata: Readonly<Record<string, string>>
  /** Absent for a namespace of an earlier version, whose first tokens have no rows. */
  readonly token_rows?: true
}

/** The root namespace, which always exists and is never stored, locked or deleted. */
export const rootNamespace: NamespaceRecord = {
  id: 'root',
  path: '',
  uuid: '',
  tainted: false,
  unlock_key_hash: '',
  custom_metadata: {},
}

/**
 * The path from a namespace down to another one; empty if they are equal, undefined if the other is not below
 * it.
 */
export const pathBelow = (upper: Namespace, lower: Namespace): string | undefined =>
  lower.path.startsWith(upper.path) ? lower.path.slice(upper.path.length) : undefined

/** The path of the parent namespace; undefined for the root. */
export function parentPath({ path }: Namespace): string | undefined {
  return path === '' ? undefined : path.slice(0, path.lastIndexOf('/', path.length - 2) + 1)
}
