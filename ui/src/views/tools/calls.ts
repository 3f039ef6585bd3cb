import * as v from 'valibot'
import { defineCall } from '../../api/client.ts'

export const wrap = defineCall(
  'post',
  '/sys/wrapping/wrap',
  v.object({ wrap_info: v.object({ token: v.string(), ttl: v.number(), creation_time: v.string() }) }),
)
/** Whatever was wrapped: the response of any call. */
export const unwrap = defineCall(
  'post',
  '/sys/wrapping/unwrap',
  v.object({ data: v.nullish(v.unknown()), auth: v.nullish(v.unknown()) }),
)
export const lookUp = defineCall(
  'post',
  '/sys/wrapping/lookup',
  v.object({
    data: v.object({ creation_path: v.string(), creation_time: v.string(), creation_ttl: v.number() }),
  }),
)
export const randomBytes = defineCall(
  'post',
  '/sys/tools/random',
  v.object({ data: v.object({ random_bytes: v.string() }) }),
)
export const hash = defineCall('post', '/sys/tools/hash', v.object({ data: v.object({ sum: v.string() }) }))
