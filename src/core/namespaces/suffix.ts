/**
 * What ids of a namespace end in, so that they are told apart wherever they are shown: nothing in the root,
 * else a dot and its id. docs/contract/namespaces.md#isolation
 */
export const suffixOf = (namespaceId: string): string => (namespaceId === 'root' ? '' : `.${namespaceId}`)

/**
 * The id of the namespace an id ends in; `root` for one without. Whether there is such a namespace is for
 * others to say.
 */
export function namespaceIdOf(id: string): string {
  const [, suffix] = /\.([0-9A-Za-z]{6})$/.exec(id) ?? []
  return suffix ?? 'root'
}
