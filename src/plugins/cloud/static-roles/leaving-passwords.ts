import type { Intent } from '../intents/intent.ts'
import type { MountState } from '../mount-state.ts'
import type { StaticRole } from './static-role-record.ts'
import type { StoredRetirement } from './static-role-store.ts'
import type { StaticWork } from './static-work.ts'

/** Removes a password of a role now. It is at least as old as the last rotation. */
export const retirementNow = (
  role: string,
  { application_object_id, last_rotation }: StaticRole,
  key_id: string,
): Intent => ({ kind: 'retirePassword', role, application_object_id, key_id, made: last_rotation })

/** Logs the current password of a role that no longer has it. It stays upstream until its end. */
export function logLeft(
  role: string,
  { current, application_object_id }: StaticRole,
  { state, log }: Pick<StaticWork, 'state' | 'log'>,
): void {
  if (current === undefined) return
  log.info(
    {
      event: 'static_password_left',
      mount: state.accessor,
      role,
      application: application_object_id,
      key_id: current.key_id,
    },
    'a password that a static role no longer has stays upstream until its end',
  )
}

const atOnce = 100

/** Starts to remove the passwords whose grace period is over. */
export async function retireDue(state: MountState): Promise<void> {
  for (;;) {
    const due = await state.staticRoles.retirements('due', atOnce)
    for (const one of due) await retire(one, state)
    if (due.length < atOnce) return
  }
}

/** Starts to remove every password in a grace period. */
export async function retireAll(state: MountState): Promise<void> {
  for (const one of await state.staticRoles.retirements('all')) await retire(one, state)
}

/** An intent takes the place of the row, in the write that lets the role forget the password. */
async function retire(retirement: StoredRetirement, state: MountState): Promise<void> {
  const { role: name, application_object_id, key_id, tenant_id } = retirement
  const { staticRoles, intents } = state
  const ids = await state.withStaticRoleLock(name, async () => {
    const { id, entry } = intents.recordEntry(
      { kind: 'retirePassword', role: name, application_object_id, key_id },
      tenant_id,
    )
    // an import may have taken it over since
    const alongside = [staticRoles.takingRetirement(retirement), entry]
    const stored = await staticRoles.read(name)
    if (stored?.role.former?.key_id !== key_id) {
      if (!(await state.view.write(alongside))) return []
    } else {
      const { former: _left, ...after } = stored.role
      await staticRoles.write(name, stored, after, alongside)
    }
    return [id]
  })
  await intents.undo(ids)
}
