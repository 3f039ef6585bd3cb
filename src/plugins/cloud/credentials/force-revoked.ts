import type { ViewEntry } from '../../../core/barrier/view.ts'
import type { Intent } from '../intents/intent.ts'
import { ownsApplication } from '../intents/ownership.ts'
import { findForgotten, type Issued, issuedRemoval, type LeaseLookup } from './credential-record.ts'
import type { MountState } from '../mount-state.ts'
import { tagOf } from '../upstream/object-names.ts'

/** What a lease owned upstream, as its own data or the row of it tell. */
export type Owned = Partial<
  Pick<
    Issued,
    | 'app_object_id'
    | 'client_id'
    | 'sp_object_id'
    | 'role_assignment_ids'
    | 'key_id'
    | 'correlation_id'
    | 'tenant_id'
  >
> & {
  readonly made_name?: string | undefined
}

/** What has to be taken back of a lease that is no longer on record; empty when its data do not tell. */
function leftOf(owned: Owned, accessor: string): Intent[] {
  const {
    app_object_id: objectId,
    client_id,
    made_name: display_name = '',
    key_id,
    sp_object_id,
    role_assignment_ids: assignments = [],
  } = owned
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
      ...(client_id === undefined ? {} : { client_id }),
      ...(sp_object_id === undefined ? {} : { service_principal_id: sp_object_id }),
    },
    ...(assignments.length === 0 ? [] : [{ kind: 'roleAssignments' as const, assignment_ids: assignments }]),
  ]
}

/**
 * The debris of a lease that is dropped by force, as entries for the step that drops it: its row ends in the
 * same step. Undefined when its data do not tell.
 */
export function droppedLease(
  owned: Owned,
  lease: { readonly namespace: string; readonly id: string },
  state: MountState,
): { readonly ids: string[]; readonly entries: ViewEntry[] } | undefined {
  const left = leftOf(owned, state.accessor)
  if (left.length === 0) return undefined
  const { ids, entries } = state.intents.recordEntries(left, owned.tenant_id)
  const row =
    owned.client_id === undefined ? [] : [state.view.fromRoot(issuedRemoval(owned.client_id, lease))]
  return { ids, entries: [...entries, ...row] }
}

/** Makes debris of what earlier versions have left: rows of leases that were forced out of the records. */
export async function adoptForgotten(state: MountState, leases: LeaseLookup): Promise<void> {
  for (const row of await findForgotten(state, leases)) {
    if (
      row.key_id === undefined &&
      (await ownsApplication(row.app_object_id, { state, leases }, row.client_id))
    )
      continue
    const dropped = droppedLease(row, { namespace: row.namespace, id: row.lease_id }, state)
    if (dropped === undefined) continue
    try {
      await state.view.write(dropped.entries)
    } finally {
      // a write that failed may be stored
      state.intents.undo(dropped.ids)
    }
  }
}
