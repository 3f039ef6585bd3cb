import * as v from 'valibot'
import { defineCall } from '../../api/client.ts'

const none = v.undefined()
const warned = v.union([none, v.object({ warnings: v.nullable(v.array(v.string())) })])
const names = v.array(v.string())
const notes = v.nullish(v.record(v.string(), v.string()))

const policy = v.object({
  name: v.string(),
  policy: v.string(),
  version: v.optional(v.number()),
  cas_required: v.optional(v.boolean()),
  expiration: v.optional(v.string()),
  allow_slashes_in_identity_templates: v.optional(v.boolean()),
  allow_wildcards_in_identity_templates: v.optional(v.boolean()),
})
export type StoredPolicy = v.InferOutput<typeof policy>
export const readPolicy = defineCall('get', '/sys/policies/acl/{path}', v.object({ data: policy }))
export const writePolicy = defineCall('post', '/sys/policies/acl/{path}', warned)
export const deletePolicy = defineCall('delete', '/sys/policies/acl/{path}', none)

const rule = v.object({ path: v.string(), capabilities: names, policies: names })

export const explain = defineCall(
  'post',
  '/sys/policies/explain',
  v.object({
    data: v.object({
      allowed: v.boolean(),
      sudo: v.boolean(),
      reason: v.picklist(['root', 'granted', 'no_rule', 'denied', 'not_granted', 'withheld']),
      rule: v.nullish(rule),
      others: v.array(rule),
    }),
  }),
)

export const tryPolicy = defineCall(
  'post',
  '/sys/policies/acl/{name}/what-if',
  v.object({
    data: v.object({
      days: v.number(),
      uses: v.number(),
      lose: v.number(),
      gain: v.number(),
      changes: v.array(
        v.object({
          entity_id: v.string(),
          path: v.string(),
          operation: v.string(),
          after: v.picklist(['allowed', 'denied']),
        }),
      ),
    }),
    warnings: v.nullable(names),
  }),
)

const table = v.object({ data: v.record(v.string(), v.object({ options: notes })) })

export const secretsTable = defineCall('get', '/sys/mounts', table)
export const authTable = defineCall('get', '/sys/auth', table)

export const createToken = defineCall(
  'post',
  '/auth/token/create',
  v.object({
    auth: v.object({ client_token: v.string(), accessor: v.string() }),
    warnings: v.nullable(v.array(v.string())),
  }),
)

const token = v.object({
  accessor: v.string(),
  policies: names,
  identity_policies: v.optional(names),
  path: v.string(),
  display_name: v.string(),
  type: v.string(),
  ttl: v.number(),
  expire_time: v.nullable(v.string()),
  orphan: v.boolean(),
  entity_id: v.string(),
  num_uses: v.number(),
  creation_time: v.number(),
})

export type TokenFacts = v.InferOutput<typeof token>

export const lookUpAccessor = defineCall('post', '/auth/token/lookup-accessor', v.object({ data: token }))
export const revokeAccessor = defineCall('post', '/auth/token/revoke-accessor', warned)

/** With `detailed`. */
const listedToken = v.object({
  accessor: v.string(),
  display_name: v.string(),
  path: v.string(),
  policies: names,
  entity_id: v.string(),
  creation_time: v.number(),
  expire_time: v.nullable(v.string()),
  ttl: v.number(),
  num_uses: v.number(),
})

export const listTokens = defineCall(
  'list',
  '/auth/token/accessors',
  v.object({ data: v.object({ keys: names, tokens: v.optional(v.array(listedToken)) }) }),
)
export const revokeTokensOf = defineCall('post', '/identity/entity/id/{id}/revoke-tokens', none)

export const readEntity = defineCall(
  'get',
  '/identity/entity/id/{id}',
  v.object({
    data: v.object({
      id: v.string(),
      name: v.string(),
      policies: names,
      metadata: notes,
      disabled: v.boolean(),
      creation_time: v.string(),
      last_update_time: v.string(),
      aliases: v.array(
        v.object({
          id: v.string(),
          name: v.string(),
          mount_accessor: v.string(),
          mount_path: v.optional(v.string()),
        }),
      ),
      group_ids: names,
    }),
  }),
)
export const writeEntity = defineCall('post', '/identity/entity/id/{id}', v.unknown())
export const deleteEntity = defineCall('delete', '/identity/entity/id/{id}', none)

export const readGroup = defineCall(
  'get',
  '/identity/group/id/{id}',
  v.object({
    data: v.object({
      id: v.string(),
      name: v.string(),
      type: v.string(),
      policies: v.nullable(names),
      metadata: notes,
      member_entity_ids: v.nullable(names),
      member_group_ids: v.nullable(names),
      parent_group_ids: v.nullable(names),
      creation_time: v.string(),
    }),
  }),
)
export const deleteGroup = defineCall('delete', '/identity/group/id/{id}', none)

const made = v.object({ data: v.object({ id: v.string() }) })

export const createEntity = defineCall('post', '/identity/entity', v.union([made, none]))
export const createGroup = defineCall('post', '/identity/group', v.union([made, none]))
export const writeGroup = defineCall('post', '/identity/group/id/{id}', none)
