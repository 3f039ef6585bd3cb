import { fail } from '../../../errors.ts'

/**
 * Operators set the members of an internal group; logins set those of an external group.
 * docs/contract/identity.md#groups
 */
export type GroupType = 'internal' | 'external'

/**
 * The provider's name of an external group at one mount. Times are RFC 3339 text, UTC.
 * docs/contract/identity.md#groups
 */
export type GroupAlias = {
  readonly id: string
  /** Id of the group. */
  readonly canonical_id: string
  readonly mount_accessor: string
  /** As spelt in the last write; compared in its folded form (same-name.ts). */
  readonly name: string
  readonly creation_time: string
  readonly last_update_time: string
}

/**
 * A group as stored. Each member has its own row (`group-keys.ts`), so that a login never rewrites a long
 * list. docs/contract/identity.md#groups
 */
export type Group = {
  readonly id: string
  readonly name: string
  readonly type: GroupType
  readonly namespace_id: string
  readonly policies: readonly string[]
  readonly metadata: Readonly<Record<string, string>> | null
  readonly alias: GroupAlias | null
  /** Number of changes through the API; membership changes by logins are counted separately. */
  readonly modify_index: number
  readonly creation_time: string
  readonly last_update_time: string
}

/**
 * Reads a stored record as a group. Checks only the fields that affect rights, since this server encrypted
 * the record. Throws `internal`.
 */
export function readGroup(value: unknown): Group {
  if (!looksLikeGroup(value))
    throw fail('internal', 'internal error', { cause: new Error('a stored group has an invalid shape') })
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
