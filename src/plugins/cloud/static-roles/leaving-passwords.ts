import type { Intent } from '../intents/intent.ts'
import type { StaticRole } from './static-role-record.ts'
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
