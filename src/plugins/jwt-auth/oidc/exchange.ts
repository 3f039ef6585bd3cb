import { createHash } from 'node:crypto'
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientError,
  Configuration,
  customFetch,
  genericGrantRequest,
  None,
} from 'openid-client'
import { type OutboundClient, OutboundError, type OutboundResponse } from '../../../core/outbound/outbound.ts'
import { isPlainObject } from '../../../jwt/jws/strict-json.ts'
import type { DiscoveryDocument } from '../../../jwt/keys/discovery.ts'
import { answerKind } from '../../../jwt/keys/source-error.ts'
import { excerpt, quoted } from '../../../lib/text/go-text.ts'
import { parseFinite } from '../../../lib/text/json.ts'
import { formEncoded, redactSecrets } from '../../../logins/refusals/redact.ts'
import { type Config, providerTrust } from '../config/jwt-config.ts'
import type { PendingLogin } from './pending-login.ts'

/** What a provider returns for a code. */
export type Exchanged = {
  readonly accessToken: string
  /** In the form that begins an Authorization header. */
  readonly tokenType: string
  /** Undefined if there is none, or if it is not a text. */
  readonly idToken: string | undefined
  /** Empty if there is none. */
  readonly refreshToken: string
  /** Names of all members of the response. */
  readonly members: readonly string[]
}

const fetchFailed = 'oauth2: cannot fetch token'

/**
 * Why the exchange of a code failed, for the operator: the message may repeat the provider's response. It
 * follows `unable to exchange auth code with provider: `.
 */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError'
  /** The part that the caller may see: by default nothing of the provider's response. */
  readonly told: string
  /** An error code of the protocol, with which the provider answered; else empty. */
  readonly code: string
  /** The outcome of each attempt, by the method of client authentication. For the operator. */
  readonly attempts: readonly string[]

  constructor(
    message: string,
    {
      told = fetchFailed,
      code = '',
      attempts = [],
      ...options
    }: ErrorOptions & { told?: string; code?: string; attempts?: readonly string[] } = {},
  ) {
    super(message, options)
    this.told = told
    this.code = code
    this.attempts = attempts
  }
}

/** Our own text, which the caller may see. */
const unusable = (text: string, options: ErrorOptions = {}) =>
  new ExchangeError(text, { ...options, told: text })

/**
 * Error codes of the protocol (RFC 6749 §5.2, RFC 8707 §2, RFC 8628 §3.5). Any other text is the provider's own
 * and may contain anything.
 */
const protocolErrors: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_target',
  'access_denied',
  'server_error',
  'temporarily_unavailable',
  'authorization_pending',
  'slow_down',
  'expired_token',
])

export type ExchangeParts = {
  readonly outbound: OutboundClient
  readonly config: Config
  readonly document: DiscoveryDocument
  readonly signal: AbortSignal | undefined
}

/**
 * Exchanges a code for tokens at the provider. The client sends its secret as HTTP Basic; if that fails for
 * any reason, it attempts once more with the secret in the body. A public client sends its id in the body, once.
 * Throws `ExchangeError`. docs/contract/oidc.md#the-callback-in-this-order,
 * docs/contract/oidc.md#configuration
 */
export async function exchangeCode(
  code: string,
  login: PendingLogin,
  parts: ExchangeParts,
): Promise<Exchanged> {
  const { oidc_client_secret: secret, oidc_public_client: isPublic } = parts.config
  const fields = {
    code,
    redirect_uri: login.redirect_uri,
    ...(login.code_verifier === '' ? {} : { code_verifier: login.code_verifier }),
  }
  const ways: readonly (readonly [string, ClientAuth])[] = isPublic
    ? [['none', None()]]
    : [
        ['client_secret_basic', basic(secret)],
        ['client_secret_post', inBody(secret)],
      ]
  const attempts: string[] = []
  let last: ExchangeError | undefined
  for (const [name, clientAuth] of ways) {
    try {
      return await exchangeAs(clientAuth, { grant_type: 'authorization_code', ...fields }, parts)
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error
      attempts.push(`${name}: ${error.message}`)
      last = error
    }
  }
  if (last === undefined) throw new Error('there is always one way to try')
  throw new ExchangeError(last.message, { cause: last, told: last.told, code: last.code, attempts })
}

/**
 * Asks for the tokens of a device, once: a provider counts each request. Throws `ExchangeError`.
 * docs/contract/oidc.md#callback-modes, RFC 8628 §3.4
 */
export const exchangeDeviceCode = (code: string, parts: ExchangeParts): Promise<Exchanged> =>
  exchangeAs(
    parts.config.oidc_public_client ? None() : inBody(parts.config.oidc_client_secret),
    { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: code },
    parts,
  )

/**
 * Id and secret are form-encoded first (RFC 6749 §2.3.1), but only as far as required: many providers compare
 * without decoding.
 */
const basic =
  (secret: string): ClientAuth =>
  (_server, { client_id }, _body, headers) =>
    headers.set(
      'authorization',
      `Basic ${Buffer.from(`${formEncoded(client_id)}:${formEncoded(secret)}`).toString('base64')}`,
    )

const inBody =
  (secret: string): ClientAuth =>
  (_server, { client_id }, body) => {
    body.set('client_id', client_id)
    body.set('client_secret', secret)
  }

/**
 * openid-client sends the request. We parse the response ourselves, because real providers omit or misspell
 * what that library insists on.
 */
async function exchangeAs(
  clientAuth: ClientAuth,
  { grant_type, ...fields }: Record<string, string> & { readonly grant_type: string },
  parts: ExchangeParts,
): Promise<Exchanged> {
  const { config, document } = parts
  let exchanged: Exchanged | undefined
  const client = new Configuration(
    { issuer: config.oidc_discovery_url, token_endpoint: document.token_endpoint },
    config.oidc_client_id,
    {},
    clientAuth,
  )
  // the operator decides, by the URL, whether TLS is required
  allowInsecureRequests(client)
  client[customFetch] = async (url, { headers, body }) => {
    const answer = await askTokenEndpoint(url, { headers: { ...headers }, body: String(body) }, parts)
    const basicText = headers['authorization']?.split(' ')[1] ?? ''
    exchanged = readTokenAnswer(
      answer,
      redactSecrets(
        config.oidc_client_secret,
        fields['code_verifier'] ?? '',
        fields['device_code'] ?? '',
        basicText,
      ),
    )
    return Response.json({ access_token: exchanged.accessToken, token_type: 'bearer' })
  }
  try {
    await genericGrantRequest(client, grant_type, fields)
  } catch (error) {
    throw exchangeErrorOf(error)
  }
  if (exchanged === undefined) throw new ExchangeError('no answer')
  return exchanged
}

/** The library wraps the errors of its fetch. */
function exchangeErrorOf(error: unknown): unknown {
  if (error instanceof Error && error.cause instanceof ExchangeError) return error.cause
  // it has nothing else to refuse, because we construct the response it gets
  if (error instanceof TypeError || error instanceof ClientError)
    return unusable('no usable token_endpoint', { cause: error })
  return error
}

export async function askTokenEndpoint(
  url: string,
  { headers, body }: { headers: Record<string, string>; body: string },
  { outbound, config, signal }: ExchangeParts,
): Promise<OutboundResponse> {
  const { authorization } = headers
  // the library adds a charset, which some providers refuse
  const sent = {
    'content-type': 'application/x-www-form-urlencoded',
    ...(authorization === undefined ? {} : { authorization }),
  }
  return await outbound
    .post(url, body, { ...providerTrust(config), headers: sent, signal })
    .catch((cause: unknown) => {
      throw new ExchangeError(cause instanceof OutboundError ? cause.message : 'failed', { cause })
    })
}

/**
 * Accepts JSON or a form with any 2xx status; an OAuth error counts with any status. `shown` is the part of a
 * text that may be shown. Throws `ExchangeError`. docs/contract/oidc.md#the-callback-in-this-order
 */
function readTokenAnswer(answer: OutboundResponse, shown: (text: string) => string): Exchanged {
  const { status, statusText, headers, body } = answer
  const members = readMembers(body.toString('utf8'), headers['content-type'] ?? '')
  const text = (name: string): string => {
    const value = members?.get(name)
    return typeof value === 'string' ? value : ''
  }
  if (text('error') !== '') {
    const told = [text('error'), text('error_description'), text('error_uri')].filter((part) => part !== '')
    const code = protocolErrors.has(text('error')) ? text('error') : ''
    const word = code === '' ? fetchFailed : `oauth2: ${quoted(code)}`
    const cause = `oauth2: ${told.map((part) => quoted(shown(part))).join(' ')}`
    throw new ExchangeError(cause, { told: word, code })
  }
  if (status < 200 || status > 299) {
    throw new ExchangeError(
      `${fetchFailed}: ${status} ${statusText}\nResponse: ${excerpt(shown(body.toString('utf8')))}`,
    )
  }
  const notJson = 'oauth2: cannot parse json: not a JSON object'
  if (members === undefined) throw new ExchangeError(`${notJson} (${answerKind(answer)})`, { told: notJson })
  if (text('access_token') === '')
    throw unusable('oauth2: server response missing access_token: access_token is missing')
  const idToken = members.get('id_token')
  return {
    accessToken: text('access_token'),
    tokenType: spelledTypes.get(text('token_type').toLowerCase()) ?? text('token_type'),
    idToken: typeof idToken === 'string' ? idToken : undefined,
    refreshToken: text('refresh_token'),
    members: [...members.keys()],
  }
}

/** Token types spelled as in a header, however the response spells them. */
const spelledTypes: ReadonlyMap<string, string> = new Map([
  ['', 'Bearer'],
  ['bearer', 'Bearer'],
  ['mac', 'MAC'],
  ['basic', 'Basic'],
])

/** Undefined if it is neither; a form only if the response says so. */
export function readMembers(text: string, contentType: string): ReadonlyMap<string, unknown> | undefined {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/x-www-form-urlencoded' || type === 'text/plain')
    return new Map(new URLSearchParams(text))
  try {
    const parsed: unknown = parseFinite(text)
    return isPlainObject(parsed) ? new Map(Object.entries(parsed)) : undefined
  } catch {
    return undefined
  }
}

/**
 * A hash claim, if present, must match the value: the left half of its hash, by the algorithm of the
 * signature. docs/contract/oidc.md#the-callback-in-this-order
 */
export function hashMatches(claim: unknown, value: string, algorithm: string): boolean {
  if (typeof claim !== 'string' || algorithm === 'EdDSA') return true
  const whole = createHash(`sha${algorithm.slice(2)}`)
    .update(value)
    .digest()
  return claim === whole.subarray(0, whole.length / 2).toString('base64url')
}
