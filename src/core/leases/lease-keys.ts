import { isIrrevocable, type Lease, type LeaseRef } from './lease.ts'

/**
 * Keys of leases in the core's view. A lease has a record, one row under each owner and one row in the
 * schedule. The schedule has a lane for each mount, ordered by time, so that due leases are found without
 * reading others, and a mount that hangs does not block other mounts.
 */
export const leasePrefix = 'lease/'
export const leaseKey = ({ namespace, id }: LeaseRef): string => `${leasePrefix}${namespace}/${id}`

export const ownersPrefix = 'lease-owner/'
export const ownerPrefix = (owner: string): string => `${ownersPrefix}${owner}/`
/** A second owner in addition to the token: the entity whose batch token requested the lease. */
export const entityOwner = (entityId: string): string => `${entityMark}${entityId}`
export const isEntityOwner = (owner: string): boolean => owner.startsWith(entityMark)
const entityMark = 'entity-'
/** The rows a lease has under its owners. */
export function ownerKeys({ owner, entity, namespace, id }: Lease): string[] {
  const owners = [...(owner === '' ? [] : [owner]), ...(entity === undefined ? [] : [entityOwner(entity)])]
  return owners.map((one) => `${ownerPrefix(one)}${namespace}/${id}`)
}

/** The kinds of lanes: leases that expire, and leases whose revocation failed. */
export const lanes = ['lease-due/', 'lease-retry/'] as const
export const [duePrefix, retryPrefix] = lanes
export const lanePrefix = (lane: string, mountAccessor: string): string => `${lane}${mountAccessor}/`

/** Ordered by expiry time, all mounts together. */
export const irrevocablePrefix = 'lease-irrevocable/'

/** When a lease is due next; for an irrevocable lease, when it ended. */
export const scheduledAt = (lease: Lease): number =>
  isIrrevocable(lease) ? lease.expire_time : (lease.retry?.at ?? (lease.ended ? 0 : lease.expire_time))

/** Key of the lease's row in the schedule. */
export function scheduleKey(lease: Lease): string {
  const prefix = isIrrevocable(lease)
    ? irrevocablePrefix
    : lanePrefix(lease.retry === undefined ? duePrefix : retryPrefix, lease.mount_accessor)
  return `${prefix}${timeText(scheduledAt(lease))}/${lease.namespace}/${lease.id}`
}

/** A time as sortable text: 16 digits hold every time of a JavaScript Date; a time before 1970 becomes 0. */
const timeText = (ms: number): string => String(Math.max(0, Math.round(ms))).padStart(timeDigits, '0')
const timeDigits = 16
/** The rows of leases that were ended before their time. */
export const endedRows = `${timeText(0)}/`

/** Parses `<time>/<namespace>/<id>`, the end of a schedule key. */
export function readScheduled(text: string): LeaseRef & { readonly time: number } {
  return { time: Number(text.slice(0, timeDigits)), ...readRef(text.slice(timeDigits + 1)) }
}

/** Parses `<namespace>/<id>`, the end of every key. */
export function readRef(text: string): LeaseRef {
  const slash = text.indexOf('/')
  return { namespace: text.slice(0, slash), id: text.slice(slash + 1) }
}
