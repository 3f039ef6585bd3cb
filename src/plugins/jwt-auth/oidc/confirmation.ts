import { type Refusal, refusal } from '../../../logins/refusals/refusal.ts'
import type { Role } from '../config/role.ts'
import { endInBrowser } from './direct.ts'
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
import { isCommandLine, mountInPath } from './redirect-uri.ts'
import { type BrowserContext, noteLogin } from './sign-in.ts'

/*
 * The provider's response comes from the browser of the person who signs in, but the token goes to whoever
 * began the login and polls for it. These can be two people: anyone can begin a login and send its link to
 * someone else. So nothing that a form contains, or in mode `direct` the URL, counts until the person has pressed
 * a button on the page that responds to it. docs/contract/oidc.md#the-page-of-a-form
 */

/**
 * Whether the provider's answer must be confirmed first. A command line receives a form on the person's own
 * machine, so nobody else began that login, unless the token goes to whoever polls.
 */
const needsConfirmation = ({ mode, redirect_uri }: PendingLogin, role: Role | undefined): boolean =>
  (mode === 'direct' || !isCommandLine(redirect_uri)) && role?.record.oidc_disable_confirmation !== true

/** Why a stored answer does not count yet. */
export function unconfirmed(login: PendingLogin, role: Role | undefined): Refusal | undefined {
  if (login.confirmed || !needsConfirmation(login, role)) return undefined
  return refusal('confirmation_missing', `${loginFailed} The login waits for a confirmation in the browser.`)
}

/** The page that responds to a form: it asks the person, or tells the window that opened it to continue. */
export function pageOfForm({
  login,
  isAsked,
  state,
  mountPath,
}: {
  login: PendingLogin
  isAsked: boolean
  state: string
  mountPath: string
}): Page {
  if (!isAsked) return wayOn(login, state)
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

class WrongConfirmation extends Error {
  override readonly name = 'WrongConfirmation'
}

/** Handles a button of the page. It returns only a page: the token goes to whoever polls with the state. */
export async function answerConfirmation(
  { state, confirmation, denied }: ConfirmationInput,
  context: BrowserContext,
): Promise<Page> {
  const { pending } = context
  const check = (login: PendingLogin): void => {
    noteLogin(context.attempt, login)
    if (!isConfirmation(login, confirmation)) throw new WrongConfirmation()
  }
  try {
    if (denied) return await answerRefusal(state, check, context)
    const login = await pending.confirm(state, check)
    if (login === undefined) return { ...errorPage(loginFailed, stateUnknown), reason: 'state_unknown' }
    // the result belongs to whoever polls: a browser that leaves does not end the login
    if (login.mode === 'direct') return await endInBrowser(login, state, { ...context, signal: undefined })
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

/** The person refused: nobody gets a token, and who polls for a result is told. */
async function answerRefusal(
  state: string,
  check: (login: PendingLogin) => void,
  { pending, requestId }: BrowserContext,
): Promise<Page> {
  const isPolled = (await pending.find(state))?.mode === 'direct'
  const text = 'The login was refused in the browser.'
  const ended = isPolled
    ? await pending.end(state, { reason: 'confirmation_denied', text, request_id: requestId }, check)
    : await pending.take(state, check)
  if (ended === undefined) return { ...errorPage(loginFailed, stateUnknown), reason: 'state_unknown' }
  return {
    ...plainPage('The login was refused', 'Nobody gets a token. You can close this window.'),
    reason: 'confirmation_denied',
  }
}
