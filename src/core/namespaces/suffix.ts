/**
 * The suffix of all ids in a namespace: empty in the root, otherwise a dot and the namespace's id.
 * docs/contract/namespaces.md#isolation
 */
export const suffixOf = (namespaceId: string): string => (namespaceId === 'root' ? '' : `.${namespaceId}`)

/** The namespace id in the suffix of an id; `root` without a suffix. The namespace may not exist. */
export function namespaceIdOf(id: string): string {
  const [, suffix] = /\.([0-9A-Za-z]{6})$/.exec(id) ?? []
  return suffix ?? 'root'
}
