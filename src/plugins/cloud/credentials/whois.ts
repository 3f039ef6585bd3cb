import { refuse } from '../../../errors.ts'
import { formatTime } from '../../../lib/text/time.ts'
import type { MountState } from '../mount-state.ts'
import { findLeased, type LeaseLookup } from '../records/credential-record.ts'

/**
 * Who requested the credential, or wrote the static role, with this client id: the newest lease counts, or the role
 * that was rotated last. Throws `missing` for an unknown one.
 */
export async function whois(clientId: string, state: MountState, leases: LeaseLookup): Promise<object> {
  const found = await findLeased(state, leases, clientId)
  const newest = found.toSorted((a, b) => b.lease.issue_time - a.lease.issue_time)[0]
  if (newest === undefined) return staticRoleOf(clientId, state)
  const { record, lease } = newest
  return {
    lease_id: record.lease_id,
    role: record.role,
    entity_id: record.entity_id,
    display_name: record.display_name,
    issue_time: formatTime(lease.issue_time),
    expire_time: formatTime(lease.expire_time),
  }
}

async function staticRoleOf(clientId: string, { staticRoles }: MountState): Promise<object> {
  const wanted = clientId.toLowerCase()
  const [newest] = (await staticRoles.all())
    .filter(({ role }) => role.application_client_id.toLowerCase() === wanted)
    .sort((a, b) => (b.role.last_rotation ?? 0) - (a.role.last_rotation ?? 0))
  if (newest === undefined) throw refuse('missing', '')
  const { name, role } = newest
  return {
    lease_id: '',
    role: name,
    entity_id: role.entity_id,
    display_name: role.display_name,
    issue_time: role.last_rotation === undefined ? '' : formatTime(role.last_rotation),
    expire_time: role.current?.expiration ?? '',
  }
}
