import * as v from 'valibot'
import { defineCall } from './client.ts'
import { withEnd } from './clock.ts'
import { keysOf } from './errors.ts'

export const listLeases = defineCall(
  'list',
  '/sys/leases/lookup/{path}',
  v.object({ data: v.object({ keys: v.array(v.string()) }) }),
)

/** The ids of all leases below a prefix: those of one folder at a time. */
export async function* leasesBelow(prefix: string, signal: AbortSignal): AsyncGenerator<readonly string[]> {
  const prefixes = [prefix]
  for (let path = prefixes.pop(); path !== undefined; path = prefixes.pop()) {
    const names = (await keysOf(listLeases({ params: { path } }, { signal }))).map((name) => `${path}${name}`)
    prefixes.push(...names.filter(isFolder))
    yield names.filter((name) => !isFolder(name))
  }
}

const isFolder = (name: string): boolean => name.endsWith('/')

export const lookUpLease = defineCall(
  'post',
  '/sys/leases/lookup',
  v.object({
    data: v.object({
      id: v.string(),
      path: v.string(),
      issue_time: v.string(),
      expire_time: v.nullable(v.string()),
      last_renewal: v.nullable(v.string()),
      renewable: v.boolean(),
      ttl: v.number(),
      entity_id: v.optional(v.string()),
      revoke_error: v.optional(v.string()),
    }),
  }),
)

/** A lease, with its end in the server's time. */
export const leaseWithEnd = async (id: string, signal: AbortSignal) =>
  withEnd((await lookUpLease({ body: { lease_id: id } }, { signal })).data)

export const renewLease = defineCall('post', '/sys/leases/renew', v.object({ lease_duration: v.number() }))
export const revokeLease = defineCall('post', '/sys/leases/revoke', v.unknown())
export const revokePrefix = defineCall('post', '/sys/leases/revoke-prefix/{path}', v.unknown())

export const irrevocableLeases = defineCall(
  'get',
  '/sys/leases',
  v.object({
    data: v.object({
      lease_count: v.number(),
      leases: v.array(v.object({ lease_id: v.string(), error: v.string() })),
    }),
  }),
)
