import { z } from 'zod'
import { recordReader } from '../../records/stored-record.ts'

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

/** Reads a stored record as a group. */
export const readGroup = recordReader<Group>(
  'group',
  z.object({
    id: z.string(),
    name: z.string(),
    namespace_id: z.string(),
    modify_index: z.number(),
    type: z.enum(['internal', 'external']),
    policies: z.array(z.string()),
  }),
)
