import type { ReadyConfig } from '../config/mount-state.ts'
import { expectedState } from '../explain/describe-flow.ts'
import { comparing, type Refusal, refusal } from '../refusals/refusal.ts'
import { loginFailed, stateUnknown } from './pages.ts'
import type { PendingLogin } from './pending-login.ts'
import type { EndReason } from './pending-logins.ts'
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

/** The refusal of a state that has no login, and of one whose login ended as `ends` says. */
export const unknownState = (
  state: string,
  reason: EndReason | undefined,
  ends: Readonly<Record<EndReason, string>>,
): Refusal =>
  comparing(refusal('state_unknown', `${loginFailed} ${stateUnknown}`), {
    expected: [expectedState],
    // only enough of it to identify it
    seen: state === '' ? '' : `${state.slice(0, 5)}…${/,ns=.*$/.exec(state)?.[0] ?? ''}`,
    detail: state.includes(',ns=')
      ? 'the client must cut `,ns=…` off'
      : reason === undefined
        ? ''
        : ends[reason],
    hint: '',
  })

export const wrongClientNonce = ({ client_nonce: begun }: PendingLogin, sent: string): Refusal =>
  comparing(refusal('client_nonce_mismatch', 'invalid client_nonce'), {
    expected: begun === '' ? [] : ['the client_nonce that was sent to auth_url'],
    seen: sent === '' ? null : 'another one',
    hint: '',
  })

export const roleGone = refusal('role_unknown', `${loginFailed} Role could not be found`)
