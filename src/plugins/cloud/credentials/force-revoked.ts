import type { LeaseRef } from '../../../core/leases/lease.ts'
import { grantOf } from '../app-roles/app-role.ts'
import { type Intent, rightsRemovals } from '../intents/intent.ts'
import type { RecordedIntents } from '../intents/intents.ts'
import { ownsApplication } from '../intents/ownership.ts'
import type { MountState } from '../mount-state.ts'
import {
  type CredentialRecord,
  credentialRemoval,
  findForceRevoked,
  type LeaseLookup,
  leaseOf,
} from '../records/credential-record.ts'
import { tagOf } from '../upstream/directory/object-names.ts'

/** What a lease owned upstream, according to its own data or to its credential record. */
type Owned = { readonly [Name in keyof CredentialRecord]?: CredentialRecord[Name] | undefined }

/** What must be removed upstream of a credential. Empty if the data do not tell. */
export function removalsOf(owned: Owned, accessor: string): Intent[] {
  const { app_object_id: objectId, client_id, made_name: display_name = '', key_id, sp_object_id } = owned
  if (objectId === undefined || objectId === '') return []
  if (key_id !== undefined)
    return [
      { kind: 'password', application_object_id: objectId, client_id: client_id ?? '', display_name, key_id },
    ]
  return [
    {
      kind: 'app',
      display_name,
      tag: tagOf(accessor, owned.correlation_id ?? ''),
      object_id: objectId,
      client_id,
      service_principal_id: sp_object_id,
    },
    ...rightsRemovals(sp_object_id, {
      assignment_ids: owned.role_assignment_ids,
      group_ids: owned.group_membership_ids,
      grants: owned.app_roles?.map(grantOf),
    }),
  ]
}

/**
 * For the write that deletes a lease by force: intents to remove what it owned, without its credential record.
 * Undefined if the data do not tell what it owned. docs/contract/cloud.md#forced-revocation
 */
export function forceRevokedEntries(
  owned: Owned,
  lease: LeaseRef,
  state: MountState,
): RecordedIntents | undefined {
  const removals = removalsOf(owned, state.accessor)
  if (removals.length === 0) return undefined
  const { ids, entries } = state.intents.recordEntries(removals, owned.tenant_id)
  const record =
    owned.client_id === undefined ? [] : [state.view.fromRoot(credentialRemoval(owned.client_id, lease))]
  return { ids, entries: [...entries, ...record] }
}

/** Turns what earlier versions left into debris: they kept only the credential records of such leases. */
export async function adoptForceRevoked(state: MountState, leases: LeaseLookup): Promise<void> {
  for (const record of await findForceRevoked(state, leases)) {
    if (
      record.key_id === undefined &&
      (await ownsApplication(record.app_object_id, { state, leases }, record.client_id))
    )
      continue
    const revoked = forceRevokedEntries(record, leaseOf(record), state)
    if (revoked === undefined) continue
    try {
      await state.view.write(revoked.entries)
    } finally {
      // a failed write may be stored
      await state.intents.undo(revoked.ids)
    }
  }
}
