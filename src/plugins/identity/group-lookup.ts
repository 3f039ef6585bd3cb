import type { Group } from '../../core/identity/groups/group.ts'
import { type Resource, resource } from '../../http/resource/resource.ts'
import { examples } from './examples.ts'
import { type GroupPluginParts, groupOutput, groupReply } from './groups.ts'
import { lookUp, lookupInput } from './lookup.ts'

/** `identity/lookup/group`. See docs/contract/identity.md */
export function groupLookupResources(parts: GroupPluginParts): Resource[] {
  const { groups } = parts
  return [
    resource('/lookup/group', {
      help: 'A group by its id, its name, or an alias.',
      write: {
        summary: 'Look up a group',
        output: groupOutput,
        statuses: [200, 204],
        example: examples.group,
        input: lookupInput,
        handle: async ({ mount: { namespace }, input }) => {
          return groupReply(parts, await lookUp<Group>(groups, namespace, input))
        },
      },
    }),
  ]
}
