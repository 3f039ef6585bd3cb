import * as v from 'valibot'
import { defineCall } from './client.ts'

const strings = v.array(v.string())

const login = v.object({ auth: v.object({ client_token: v.string() }) })

export const lookupSelf = defineCall(
  'get',
  '/auth/token/lookup-self',
  v.object({
    data: v.object({
      display_name: v.string(),
      policies: strings,
      identity_policies: v.optional(strings),
      entity_id: v.string(),
      accessor: v.string(),
      path: v.string(),
      ttl: v.number(),
      expire_time: v.nullable(v.string()),
      renewable: v.optional(v.boolean()),
      type: v.string(),
      num_uses: v.number(),
      namespace_path: v.optional(v.string()),
      meta: v.nullish(v.record(v.string(), v.string())),
    }),
  }),
)

export type Self = Awaited<ReturnType<typeof lookupSelf>>['data']

export const renewSelf = defineCall('post', '/auth/token/renew-self', v.object({ auth: v.object({}) }))
export const revokeSelf = defineCall('post', '/auth/token/revoke-self', v.undefined())

export const userpassLogin = defineCall('post', '/auth/{userpass_mount_path}/login/{username}', login)
export const approleLogin = defineCall('post', '/auth/{approle_mount_path}/login', login)
export const jwtLogin = defineCall('post', '/auth/{jwt_mount_path}/login', login)
export const oidcCallback = defineCall('get', '/auth/{jwt_mount_path}/oidc/callback', login)
export const authUrl = defineCall(
  'post',
  '/auth/{jwt_mount_path}/oidc/auth_url',
  v.object({ data: v.object({ auth_url: v.string() }), warnings: v.nullable(strings) }),
)
