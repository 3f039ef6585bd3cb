import { z } from 'zod'
import { type Clash, mergeEntities } from '../../core/identity/entities/merge.ts'
import { causeList } from '../../errors.ts'
import { type Reply, type Resource, resource } from '../../http/resource/resource.ts'
import { boolField, commaListField, stringField } from '../../lib/text/fields.ts'
import type { EntityParts } from './entities.ts'
import { type MountOf, mountOfAlias } from './entity-view.ts'

const input = z.object({
  to_entity_id: stringField.default('').describe('Id of the entity to merge into'),
  from_entity_ids: commaListField.default([]).describe('Ids of the entities to merge; they are deleted'),
  force: boolField.default(false).describe('Ignored; accepted because clients send it'),
  conflicting_alias_ids_to_keep: commaListField
    .default([])
    .describe('Ids of the aliases to keep where both entities have one at the same mount'),
})

/** `identity/entity/merge`. docs/contract/identity.md#merging */
export function mergeResources({ identities, mountOf }: EntityParts): Resource[] {
  return [
    resource('/entity/merge', {
      help: 'Merge several entities into one.',
      write: {
        summary: 'Merge entities into one',
        required: ['to_entity_id', 'from_entity_ids'],
        input,
        handle: async ({
          mount,
          input: { to_entity_id, from_entity_ids, conflicting_alias_ids_to_keep },
        }) => {
          const request = {
            namespace: mount.namespace,
            to: to_entity_id,
            from: from_entity_ids,
            keep: conflicting_alias_ids_to_keep,
          }
          const clashes = await mergeEntities(identities, request)
          return clashes.length === 0 ? undefined : clashReply(clashes, mountOf)
        },
      },
    }),
  ]
}

function clashReply(clashes: readonly Clash[], mountOf: MountOf): Reply {
  const errors = causeList(
    'toEntity and at least one fromEntity have aliases with the same mount accessor, repeat the merge request specifying exactly one fromEntity, clashes: ',
    ...clashes.map(
      ({ to, from, toAlias, fromAlias }) =>
        `mountAccessor: ${toAlias.mount_accessor}, toEntity ID: ${to.id}, fromEntity ID: ${from.id}, conflicting toEntity alias ID: ${toAlias.id}, conflicting fromEntity alias ID: ${fromAlias.id}`,
    ),
  )
  const data = clashes.flatMap(({ to, from, toAlias, fromAlias }) =>
    [
      { entity: to, alias: toAlias },
      { entity: from, alias: fromAlias },
    ].map(({ entity, alias }) => {
      const { mount_type: mount = '', mount_path = '' } = mountOfAlias(
        mountOf,
        alias.mount_accessor,
        entity.namespace_id,
      )
      return { alias: alias.name, entity: entity.name, entity_id: entity.id, mount, mount_path }
    }),
  )
  return {
    raw: {
      status: 400,
      contentType: 'application/json',
      body: `${JSON.stringify({ errors: [errors], data })}\n`,
    },
  }
}
