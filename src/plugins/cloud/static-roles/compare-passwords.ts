import { unlessGone } from '../upstream/removal.ts'
import { callWithin, forEachOf } from '../upstream-work.ts'
import type { StaticRole } from './static-role-record.ts'
import type { StaticWork } from './static-work.ts'

/**
 * After a restoration: marks the roles whose password is gone upstream, which are rotated at once. One made after
 * `start` comes from no backup, and a replica may not know it yet. `only`: what earlier comparisons left. Returns
 * the roles that could not be compared, with the last cause. docs/cloud-static-roles.md#after-a-restoration
 */
export async function comparePasswords(
  start: number,
  only: ReadonlySet<string> | undefined,
  work: StaticWork,
): Promise<Left | undefined> {
  const { staticRoles } = work.state
  if (await staticRoles.isConfirmed()) return undefined
  const names = new Set<string>()
  let cause: unknown
  const roles = (await staticRoles.all()).filter(({ name }) => only === undefined || only.has(name))
  await forEachOf(roles, async ({ name, role }) => {
    if (role.current === undefined || role.is_gone || (role.last_rotation ?? 0) > start) return
    try {
      if (!(await isThere(role, work))) await markLost(name, role, work)
    } catch (error) {
      if (work.signal.aborted) throw error
      names.add(name)
      cause = error
    }
  })
  if (names.size > 0) return { names, cause }
  await staticRoles.confirm()
  return undefined
}

export type Left = { readonly names: ReadonlySet<string>; readonly cause: unknown }

async function isThere({ application_object_id, current }: StaticRole, work: StaticWork): Promise<boolean> {
  const upstream = await work.state.upstream()
  const call = callWithin(work.clock, work.correlationId, work.signal)
  // the next rotation of the role finds out that it is gone
  const application = await unlessGone(upstream.directory.getApplication(application_object_id, call))
  return application?.passwordCredentials.some(({ keyId }) => keyId === current?.key_id) === true
}

const markLost = (name: string, seen: StaticRole, work: StaticWork): Promise<void> =>
  work.state.withStaticRoleLock(name, async () => {
    const stored = await work.state.staticRoles.read(name)
    if (stored?.role.current?.key_id !== seen.current?.key_id || stored === undefined) return
    const { retry: _over, ...role } = stored.role
    await work.state.staticRoles.write(name, stored, { ...role, is_lost: true })
  })
