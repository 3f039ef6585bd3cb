/** A tenant of the server. docs/contract/namespaces.md#managing-namespaces */
export type Namespace = {
  /** `root`, else six base62 characters that no other namespace ever has. */
  readonly id: string
  /** Full path from the root with trailing slash; empty for the root. */
  readonly path: string
}

/** A namespace with all that is stored of it. docs/contract/namespaces.md#managing-namespaces */
export type NamespaceRecord = Namespace & {
  readonly uuid: string
  /** Being deleted: nothing in it answers any more. */
  readonly tainted: boolean
  /** While it is being deleted: what its mounts cannot take back is given up. */
  readonly abandoned?: boolean
  /** Hash of the key that unlocks its API; empty while it is not locked. */
  readonly unlock_key_hash: string
  readonly custom_metadata: Readonly<Record<string, string>>
}

/** The namespace that is always there and never stored, locked or deleted. */
export const rootNamespace: NamespaceRecord = {
  id: 'root',
  path: '',
  uuid: '',
  tainted: false,
  unlock_key_hash: '',
  custom_metadata: {},
}

/**
 * The path from a namespace down to another one, empty for itself; undefined when that is neither it nor
 * below it.
 */
export const pathBelow = (upper: Namespace, lower: Namespace): string | undefined =>
  lower.path.startsWith(upper.path) ? lower.path.slice(upper.path.length) : undefined

/** The namespace one level up has this path; of the root there is none. */
export function parentPath({ path }: Namespace): string | undefined {
  return path === '' ? undefined : path.slice(0, path.lastIndexOf('/', path.length - 2) + 1)
}
