import { z } from 'zod'
import { recordReader } from '../../../core/records/stored-record.ts'
import { textMap } from '../../../lib/data/text-map.ts'
import { dueTime } from '../root-rotation/next-step.ts'

const currentPassword = z.object({
  key_id: z.string(),
  /** Absent if the password was imported without its text. */
  client_secret: z.string().exactOptional(),
  /** RFC 3339. */
  expiration: z.string(),
})

/** The password before the current one. It is removed at `until`, in milliseconds since the epoch. */
const formerPassword = z.object({ key_id: z.string(), until: z.number() })

const storedStaticRole = z.object({
  application_object_id: z.string(),
  application_client_id: z.string(),
  /** The tenant in which the passwords were made. */
  tenant_id: z.string(),
  /** Seconds; 0 means the default, or none if there is a schedule. */
  rotation_period: z.number(),
  rotation_schedule: z.string(),
  /** Seconds; 0 means no limit. */
  rotation_window: z.number(),
  disable_automated_rotation: z.boolean(),
  /** Seconds, as written: 0 means the default, -1 none. */
  rotation_grace_period: z.number(),
  seamless_rotation: z.boolean(),
  /** Null until some is written. */
  metadata: textMap.nullable(),
  allowed_scopes: z.array(z.string()),
  /** Milliseconds since the epoch: when the period or schedule starts. */
  rotation_counts_from: z.number(),
  current: currentPassword.exactOptional(),
  former: formerPassword.exactOptional(),
  /** The password that the role was imported with. */
  imported_key_id: z.string().exactOptional(),
  /** Milliseconds since the epoch. */
  last_rotation: z.number().exactOptional(),
  /** Failed rotations in a row, and when the next one may start, in milliseconds since the epoch. */
  retry: z.object({ failures: z.number(), at: z.number() }).exactOptional(),
  /** Why the last rotation failed, or what its proof could not show. */
  last_error: z.string(),
  /** The application no longer exists: nothing is tried until the role is written. */
  is_gone: z.boolean(),
  /** The current password is gone upstream: it is replaced at once, whatever the schedule. */
  is_lost: z.boolean(),
  /** When the role is due, as its row among those that are due says. The store sets it. */
  due: z.number().nullable(),
  /** Who wrote the role, or rotated it by hand. */
  entity_id: z.string(),
  display_name: z.string(),
})

/** A stored static role. docs/cloud-static-roles.md */
export type StaticRole = z.output<typeof storedStaticRole>
export type StaticPassword = z.output<typeof currentPassword>

export const readStaticRole = recordReader<StaticRole>('static role of the cloud engine', storedStaticRole)

const hour = 3600
/** Two years. */
const defaultPeriod = 17_520 * hour
const defaultGrace = 300
const longestScheduledGrace = 30 * 24 * hour
const dayMs = 24 * hour * 1000

type Terms = Pick<
  StaticRole,
  | 'disable_automated_rotation'
  | 'rotation_grace_period'
  | 'rotation_period'
  | 'rotation_schedule'
  | 'rotation_window'
  | 'seamless_rotation'
>

/** Seconds between two rotations; 0 if a schedule decides. */
export const periodOf = ({ rotation_period, rotation_schedule }: Terms): number =>
  rotation_schedule === '' ? rotation_period || defaultPeriod : 0

/** The longest grace period that a role may have, in seconds. */
export const graceBound = (terms: Terms): number =>
  terms.rotation_schedule === ''
    ? Math.max(0, Math.floor((periodOf(terms) - hour) / 2))
    : longestScheduledGrace

/** How many seconds a former password stays valid; 0: it is removed at once. */
export function graceOf(terms: Terms): number {
  const { rotation_grace_period: grace, seamless_rotation } = terms
  if (!seamless_rotation || grace < 0) return 0
  return grace === 0 ? Math.min(defaultGrace, graceBound(terms)) : grace
}

/** When the next rotation may start, or since when it is due, in milliseconds since the epoch; infinity: never. */
export function dueAt(role: StaticRole, now: number): number {
  if (role.is_gone) return Number.POSITIVE_INFINITY
  const planned = role.is_lost ? 0 : dueTime({ ...role, rotation_period: periodOf(role) }, now)
  return Math.max(planned, role.retry?.at ?? 0)
}

/**
 * When a password that is made now ends, in milliseconds since the epoch: it outlives the retries of its
 * replacement.
 */
export function passwordEnd(role: StaticRole, now: number): number {
  const next = dueTime({ ...role, rotation_period: periodOf(role), rotation_counts_from: now }, now)
  const planned = Number.isFinite(next) ? next : now + defaultPeriod * 1000
  return planned + graceOf(role) * 1000 + dayMs
}
