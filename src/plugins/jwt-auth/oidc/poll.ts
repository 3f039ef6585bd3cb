import { OutboundError } from '../../../core/outbound/outbound.ts'
import type { LoginAuth } from '../../../core/tokens/acts/issue-login.ts'
import { refuse, ServiceError } from '../../../errors.ts'
import { addressRefusal } from '../../../jwt/checks/claims.ts'
import { pinRefusal } from '../../../jwt/keys/keyset.ts'
import { allowedKeys } from '../../../jwt/keys/pins.ts'
import { comparing, discreetRefusal, refusal, reworded } from '../../../logins/refusals/refusal.ts'
import { isRefusal } from '../checks/trace.ts'
import type { ReadyConfig } from '../config/mount-state.ts'
import type { Role } from '../config/role.ts'
import type { Exchanged, ExchangeError } from './exchange.ts'
import { loginFailed } from './pages.ts'
import { type Ending, isClientNonce, isStranded, type PendingLogin } from './pending-login.ts'
import {
  acceptReturned,
  claimsOfTokens,
  type FlowContext,
  grantSignedIn,
  noteLogin,
  providerOf,
} from './sign-in.ts'
import {
  configured,
  otherClient,
  otherRole,
  roleGone,
  unknownState,
  wrongClientNonce,
} from './state-checks.ts'

export type PollInput = { readonly state: string; readonly client_nonce: string }

/** What a client is told that has to poll again. RFC 8628 §3.5. */
export type Waiting = 'authorization_pending' | 'slow_down'

/** A login that a client polls for. */
type Polled = {
  readonly state: string
  readonly login: PendingLogin
  readonly role: Role
  readonly ready: ReadyConfig
}

/**
 * The result of a login that ends elsewhere, once it has ended; until then the login stays, and a refusal ends it.
 * docs/contract/oidc.md#callback-modes
 */
export async function poll(input: PollInput, context: FlowContext): Promise<LoginAuth | Waiting> {
  const { state, pending, attempt, remoteAddress } = context
  const { flow } = attempt
  const ready = await configured(context)
  const login = await pending.find(input.state)
  if (login === undefined) throw unknown(input.state, context)
  noteLogin(attempt, login)
  try {
    flow.check('state', otherClient(login, ready))
    flow.check(
      'client_nonce',
      isClientNonce(login, input.client_nonce) ? undefined : wrongClientNonce(login, input.client_nonce),
    )
    const role = await state.roles.find(login.role)
    if (role === undefined) throw flow.refused(roleGone)
    flow.role = role
    flow.passed('role')
    flow.check('address', addressRefusal(role.record, remoteAddress))
    const polled = { state: input.state, login, role, ready }
    if (login.mode === 'device') return await pollDevice(polled, context)
    if (login.ending !== undefined) return await endOf(polled, login.ending, context)
    if (isStranded(login, context.now())) throw stranded()
    return 'authorization_pending'
  } catch (error) {
    if (isAnswer(error)) await pending.take(input.state)
    throw error
  }
}

const stranded = () =>
  refuse('invalid', `${loginFailed} The server could not finish the login. Begin a new one.`, {
    reason: 'internal',
  })

/** A refusal; a failure of the server, or of the way to the provider, is none. */
const isAnswer = (error: unknown): boolean =>
  error instanceof ServiceError && error.reason !== undefined && error.kind !== 'internal'

const unknown = (state: string, { pending, attempt }: FlowContext): ServiceError =>
  unknownState(state, pending.ended(state), { attempt, texts })

const texts = {
  used: 'it has ended before: used already',
  expired: 'nobody finished it within 10 minutes: expired',
}

/** Ends the login, so that nobody else gets its token. */
async function claim(state: string, context: FlowContext): Promise<void> {
  if ((await context.pending.take(state)) === undefined) throw unknown(state, context)
}

/** The result of a login that ended in the browser. */
async function endOf(polled: Polled, ending: Ending, context: FlowContext): Promise<LoginAuth> {
  await claim(polled.state, context)
  if ('reason' in ending) {
    const { reason } = ending
    const text = `${loginFailed} ${ending.text}`
    const detail = `it ended in the browser, in request ${ending.request_id}`
    const compared = { expected: [], seen: null, detail, hint: '' } as const
    context.attempt.flow.note(comparing(refusal(reason, text), compared))
    // whatever it was: it has ended, and another poll does not help
    throw refuse('invalid', text, { reason })
  }
  const { attempt } = context
  attempt.signer = ending.signer
  const { allowed_key_thumbprints: pins } = polled.ready.config
  attempt.flow.check('signature', pinRefusal(ending.signer, allowedKeys(pins)))
  const outdated = otherRole(polled.role, ending.role)
  if (outdated !== undefined) throw attempt.flow.refused(outdated)
  return grantSignedIn(polled.role, ending, polled.login)
}

/** Asks the provider whether the person has signed in, unless the last poll was too recent. */
async function pollDevice(
  { state, login, role, ready }: Polled,
  context: FlowContext,
): Promise<LoginAuth | Waiting> {
  const { flow } = context.attempt
  if ((await context.pending.pace(state)) === undefined) return 'slow_down'
  const provider = await providerOf(ready, context.attempt)
  const parts = { outbound: context.outbound, config: ready.config, document: provider.document }
  const { ExchangeError, exchangeDeviceCode } = await import('./exchange.ts')
  let tokens: Exchanged
  try {
    tokens = await exchangeDeviceCode(login.device_code, { ...parts, signal: context.signal })
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error
    const waiting = waitingOf(error, context)
    if (error.code === 'slow_down') await context.pending.slowDown(state)
    if (waiting !== undefined) return waiting
    throw flow.refused(
      comparing(
        discreetRefusal('provider_refused', {
          text: `authorization failed: ${error.code || error.told}`,
          cause: `authorization failed: ${error.message}`,
        }),
        { expected: ['id_token'], seen: [error.message], isLong: true, hint: '' },
      ),
    )
  }
  await claim(state, context)
  flow.passed('exchange', { expected: ['id_token'], seen: tokens.members })
  const begun = { ...context, login, role, ready, provider }
  const returned = await claimsOfTokens(tokens, begun)
  if (isRefusal(returned))
    throw flow.refused(reworded(returned, (text) => `Token verification failed. ${text}`))
  return grantSignedIn(role, await acceptReturned(returned, begun), login)
}

/** Undefined if the provider has refused. One that did not answer is asked again later: RFC 8628 §3.5. */
function waitingOf(error: ExchangeError, { log }: FlowContext): Waiting | undefined {
  if (error.code === 'authorization_pending' || error.code === 'slow_down') return error.code
  if (!(error.cause instanceof OutboundError)) return undefined
  log.warn(
    { event: 'device_unanswered', cause: error.message },
    'the provider did not answer for a device; the next poll asks again',
  )
  return 'slow_down'
}
