import { z } from 'zod'
import { type Reply, type Resource, resource } from '../../http/resource/resource.ts'
import { stringField } from '../../lib/text/fields.ts'
import { aliasOutput, writtenAlias } from './alias-output.ts'
import { aliasData, aliasInfo } from './entity-view.ts'
import { examples } from './examples.ts'
import { entityAliasOf } from './group-view.ts'
import type { GroupPluginParts } from './groups.ts'
import { listed, listOutput } from './lists.ts'

const fields = z.object({
  name: stringField.default('').describe('Name of the group at the provider; required'),
  mount_accessor: stringField.default('').describe('Accessor of the auth mount; required'),
  canonical_id: stringField
    .default('')
    .describe('Id of an external group; without it, a new alias gets a new group'),
})
const example = { name: 'admins', mount_accessor: 'auth_jwt_5d3a9c1e' }
const input = fields
  .extend({ id: stringField.optional().describe('Id of the group alias to update') })
  .meta({ examples: [example] })

/** `identity/group-alias*`: the names of external groups at providers. docs/contract/identity.md#groups */
export function groupAliasResources({ groups, mountOf, mostListBytes }: GroupPluginParts): Resource[] {
  const put = async (
    namespace: string,
    id: string | undefined,
    values: z.output<typeof fields>,
  ): Promise<Reply | undefined> => {
    const { alias, changed } = await groups.putAlias({
      namespace,
      id,
      name: values.name,
      mountAccessor: values.mount_accessor,
      canonicalId: values.canonical_id,
    })
    return changed ? { data: { id: alias.id, canonical_id: alias.canonical_id } } : undefined
  }

  return [
    resource('/group-alias', {
      help: 'Create an alias of an external group, or update one.',
      write: {
        summary: 'Create or update a group alias',
        statuses: [200, 204],
        example: examples.madeGroupAlias,
        input,
        output: writtenAlias,
        handle: ({ mount, input: { id, ...values } }) => put(mount.namespace, id, values),
      },
    }),
    resource('/group-alias/id', {
      help: 'Ids of all group aliases.',
      collection: true,
      list: {
        summary: 'List group aliases by id',
        example: examples.groupAliases,
        output: listOutput,
        handle: (exchange) => {
          const { namespace } = exchange.mount
          return listed(
            exchange,
            (after) => groups.aliasesIn(namespace, after),
            (one) => aliasInfo(entityAliasOf(one), namespace, mountOf),
            mostListBytes,
          )
        },
      },
    }),
    resource('/group-alias/id/:id', {
      help: 'A group alias by its id.',
      read: {
        summary: 'Read a group alias',
        example: examples.groupAlias,
        output: aliasOutput,
        handle: async ({ mount, params }) => {
          const alias = (await groups.byAliasId(mount.namespace, params.id))?.alias ?? undefined
          return alias && { data: aliasData(entityAliasOf(alias), mount.namespace, mountOf) }
        },
      },
      write: {
        summary: 'Update a group alias',
        statuses: [200, 204],
        example: examples.madeGroupAlias,
        input: fields.meta({ examples: [example] }),
        output: writtenAlias,
        handle: ({ mount, params, input: values }) => put(mount.namespace, params.id, values),
      },
      delete: {
        summary: 'Delete a group alias',
        handle: ({ mount, params }) => groups.removeAlias(mount.namespace, params.id),
      },
    }),
  ]
}
