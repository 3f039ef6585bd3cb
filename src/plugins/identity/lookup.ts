import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { refuse } from '../../errors.ts'
import { resource } from '../../http/resource.ts'
import { stringField } from '../../lib/fields.ts'
import { type EntityParts, entityOutput, entityReply } from './entities.ts'
import { examples } from './examples.ts'

/** What a lookup can go by. Contract tokens §5.6. */
export const lookupInput = z.object({
  id: stringField.default('').describe('Its id'),
  name: stringField.default('').describe('Its name'),
  alias_id: stringField.default('').describe('Id of an alias of it'),
  alias_name: stringField.default('').describe('Name of an alias of it; together with alias_mount_accessor'),
  alias_mount_accessor: stringField.default('').describe('Accessor of the mount of that alias'),
})

/** Throws unless there is exactly one thing to go by. */
export function checkLookup({ id, name, alias_id, alias_name, alias_mount_accessor }: z.output<typeof lookupInput>): void {
  const ways = [id, name, alias_id, alias_name || alias_mount_accessor].filter((text) => text !== '')
  if (ways.length === 0) throw refuse('invalid', 'query parameter not supplied')
  if (ways.length > 1) throw refuse('invalid', 'query parameter conflict; please supply distinct set of query parameters')
  if ((alias_name === '') !== (alias_mount_accessor === '')) throw refuse('invalid', "both 'alias_name' and 'alias_mount_accessor' needs to be set")
}

/** `identity/lookup/entity`. Contract tokens §5.6. */
export function lookupRoutes(app: FastifyInstance, parts: EntityParts): void {
  const { records } = parts.identities
  resource(app, '/lookup/entity', {
    help: 'An entity by one of the things that lead to it.',
    write: {
      summary: 'Look up an entity',
      output: entityOutput,
      statuses: [200, 204],
      example: examples.entity,
      input: lookupInput,
      handle: async ({ mount: { namespace }, input }) => {
        checkLookup(input)
        const { id, name, alias_id, alias_name, alias_mount_accessor } = input
        const stored =
          id !== ''
            ? await records.byId(namespace, id)
            : name !== ''
              ? await records.byName(namespace, name)
              : alias_id !== ''
                ? await records.byAliasId(namespace, alias_id)
                : await records.byAlias(namespace, alias_mount_accessor, alias_name)
        return entityReply(parts, stored?.entity)
      },
    },
  })
}
