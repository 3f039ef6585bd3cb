import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { namesInOrder } from '../../core/identity/entity-lists.ts'
import type { Group } from '../../core/identity/group.ts'
import type { GroupStore } from '../../core/identity/group-store.ts'
import type { GroupWrite } from '../../core/identity/group-write.ts'
import type { LongLists } from '../../core/long-lists.ts'
import { type Reply, resource } from '../../http/resource.ts'
import { commaListField, kvField, stringField } from '../../lib/fields.ts'
import { atMost } from '../../lib/walks.ts'
import { byName, listed } from './entities.ts'
import type { MountOf } from './entity-view.ts'
import { examples } from './examples.ts'
import { groupData, groupInfo } from './group-view.ts'
import { listRange } from './list-range.ts'

export type GroupPluginParts = { readonly groups: GroupStore; readonly mountOf: MountOf; readonly longLists: LongLists }

const fields = z.object({
  type: stringField.optional().describe('internal, or external: then its members come and go with logins'),
  metadata: kvField.optional().describe('Texts by key; replaces all that were there'),
  policies: commaListField.optional().describe('Policies of everyone in the group; replaces all that were there'),
  member_entity_ids: commaListField.optional().describe('Ids of the entities in an internal group; replaces all that were there'),
  member_group_ids: commaListField.optional().describe('Ids of the groups in an internal group; replaces all that were there'),
})
const named = fields.extend({ name: stringField.optional().describe('Name of the group; without one, a generated one') })
const input = named.extend({ id: stringField.optional().describe('Id of the group to update') })

const ids = z.array(z.string()).nullable()
const texts = z.record(z.string(), z.string()).nullable()
/** A group in an answer. */
export const groupOutput = z.object({
  id: z.string(),
  name: z.string(),
  type: z.enum(['internal', 'external']),
  policies: ids,
  metadata: texts,
  member_entity_ids: ids,
  member_group_ids: ids,
  parent_group_ids: ids,
  alias: z.object({}).loose(),
  modify_index: z.int(),
  namespace_id: z.string(),
  creation_time: z.string(),
  last_update_time: z.string(),
})
const created = z.object({ id: z.string(), name: z.string() })
const listOutput = z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), z.object({ name: z.string() }).loose()) })

/** A group as it is read; nothing for none. */
export async function groupReply(
  { groups, mountOf }: Pick<GroupPluginParts, 'groups' | 'mountOf'>,
  group: Group | undefined,
): Promise<Reply | undefined> {
  return group && { data: groupData(group, await groups.details(group), mountOf) }
}

/** `identity/group*`: entities that have something in common. docs/contract/identity.md, docs/contract/identity.md#groups */
export function groupRoutes(app: FastifyInstance, parts: GroupPluginParts): void {
  const { groups, mountOf, longLists } = parts
  const put = async (write: GroupWrite): Promise<Reply | undefined> => {
    const { group, created } = await groups.put(write)
    return created ? { data: { id: group.id, name: group.name } } : undefined
  }

  resource(app, '/group', {
    help: 'Make a group, or update one.',
    write: {
      summary: 'Create or update a group',
      statuses: [200, 204],
      example: examples.madeGroup,
      input,
      output: created,
      handle: ({ mount, input: { id, ...changes } }) => put({ namespace: mount.namespace, id, fields: changes }),
    },
  })
  resource(app, '/group/id', {
    help: 'Ids of all groups.',
    collection: true,
    list: {
      summary: 'List groups by id',
      example: examples.groups,
      output: listOutput,
      handle: ({ mount, sent, whenGone }) => {
        const { after, limit } = listRange(sent)
        const shown = longLists.paced(groups.listed(mount.namespace, after), { whenGone })
        return listed(atMost(limit, shown), (one) => groupInfo(one, mountOf))
      },
    },
  })
  resource(app, '/group/id/:id', {
    help: 'A group by its id.',
    read: {
      summary: 'Read a group by its id',
      example: examples.group,
      output: groupOutput,
      handle: async ({ mount, params }) => groupReply(parts, await groups.byId(mount.namespace, params.id)),
    },
    write: {
      summary: 'Update a group by its id',
      input: named,
      handle: ({ mount, params, input: changes }) => put({ namespace: mount.namespace, id: params.id, fields: changes }),
    },
    delete: {
      summary: 'Delete a group by its id',
      handle: async ({ mount, params }) => {
        await groups.remove(mount.namespace, params.id)
        return undefined
      },
    },
  })

  resource(app, '/group/name', {
    help: 'Names of all groups.',
    collection: true,
    list: {
      summary: 'List groups by name',
      output: z.object({ keys: z.array(z.string()) }),
      handle: async ({ mount, sent, whenGone }) => {
        const range = listRange(sent)
        return { data: { keys: await namesInOrder(longLists.paced(groups.groupsOf(mount.namespace), { whenGone }), range) }, paged: true }
      },
    },
  })
  resource(app, '/group/name/*name', {
    help: 'A group by its name.',
    canonical: byName('group/name/'),
    read: {
      summary: 'Read a group by its name',
      example: examples.group,
      output: groupOutput,
      handle: async ({ mount, params }) => groupReply(parts, await groups.byName(mount.namespace, params.name)),
    },
    write: {
      summary: 'Create or update the group of a name',
      statuses: [200, 204],
      example: examples.madeGroup,
      input: fields,
      output: created,
      handle: ({ mount, params, input: changes }) => put({ namespace: mount.namespace, fields: { ...changes, name: params.name } }),
    },
    delete: {
      summary: 'Delete a group by its name',
      handle: async ({ mount, params }) => {
        const group = await groups.byName(mount.namespace, params.name)
        if (group !== undefined) await groups.remove(mount.namespace, group.id)
        return undefined
      },
    },
  })
}
