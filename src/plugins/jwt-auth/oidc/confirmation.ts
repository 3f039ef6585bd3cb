import type { MountState } from '../mount-state.ts'
import { type Refusal, refusal } from '../refusal.ts'
import type { Role } from '../role.ts'
import { loginFailed, stateUnknown } from './answer-texts.ts'
import { completedPage, confirmationPage, errorPage, type Page, plainPage } from './pages.ts'
import { isConfirmation, type PendingLogin } from './pending-login.ts'
import type { PendingLogins } from './pending-logins.ts'
import { isCommandLine, mountInPath } from './redirect-uri.ts'

/*
 * The provider's answer comes from the browser of the person who signs in, but the token goes to whoever began the login and asks for it. These need
 * not be the same: anybody may begin a login and send its link to somebody else. So nothing that a form brought counts until the person behind the
 * browser has pressed a button on the page that answers the form. docs/contract/oidc.md#the-page-of-a-form
 */

/**
 * Whether what a form brought must be confirmed first. A command line receives the form on the person's own
 * machine: nobody else began that login.
 */
const needsConfirmation = ({ redirect_uri }: PendingLogin, role: Role | undefined): boolean =>
  !isCommandLine(redirect_uri) && role?.record.oidc_disable_confirmation !== true

/** Why a form that was kept does not count yet. */
export function unconfirmed(login: PendingLogin, role: Role | undefined): Refusal | undefined {
  if (login.confirmed || !needsConfirmation(login, role)) return undefined
  return refusal('confirmation_missing', `${loginFailed} The login waits for a confirmation in the browser.`)
}

/** The page that answers a form: it asks, or tells the window that opened it to go on. */
export function pageOfForm({
  login,
  role,
  state,
  mountPath,
}: {
  login: PendingLogin
  role: Role | undefined
  state: string
  mountPath: string
}): Page {
  const isEmpty = login.code === '' && login.id_token === ''
  if (isEmpty || unconfirmed(login, role) === undefined) return wayOn(login, state)
  const { confirmation, address, created } = login
  return confirmationPage({
    state,
    confirmation,
    address,
    begunAt: created,
    role: login.role,
    mount: mountPath,
  })
}

/**
 * Where the login goes on; a command line takes what was kept although it is shown an error.
 * docs/contract/oidc.md#the-page-of-a-form
 */
function wayOn({ redirect_uri }: PendingLogin, state: string): Page {
  const mount = mountInPath(redirect_uri)
  return mount === undefined
    ? errorPage(loginFailed, 'Invalid redirect path.')
    : completedPage({ mount, state })
}

export type ConfirmationInput = {
  readonly state: string
  readonly confirmation: string
  readonly denied: boolean
}

export type ConfirmationContext = {
  readonly state: MountState
  readonly pending: PendingLogins
  /** Told whose login it is. */
  onLogin(login: PendingLogin): void
}

class WrongConfirmation extends Error {
  override readonly name = 'WrongConfirmation'
}

/**
 * The person has pressed a button of the page. Nothing is given but a page: the token goes to who asks for it
 * with the state.
 */
export async function answerConfirmation(
  { state, confirmation, denied }: ConfirmationInput,
  context: ConfirmationContext,
): Promise<Page> {
  const { pending } = context
  const check = (login: PendingLogin): void => {
    context.onLogin(login)
    if (!isConfirmation(login, confirmation)) throw new WrongConfirmation()
  }
  try {
    const login = denied ? await pending.take(state, check) : await pending.confirm(state, check)
    if (login === undefined) return { ...errorPage(loginFailed, stateUnknown), reason: 'state_unknown' }
    if (denied)
      return {
        ...plainPage('The login was refused', 'Nobody gets a token. You can close this window.'),
        reason: 'confirmation_denied',
      }
    return mountInPath(login.redirect_uri) === undefined
      ? plainPage('The login was confirmed', 'It goes on where it was begun. You can close this window.')
      : wayOn(login, state)
  } catch (error) {
    if (!(error instanceof WrongConfirmation)) throw error
    const text =
      'This confirmation was used already, or the provider has answered again since. Begin a new login if this one does not go on.'
    return { ...errorPage(loginFailed, text), reason: 'confirmation_invalid' }
  }
}
