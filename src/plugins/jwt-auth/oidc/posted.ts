import { refusal } from '../../../logins/refusals/refusal.ts'
import { thrown } from '../checks/trace.ts'
import { answerConfirmation, pageOfForm, unconfirmed } from './confirmation.ts'
import { errorPage, loginFailed, type Page, stateUnknown } from './pages.ts'
import { type BrowserContext, noteLogin } from './sign-in.ts'

export type AnswerInput = {
  readonly state: string
  readonly code: string
  readonly id_token: string
  readonly iss: string
}

export type PostedInput = AnswerInput & {
  /** One-time value of the page that asks for a confirmation; undefined in a form of the provider. */
  readonly confirmation: string | undefined
  /** With a confirmation: the person refused. */
  readonly denied: boolean
}

/**
 * Longest code, ID token and issuer to store: whoever began a login may post to it, so the size is limited.
 */
const maxCodeSize = 16 * 1024
const maxIdTokenSize = 64 * 1024
const maxIssuerSize = 4 * 1024

const notOffered: Page = { status: 405, contentType: 'application/json', body: '', headers: {} }

/**
 * Handles what a browser posts: the form of a provider, or the person's response on the page that asks. Returns
 * the page to show, never a token.
 */
export async function answerPosted(input: PostedInput, context: BrowserContext): Promise<Page> {
  const ready = await context.state.findConfig()
  if (ready === undefined)
    throw thrown(refusal('config_missing', `${loginFailed} Could not load configuration.`))
  context.attempt.flow.ready = ready
  const { confirmation } = input
  const hasForms = ready.config.oidc_response_mode === 'form_post'
  if (confirmation !== undefined && (hasForms || (await isDirect(input.state, context))))
    return answerConfirmation({ ...input, confirmation }, context)
  return hasForms ? keepAnswer(input, context) : notOffered
}

/**
 * Whether the page was shown for a URL; of a login that has ended nobody knows, and the person is told that it has.
 * docs/contract/oidc.md#callback-modes
 */
const isDirect = async (state: string, { pending }: BrowserContext): Promise<boolean> =>
  ((await pending.find(state))?.mode ?? 'direct') === 'direct'

/**
 * Stores a provider's answer. Who polls, or the person's confirmation, finishes the login. Only the state is
 * checked here. docs/contract/oidc.md#the-page-of-a-form
 */
export async function keepAnswer(
  { state, code, id_token, iss }: AnswerInput,
  context: BrowserContext,
): Promise<Page> {
  if (code.length > maxCodeSize || id_token.length > maxIdTokenSize || iss.length > maxIssuerSize)
    return errorPage(loginFailed, 'The answer of the provider is too long.')
  const { providerError, attempt } = context
  const login = await context.pending.keepPosted(state, {
    code,
    id_token,
    refused: providerError !== undefined,
    issuer: iss,
    provider_error: providerError,
  })
  if (login === undefined) return { ...errorPage(loginFailed, stateUnknown), reason: 'state_unknown' }
  noteLogin(attempt, login)
  const role = await context.state.roles.find(login.role)
  const isEmpty = code === '' && id_token === ''
  const isAsked = !isEmpty && unconfirmed(login, role) !== undefined
  if (login.mode === 'direct' && !isAsked)
    return answerConfirmation({ state, confirmation: login.confirmation, denied: false }, context)
  return pageOfForm({ login, isAsked, state, mountPath: context.mountPath })
}
