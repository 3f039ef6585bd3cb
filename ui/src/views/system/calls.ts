import * as v from 'valibot'
import { defineCall } from '../../api/client.ts'

const none = v.undefined()
const names = v.array(v.string())

const mount = v.object({
  type: v.string(),
  description: v.string(),
  accessor: v.string(),
  config: v.object({
    default_lease_ttl: v.number(),
    max_lease_ttl: v.number(),
    listing_visibility: v.optional(v.string()),
  }),
  options: v.nullish(v.record(v.string(), v.string())),
})

export type Mount = v.InferOutput<typeof mount>

const mounts = v.object({ data: v.record(v.string(), mount) })

export const secretMounts = defineCall('get', '/sys/mounts', mounts)
export const authMounts = defineCall('get', '/sys/auth', mounts)
export const enableSecrets = defineCall('post', '/sys/mounts/{path}', none)
export const enableAuth = defineCall('post', '/sys/auth/{path}', none)
export const disableSecrets = defineCall('delete', '/sys/mounts/{path}', none)
export const disableAuth = defineCall('delete', '/sys/auth/{path}', none)
export const tuneSecrets = defineCall('post', '/sys/mounts/{path}/tune', v.unknown())

export const move = defineCall(
  'post',
  '/sys/remount',
  v.object({ data: v.object({ migration_id: v.string() }) }),
)
export const moveStatus = defineCall(
  'get',
  '/sys/remount/status/{migration_id}',
  v.object({ data: v.object({ migration_info: v.object({ status: v.string() }) }) }),
)

export const listNamespaces = defineCall(
  'list',
  '/sys/namespaces',
  v.object({
    data: v.object({ keys: names, key_info: v.record(v.string(), v.object({ tainted: v.boolean() })) }),
  }),
)
export const createNamespace = defineCall('post', '/sys/namespaces/{path}', v.unknown())
export const deleteNamespace = defineCall('delete', '/sys/namespaces/{path}', v.unknown())

export const health = defineCall(
  'get',
  '/sys/health',
  v.object({
    version: v.string(),
    gatehouse_version: v.optional(v.string()),
    cluster_name: v.optional(v.string()),
    sealed: v.boolean(),
    standby: v.boolean(),
  }),
)
export const keyStatus = defineCall(
  'get',
  '/sys/key-status',
  v.object({ data: v.object({ term: v.number(), install_time: v.string(), encryptions: v.number() }) }),
)
export const rotate = defineCall('post', '/sys/rotate', v.unknown())
export const seal = defineCall('post', '/sys/seal', v.unknown())

export const auditDevices = defineCall(
  'get',
  '/sys/audit',
  v.object({
    data: v.record(
      v.string(),
      v.object({ type: v.string(), description: v.string(), options: v.record(v.string(), v.string()) }),
    ),
  }),
)
export const listRateLimits = defineCall(
  'list',
  '/sys/quotas/rate-limit',
  v.object({ data: v.object({ keys: names }) }),
)
export const readRateLimit = defineCall(
  'get',
  '/sys/quotas/rate-limit/{name}',
  v.object({
    data: v.object({
      name: v.string(),
      path: v.string(),
      role: v.string(),
      rate: v.number(),
      interval: v.number(),
      block_interval: v.number(),
    }),
  }),
)

export const writeRateLimit = defineCall('post', '/sys/quotas/rate-limit/{name}', none)
export const deleteRateLimit = defineCall('delete', '/sys/quotas/rate-limit/{name}', none)
export const enableAudit = defineCall('post', '/sys/audit/{path}', none)
export const disableAudit = defineCall('delete', '/sys/audit/{path}', none)
