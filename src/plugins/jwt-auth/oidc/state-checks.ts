import type { ServiceError } from '../../../errors.ts'
import { comparing, type Refusal, refusal } from '../../../jwt/refusals/refusal.ts'
import type { ReadyConfig } from '../config/mount-state.ts'
import { expectedState } from '../explain/describe-flow.ts'
import type { Attempt } from '../login/flow-trace.ts'
import { loginFailed, stateUnknown } from './pages.ts'
import type { PendingLogin } from './pending-login.ts'
import type { Ended } from './pending-logins.ts'
import type { FlowContext } from './sign-in.ts'

/** The mount's configuration. Throws if it has none. */
export async function configured({ state, attempt: { flow } }: FlowContext): Promise<ReadyConfig> {
  const ready = await state.findConfig()
  if (ready === undefined)
    throw flow.refused(refusal('config_missing', `${loginFailed} Could not load configuration`))
  flow.ready = ready
  flow.passed('config')
  return ready
}

/** The refusal of a state that has no login any more. `texts` say how it ended. */
export function unknownState(
  state: string,
  ended: Ended | undefined,
  { attempt, texts }: { attempt: Attempt; texts: Readonly<Record<Ended['why'], string>> },
): ServiceError {
  attempt.role = ended?.role ?? ''
  attempt.flow.roleName = attempt.role
  return attempt.flow.refused(
    comparing(refusal('state_unknown', `${loginFailed} ${stateUnknown}`), {
      expected: [expectedState],
      // only enough of it to identify it
      seen: state === '' ? '' : `${state.slice(0, 5)}…${/,ns=.*$/.exec(state)?.[0] ?? ''}`,
      detail: state.includes(',ns=') ? 'the client must cut `,ns=…` off' : ended ? texts[ended.why] : '',
      hint: '',
    }),
  )
}

export const wrongClientNonce = ({ client_nonce: begun }: PendingLogin, sent: string): Refusal =>
  comparing(refusal('client_nonce_mismatch', 'invalid client_nonce'), {
    expected: begun === '' ? [] : ['the client_nonce that was sent to auth_url'],
    seen: sent === '' ? null : 'another one',
    hint: '',
  })

export const roleGone = refusal('role_unknown', `${loginFailed} Role could not be found`)
