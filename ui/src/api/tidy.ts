import * as v from 'valibot'
import { defineCall } from './client.ts'

/** The server says whether it has begun, or is at it. */
const begun = v.object({ warnings: v.nullable(v.array(v.string())) })

export const tidyTokens = defineCall('post', '/auth/token/tidy', begun)
export const tidyLeases = defineCall('post', '/sys/leases/tidy', begun)
export const tidySecretIds = defineCall('post', '/auth/{approle_mount_path}/tidy/secret-id', begun)

export const tidyEntities = defineCall(
  'post',
  '/identity/tidy',
  v.object({
    data: v.object({
      count: v.number(),
      sample: v.array(v.object({ id: v.string(), name: v.string(), last_login_day: v.string() })),
    }),
    warnings: v.nullable(v.array(v.string())),
  }),
)
