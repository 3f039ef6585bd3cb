import type { LeaseRef } from '../../../core/leases/lease.ts'
import type { Mount } from '../../../core/mounts/mount.ts'
import { refuse, ServiceError } from '../../../errors.ts'
import type { MountState } from '../mount-state.ts'
import { credentialRecords, type LeaseLookup, leaseOf } from '../records/credential-record.ts'
import { filterOf, forEachOf } from '../upstream-work.ts'
import type { RoleRecord } from './role-record.ts'

export type RoleLeases = LeaseLookup & {
  revoke(ref: LeaseRef, how: { readonly sync: boolean }): Promise<void>
  checkRoom(mount: Mount, path: string): Promise<void>
}

/** The existing leases of this role's credentials. `name` is lower-case. */
export async function leasesOfRole(
  name: string,
  state: MountState,
  leases: LeaseLookup,
): Promise<LeaseRef[]> {
  const records = (await credentialRecords(state)).filter(({ role }) => role === name)
  return filterOf(records.map(leaseOf), async (lease) => (await leases.find(lease)) !== undefined)
}

/** Revokes the leases of a role and waits for that. Throws if some cannot be revoked, after trying all. */
export async function revokeLeasesOfRole(name: string, state: MountState, leases: RoleLeases): Promise<void> {
  const live = await leasesOfRole(name, state, leases)
  const failures: unknown[] = []
  await forEachOf(live, (lease) =>
    leases.revoke(lease, { sync: true }).catch((error: unknown) => failures.push(error)),
  )
  const [first] = failures
  if (first === undefined) return
  if (!(first instanceof ServiceError)) throw first
  throw refuse(
    'invalid',
    `${failures.length} of ${live.length} leases of the role could not be revoked, so it stays: ${first.message}`,
    { cause: first },
  )
}

/** A warning about leases that outlive their role, if there are any. */
export function leftLeasesWarning(
  count: number,
  { managed }: Pick<RoleRecord, 'managed'>,
): string | undefined {
  if (count === 0) return undefined
  const leases = count === 1 ? '1 live lease of the role is' : `${count} live leases of the role are`
  if (managed !== undefined) return `${leases} left, whose credentials ended with the application of the role`
  const ends = count === 1 ? 'its credential works until it ends' : 'their credentials work until they end'
  return `${leases} left: ${ends}, and can no longer be renewed; ?revoke=true revokes ${count === 1 ? 'it' : 'them'}`
}
