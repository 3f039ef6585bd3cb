import type { FastifyInstance } from 'fastify'
import { resource } from '../../http/resource.ts'
import { examples } from './examples.ts'
import { type GroupPluginParts, groupOutput, groupReply } from './groups.ts'
import { checkLookup, lookupInput } from './lookup.ts'

/** `identity/lookup/group`. Contract tokens §5.6. */
export function groupLookupRoutes(app: FastifyInstance, parts: GroupPluginParts): void {
  const { groups } = parts
  resource(app, '/lookup/group', {
    help: 'A group by one of the things that lead to it.',
    write: {
      summary: 'Look up a group',
      output: groupOutput,
      statuses: [200, 204],
      example: examples.group,
      input: lookupInput,
      handle: async ({ mount: { namespace }, input }) => {
        checkLookup(input)
        const { id, name, alias_id, alias_name, alias_mount_accessor } = input
        if (id !== '') return groupReply(parts, await groups.byId(namespace, id))
        if (name !== '') return groupReply(parts, await groups.byName(namespace, name))
        if (alias_id !== '') return groupReply(parts, await groups.byAliasId(namespace, alias_id))
        return groupReply(parts, await groups.byAlias(namespace, alias_mount_accessor, alias_name))
      },
    },
  })
}
