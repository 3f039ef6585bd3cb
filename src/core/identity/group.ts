import { fail } from '../../errors.ts'

/** The members of an internal group are written by hand; those of an external one come and go with logins. docs/contract/identity.md#groups */
export type GroupType = 'internal' | 'external'

/** What a provider calls an external group at one mount. Times are RFC 3339 text, UTC. docs/contract/identity.md#groups */
export type GroupAlias = {
  readonly id: string
  /** Id of the group. */
  readonly canonical_id: string
  readonly mount_accessor: string
  /** As written last; compares as names do. */
  readonly name: string
  readonly creation_time: string
  readonly last_update_time: string
}

/** A group as stored. Who is in it lies beside it, a row each (`group-keys.ts`), so that a login never rewrites a list of thousands. docs/contract/identity.md#groups */
export type Group = {
  readonly id: string
  readonly name: string
  readonly type: GroupType
  readonly namespace_id: string
  readonly policies: readonly string[]
  readonly metadata: Readonly<Record<string, string>> | null
  readonly alias: GroupAlias | null
  /** Changes by the API; joins and leaves by logins are counted beside the record. */
  readonly modify_index: number
  readonly creation_time: string
  readonly last_update_time: string
}

/** A stored record as a group. Only what rights hang on is checked: the record was sealed by this server. Throws kind `internal`. */
export function readGroup(value: unknown): Group {
  if (!looksLikeGroup(value)) throw fail('internal', 'internal error', { cause: new Error('a stored group has not the shape of one') })
  return value
}

function looksLikeGroup(value: unknown): value is Group {
  if (typeof value !== 'object' || value === null) return false
  const group: Partial<Record<keyof Group, unknown>> = value
  return (
    typeof group.id === 'string' &&
    typeof group.name === 'string' &&
    typeof group.namespace_id === 'string' &&
    typeof group.modify_index === 'number' &&
    (group.type === 'internal' || group.type === 'external') &&
    Array.isArray(group.policies) &&
    group.policies.every((name) => typeof name === 'string')
  )
}
