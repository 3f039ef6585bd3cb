import { thrown } from '../checks/trace.ts'
import type { MountState } from '../config/mount-state.ts'
import { refusal } from '../refusals/refusal.ts'
import { answerConfirmation, pageOfForm } from './confirmation.ts'
import { errorPage, loginFailed, type Page, stateUnknown } from './pages.ts'
import type { PendingLogin, ProviderError } from './pending-login.ts'
import type { PendingLogins } from './pending-logins.ts'

export type PostedInput = {
  readonly state: string
  readonly code: string
  readonly id_token: string
  readonly iss: string
  /** One-time value of the page that asks for a confirmation; undefined in a form of the provider. */
  readonly confirmation: string | undefined
  /** With a confirmation: the person refused. */
  readonly denied: boolean
}

export type PostedContext = {
  readonly state: MountState
  readonly pending: PendingLogins
  /** What the provider sent instead of a code, if it refused. */
  readonly providerError: ProviderError | undefined
  /** Namespace and mount, as shown to a person. */
  readonly mountPath: string
  /** Called with the owner of the login. */
  onLogin(login: PendingLogin): void
}

/**
 * Longest code, ID token and issuer to store: whoever began a login may post to it, so the size is limited.
 */
const maxCodeSize = 16 * 1024
const maxIdTokenSize = 64 * 1024
const maxIssuerSize = 4 * 1024

const notOffered: Page = { status: 405, contentType: 'application/json', body: '', headers: {} }

/**
 * Handles what a browser posts: the form of a provider, or the person's response on the page for that form.
 * Returns the page to show, never a token.
 */
export async function answerPosted(input: PostedInput, context: PostedContext): Promise<Page> {
  const ready = await context.state.findConfig()
  if (ready === undefined)
    throw thrown(refusal('config_missing', `${loginFailed} Could not load configuration.`))
  if (ready.config.oidc_response_mode !== 'form_post') return notOffered
  const { confirmation } = input
  return confirmation === undefined
    ? keepPosted(input, context)
    : answerConfirmation({ ...input, confirmation }, context)
}

/**
 * Stores a provider's form; the GET that follows finishes the login. Only the state is checked here.
 * docs/contract/oidc.md#the-page-of-a-form
 */
async function keepPosted(
  { state, code, id_token, iss }: PostedInput,
  context: PostedContext,
): Promise<Page> {
  if (code.length > maxCodeSize || id_token.length > maxIdTokenSize || iss.length > maxIssuerSize)
    return errorPage(loginFailed, 'The answer of the provider is too long.')
  const { providerError } = context
  const login = await context.pending.keepPosted(state, {
    code,
    id_token,
    refused: providerError !== undefined,
    issuer: iss,
    provider_error: providerError,
  })
  if (login === undefined) return { ...errorPage(loginFailed, stateUnknown), reason: 'state_unknown' }
  context.onLogin(login)
  return pageOfForm({
    login,
    role: await context.state.roles.find(login.role),
    state,
    mountPath: context.mountPath,
  })
}
