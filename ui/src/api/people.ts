import * as v from 'valibot'
import { defineCall } from './client.ts'

const texts = v.array(v.string())

export const listEntities = defineCall(
  'list',
  '/identity/entity/id',
  v.object({
    data: v.object({
      keys: texts,
      key_info: v.record(
        v.string(),
        v.object({ name: v.string(), aliases: v.optional(v.array(v.object({ name: v.string() }))) }),
      ),
    }),
  }),
)

export const listGroups = defineCall(
  'list',
  '/identity/group/id',
  v.object({
    data: v.object({ keys: texts, key_info: v.record(v.string(), v.object({ name: v.string() })) }),
  }),
)

export const listPolicies = defineCall(
  'list',
  '/sys/policies/acl',
  v.object({ data: v.object({ keys: texts }) }),
)

/** An entity as far as its names go. */
export const readPerson = defineCall(
  'get',
  '/identity/entity/id/{id}',
  v.object({ data: v.object({ name: v.string(), aliases: v.array(v.object({ name: v.string() })) }) }),
)

export const readGroup = defineCall(
  'get',
  '/identity/group/id/{id}',
  v.object({ data: v.object({ member_entity_ids: v.nullable(texts), member_group_ids: v.nullable(texts) }) }),
)

export const groupName = defineCall(
  'get',
  '/identity/group/id/{id}',
  v.object({ data: v.object({ name: v.string() }) }),
)

export const entityGroups = defineCall(
  'get',
  '/identity/entity/id/{id}',
  v.object({ data: v.object({ group_ids: texts }) }),
)
