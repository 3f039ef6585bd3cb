import { z } from 'zod'
import type { LoginRequest } from '../../core/tokens/acts/issue-login.ts'
import { requestedScope, scopeFields } from '../../core/tokens/store/scope.ts'
import { refuse } from '../../errors.ts'
import {
  type Exchange,
  loginPlace,
  namespaceOf,
  type Reply,
  type Resource,
  resource,
} from '../../http/resource/resource.ts'
import { boolField, lowerStringField, stringField } from '../../lib/text/fields.ts'
import { refusal } from '../../logins/refusals/refusal.ts'
import { answers } from './config/answers.ts'
import type { LoginOutcome, LoginReports } from './explain/login-reports.ts'
import { type Attempt, newAttempt } from './login/flow-trace.ts'
import type { JwtMethod } from './method.ts'
import { finishLogin } from './oidc/callback.ts'
import type { Page } from './oidc/pages.ts'
import type { ProviderError } from './oidc/pending-login.ts'
import { poll } from './oidc/poll.ts'
import { answerPosted } from './oidc/posted.ts'

const loginInput = z.object({
  role: lowerStringField.describe('Role to log in with; the configured default if empty'),
  jwt: stringField.meta({ description: 'Signed JWT', writeOnly: true }),
  distributed_claim_access_token: stringField.meta({
    description: 'Access token for a provider that keeps the groups elsewhere',
    writeOnly: true,
  }),
  ...scopeFields,
})
const authUrlInput = z.object({
  role: lowerStringField.describe('Role to log in with; the configured default if empty'),
  redirect_uri: stringField.describe('URI to which the provider sends the browser back'),
  client_nonce: stringField.describe('Value the callback must repeat'),
  ...scopeFields,
})
const callbackInput = z.object({
  state: stringField.describe('State from the authorization URL'),
  code: stringField.describe('Code from the provider'),
  nonce: stringField.describe('Accepted, not compared'),
  client_nonce: stringField.describe('Value given to auth_url'),
  id_token: stringField.describe('ID token from the provider'),
  iss: stringField.describe('Issuer that the provider claims to be'),
})
const pollInput = z.object({
  state: stringField.describe('State that auth_url returned'),
  client_nonce: stringField.describe('Value given to auth_url'),
})
const postedInput = callbackInput.extend({
  confirmation: stringField.meta({
    description: 'One-time value of the page that asks for a confirmation',
    writeOnly: true,
  }),
  denied: boolField.describe('With `confirmation`: the person refuses'),
})

type Parts = {
  readonly method: JwtMethod
  readonly reports: LoginReports
  /** Creates entity, alias and token of a login. */
  issue(request: LoginRequest): Promise<Pick<Reply, 'auth' | 'warnings'>>
}

/** `login`, `oidc/auth_url`, `oidc/callback` and `oidc/poll`. docs/contract/jwt.md, docs/contract/oidc.md */
export const loginResources = ({ method, issue, reports }: Parts): Resource[] => [
  resource('/login', {
    help: 'Log in with a signed JWT.',
    open: true,
    wrapsWithoutToken: true,
    namesRequest: true,
    write: {
      summary: 'Log in with a JWT',
      required: ['jwt'],
      form: 'auth',
      input: loginInput,
      handle: ({ call, mount, input, clientCertificate }) => {
        const asToken = call.loginKind === 'token' ? { certificate: clientCertificate() } : undefined
        const attempt = newAttempt({ role: input.role, token: input.jwt, asToken })
        return reports.watch({ call, mount, path: 'login', attempt }, async () => {
          const scope = requestedScope(input)
          const auth = await method.login(mount, call.remoteAddress, { ...input, asToken })
          return { reply: await issue({ ...loginPlace(mount, call), auth: { ...auth, scope } }) }
        })
      },
    },
  }),
  resource('/oidc/auth_url', {
    help: 'Returns the URL at which a browser login starts.',
    passesReadOnly: true,
    open: true,
    namesRequest: true,
    write: {
      summary: 'Get an authorization URL',
      ...answers.authUrl,
      input: authUrlInput,
      handle: (exchange) => {
        const { call, mount, input } = exchange
        const attempt = newAttempt({ role: input.role })
        return reports.watch({ call, mount, path: 'oidc/auth_url', attempt }, async () => {
          const { remoteAddress } = call
          const begun = await abortWhenClientLeaves(exchange, (signal) =>
            method.authorize(
              mount,
              { ...input, scope: requestedScope(input) },
              { remoteAddress, attempt, signal },
            ),
          )
          if ('auth_url' in begun) return { reply: { data: begun } }
          const { reason, text, cause } = begun.refused
          return {
            reply: { data: { auth_url: '' }, warnings: [text] },
            refused: { reason, status: 200, text, cause },
          }
        })
      },
    },
  }),
  resource('/oidc/callback', {
    help: 'Ends a browser login.',
    passesReadOnly: true,
    open: true,
    wrapsWithoutToken: true,
    namesRequest: true,
    read: {
      summary: 'Finish an OIDC login',
      form: 'auth',
      input: callbackInput,
      handle: (exchange) => {
        const { call, mount, input } = exchange
        const attempt = newAttempt()
        return reports.watch({ call, mount, path: 'oidc/callback', attempt }, async () => {
          const finished = await abortWhenClientLeaves(exchange, (signal) =>
            method.inFlow(mount, { ...browserRequest(exchange), attempt, signal }, (context) =>
              finishLogin(input, context),
            ),
          )
          if ('page' in finished) return pageOutcome(finished.page, attempt)
          const auth = method.rememberedBrowserLogin(mount, finished, attempt, call.remoteAddress)
          return { reply: await issue({ ...loginPlace(mount, call), auth }) }
        })
      },
    },
    write: {
      summary: 'Receive what a provider posts (form_post)',
      form: 'page',
      input: postedInput,
      handle: (exchange) => {
        const { call, mount, input, sent } = exchange
        const attempt = newAttempt()
        return reports.watch({ call, mount, path: 'oidc/callback', attempt }, async () => {
          const posted = {
            ...input,
            confirmation: Object.hasOwn(sent, 'confirmation') ? input.confirmation : undefined,
          }
          const page = await abortWhenClientLeaves(exchange, (signal) =>
            method.inFlow(mount, { ...browserRequest(exchange), attempt, signal }, (context) =>
              answerPosted(posted, context),
            ),
          )
          return pageOutcome(page, attempt)
        })
      },
    },
  }),
  resource('/oidc/poll', {
    help: 'Returns the token of a login that ends in a browser elsewhere.',
    passesReadOnly: true,
    open: true,
    wrapsWithoutToken: true,
    namesRequest: true,
    write: {
      summary: 'Poll for a login of mode `direct` or `device`',
      form: 'auth',
      input: pollInput,
      handle: async (exchange) => {
        const { call, mount, input } = exchange
        const attempt = newAttempt()
        let waiting: string | undefined
        const reply = await reports.watch({ call, mount, path: 'oidc/poll', attempt }, async () => {
          const { remoteAddress } = call
          const polled = await abortWhenClientLeaves(exchange, (signal) =>
            method.inFlow(mount, { remoteAddress, attempt, signal }, (context) => poll(input, context)),
          )
          if (typeof polled !== 'string') {
            const auth = method.rememberedBrowserLogin(mount, polled, attempt, remoteAddress)
            return { reply: await issue({ ...loginPlace(mount, call), auth }) }
          }
          waiting = polled
          return { reply: {} }
        })
        // no refusal: nothing is reported, and the caller may ask again
        if (waiting !== undefined) throw refuse('invalid', waiting)
        return reply
      },
    },
  }),
]

/** What a browser's request says besides its fields. */
const browserRequest = ({ call, mount, sent }: Exchange<unknown, unknown>) => ({
  remoteAddress: call.remoteAddress,
  requestId: call.requestId,
  mountPath: namespaceOf(call).path + mount.path,
  providerError: providerErrorOf(sent),
})

function pageOutcome({ reason, error, ...page }: Page, attempt: Attempt): LoginOutcome {
  const reply = { raw: page }
  if (reason === undefined) return { reply }
  const { status } = page
  if (error !== undefined)
    return { reply, refused: { reason, status, text: error.message, cause: error.operatorText, error } }
  attempt.flow.note(refusal(reason, ''))
  return { reply, refused: { reason, status } }
}

/** A provider that refuses sends `error` instead of a code. RFC 6749 §4.1.2.1. */
function providerErrorOf(sent: Exchange<unknown, unknown>['sent']): ProviderError | undefined {
  if (!Object.hasOwn(sent, 'error') || sent['error'] === '') return undefined
  // callers may write anything here, so what is kept of it is limited
  const text = (name: string) =>
    Object.hasOwn(sent, name) && typeof sent[name] === 'string' ? sent[name].slice(0, 1024) : ''
  return { error: text('error').slice(0, 128), error_description: text('error_description') }
}

/** Stops waiting for the provider when the client is gone. */
async function abortWhenClientLeaves<T>(
  exchange: Pick<Exchange<unknown, unknown>, 'whenGone'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const gone = new AbortController()
  const stopListening = exchange.whenGone(() => gone.abort())
  try {
    return await work(gone.signal)
  } finally {
    stopListening()
  }
}
