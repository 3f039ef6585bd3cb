import { z } from 'zod'
import type { Lease } from '../../../core/leases/lease.ts'
import { refuse } from '../../../errors.ts'

/**
 * What every lease of the engine keeps. Ids are those of upstream; the client id and the correlation id lead
 * from one to the other. docs/contract/cloud.md#leases
 */
const common = {
  /** Where it was made. */
  tenant_id: z.string(),
  app_object_id: z.string(),
  client_id: z.string(),
  role: z.string(),
  /** RFC 3339: the secret does not work any longer from then on. */
  key_end_date: z.string(),
  correlation_id: z.string(),
}

const dynamicData = z.looseObject({
  secret_type: z.literal('service_principal'),
  ...common,
  display_name: z.string(),
  sp_object_id: z.string(),
  role_assignment_ids: z.array(z.string()),
  group_membership_ids: z.array(z.string()),
  permanently_delete: z.boolean(),
})

const staticData = z.looseObject({
  secret_type: z.literal('static_service_principal'),
  ...common,
  display_name: z.string(),
  key_id: z.string(),
})

/** Of a service principal that was made for one credential. */
export type DynamicLeaseData = z.output<typeof dynamicData>
/** Of a password that was added to an application. */
export type StaticLeaseData = z.output<typeof staticData>
export type LeaseData = DynamicLeaseData | StaticLeaseData

/** What a lease kept; parts that are missing are missing. */
type StoredLeaseData = Partial<DynamicLeaseData> | Partial<StaticLeaseData>

const storedData = z.union([dynamicData.partial(), staticData.partial()])

/** What the engine kept with a lease. Throws when it is none of its own. */
export function readLeaseData({ internal }: Pick<Lease, 'internal'>): StoredLeaseData {
  const read = storedData.safeParse(internal)
  if (!read.success) throw refuse('invalid', 'internal data of the lease cannot be read')
  return read.data
}

/** A part of it that there must be. docs/contract/cloud.md#renewal, docs/contract/cloud.md#revocation */
export function required(name: string, value: string | undefined): string {
  if (value === undefined || value === '') throw refuse('invalid', `internal data '${name}' not found`)
  return value
}

/** Which of the two it is: only a password has a key id. */
export const isStatic = (data: StoredLeaseData): data is Partial<StaticLeaseData> =>
  data.secret_type === 'static_service_principal'
