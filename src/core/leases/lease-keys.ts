import { isIrrevocable, type Lease, type LeaseRef } from './lease.ts'

/**
 * Where leases lie in the core's view. A lease is a record and its rows: under its owners, and one in the schedule. The schedule is in order of time, a lane
 * for each mount, so that what is due is found without looking at anything else, and a mount that hangs is in nobody's way.
 */
export const leasePrefix = 'lease/'
export const leaseKey = ({ namespace, id }: LeaseRef): string => `${leasePrefix}${namespace}/${id}`

export const ownersPrefix = 'lease-owner/'
export const ownerPrefix = (owner: string): string => `${ownersPrefix}${owner}/`
/** Owner beside the token: the person whose batch token asked for the lease. */
export const entityOwner = (entityId: string): string => `${entityMark}${entityId}`
export const isEntityOwner = (owner: string): boolean => owner.startsWith(entityMark)
const entityMark = 'entity-'
/** The rows a lease has under its owners. */
export function ownerKeys({ owner, entity, namespace, id }: Lease): string[] {
  const owners = [...(owner === '' ? [] : [owner]), ...(entity === undefined ? [] : [entityOwner(entity)])]
  return owners.map((one) => `${ownerPrefix(one)}${namespace}/${id}`)
}

/** The lanes: leases that end, and leases whose revocation failed. */
export const lanes = ['lease-due/', 'lease-retry/'] as const
export const [duePrefix, retryPrefix] = lanes
export const lanePrefix = (lane: string, mountAccessor: string): string => `${lane}${mountAccessor}/`

/** In order of expire time, all mounts together. */
export const irrevocablePrefix = 'lease-irrevocable/'

/** When a lease is to be worked on next; of an irrevocable one, its end. */
export const scheduledAt = (lease: Lease): number =>
  isIrrevocable(lease) ? lease.expire_time : (lease.retry?.at ?? (lease.ended ? 0 : lease.expire_time))

/** The one row of the schedule a lease has. */
export function scheduleKey(lease: Lease): string {
  const prefix = isIrrevocable(lease) ? irrevocablePrefix : lanePrefix(lease.retry === undefined ? duePrefix : retryPrefix, lease.mount_accessor)
  return `${prefix}${timeText(scheduledAt(lease))}/${lease.namespace}/${lease.id}`
}

/** Every time a clock can show has room in the digits; one before 1970 counts as its first moment. */
export const timeText = (ms: number): string => String(Math.max(0, Math.round(ms))).padStart(timeDigits, '0')
const timeDigits = 16

/** `<time>/<namespace>/<id>`, the end of a row of the schedule. */
export function readScheduled(text: string): LeaseRef & { readonly time: number } {
  return { time: Number(text.slice(0, timeDigits)), ...readRef(text.slice(timeDigits + 1)) }
}

/** `<namespace>/<id>`, the end of every key. */
export function readRef(text: string): LeaseRef {
  const slash = text.indexOf('/')
  return { namespace: text.slice(0, slash), id: text.slice(slash + 1) }
}

/** Sorts behind everything that begins with `prefix`: no path holds this character, which is none. */
export const behind = (prefix: string): string => `${prefix}\u{10ffff}`
