import * as v from 'valibot'
import { defineCall } from './client.ts'

const mount = v.object({
  type: v.string(),
  /** Without a token, it is not shown. */
  accessor: v.optional(v.string()),
  description: v.string(),
  options: v.nullish(v.record(v.string(), v.string())),
})

/** Without a token, only the mounts that are shown to everyone. */
export const visibleMounts = defineCall(
  'get',
  '/sys/internal/ui/mounts',
  v.object({ data: v.object({ auth: v.record(v.string(), mount), secret: v.record(v.string(), mount) }) }),
)

export type Mounts = Awaited<ReturnType<typeof visibleMounts>>['data']

/** Below the present one; with `scan`, at any depth. */
export const namespacesBelow = defineCall(
  'get',
  '/sys/namespaces',
  v.object({ data: v.object({ keys: v.array(v.string()) }) }),
)

/** Those one level below in which the token may do anything. */
export const shownNamespaces = defineCall(
  'get',
  '/sys/internal/ui/namespaces',
  v.object({ data: v.object({ keys: v.array(v.string()) }) }),
)

export const capabilitiesSelf = defineCall(
  'post',
  '/sys/capabilities-self',
  v.object({ data: v.record(v.string(), v.array(v.string())) }),
)

export const resultantAcl = defineCall(
  'get',
  '/sys/internal/ui/resultant-acl',
  v.object({
    data: v.object({
      root: v.boolean(),
      exact_paths: v.optional(v.record(v.string(), v.unknown())),
      glob_paths: v.optional(v.record(v.string(), v.unknown())),
    }),
  }),
)

const seal = v.object({
  sealed: v.boolean(),
  initialized: v.boolean(),
  type: v.string(),
  /** How many shares unseal it, of how many, and how many of them it has. */
  t: v.number(),
  n: v.number(),
  progress: v.number(),
})

export type SealStatus = v.InferOutput<typeof seal>

export const sealStatus = defineCall('get', '/sys/seal-status', seal)
