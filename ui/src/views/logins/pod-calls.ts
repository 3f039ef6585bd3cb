import * as v from 'valibot'
import { defineCall } from '../../api/client.ts'

export const podStatus = defineCall(
  'get',
  '/auth/{kubernetes_mount_path}/status',
  v.object({
    data: v.object({
      ok: v.boolean(),
      verification: v.string(),
      host: v.string(),
      reviewer: v.string(),
      ca: v.string(),
      problems: v.array(v.string()),
      last_review: v.nullish(
        v.object({ time: v.string(), ok: v.boolean(), reason: v.string(), text: v.string() }),
      ),
      keys: v.array(v.string()),
    }),
  }),
)

export const writePodRole = defineCall(
  'post',
  '/auth/{kubernetes_mount_path}/role/{name}',
  v.union([v.undefined(), v.object({ warnings: v.nullable(v.array(v.string())) })]),
)
