import * as v from 'valibot'
import { defineCall } from '../../api/client.ts'

const none = v.undefined()
const names = v.object({ data: v.object({ keys: v.array(v.string()) }) })

export type Values = Readonly<Record<string, unknown>>

/** How the server makes values of fields: docs/contract/kv.md#generated-values. */
export type Generate = Readonly<Record<string, Made>>

/** How one value is made; with `keep`, only if the current version has none. */
export type Made = { readonly keep?: true } & (
  | { readonly length: number; readonly charset: Charset }
  | { readonly policy: string }
)

export type Charset = 'alnum' | 'ascii' | 'hex' | 'base64url' | 'digits'

/** Not a schema for records, which would leave out fields such as `constructor`. */
const values = v.custom<Values>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)

const version = v.object({
  version: v.number(),
  created_time: v.string(),
  deletion_time: v.string(),
  destroyed: v.boolean(),
})

export const readSecret = defineCall(
  'get',
  '/{kv-v2_mount_path}/data/{path}',
  v.object({ data: v.object({ data: v.nullish(values), metadata: version }) }),
)
export const writeSecret = defineCall(
  'post',
  '/{kv-v2_mount_path}/data/{path}',
  v.object({ data: v.object({ version: v.number() }) }),
)
export const deleteCurrent = defineCall('delete', '/{kv-v2_mount_path}/data/{path}', none)
export const undeleteVersions = defineCall('post', '/{kv-v2_mount_path}/undelete/{path}', none)
export const destroyVersions = defineCall('post', '/{kv-v2_mount_path}/destroy/{path}', none)
export const restoreVersion = defineCall(
  'post',
  '/{kv-v2_mount_path}/restore/{path}',
  v.object({ data: v.object({ version: v.number() }) }),
)

const actor = v.object({ actor: v.string() })

export const readMetadata = defineCall(
  'get',
  '/{kv-v2_mount_path}/metadata/{path}',
  v.object({
    data: v.object({
      cas_required: v.boolean(),
      created_time: v.string(),
      updated_time: v.string(),
      current_version: v.number(),
      current_metadata_version: v.number(),
      max_versions: v.number(),
      delete_version_after: v.string(),
      effective_delete_version_after: v.string(),
      custom_metadata: v.nullish(v.record(v.string(), v.string())),
      last_updated_by: actor,
      versions: v.record(
        v.string(),
        v.object({
          created_time: v.string(),
          deletion_time: v.string(),
          destroyed: v.boolean(),
          created_by: actor,
        }),
      ),
    }),
  }),
)

export type Metadata = Awaited<ReturnType<typeof readMetadata>>['data']

export const writeMetadata = defineCall(
  'post',
  '/{kv-v2_mount_path}/metadata/{path}',
  v.union([none, v.object({ warnings: v.nullable(v.array(v.string())) })]),
)
export const deleteSecret = defineCall('delete', '/{kv-v2_mount_path}/metadata/{path}', none)
export const listNames = defineCall('list', '/{kv-v2_mount_path}/metadata/{path}/', names)

export const readFirst = defineCall('get', '/{kv_mount_path}/{path}', v.object({ data: values }))
export const writeFirst = defineCall('post', '/{kv_mount_path}/{path}', none)
export const deleteFirst = defineCall('delete', '/{kv_mount_path}/{path}', none)
export const listFirst = defineCall('list', '/{kv_mount_path}/{path}/', names)
