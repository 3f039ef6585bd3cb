import { hex, type Random } from '../../../lib/system/random.ts'
import { formatTime } from '../../../lib/text/time.ts'
import { suffixOf } from '../../namespaces/suffix.ts'
import { type Entity, type EntityAlias, firstAliasId } from './entity.ts'

/** The fields of an alias that the caller chooses. */
export type AliasDraft = Pick<
  EntityAlias,
  'mount_accessor' | 'name' | 'metadata' | 'custom_metadata' | 'resembles'
>

/** Namespace and creation time (milliseconds) of a new record. */
export type Birth = { readonly namespace: string; readonly now: number; readonly random: Random }

/** An entity with a generated name, without policies, and with its first alias, if any. */
export function newEntity({ namespace, now, random }: Birth, alias?: AliasDraft): Entity {
  const time = formatTime(now)
  const id = random.uuid() + suffixOf(namespace)
  return {
    id,
    name: `entity_${hex(random, 8)}`,
    namespace_id: namespace,
    metadata: null,
    policies: [],
    disabled: false,
    merged_entity_ids: null,
    aliases: alias === undefined ? [] : [aliasFrom(alias, firstAliasId(id), id, time)],
    creation_time: time,
    last_update_time: time,
  }
}

/** A further alias of an entity. */
export const newAlias = (
  { namespace, now, random }: Birth,
  draft: AliasDraft,
  entityId: string,
): EntityAlias => aliasFrom(draft, random.uuid() + suffixOf(namespace), entityId, formatTime(now))

const aliasFrom = (draft: AliasDraft, id: string, entityId: string, time: string): EntityAlias => ({
  id,
  canonical_id: entityId,
  ...draft,
  merged_from_canonical_ids: null,
  local: false,
  creation_time: time,
  last_update_time: time,
})
