import { z } from 'zod'
import type { Lease } from '../../../core/leases/lease.ts'
import { refuse } from '../../../errors.ts'
import { appRoleAssignment } from '../app-roles/app-role.ts'

/**
 * In every lease. Client id and correlation id connect the records here with upstream's.
 * docs/contract/cloud.md#leases
 */
const common = {
  tenant_id: z.string(),
  app_object_id: z.string(),
  client_id: z.string(),
  role: z.string(),
  /** When the secret stops working, in RFC 3339. */
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
  app_roles: z.array(appRoleAssignment).exactOptional(),
  permanently_delete: z.boolean(),
})

const staticData = z.looseObject({
  secret_type: z.literal('static_service_principal'),
  ...common,
  display_name: z.string(),
  key_id: z.string(),
})

export type DynamicLeaseData = z.output<typeof dynamicData>
export type StaticLeaseData = z.output<typeof staticData>
export type LeaseData = DynamicLeaseData | StaticLeaseData

type StoredLeaseData = Partial<DynamicLeaseData> | Partial<StaticLeaseData>

const storedData = z.union([dynamicData.partial(), staticData.partial()])

/** Throws if the data are not the engine's. */
export function readLeaseData({ internal }: Pick<Lease, 'internal'>): StoredLeaseData {
  const read = storedData.safeParse(internal)
  if (!read.success) throw refuse('invalid', 'internal data of the lease cannot be read')
  return read.data
}

/** A field that the data must have. docs/contract/cloud.md#renewal, docs/contract/cloud.md#revocation */
export function required(name: string, value: string | undefined): string {
  if (value === undefined || value === '') throw refuse('invalid', `internal data '${name}' not found`)
  return value
}

export const isStatic = (data: StoredLeaseData): data is Partial<StaticLeaseData> =>
  data.secret_type === 'static_service_principal'
