import { ServiceError } from '../../../errors.ts'
import { isReason } from '../../../logins/refusals/refusal.ts'
import { errorPage, loginFailed, type Page, plainPage, stateUnknown } from './pages.ts'
import type { Ending, PendingLogin } from './pending-login.ts'
import { type BrowserContext, codeOfForm, signIn } from './sign-in.ts'
import { configured, decidedBy, otherClient, roleGone } from './state-checks.ts'

/*
 * In mode `direct` the browser comes back to the server itself. The login is decided there and then, and a poll of
 * the client gets the result. docs/contract/oidc.md#callback-modes
 */

/** Decides a login by the provider's answer that it holds, and keeps the result for a poll. */
export async function endInBrowser(
  login: PendingLogin,
  state: string,
  context: BrowserContext,
): Promise<Page> {
  const { ending, page } = await decided(login, state, context)
  const kept = await context.pending.end(state, ending)
  return kept === undefined ? { ...errorPage(loginFailed, stateUnknown), reason: 'state_unknown' } : page
}

async function decided(
  login: PendingLogin,
  state: string,
  context: BrowserContext,
): Promise<{ ending: Ending; page: Page }> {
  try {
    const { flow } = context.attempt
    const ready = await configured(context)
    flow.check('state', otherClient(login, ready))
    const role = await context.state.roles.find(login.role)
    if (role === undefined) throw flow.refused(roleGone)
    flow.role = role
    flow.passed('role')
    // the answer is in the login; the URL may hold another one by now
    const answer = { state, code: codeOfForm, iss: '', providerError: undefined }
    // what the role grants is decided by the poll, so only what the provider said is kept
    const signedIn = await signIn(answer, { login, role, ready }, context)
    const { signer } = context.attempt
    return {
      ending: { ...signedIn, ...(signer !== undefined && { signer }), role: decidedBy(role) },
      page: plainPage('Signed in', 'The login continues where it began. You can close this window.'),
    }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason === undefined || !isReason(error.reason)) throw error
    const { message, reason } = error
    const text = message.startsWith(`${loginFailed} `) ? message.slice(loginFailed.length + 1) : message
    return {
      ending: { reason, text, request_id: context.requestId },
      page: { ...errorPage(loginFailed, text), reason, error },
    }
  }
}
