import type { MountState } from '../config/mount-state.ts'
import type { Role } from '../config/role.ts'
import { type Refusal, refusal } from '../refusals/refusal.ts'
import {
  completedPage,
  confirmationPage,
  errorPage,
  loginFailed,
  type Page,
  plainPage,
  stateUnknown,
} from './pages.ts'
import { isConfirmation, type PendingLogin } from './pending-login.ts'
import type { PendingLogins } from './pending-logins.ts'
import { isCommandLine, mountInPath } from './redirect-uri.ts'

/*
 * The provider's response comes from the browser of the person who signs in, but the token goes to whoever
 * began the login and polls for it. These can be two people: anyone can begin a login and send its link to
 * someone else. So nothing that a form contains counts until the person has pressed a button on the page that
 * responds to the form. docs/contract/oidc.md#the-page-of-a-form
 */

/**
 * Whether a posted form must be confirmed first. A command line receives the form on the person's own
 * machine, so nobody else began that login.
 */
const needsConfirmation = ({ redirect_uri }: PendingLogin, role: Role | undefined): boolean =>
  !isCommandLine(redirect_uri) && role?.record.oidc_disable_confirmation !== true

/** Why a stored form does not count yet. */
export function unconfirmed(login: PendingLogin, role: Role | undefined): Refusal | undefined {
  if (login.confirmed || !needsConfirmation(login, role)) return undefined
  return refusal('confirmation_missing', `${loginFailed} The login waits for a confirmation in the browser.`)
}

/** The page that responds to a form: it asks the person, or tells the window that opened it to continue. */
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
 * Where the login continues; a command line accepts the form although it is shown an error.
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
  /** Called with the owner of the login. */
  onLogin(login: PendingLogin): void
}

class WrongConfirmation extends Error {
  override readonly name = 'WrongConfirmation'
}

/** Handles a button of the page. It returns only a page: the token goes to whoever polls with the state. */
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
      ? plainPage('The login was confirmed', 'It continues where it began. You can close this window.')
      : wayOn(login, state)
  } catch (error) {
    if (!(error instanceof WrongConfirmation)) throw error
    const text =
      'This confirmation was used already, or the provider has answered again since. Begin a new login if this one does not go on.'
    return { ...errorPage(loginFailed, text), reason: 'confirmation_invalid' }
  }
}
