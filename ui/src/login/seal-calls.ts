import * as v from 'valibot'
import { defineCall } from '../api/client.ts'

const keys = v.optional(v.array(v.string()))

const made = v.object({
  keys,
  keys_base64: keys,
  recovery_keys: keys,
  recovery_keys_base64: keys,
  root_token: v.optional(v.string()),
})

export type MadeKeys = v.InferOutput<typeof made>

export const initialize = defineCall('post', '/sys/init', made)
export const unseal = defineCall('post', '/sys/unseal', v.object({ sealed: v.boolean() }))
