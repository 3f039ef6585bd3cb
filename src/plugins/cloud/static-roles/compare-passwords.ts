import { isGone } from '../upstream/removal.ts'
import { callWithin, forEachOf } from '../upstream-work.ts'
import { inTurn, type StaticWork } from './rotate-static-role.ts'
import type { StaticRole } from './static-role-record.ts'

/**
 * After a restoration: marks the roles whose password no longer exists upstream, which are then rotated at
 * once. A password that was made after `start` comes from no backup, and a replica of the directory may not
 * know it yet. docs/cloud-static-roles.md#after-a-restoration
 */
export async function comparePasswords(start: number, work: StaticWork): Promise<void> {
  const { staticRoles } = work.state
  if (await staticRoles.isConfirmed()) return
  await forEachOf(await staticRoles.all(), async ({ name, role }) => {
    if (role.current === undefined || role.is_gone || (role.last_rotation ?? 0) > start) return
    const upstream = await work.state.upstream()
    const call = callWithin(work.clock, work.correlationId, work.signal)
    const application = await upstream.directory
      .getApplication(role.application_object_id, call)
      .catch((error: unknown) => {
        // its next rotation finds that out
        if (!isGone(error)) throw error
      })
    const isThere = application?.passwordCredentials.some(({ keyId }) => keyId === role.current?.key_id)
    if (isThere !== true) await markLost(name, role, work)
  })
  await staticRoles.confirm()
}

const markLost = (name: string, seen: StaticRole, work: StaticWork): Promise<void> =>
  inTurn(name, work, async () => {
    const stored = await work.state.staticRoles.read(name)
    if (stored?.role.current?.key_id !== seen.current?.key_id || stored === undefined) return
    const { retry: _over, ...role } = stored.role
    await work.state.staticRoles.write(name, stored, { ...role, is_lost: true })
  })
