import { z } from 'zod'
import { recordReader } from '../../records/stored-record.ts'
import { sameName } from '../same-name.ts'

/** An entity's name at one mount. Times are RFC 3339 text, UTC. docs/contract/identity.md#aliases */
export type EntityAlias = {
  readonly id: string
  /** Id of the entity. */
  readonly canonical_id: string
  readonly mount_accessor: string
  /** As spelt at the first login or in the last API write; compared in its folded form (same-name.ts). */
  readonly name: string
  readonly metadata: Readonly<Record<string, string>> | null
  readonly custom_metadata: Readonly<Record<string, string>> | null
  readonly merged_from_canonical_ids: readonly string[] | null
  readonly local: boolean
  /**
   * Id of an entity with a similar name at this mount, recorded when this name was new. Its logins are logged
   * as warnings.
   */
  readonly resembles?: string
  readonly creation_time: string
  readonly last_update_time: string
}

/** A user or machine, independent of the mount of the login. docs/contract/identity.md#entities */
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
  /** A login created it, and neither it nor its aliases have been written through the API since. */
  readonly made_by_login?: boolean
  /** Day of the last login (`2026-01-02`, UTC), if later than the day of creation. */
  readonly last_login_day?: string
}

/** Reads a stored record as an entity. */
export const readEntity = recordReader<Entity>(
  'entity',
  z.object({
    id: z.string(),
    name: z.string(),
    disabled: z.boolean(),
    policies: z.array(z.string()),
    aliases: z.array(z.unknown()),
  }),
)

export const aliasOf = (entity: Entity, mountAccessor: string, name: string): EntityAlias | undefined =>
  entity.aliases.find((alias) => alias.mount_accessor === mountAccessor && sameName(alias.name, name))

/** An entity has at most one alias for each mount. */
export const aliasAt = (entity: Entity, mountAccessor: string): EntityAlias | undefined =>
  entity.aliases.find((alias) => alias.mount_accessor === mountAccessor)

/** Day of the entity's last login or, without one, of its creation. */
export const lastLoginDay = (entity: Entity): string =>
  entity.last_login_day ?? entity.creation_time.slice(0, dayLength)

const dayLength = '2026-01-02'.length
const versionAt = 14

/**
 * Id of the alias created together with an entity: the entity's id with version digit 8 (RFC 9562 §5.8,
 * custom UUIDs). It leads to the entity without a row in storage, and these ids sort like those of their
 * entities.
 */
export const firstAliasId = (entityId: string): string => withVersion(entityId, '8')

/** Id of the entity that was created together with this alias; undefined for any other alias id. */
export const entityIdOfFirstAlias = (aliasId: string): string | undefined =>
  aliasId[versionAt] === '8' ? withVersion(aliasId, '4') : undefined

const withVersion = (id: string, version: string): string =>
  `${id.slice(0, versionAt)}${version}${id.slice(versionAt + 1)}`
