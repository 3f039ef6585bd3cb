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
import { type OutboundClient, OutboundError, type OutboundResponse } from '../../../core/outbound.ts'
import { excerpt, quoted } from '../../../lib/go/text.ts'
import type { Config } from '../jwt-config.ts'
import type { DiscoveryDocument } from '../discovery.ts'
import { answerKind } from '../source-error.ts'
import { formEncoded, withoutSecrets } from '../without-secrets.ts'
import type { PendingLogin } from './pending-login.ts'

/** What a provider gives for a code. */
export type Exchanged = {
  readonly accessToken: string
  /** As an Authorization header begins. */
  readonly tokenType: string
  /** Undefined when there is none, or it is no text. */
  readonly idToken: string | undefined
  /** Names of all that the answer has. */
  readonly members: readonly string[]
}

const fetchFailed = 'oauth2: cannot fetch token'

/**
 * Why a code brought nothing, for the operator: the message may repeat the provider's answer. It follows
 * `unable to exchange auth code with provider: `.
 */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError'
  /** As much of it as the caller may see: by default nothing that a provider said. */
  readonly told: string
  /** What each try brought, by the way the client was authenticated. For the operator. */
  readonly tries: readonly string[]

  constructor(
    message: string,
    {
      told = fetchFailed,
      tries = [],
      ...options
    }: ErrorOptions & { told?: string; tries?: readonly string[] } = {},
  ) {
    super(message, options)
    this.told = told
    this.tries = tries
  }
}

/** The error with what was tried. */
const afterTries = (error: ExchangeError, tries: readonly string[]) =>
  new ExchangeError(error.message, { cause: error, told: error.told, tries })

/** Words of our own, which the caller may see. */
const unusable = (text: string, options: ErrorOptions = {}) =>
  new ExchangeError(text, { ...options, told: text })

/**
 * Words of the protocol (RFC 6749 §5.2, RFC 8707 §2). Any other text is the provider's own and may hold
 * anything.
 */
const protocolErrors: ReadonlySet<string> = new Set([
  ...[
    'invalid_request',
    'invalid_client',
    'invalid_grant',
    'unauthorized_client',
    'unsupported_grant_type',
    'invalid_scope',
  ],
  ...['invalid_target', 'access_denied', 'server_error', 'temporarily_unavailable'],
])

export type ExchangeParts = {
  readonly outbound: OutboundClient
  readonly config: Config
  readonly document: DiscoveryDocument
  readonly signal: AbortSignal | undefined
}

/**
 * Gives a code for tokens at the provider. The client shows its secret as HTTP Basic; whatever then fails is
 * tried once more with the secret in the body. A public client shows its id in the body, once. Throws
 * `ExchangeError`. docs/contract/oidc.md#the-callback-in-this-order, docs/contract/oidc.md#configuration.
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
  const tries: string[] = []
  let last: ExchangeError | undefined
  for (const [name, clientAuth] of ways) {
    try {
      return await exchangeAs(clientAuth, fields, parts)
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error
      tries.push(`${name}: ${error.message}`)
      last = error
    }
  }
  if (last === undefined) throw new Error('there is always one way to try')
  throw afterTries(last, tries)
}

/**
 * Id and secret are form-encoded first (RFC 6749 §2.3.1), but no further than that asks: many providers
 * compare without decoding.
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
 * openid-client makes the request. The answer is read here: real providers leave out or misspell what that
 * library insists on.
 */
async function exchangeAs(
  clientAuth: ClientAuth,
  fields: Record<string, string>,
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
  // whether a provider may be reached without TLS is the operator's choice, by the URL
  allowInsecureRequests(client)
  client[customFetch] = async (url, { headers, body }) => {
    const answer = await askTokenEndpoint(url, { headers: { ...headers }, body: String(body) }, parts)
    const basicText = headers['authorization']?.split(' ')[1] ?? ''
    exchanged = readTokenAnswer(
      answer,
      withoutSecrets(config.oidc_client_secret, fields['code_verifier'] ?? '', basicText),
    )
    return Response.json({ access_token: exchanged.accessToken, token_type: 'bearer' })
  }
  try {
    await genericGrantRequest(client, 'authorization_code', fields)
  } catch (error) {
    throw exchangeErrorOf(error)
  }
  if (exchanged === undefined) throw new ExchangeError('no answer')
  return exchanged
}

/** The library wraps what its fetch throws. */
function exchangeErrorOf(error: unknown): unknown {
  if (error instanceof Error && error.cause instanceof ExchangeError) return error.cause
  // nothing else is left for it to refuse: the answer it gets is of our making
  if (error instanceof TypeError || error instanceof ClientError)
    return unusable('no usable token_endpoint', { cause: error })
  return error
}

async function askTokenEndpoint(
  url: string,
  { headers, body }: { headers: Record<string, string>; body: string },
  { outbound, config, signal }: ExchangeParts,
): Promise<OutboundResponse> {
  const { authorization } = headers
  // a charset, which the library adds, some providers refuse
  const sent = {
    'content-type': 'application/x-www-form-urlencoded',
    ...(authorization === undefined ? {} : { authorization }),
  }
  return await outbound
    .post(url, body, { caPem: config.oidc_discovery_ca_pem, headers: sent, signal })
    .catch((cause: unknown) => {
      throw new ExchangeError(cause instanceof OutboundError ? cause.message : 'failed', { cause })
    })
}

/**
 * docs/contract/oidc.md#the-callback-in-this-order: JSON or a form, whatever 2xx; an OAuth error counts under
 * any status. `shown` is what of a text may go out. Throws `ExchangeError`.
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
    const word = protocolErrors.has(text('error')) ? `oauth2: ${quoted(text('error'))}` : fetchFailed
    throw new ExchangeError(`oauth2: ${told.map((part) => quoted(shown(part))).join(' ')}`, { told: word })
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
    members: [...members.keys()],
  }
}

/** Types that are written so in a header, however the answer spells them. */
const spelledTypes: ReadonlyMap<string, string> = new Map([
  ['', 'Bearer'],
  ['bearer', 'Bearer'],
  ['mac', 'MAC'],
  ['basic', 'Basic'],
])

/** Undefined when it is neither; a form only where the answer says so. */
function readMembers(text: string, contentType: string): ReadonlyMap<string, unknown> | undefined {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/x-www-form-urlencoded' || type === 'text/plain')
    return new Map(new URLSearchParams(text))
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? new Map(Object.entries(parsed))
      : undefined
  } catch {
    return undefined
  }
}

/**
 * A hash claim that is there must be that of the value: the left half, by the algorithm of the signature.
 * docs/contract/oidc.md#the-callback-in-this-order
 */
export function hashMatches(claim: unknown, value: string, algorithm: string): boolean {
  if (typeof claim !== 'string' || algorithm === 'EdDSA') return true
  const whole = createHash(`sha${algorithm.slice(2)}`)
    .update(value)
    .digest()
  return claim === whole.subarray(0, whole.length / 2).toString('base64url')
}
