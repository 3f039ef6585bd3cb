import type { LoginAuth } from '../../../core/tokens/acts/issue-login.ts'
import { addressRefusal } from '../../../jwt/checks/claims.ts'
import { unconfirmed } from './confirmation.ts'
import type { Page } from './pages.ts'
import { isClientNonce, isOpenForBrowser, type PendingLogin } from './pending-login.ts'
import { keepAnswer } from './posted.ts'
import { type BrowserContext, codeOfForm, grantSignedIn, noteLogin, signIn } from './sign-in.ts'
import { configured, otherClient, roleGone, unknownState, wrongClientNonce } from './state-checks.ts'

export type CallbackInput = {
  readonly state: string
  readonly code: string
  readonly client_nonce: string
  readonly iss: string
}

/**
 * Determines who returned from the provider, and what the role grants, in the order of
 * docs/contract/oidc.md#the-callback-in-this-order Throws the first refusal. A person in mode `direct` gets a
 * page instead.
 */
export async function finishLogin(
  input: CallbackInput,
  context: BrowserContext,
): Promise<LoginAuth | { readonly page: Page }> {
  const { pending, attempt } = context
  const { flow } = attempt
  const ready = await configured(context)
  const waiting = await pending.find(input.state)
  if (waiting !== undefined && waiting.mode !== 'client') {
    const ended = waiting.ending && { why: 'used' as const, role: waiting.role }
    if (!isOpenForBrowser(waiting)) throw unknownState(input.state, ended, { attempt, texts })
    // an ID token in a URL counts for nothing
    return { page: await keepAnswer({ ...input, id_token: '' }, context) }
  }
  const login = await pending.take(input.state, (found) => checkConfirmed(found, input, context))
  if (login === undefined) throw unknownState(input.state, pending.ended(input.state), { attempt, texts })
  noteLogin(attempt, login)
  flow.check('state', otherClient(login, ready))
  flow.check(
    'client_nonce',
    isClientNonce(login, input.client_nonce) ? undefined : wrongClientNonce(login, input.client_nonce),
  )
  const role = await context.state.roles.find(login.role)
  if (role === undefined) throw flow.refused(roleGone)
  flow.role = role
  flow.passed('role')
  flow.check('address', addressRefusal(role.record, context.remoteAddress))
  const { providerError } = context
  return grantSignedIn(
    role,
    await signIn({ ...input, providerError }, { login, role, ready }, context),
    login,
  )
}

const texts = { used: 'it came back before: used already', expired: 'it came back too late: expired' }

/**
 * Before the form is confirmed, a poll leaves the login unchanged and may be repeated. A poll by another
 * client ends it.
 */
async function checkConfirmed(
  login: PendingLogin,
  input: CallbackInput,
  { state, attempt }: BrowserContext,
): Promise<void> {
  if (!usesForm(login, input.code) || !isClientNonce(login, input.client_nonce)) return
  const role = await state.roles.find(login.role)
  const refused = role && unconfirmed(login, role)
  if (refused === undefined) return
  noteLogin(attempt, login)
  throw attempt.flow.refused(refused)
}

/**
 * Whether the token would be issued for a posted form, rather than for a code that the caller has.
 * docs/contract/oidc.md#the-page-of-a-form
 */
const usesForm = (login: PendingLogin, code: string): boolean =>
  (code === codeOfForm && login.code !== '') ||
  ((code === codeOfForm || code === '') && login.id_token !== '')
