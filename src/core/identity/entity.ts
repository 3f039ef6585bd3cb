import { fail } from '../../errors.ts'

/** An entity's name at one mount. Times are RFC 3339 text, UTC. Contract tokens §5.3. */
export type EntityAlias = {
  readonly id: string
  /** Id of the entity. */
  readonly canonical_id: string
  readonly mount_accessor: string
  /** In the spelling of the first login; compares without case. */
  readonly name: string
  readonly metadata: Readonly<Record<string, string>> | null
  readonly custom_metadata: Readonly<Record<string, string>> | null
  readonly merged_from_canonical_ids: readonly string[] | null
  readonly local: boolean
  readonly creation_time: string
  readonly last_update_time: string
}

/** Who it is, whatever mount the login came by. Contract tokens §5.2. */
export type Entity = {
  readonly id: string
  readonly name: string
  readonly namespace_id: string
  readonly metadata: Readonly<Record<string, string>> | null
  readonly policies: readonly string[]
  readonly disabled: boolean
  readonly merged_entity_ids: readonly string[] | null
  readonly aliases: readonly EntityAlias[]
  readonly creation_time: string
  readonly last_update_time: string
}

/** A stored record as an entity. Only what rights hang on is checked: the record was sealed by this server. Throws kind `internal`. */
export function readEntity(value: unknown): Entity {
  if (!looksLikeEntity(value)) throw fail('internal', 'internal error', { cause: new Error('a stored entity has not the shape of one') })
  return value
}

function looksLikeEntity(value: unknown): value is Entity {
  if (typeof value !== 'object' || value === null) return false
  const entity: Partial<Record<keyof Entity, unknown>> = value
  return (
    typeof entity.id === 'string' &&
    typeof entity.name === 'string' &&
    typeof entity.disabled === 'boolean' &&
    Array.isArray(entity.policies) &&
    entity.policies.every((name) => typeof name === 'string') &&
    Array.isArray(entity.aliases)
  )
}

/** Names of entities, groups and aliases compare without case. */
export const sameName = (a: string, b: string): boolean => a === b || a.toLowerCase() === b.toLowerCase()

export const aliasOf = (entity: Entity, mountAccessor: string, name: string): EntityAlias | undefined =>
  entity.aliases.find((alias) => alias.mount_accessor === mountAccessor && sameName(alias.name, name))
