import { refuse } from '../../../errors.ts'
import { formatTime } from '../../../lib/time.ts'
import { findIssued, type LeaseLookup } from './credential-record.ts'
import type { MountState } from '../mount-state.ts'

/**
 * Who asked for the credential with this client id; of an application with several passwords, for the newest.
 * Throws kind `missing` for a stranger.
 */
export async function whois(clientId: string, state: MountState, leases: LeaseLookup): Promise<object> {
  const found = await findIssued(state, leases, clientId)
  const newest = found.toSorted((a, b) => b.lease.issue_time - a.lease.issue_time)[0]
  if (newest === undefined) throw refuse('missing', '')
  const { issued, lease } = newest
  return {
    lease_id: issued.lease_id,
    role: issued.role,
    entity_id: issued.entity_id,
    display_name: issued.display_name,
    issue_time: formatTime(lease.issue_time),
    expire_time: formatTime(lease.expire_time),
  }
}
