import * as v from 'valibot'
import { defineCall } from '../../api/client.ts'

const none = v.undefined()
const names = v.array(v.string())

export const listUsers = defineCall(
  'list',
  '/auth/{userpass_mount_path}/users',
  v.object({ data: v.object({ keys: names }) }),
)
export const readUser = defineCall(
  'get',
  '/auth/{userpass_mount_path}/users/{username}',
  v.object({ data: v.record(v.string(), v.unknown()) }),
)
export const writeUser = defineCall('post', '/auth/{userpass_mount_path}/users/{username}', none)
export const deleteUser = defineCall('delete', '/auth/{userpass_mount_path}/users/{username}', none)
export const setPassword = defineCall('post', '/auth/{userpass_mount_path}/users/{username}/password', none)
export const setPolicies = defineCall('post', '/auth/{userpass_mount_path}/users/{username}/policies', none)

export const lockedUsers = defineCall(
  'get',
  '/sys/locked-users',
  v.object({
    data: v.object({
      by_namespace: v.array(
        v.object({
          mount_accessors: v.array(
            v.object({ mount_accessor: v.string(), alias_identifiers: v.nullable(names) }),
          ),
        }),
      ),
    }),
  }),
)
export const unlockUser = defineCall('post', '/sys/locked-users/{mount_accessor}/unlock/{name}', none)
