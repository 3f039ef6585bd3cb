import { z } from 'zod'
import type { ViewEntry } from '../../../core/barrier/view.ts'
import type { Lease, LeaseRef } from '../../../core/leases/lease.ts'
import type { LeaseData } from './lease-data.ts'
import type { MountState } from '../mount-state.ts'

/** Who asked for a credential. */
export type Asker = { readonly entity_id: string; readonly display_name: string }

const issued = z.looseObject({
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
  key_id: z.string().optional(),
  /** Name upstream of what was made for it. */
  made_name: z.string(),
  correlation_id: z.string(),
})

/**
 * A credential that was handed out, found by its client id: who asked, and what of upstream its lease owns.
 * It is written and removed with the lease.
 */
export type Issued = z.output<typeof issued>

/** Where leases are looked up. */
export type LeaseLookup = { find(ref: LeaseRef): Promise<Lease | undefined> }

const prefix = 'issued/'
const prefixOf = (clientId: string): string => `${prefix}${clientId.toLowerCase()}/`
const keyOf = (clientId: string, { namespace, id }: LeaseRef): string =>
  `${prefixOf(clientId)}${namespace}/${id}`

/** The row of a new lease. */
export function issuedEntry(lease: LeaseRef, data: LeaseData, asker: Asker): ViewEntry {
  const {
    secret_type: _type,
    key_end_date: _end,
    permanently_delete: _deleted,
    display_name: made_name,
    ...owned
  } = data
  const row: Issued = { ...owned, made_name, namespace: lease.namespace, lease_id: lease.id, ...asker }
  return { key: keyOf(data.client_id, lease), value: row }
}

/** The row of a lease whose secret is gone. */
export const issuedRemoval = (clientId: string, lease: LeaseRef): ViewEntry => ({
  key: keyOf(clientId, lease),
  value: undefined,
})

/** What was handed out with this client id, all without one, as far as its lease is still there. */
export async function findIssued(
  state: Pick<MountState, 'view'>,
  leases: LeaseLookup,
  clientId?: string,
): Promise<{ issued: Issued; lease: Lease }[]> {
  const rows = await issuedRows(state, clientId)
  const found = await Promise.all(
    rows.map(async (row) => ({
      issued: row,
      lease: await leases.find({ namespace: row.namespace, id: row.lease_id }),
    })),
  )
  return found.flatMap(({ issued: row, lease }) => (lease === undefined ? [] : [{ issued: row, lease }]))
}

/**
 * What was handed out under leases that were forced out of the records: what these owned is still upstream,
 * or a part of it.
 */
export async function findForgotten(state: Pick<MountState, 'view'>, leases: LeaseLookup): Promise<Issued[]> {
  const rows = await issuedRows(state, undefined)
  const found = await Promise.all(
    rows.map(async (row) =>
      (await leases.find({ namespace: row.namespace, id: row.lease_id })) === undefined ? [row] : [],
    ),
  )
  return found.flat()
}

/** A lease that was forced out of the records leaves its row: whoever needs to know looks for the lease. */
export async function issuedRows(
  { view }: Pick<MountState, 'view'>,
  clientId: string | undefined,
): Promise<Issued[]> {
  const records = await view.list(clientId === undefined ? prefix : prefixOf(clientId))
  return records.flatMap(({ value }) => issued.safeParse(value).data ?? [])
}

/** Is what `owns` looks for a live lease's? */
export async function isLeased(
  state: Pick<MountState, 'view'>,
  leases: LeaseLookup,
  owns: (row: Issued) => boolean,
  clientId: string,
): Promise<boolean> {
  for (const row of (await issuedRows(state, clientId)).filter(owns)) {
    if ((await leases.find({ namespace: row.namespace, id: row.lease_id })) !== undefined) return true
  }
  return false
}
