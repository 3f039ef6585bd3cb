import type { MountState } from '../mount-state.ts'
import type { StoredRetirement } from './static-role-store.ts'

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
