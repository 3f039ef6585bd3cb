import type { ViewEntry } from '../../../core/barrier/view.ts'
import type { Intent } from '../intents/intent.ts'
import type { MountState } from '../mount-state.ts'
import { logLeft, retirementNow } from './leaving-passwords.ts'
import type { StaticWork } from './static-work.ts'

/**
 * A password in its grace period leaves at its time, the current one stays until its end; with `revoke`, both go
 * now. Returns warnings. docs/cloud-static-roles.md#deleting-a-role
 */
export function deleteStaticRole(
  name: string,
  { revoke }: { readonly revoke: boolean },
  work: Pick<StaticWork, 'state' | 'log' | 'signal'>,
): Promise<string[]> {
  const { state } = work
  return state.withStaticRoleLock(name, async () => {
    const before = await state.staticRoles.read(name)
    if (before === undefined) return []
    const { current, former, tenant_id } = before.role
    if (!revoke) {
      await state.staticRoles.write(name, before, undefined)
      logLeft(name, before.role, work)
      return []
    }
    const removals: Intent[] = [current, former].flatMap((password) =>
      password === undefined ? [] : [retirementNow(name, before.role, password.key_id)],
    )
    const leaving = former === undefined ? [] : [state.staticRoles.retirementRemoval(former)]
    const remove = (entries: readonly ViewEntry[]) =>
      state.staticRoles.write(name, before, undefined, [...leaving, ...entries])
    const ids = await state.intents.undoWith(remove, removals, tenant_id)
    return leftWarnings(ids, state, work.signal)
  })
}

const removalMs = 30_000

async function leftWarnings(
  ids: readonly string[],
  { intents }: MountState,
  signal: AbortSignal,
): Promise<string[]> {
  const left = (await intents.undoAll(AbortSignal.any([AbortSignal.timeout(removalMs), signal]))).filter(
    ({ id }) => ids.includes(id),
  )
  return left.length === 0
    ? []
    : [`${left.length} of the passwords could not be removed yet; debris lists them, and they are retried`]
}
