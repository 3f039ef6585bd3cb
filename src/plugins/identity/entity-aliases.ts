import { z } from 'zod'
import { deleteAlias, putAlias } from '../../core/identity/entities/alias-changes.ts'
import { aliasesOf } from '../../core/identity/entities/entity-lists.ts'
import { type Reply, type Resource, resource } from '../../http/resource/resource.ts'
import { kvField, stringField } from '../../lib/text/fields.ts'
import { aliasOutput, writtenAlias } from './alias-output.ts'
import type { EntityParts } from './entities.ts'
import { aliasData, aliasInfo } from './entity-view.ts'
import { examples } from './examples.ts'
import { listed, listOutput } from './lists.ts'

const fields = z.object({
  name: stringField.default('').describe('Name of the entity at the mount'),
  mount_accessor: stringField.default('').describe('Accessor of the auth mount'),
  canonical_id: stringField
    .default('')
    .describe('Id of the entity; without it, a new alias gets a new entity'),
  entity_id: stringField.default('').describe('Old name of canonical_id'),
  custom_metadata: kvField.optional().describe('Text by key; replaces all earlier metadata'),
})
const example = { name: 'ada', mount_accessor: 'auth_jwt_5d3a9c1e' }
const input = fields
  .extend({ id: stringField.default('').describe('Id of the alias to update') })
  .meta({ examples: [example] })

/** `identity/entity-alias*`: the names of entities at auth mounts. docs/contract/identity.md#aliases */
export function entityAliasResources({ identities, mountOf, mostListBytes }: EntityParts): Resource[] {
  const { records } = identities

  const put = async (
    namespace: string,
    id: string,
    values: z.output<typeof fields>,
  ): Promise<Reply | undefined> => {
    const written = await putAlias(
      { store: identities, mountOf },
      {
        namespace,
        id,
        name: values.name,
        mountAccessor: values.mount_accessor,
        canonicalId: values.canonical_id || values.entity_id,
        customMetadata: values.custom_metadata,
      },
    )
    return written && { data: written }
  }

  return [
    resource('/entity-alias', {
      help: 'Create an alias of an entity, or update one.',
      write: {
        summary: 'Create or update an entity alias',
        statuses: [200, 204],
        example: examples.madeAlias,
        input,
        output: writtenAlias,
        handle: ({ mount, input: values }) => put(mount.namespace, values.id, values),
      },
    }),
    resource('/entity-alias/id', {
      help: 'Ids of all entity aliases.',
      collection: true,
      list: {
        summary: 'List entity aliases by id',
        example: examples.entityAliases,
        output: listOutput,
        handle: (exchange) => {
          const { namespace } = exchange.mount
          return listed(
            exchange,
            (after) => aliasesOf(records, namespace, after),
            (one) => aliasInfo(one, namespace, mountOf),
            mostListBytes,
          )
        },
      },
    }),
    resource('/entity-alias/id/:id', {
      help: 'An entity alias by its id.',
      read: {
        summary: 'Read an entity alias',
        example: examples.entityAlias,
        output: aliasOutput,
        handle: async ({ mount, params }) => {
          const stored = await records.byAliasId(mount.namespace, params.id)
          return stored && { data: aliasData(stored.alias, stored.entity.namespace_id, mountOf) }
        },
      },
      write: {
        summary: 'Update an entity alias',
        statuses: [200, 204],
        example: examples.madeAlias,
        input: fields.meta({ examples: [example] }),
        output: writtenAlias,
        handle: ({ mount, params, input: values }) => put(mount.namespace, params.id, values),
      },
      delete: {
        summary: 'Delete an entity alias',
        handle: ({ mount, params }) => deleteAlias(identities, mount.namespace, params.id),
      },
    }),
  ]
}
