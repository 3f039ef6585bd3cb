import { refuse } from '../../../errors.ts'
import { formatTime } from '../../../lib/time.ts'
import type { MountState } from '../mount-state.ts'
import { findLeased, type LeaseLookup } from './credential-record.ts'

/**
 * Tells who requested the credential with this client id. If its application has several passwords, the
 * newest counts. Throws kind `missing` for an unknown client id.
 */
export async function whois(clientId: string, state: MountState, leases: LeaseLookup): Promise<object> {
  const found = await findLeased(state, leases, clientId)
  const newest = found.toSorted((a, b) => b.lease.issue_time - a.lease.issue_time)[0]
  if (newest === undefined) throw refuse('missing', '')
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
