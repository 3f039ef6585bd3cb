import type { MountState } from '../mount-state.ts'
import { refusal } from '../refusal.ts'
import { thrown } from '../trace.ts'
import { loginFailed, stateUnknown } from './callback.ts'
import { completedPage, errorPage, type Page } from './pages.ts'
import type { PendingLogins } from './pending-logins.ts'
import { mountInPath } from './redirect-uri.ts'

export type PostedInput = { readonly state: string; readonly code: string; readonly id_token: string; readonly iss: string }

export type PostedContext = {
  readonly state: MountState
  readonly pending: PendingLogins
  /** The provider sent `error` in place of a code. */
  readonly providerRefused: boolean
}

/** Longest code, ID token and issuer that are kept: whoever began a login may post to it, so what it takes has a bound. */
const maxCodeSize = 16 * 1024
const maxIdTokenSize = 64 * 1024
const maxIssuerSize = 4 * 1024

const notOffered: Page = { status: 405, contentType: 'application/json', body: '', headers: {} }

/**
 * Keeps what a provider has a browser post, and gives the page it sees; the login is finished by the GET that follows. Nothing is checked here but
 * the state. Contract jwt-oidc §5.5.
 */
export async function keepPosted({ state, code, id_token, iss }: PostedInput, context: PostedContext): Promise<Page> {
  const ready = await context.state.findConfig()
  if (ready === undefined) throw thrown(refusal('config_missing', `${loginFailed} Could not load configuration.`))
  if (ready.config.oidc_response_mode !== 'form_post') return notOffered
  if (code.length > maxCodeSize || id_token.length > maxIdTokenSize || iss.length > maxIssuerSize)
    return errorPage(loginFailed, 'The answer of the provider is too long.')
  const login = await context.pending.keepPosted(state, { code, id_token, refused: context.providerRefused, issuer: iss })
  if (login === undefined) return { ...errorPage(loginFailed, stateUnknown), reason: 'state_unknown' }
  const mount = mountInPath(login.redirect_uri)
  return mount === undefined ? errorPage(loginFailed, 'Invalid redirect path.') : completedPage({ mount, state })
}
