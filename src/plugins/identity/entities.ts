import type { FastifyInstance } from 'fastify'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { canonicalName } from '../../core/identity/canonical-name.ts'
import type { Entity } from '../../core/identity/entity.ts'
import { deleteEntity, putEntity } from '../../core/identity/entity-changes.ts'
import { entitiesOf, namesInOrder } from '../../core/identity/entity-lists.ts'
import type { IdentityStore } from '../../core/identity/identity-store.ts'
import { refuse } from '../../errors.ts'
import type { LongLists } from '../../core/long-lists.ts'
import { type Reply, resource } from '../../http/resource.ts'
import { boolField, commaListField, kvField, stringField } from '../../lib/fields.ts'
import { atMost } from '../../lib/walks.ts'
import { entityData, entityInfo, type MountOf } from './entity-view.ts'
import { examples } from './examples.ts'
import { listRange } from './list-range.ts'

export type EntityParts = { readonly identities: IdentityStore; readonly mountOf: MountOf; readonly longLists: LongLists }

const fields = z.object({
  metadata: kvField.optional().describe('Texts by key; replaces all that were there'),
  policies: commaListField.optional().describe('Policies of every token of the entity; replaces all that were there'),
  disabled: boolField.optional().describe('Its tokens and logins are refused'),
})
const name = stringField.default('').describe('Name of the entity; without one, a generated one')
const input = fields.extend({ id: stringField.default('').describe('Id of the entity to update'), name })

const aliasOutput = z.object({ id: z.string(), name: z.string(), mount_accessor: z.string() })
/** An entity in an answer. */
export const entityOutput = z.object({
  id: z.string(),
  name: z.string(),
  metadata: z.record(z.string(), z.string()).nullable(),
  policies: z.array(z.string()),
  disabled: z.boolean(),
  namespace_id: z.string(),
  creation_time: z.string(),
  last_update_time: z.string(),
  merged_entity_ids: z.array(z.string()).nullable(),
  aliases: z.array(aliasOutput.loose()),
  group_ids: z.array(z.string()),
  direct_group_ids: z.array(z.string()),
  inherited_group_ids: z.array(z.string()),
})
const made = z.object({ id: z.string(), name: z.string(), aliases: z.null() })
const listOutput = z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), z.object({ name: z.string() }).loose()) })

/** An entity as it is read; nothing for none. */
export async function entityReply(
  { identities, mountOf }: Pick<EntityParts, 'identities' | 'mountOf'>,
  entity: Entity | undefined,
): Promise<Reply | undefined> {
  if (entity === undefined) return undefined
  return { data: entityData(entity, await identities.memberships.membershipsOf(entity.id), mountOf) }
}

/** A list by id, already cut as asked for. Written as it is walked over: of each item no more is kept than what is shown. */
export async function listed<T extends { readonly id: string }>(items: AsyncIterable<T>, infoOf: (item: T) => object): Promise<Reply | undefined> {
  const keys: string[] = []
  const infos: string[] = []
  for await (const item of items) {
    keys.push(item.id)
    infos.push(`${JSON.stringify(item.id)}:${JSON.stringify(infoOf(item))}`)
  }
  if (keys.length === 0) return undefined
  return { data: { keys }, dataText: `{"keys":${JSON.stringify(keys)},"key_info":{${infos.join(',')}}}`, paged: true }
}

/** What a rule denies by a name in a path, it denies to every name that looks alike. */
export const byName = (folder: string) => (below: string) => (below.startsWith(folder) ? folder + canonicalName(below.slice(folder.length)) : below)

const created = (entity: Entity | undefined): Reply | undefined => entity && { data: { id: entity.id, name: entity.name, aliases: null } }

/** `identity/entity*`: who is known. docs/contract/identity.md, docs/contract/identity.md#entities */
export function entityRoutes(app: FastifyInstance, parts: EntityParts): void {
  const { identities, mountOf, longLists } = parts
  const { records } = identities

  resource(app, '/entity', {
    help: 'Make an entity, or update one.',
    write: {
      summary: 'Create or update an entity',
      output: made,
      statuses: [200, 204],
      example: examples.madeEntity,
      input,
      handle: async ({ mount, input: { id, name: wanted, ...changes } }) =>
        created(await putEntity(identities, { namespace: mount.namespace, id, name: wanted, fields: changes })),
    },
  })

  resource(app, '/entity/id', {
    help: 'Ids of all entities.',
    collection: true,
    list: {
      summary: 'List entities by id',
      example: examples.entities,
      output: listOutput,
      handle: ({ mount, sent, whenGone }) => {
        const { after, limit } = listRange(sent)
        const entities = longLists.paced(entitiesOf(records, mount.namespace, after), { whenGone })
        return listed(atMost(limit, entities), (one) => entityInfo(one, mountOf))
      },
    },
  })
  resource(app, '/entity/id/:id', {
    help: 'An entity by its id.',
    read: {
      summary: 'Read an entity by its id',
      example: examples.entity,
      output: entityOutput,
      handle: async ({ mount, params }) => entityReply(parts, (await records.byId(mount.namespace, params.id))?.entity),
    },
    write: {
      summary: 'Update an entity by its id',
      output: made,
      statuses: [200, 204],
      example: examples.madeEntity,
      input: fields.extend({ name }),
      handle: async ({ mount, params, input: { name: wanted, ...changes } }) =>
        created(await putEntity(identities, { namespace: mount.namespace, id: params.id, name: wanted, fields: changes })),
    },
    delete: {
      summary: 'Delete an entity by its id',
      handle: ({ mount, params }) => removed(deleteEntity(identities, mount.namespace, { id: params.id })),
    },
  })

  resource(app, '/entity/name', {
    help: 'Names of all entities.',
    collection: true,
    list: {
      summary: 'List entities by name',
      output: z.object({ keys: z.array(z.string()) }),
      handle: async ({ mount, sent, whenGone }) => {
        const range = listRange(sent)
        return { data: { keys: await namesInOrder(longLists.paced(entitiesOf(records, mount.namespace), { whenGone }), range) }, paged: true }
      },
    },
  })
  resource(app, '/entity/name/*name', {
    help: 'An entity by its name.',
    canonical: byName('entity/name/'),
    read: {
      summary: 'Read an entity by its name',
      example: examples.entity,
      output: entityOutput,
      handle: async ({ mount, params }) => entityReply(parts, (await records.byName(mount.namespace, params.name))?.entity),
    },
    write: {
      summary: 'Create or update the entity of a name',
      output: made,
      statuses: [200, 204],
      example: examples.madeEntity,
      input: fields,
      handle: async ({ mount, params, input: changes }) => {
        if (canonicalName(params.name) === '') throw refuse('invalid', 'empty entity name')
        return created(await putEntity(identities, { namespace: mount.namespace, id: '', name: params.name, fields: changes }))
      },
    },
    delete: {
      summary: 'Delete an entity by its name',
      handle: ({ mount, params }) => removed(deleteEntity(identities, mount.namespace, { name: params.name })),
    },
  })

  resource(app, '/entity/batch-delete', {
    help: 'Delete several entities.',
    write: {
      summary: 'Delete several entities',
      required: ['entity_ids'],
      input: z.object({ entity_ids: commaListField.default([]).describe('Ids of the entities') }),
      handle: async ({ mount, input: { entity_ids } }) => {
        const ids = new Set(entity_ids)
        if (ids.size === 0) throw refuse('invalid', 'missing entity ids to delete')
        for (const id of ids) {
          await deleteEntity(identities, mount.namespace, { id })
          await nextTurn()
        }
        return undefined
      },
    },
  })
}

async function removed(work: Promise<void>): Promise<undefined> {
  await work
}
