import * as v from 'valibot'
import { defineCall } from '../../api/client.ts'

const none = v.undefined()
const listed = v.object({ data: v.object({ keys: v.array(v.string()) }) })
const fields = v.object({ data: v.record(v.string(), v.unknown()) })
const warned = v.union([none, v.object({ warnings: v.nullable(v.array(v.string())) })])

export const listAppRoles = defineCall('list', '/auth/{approle_mount_path}/role', listed)
export const readAppRole = defineCall('get', '/auth/{approle_mount_path}/role/{role_name}', fields)
export const writeAppRole = defineCall('post', '/auth/{approle_mount_path}/role/{role_name}', warned)
export const deleteAppRole = defineCall('delete', '/auth/{approle_mount_path}/role/{role_name}', none)
export const readRoleId = defineCall(
  'get',
  '/auth/{approle_mount_path}/role/{role_name}/role-id',
  v.object({ data: v.object({ role_id: v.optional(v.string()) }) }),
)

export const listSecretIds = defineCall(
  'list',
  '/auth/{approle_mount_path}/role/{role_name}/secret-id',
  listed,
)
export const createSecretId = defineCall(
  'post',
  '/auth/{approle_mount_path}/role/{role_name}/secret-id',
  v.object({
    data: v.object({ secret_id: v.string(), secret_id_accessor: v.string(), secret_id_ttl: v.number() }),
  }),
)
export const lookUpSecretId = defineCall(
  'post',
  '/auth/{approle_mount_path}/role/{role_name}/secret-id-accessor/lookup',
  fields,
)
export const destroySecretId = defineCall(
  'post',
  '/auth/{approle_mount_path}/role/{role_name}/secret-id-accessor/destroy',
  none,
)
