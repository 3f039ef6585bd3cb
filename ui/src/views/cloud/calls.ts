import * as v from 'valibot'
import { defineCall } from '../../api/client.ts'

const anything = v.object({ data: v.record(v.string(), v.unknown()) })

export const listRoles = defineCall(
  'list',
  '/{cloud_mount_path}/roles',
  v.object({ data: v.object({ keys: v.array(v.string()) }) }),
)
export const readRole = defineCall('get', '/{cloud_mount_path}/roles/{name}', anything)
export const writeRole = defineCall('post', '/{cloud_mount_path}/roles/{name}', v.unknown())
/** The same under Azure's names. */
export const writeAzureRole = defineCall('post', '/{azure_mount_path}/roles/{name}', v.unknown())
export const deleteRole = defineCall(
  'delete',
  '/{cloud_mount_path}/roles/{name}',
  v.optional(v.object({ warnings: v.nullable(v.array(v.string())) })),
)

const issued = v.object({
  lease_id: v.string(),
  lease_duration: v.number(),
  renewable: v.boolean(),
  warnings: v.nullable(v.array(v.string())),
  data: v.object({
    client_id: v.string(),
    client_secret: v.optional(v.string()),
    certificate: v.optional(v.string()),
    private_key: v.optional(v.string()),
    client_assertion: v.optional(v.string()),
    token_endpoint: v.optional(v.string()),
    tenant_id: v.optional(v.string()),
    expires_in: v.optional(v.number()),
  }),
})

export type Issued = v.InferOutput<typeof issued>

export const getCredentials = defineCall('get', '/{cloud_mount_path}/creds/{name}', issued)

const pool = v.object({
  role: v.string(),
  size: v.number(),
  ready: v.number(),
  oldest: v.nullable(v.string()),
  error: v.string(),
  retry_at: v.nullable(v.string()),
})

/** The credentials of a role that are made ahead. */
export type Pool = v.InferOutput<typeof pool>

export const readPools = defineCall(
  'get',
  '/{cloud_mount_path}/pool',
  v.object({ data: v.object({ idle: v.number(), wanted: v.number(), roles: v.array(pool) }) }),
)

export const readConfig = defineCall('get', '/{cloud_mount_path}/config', anything)
export const readIdentity = defineCall(
  'get',
  '/{cloud_mount_path}/config/identity',
  v.object({
    data: v.object({
      auth_type: v.string(),
      issuer: v.string(),
      subject: v.string(),
      role_subject: v.string(),
      audience: v.string(),
      jwks_uri: v.string(),
      client_id: v.string(),
      commands: v.array(v.string()),
    }),
  }),
)
export const writeConfig = defineCall(
  'post',
  '/{cloud_mount_path}/config',
  v.optional(v.object({ warnings: v.nullable(v.array(v.string())) })),
)
export const rotateRoot = defineCall(
  'post',
  '/{cloud_mount_path}/rotate-root',
  v.optional(v.object({ warnings: v.nullable(v.array(v.string())) })),
)

const check = v.object({ name: v.string(), ok: v.boolean(), detail: v.string(), fix: v.string() })

export const checkConfig = defineCall(
  'get',
  '/{cloud_mount_path}/config/check',
  v.object({ data: v.object({ ok: v.boolean(), checks: v.array(check) }) }),
)

const debris = v.object({
  kind: v.string(),
  id: v.string(),
  name: v.string(),
  since: v.string(),
  tries: v.number(),
  error: v.string(),
})

export type Debris = v.InferOutput<typeof debris>

export const listDebris = defineCall(
  'get',
  '/{cloud_mount_path}/debris',
  v.object({ data: v.object({ objects: v.array(debris) }) }),
)

const unowned = v.object({
  kind: v.string(),
  id: v.string(),
  name: v.string(),
  created: v.nullable(v.string()),
  reason: v.string(),
})

export type Unowned = v.InferOutput<typeof unowned>

export const reap = defineCall(
  'post',
  '/{cloud_mount_path}/reap',
  v.object({ data: v.object({ objects: v.array(unowned), deleted: v.number() }) }),
)

export const whoIs = defineCall(
  'get',
  '/{cloud_mount_path}/whois/{client_id}',
  v.object({
    data: v.object({
      lease_id: v.string(),
      role: v.string(),
      entity_id: v.string(),
      display_name: v.string(),
      issue_time: v.string(),
      expire_time: v.string(),
    }),
  }),
)

const accessToken = v.object({ data: v.object({ access_token: v.string(), expires_in: v.number() }) })

export const roleToken = defineCall('post', '/{cloud_mount_path}/token/{name}', accessToken)

const texts = v.array(v.string())
const staticRole = v.object({
  application_object_id: v.string(),
  allowed_scopes: texts,
  disable_automated_rotation: v.boolean(),
  last_error: v.string(),
  last_vault_rotation: v.string(),
  metadata: v.nullish(v.record(v.string(), v.string())),
  next_vault_rotation: v.string(),
  rotation_grace_period: v.number(),
  rotation_period: v.number(),
  rotation_schedule: v.string(),
  rotation_window: v.number(),
})

export type StaticRoleFacts = v.InferOutput<typeof staticRole>

export const listStaticRoles = defineCall(
  'list',
  '/{cloud_mount_path}/static-roles',
  v.object({ data: v.object({ keys: texts }) }),
)
export const readStaticRole = defineCall(
  'get',
  '/{cloud_mount_path}/static-roles/{name}',
  v.object({ data: staticRole }),
)
export const deleteStaticRole = defineCall('delete', '/{cloud_mount_path}/static-roles/{name}', v.unknown())
export const rotateStaticRole = defineCall('post', '/{cloud_mount_path}/rotate-role/{name}', v.undefined())
export const readStaticPassword = defineCall(
  'get',
  '/{cloud_mount_path}/static-creds/{name}',
  v.object({
    data: v.object({
      client_id: v.string(),
      client_secret: v.string(),
      secret_id: v.string(),
      expiration: v.string(),
      previous_expiration: v.optional(v.string()),
    }),
  }),
)
export const staticToken = defineCall('post', '/{cloud_mount_path}/static-creds/{name}/token', accessToken)
