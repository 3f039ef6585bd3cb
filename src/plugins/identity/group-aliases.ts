import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type Reply, resource } from '../../http/resource.ts'
import { stringField } from '../../lib/fields.ts'
import { atMost } from '../../lib/walks.ts'
import { listed } from './entities.ts'
import { examples } from './examples.ts'
import { groupAliasData, groupAliasInfo } from './group-view.ts'
import type { GroupPluginParts } from './groups.ts'
import { listRange } from './list-range.ts'

const fields = z.object({
  name: stringField.default('').describe('What the provider calls the group; must be given'),
  mount_accessor: stringField.default('').describe('Accessor of the auth mount; must be given'),
  canonical_id: stringField.default('').describe('Id of an external group; without one, a new group is made for a new alias'),
})
const input = fields.extend({ id: stringField.optional().describe('Id of the group alias to update') })
const texts = z.record(z.string(), z.string()).nullable()
const written = z.object({ id: z.string(), canonical_id: z.string() })
const output = written.extend({
  mount_accessor: z.string(),
  mount_type: z.string().optional(),
  mount_path: z.string().optional(),
  name: z.string(),
  metadata: texts,
  custom_metadata: texts,
  merged_from_canonical_ids: z.array(z.string()).nullable(),
  namespace_id: z.string(),
  local: z.boolean(),
  creation_time: z.string(),
  last_update_time: z.string(),
})
const listOutput = z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), z.object({ name: z.string() }).loose()) })

/** `identity/group-alias*`: what providers call external groups. Contract tokens §5.1, §5.5. */
export function groupAliasRoutes(app: FastifyInstance, { groups, mountOf, longLists }: GroupPluginParts): void {
  const put = async (namespace: string, id: string | undefined, values: z.output<typeof fields>): Promise<Reply | undefined> => {
    const { alias, changed } = await groups.putAlias({
      namespace,
      id,
      name: values.name,
      mountAccessor: values.mount_accessor,
      canonicalId: values.canonical_id,
    })
    return changed ? { data: { id: alias.id, canonical_id: alias.canonical_id } } : undefined
  }

  resource(app, '/group-alias', {
    help: 'Make an alias of an external group, or update one.',
    write: {
      summary: 'Create or update a group alias',
      statuses: [200, 204],
      example: examples.madeGroupAlias,
      input,
      output: written,
      handle: ({ mount, input: { id, ...values } }) => put(mount.namespace, id, values),
    },
  })
  resource(app, '/group-alias/id', {
    help: 'Ids of all group aliases.',
    collection: true,
    list: {
      summary: 'List group aliases by id',
      example: examples.groupAliases,
      output: listOutput,
      handle: ({ mount, sent, whenGone }) => {
        const { after, limit } = listRange(sent)
        const aliases = longLists.paced(groups.aliasesIn(mount.namespace, after), { whenGone })
        return listed(atMost(limit, aliases), (one) => groupAliasInfo(one, mount.namespace, mountOf))
      },
    },
  })
  resource(app, '/group-alias/id/:id', {
    help: 'A group alias by its id.',
    read: {
      summary: 'Read a group alias',
      example: examples.groupAlias,
      output,
      handle: async ({ mount, params }) => {
        const alias = (await groups.byAliasId(mount.namespace, params.id))?.alias ?? undefined
        return alias && { data: groupAliasData(alias, mount.namespace, mountOf) }
      },
    },
    write: {
      summary: 'Update a group alias',
      statuses: [200, 204],
      example: examples.madeGroupAlias,
      input: fields,
      output: written,
      handle: ({ mount, params, input: values }) => put(mount.namespace, params.id, values),
    },
    delete: {
      summary: 'Delete a group alias',
      handle: async ({ mount, params }) => {
        await groups.removeAlias(mount.namespace, params.id)
        return undefined
      },
    },
  })
}
