import { z } from 'zod'
import type { ViewEntry } from '../../../core/barrier/view.ts'
import type { Caller } from '../../../core/callers/access.ts'
import type { Lease, LeaseRef } from '../../../core/leases/lease.ts'
import { appRoleAssignment } from '../app-roles/app-role.ts'
import type { MountState } from '../mount-state.ts'
import type { LeaseData } from './lease-data.ts'

export type Requester = { readonly entity_id: string; readonly display_name: string }

export const requesterOf = (caller: Caller | undefined): Requester => ({
  entity_id: caller?.token.entity_id ?? '',
  display_name: caller?.token.display_name ?? '',
})

const credentialRecord = z.looseObject({
  tenant_id: z.string().optional(),
  namespace: z.string(),
  lease_id: z.string(),
  role: z.string(),
  entity_id: z.string(),
  display_name: z.string(),
  client_id: z.string(),
  app_object_id: z.string(),
  sp_object_id: z.string().optional(),
  role_assignment_ids: z.array(z.string()).optional(),
  group_membership_ids: z.array(z.string()).optional(),
  app_roles: z.array(appRoleAssignment).optional(),
  key_id: z.string().optional(),
  /** The display name upstream of the application or password. */
  made_name: z.string(),
  correlation_id: z.string(),
})

/**
 * Who requested a credential, and what its lease owns upstream, by client id. Written and deleted with the lease;
 * one that is revoked by force may leave its record, so callers look up the lease as well.
 */
export type CredentialRecord = z.output<typeof credentialRecord>

export type LeaseLookup = { find(ref: LeaseRef): Promise<Lease | undefined> }

const prefix = 'issued/'
const prefixOf = (clientId: string): string => `${prefix}${clientId.toLowerCase()}/`
const keyOf = (clientId: string, { namespace, id }: LeaseRef): string =>
  `${prefixOf(clientId)}${namespace}/${id}`

export const leaseOf = ({ namespace, lease_id: id }: CredentialRecord): LeaseRef => ({ namespace, id })

export function credentialEntry(lease: LeaseRef, data: LeaseData, requester: Requester): ViewEntry {
  return { key: keyOf(data.client_id, lease), value: recordOf(data, lease, requester), isUncopied: true }
}

/** Without a lease: as if it had one that nobody has. */
export function recordOf(
  data: LeaseData,
  { namespace, id: lease_id }: LeaseRef = { namespace: '', id: '' },
  requester: Requester = { entity_id: '', display_name: '' },
): CredentialRecord {
  const {
    secret_type: _type,
    key_end_date: _end,
    permanently_delete: _deleted,
    display_name: made_name,
    ...owned
  } = data
  return { ...owned, made_name, namespace, lease_id, ...requester }
}

export const credentialRemoval = (clientId: string, lease: LeaseRef): ViewEntry => ({
  key: keyOf(clientId, lease),
  value: undefined,
  isUncopied: true,
})

/** The records of a client id, or all of them. */
export async function credentialRecords(
  { view }: Pick<MountState, 'view'>,
  clientId?: string,
): Promise<CredentialRecord[]> {
  const records = await view.list(clientId === undefined ? prefix : prefixOf(clientId))
  return records.flatMap(({ value }) => credentialRecord.safeParse(value).data ?? [])
}

/** The credentials of a client id, or all of them, whose leases exist. */
export async function findLeased(
  state: Pick<MountState, 'view'>,
  leases: LeaseLookup,
  clientId?: string,
): Promise<{ record: CredentialRecord; lease: Lease }[]> {
  const found = await withLeases(await credentialRecords(state, clientId), leases)
  return found.flatMap(({ record, lease }) => (lease === undefined ? [] : [{ record, lease }]))
}

/** Records whose leases were revoked by force. What those owned may still exist upstream. */
export async function findForceRevoked(
  state: Pick<MountState, 'view'>,
  leases: LeaseLookup,
): Promise<CredentialRecord[]> {
  const found = await withLeases(await credentialRecords(state), leases)
  return found.flatMap(({ record, lease }) => (lease === undefined ? [record] : []))
}

const withLeases = (
  records: readonly CredentialRecord[],
  leases: LeaseLookup,
): Promise<{ record: CredentialRecord; lease: Lease | undefined }[]> =>
  Promise.all(records.map(async (record) => ({ record, lease: await leases.find(leaseOf(record)) })))

/** Whether an existing lease owns what `owns` looks for. */
export async function isLeased(
  state: Pick<MountState, 'view'>,
  leases: LeaseLookup,
  owns: (record: CredentialRecord) => boolean,
  clientId: string,
): Promise<boolean> {
  for (const record of (await credentialRecords(state, clientId)).filter(owns)) {
    if ((await leases.find(leaseOf(record))) !== undefined) return true
  }
  return false
}
