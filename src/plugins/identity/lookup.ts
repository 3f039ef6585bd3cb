import { z } from 'zod'
import { refuse } from '../../errors.ts'
import { type Resource, resource } from '../../http/resource/resource.ts'
import { stringField } from '../../lib/text/fields.ts'
import { type EntityParts, entityOutput, entityReply } from './entities.ts'
import { examples } from './examples.ts'
import { type GroupPluginParts, groupOutput, groupReply } from './groups.ts'

/** The selectors of a lookup. docs/contract/identity.md */
const lookupInput = z
  .object({
    id: stringField.optional().describe('Id of the object'),
    name: stringField.optional().describe('Name of the object'),
    alias_id: stringField.optional().describe('Id of an alias of the object'),
    alias_name: stringField
      .optional()
      .describe('Name of an alias of the object; together with alias_mount_accessor'),
    alias_mount_accessor: stringField.optional().describe('Accessor of the mount of that alias'),
  })
  .meta({ examples: [{ name: 'ada' }] })

type Finder<T> = {
  byId(namespace: string, id: string): Promise<T | undefined>
  byName(namespace: string, name: string): Promise<T | undefined>
  byAliasId(namespace: string, aliasId: string): Promise<T | undefined>
  byAlias(namespace: string, mountAccessor: string, name: string): Promise<T | undefined>
}

/**
 * Finds by the one selector that was sent; throws unless there is exactly one. An empty selector counts as
 * sent, and finds nothing.
 */
async function lookUp<T>(
  finder: Finder<T>,
  namespace: string,
  sent: z.output<typeof lookupInput>,
): Promise<T | undefined> {
  const given = Object.values(sent).filter((value) => value !== undefined).length
  const { id = '', name = '', alias_id = '', alias_name = '', alias_mount_accessor = '' } = sent
  const isPair = given === 2 && alias_name !== '' && alias_mount_accessor !== ''
  if (given === 0) throw refuse('invalid', 'query parameter not supplied')
  if (given > 1 && !isPair)
    throw refuse('invalid', 'query parameter conflict; please supply distinct set of query parameters')
  if (isPair) return finder.byAlias(namespace, alias_mount_accessor, alias_name)
  if (alias_name !== '' || alias_mount_accessor !== '') {
    throw refuse('invalid', "both 'alias_name' and 'alias_mount_accessor' needs to be set")
  }
  if (id !== '') return finder.byId(namespace, id)
  if (name !== '') return finder.byName(namespace, name)
  return alias_id === '' ? undefined : finder.byAliasId(namespace, alias_id)
}

/** `identity/lookup/*`. docs/contract/identity.md */
export function lookupResources(parts: EntityParts & GroupPluginParts): Resource[] {
  const { records } = parts.identities
  return [
    resource('/lookup/entity', {
      help: 'An entity by its id, its name, or an alias.',
      passesReadOnly: true,
      write: {
        summary: 'Look up an entity',
        output: entityOutput,
        statuses: [200, 204],
        example: examples.entity,
        input: lookupInput,
        handle: async ({ mount: { namespace }, input }) =>
          entityReply(parts, (await lookUp(records, namespace, input))?.entity),
      },
    }),
    resource('/lookup/group', {
      help: 'A group by its id, its name, or an alias.',
      passesReadOnly: true,
      write: {
        summary: 'Look up a group',
        output: groupOutput,
        statuses: [200, 204],
        example: examples.group,
        input: lookupInput,
        handle: async ({ mount: { namespace }, input }) =>
          groupReply(parts, await lookUp(parts.groups, namespace, input)),
      },
    }),
  ]
}
