import type { ServiceError } from '../../../errors.ts'
import { stringifyJson } from '../../../lib/text/json.ts'
import { redactUrl } from '../../../logins/refusals/redact.ts'
import { comparing, type Refusal, refusal } from '../../../logins/refusals/refusal.ts'
import type { ReadyConfig } from '../config/mount-state.ts'
import { admission, type Role } from '../config/role.ts'
import { expectedState } from '../explain/describe-flow.ts'
import type { Attempt } from '../login/flow-trace.ts'
import { loginFailed, stateUnknown } from './pages.ts'
import { digest, type PendingLogin } from './pending-login.ts'
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
    comparing(unknown, {
      expected: [expectedState],
      // only enough of it to identify it
      seen: state === '' ? '' : `${state.slice(0, 5)}…${/,ns=.*$/.exec(state)?.[0] ?? ''}`,
      detail: state.includes(',ns=') ? 'the client must cut `,ns=…` off' : ended ? texts[ended.why] : '',
      hint: '',
    }),
  )
}

const unknown = refusal('state_unknown', `${loginFailed} ${stateUnknown}`)

/**
 * A login ends with the provider and the client with which it began: no other provider gets its code, or is taken to
 * have vouched for the person.
 */
export function otherClient({ client }: PendingLogin, { config }: ReadyConfig): Refusal | undefined {
  const { oidc_discovery_url: url, oidc_client_id: id } = config
  if (client === undefined || (client.discovery_url === url && client.id === id)) return undefined
  return comparing(unknown, {
    expected: [`${redactUrl(url)} ${id}`],
    seen: `${redactUrl(client.discovery_url)} ${client.id}`,
    detail: 'the mount has had another provider or client when the login began',
    hint: '',
  })
}

/** A digest of what decides whom a role lets in. */
export const decidedBy = (role: Role): string => digest(stringifyJson(admission(role)))

/** A role that has changed might not let in the person whom it has let in. */
export const otherRole = (role: Role, decided: string): Refusal | undefined =>
  decidedBy(role) === decided
    ? undefined
    : comparing(unknown, {
        expected: [],
        seen: null,
        detail: 'the role has changed since the person signed in',
        hint: '',
      })

export const wrongClientNonce = ({ client_nonce: begun }: PendingLogin, sent: string): Refusal =>
  comparing(refusal('client_nonce_mismatch', 'invalid client_nonce'), {
    expected: begun === '' ? [] : ['the client_nonce that was sent to auth_url'],
    seen: sent === '' ? null : 'another one',
    hint: '',
  })

export const roleGone = refusal('role_unknown', `${loginFailed} Role could not be found`)
