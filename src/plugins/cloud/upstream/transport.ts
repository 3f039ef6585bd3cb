import type { INetworkModule, NetworkRequestOptions, NetworkResponse } from '@azure/msal-node'
import type { Client, Context, Middleware, ResponseType } from '@microsoft/microsoft-graph-client'
import { z } from 'zod'
import { parsedJson } from '../../../lib/text/json.ts'
import { clean, type RequestKind, type UpstreamAnswer, unusableAnswer } from './answer.ts'
import type { UpstreamConnection } from './connection.ts'
import type { Environment } from './environments.ts'
import { type UpstreamCall, UpstreamError } from './upstream-error.ts'

// The only file that uses the vendor's packages. Both are loaded at first use, which saves 35 MB on servers
// without an active cloud mount.

export type FreshToken = {
  readonly token: string
  /** 0: do not cache the token. */
  readonly lifetimeMs: number
  /** How long the token is accepted while the login service fails; absent: not longer. */
  readonly extendedLifetimeMs?: number
}

/** Who a client is: its secret, or an assertion, made anew for each exchange and this token endpoint. */
export type Proof =
  | { readonly secret: string }
  | { readonly assertion: (tokenEndpoint: string, call: UpstreamCall) => Promise<string> }

export type LoginSettings = {
  readonly tenantId: string
  readonly environment: Environment
  /** Trusted certificates besides the system's, in PEM (the content of `CLOUD_CA_FILE`). */
  readonly caPem?: string | undefined
}

/** Exchanges a proof for a token, never from a cache. Throws `UpstreamError`, and what `assertion` throws. */
export type Exchange = (
  client: { readonly clientId: string; readonly proof: Proof },
  scope: string,
  call: UpstreamCall,
) => Promise<FreshToken>

type AssertionMaker = Extract<Proof, { assertion: unknown }>['assertion']

type Sender = Pick<UpstreamConnection, 'send'>

/** Hosts that msal-node knows, and those it sends requests to. It asks other hosts for their endpoints. */
const builtInHosts: ReadonlyMap<string, string> = new Map([
  ['https://login.microsoftonline.com', 'https://login.microsoftonline.com'],
  ['https://login.microsoftonline.us', 'https://login.microsoftonline.us'],
  ['https://login.chinacloudapi.cn', 'https://login.partner.microsoftonline.cn'],
  ['https://login.partner.microsoftonline.cn', 'https://login.partner.microsoftonline.cn'],
])

const tokenRequest = { service: 'login', operation: 'token', repeatable: true } as const satisfies RequestKind

/**
 * Exchanges client credentials through msal-node. Each exchange uses a new client object: after one 429
 * or 5xx the library's objects fail for a minute without a request, and they keep serving tokens of a revoked
 * secret from their cache. The library sends its requests through our connection (time limits, no redirects,
 * our certificates), to the authority's origin only. That also keeps the cause of a failure, which the
 * library drops. docs/decisions/0007-cloud-clients.md.
 */
export function openExchange(
  { tenantId, environment: { authorityHost } }: LoginSettings,
  connection: Sender,
): Exchange {
  const { origin, host } = new URL(authorityHost)
  const builtIn = builtInHosts.get(authorityHost)
  const allowed = new Set([origin, ...(builtIn === undefined ? [] : [builtIn])])
  const discovered = new Map<string, unknown>()
  return async ({ clientId, proof }, scope, call) => {
    // the tenant id becomes a segment of the authority's path
    if (!/^[\w.-]{1,128}$/.test(tenantId) || /^\.+$/.test(tenantId))
      throw loginFailure('unusable_tenant', 'the tenant id is not one')
    const { ConfidentialClientApplication } = await import('@azure/msal-node')
    const network = new LoginNetwork({ connection, call, allowed, discovered })
    let failedAssertion: { readonly cause: unknown } | undefined
    const shown = (secret: string): string => {
      network.secret = secret
      return secret
    }
    const assertionFor = async (make: AssertionMaker, tokenEndpoint: string): Promise<string> => {
      try {
        return shown(await make(tokenEndpoint, call))
      } catch (cause) {
        failedAssertion = { cause }
        throw cause
      }
    }
    try {
      const client = new ConfidentialClientApplication({
        auth: {
          clientId,
          ...('secret' in proof
            ? { clientSecret: shown(proof.secret) }
            : { clientAssertion: ({ tokenEndpoint = '' }) => assertionFor(proof.assertion, tokenEndpoint) }),
          authority: `${authorityHost}/${tenantId}`,
          ...(builtIn === undefined ? { knownAuthorities: [host] } : {}),
        },
        system: { networkClient: network },
      })
      const result = await client.acquireTokenByClientCredential({
        scopes: [scope],
        skipCache: true,
        correlationId: call.correlationId,
        azureRegion: 'DisableMsalForceRegion',
      })
      if (!isToken(result?.accessToken)) throw unusableAnswer(tokenRequest, 200)
      return { token: result.accessToken, ...network.lifetimes }
    } catch (error) {
      // the library may wrap it
      if (failedAssertion !== undefined) throw failedAssertion.cause
      if (error instanceof UpstreamError) throw error
      if (network.failure !== undefined) throw network.failure
      // the library rejected the discovery documents, so fetch them again next time
      discovered.clear()
      throw libraryFailure(error)
    }
  }
}

/** The library does not check tokens, and a token must be fit for a header. */
const isToken = (token: unknown): token is string =>
  typeof token === 'string' && /^[\u0021-\u007e]+$/.test(token)

const lifetime = z.coerce.number().min(1).catch(0)
const lifetimes = z
  .object({ expires_in: lifetime, ext_expires_in: lifetime })
  .catch({ expires_in: 0, ext_expires_in: 0 })

/** The library reports times of the system clock, in seconds, and adds the second to the first. */
function lifetimesIn(content: object): Omit<FreshToken, 'token'> {
  const { expires_in: seconds, ext_expires_in: extended } = lifetimes.parse(content)
  return { lifetimeMs: seconds * 1000, extendedLifetimeMs: Math.max(seconds, extended) * 1000 }
}

const loginFailure = (code: string, text: string, cause?: unknown): UpstreamError =>
  new UpstreamError({ ...tokenRequest, status: 0, code, text, cause })

function libraryFailure(error: unknown): UpstreamError {
  if (!(error instanceof Error)) return loginFailure('login_failed', 'failed')
  const code = 'errorCode' in error && typeof error.errorCode === 'string' ? error.errorCode : 'login_failed'
  return loginFailure(
    clean(code),
    clean(
      'errorMessage' in error && typeof error.errorMessage === 'string' ? error.errorMessage : error.message,
    ),
  )
}

type LoginNetworkParts = {
  connection: Sender
  call: UpstreamCall
  /** Origins to which a secret may be sent. */
  allowed: ReadonlySet<string>
  /** Discovery documents by URL, shared by all exchanges. */
  discovered: Map<string, unknown>
}

class LoginNetwork implements INetworkModule {
  readonly #parts: LoginNetworkParts
  failure: UpstreamError | undefined
  /** Of the token in the last answer. */
  lifetimes: Omit<FreshToken, 'token'> = { lifetimeMs: 0, extendedLifetimeMs: 0 }
  secret: string | undefined

  constructor(parts: LoginNetworkParts) {
    this.#parts = parts
  }

  async sendGetRequestAsync<Body>(
    url: string,
    options?: NetworkRequestOptions,
  ): Promise<NetworkResponse<Body>> {
    const { discovered } = this.#parts
    const known = discovered.get(url)
    // the library states the type of the body and checks it
    if (known !== undefined) return { status: 200, headers: {}, body: known as Body }
    const response = await this.#send<Body>('GET', url, options)
    discovered.set(url, response.body)
    return response
  }

  sendPostRequestAsync<Body>(url: string, options?: NetworkRequestOptions): Promise<NetworkResponse<Body>> {
    return this.#send<Body>('POST', url, options)
  }

  async #send<Body>(
    method: string,
    url: string,
    options: NetworkRequestOptions | undefined,
  ): Promise<NetworkResponse<Body>> {
    const { connection, call, allowed } = this.#parts
    try {
      if (!allowed.has(URL.parse(url)?.origin ?? ''))
        throw loginFailure('foreign_address', 'the authority names an endpoint on another host')
      const { status, body } = await connection.send(
        { ...tokenRequest, method, url, headers: options?.headers ?? {}, body: options?.body },
        call,
      )
      const content = parsedJson(body.toString())
      if (typeof content !== 'object' || content === null) throw unusableAnswer(tokenRequest, status)
      this.lifetimes = lifetimesIn(content)
      // as above; the library ignores the headers of a successful answer
      return { status, headers: {}, body: content as Body }
    } catch (error) {
      this.failure =
        error instanceof UpstreamError
          ? withoutSecret(error, this.secret)
          : loginFailure('login_failed', 'failed', error)
      throw this.failure
    }
  }
}

/** Removes the secret from an error, in case the service repeats it. */
const withoutSecret = (error: UpstreamError, secret: string | undefined): UpstreamError =>
  secret !== undefined && error.message.includes(secret)
    ? new UpstreamError({
        ...error,
        text: error.text.replaceAll(secret, '…'),
        code: error.code.replaceAll(secret, '…'),
      })
    : error

export type GraphRequest = RequestKind & {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /**
   * A path below `/v1.0` with encoded segments and query values, or the absolute, checked address of a
   * further page.
   */
  readonly path: string
  readonly body?: object | undefined
  readonly prefer?: string | undefined
  readonly token: string
}

export type Graph = (request: GraphRequest, call: UpstreamCall) => Promise<UpstreamAnswer>

/** Passes a request to our middleware, and its outcome back: the library drops the cause of a failure. */
class GraphAttempt {
  readonly request: GraphRequest
  readonly call: UpstreamCall
  answer: UpstreamAnswer | undefined
  failure: UpstreamError | undefined

  constructor(request: GraphRequest, call: UpstreamCall) {
    this.request = request
    this.call = call
  }
}

/**
 * Sends requests through microsoft-graph-client. Our middleware replaces its chain. So there are no retries
 * of the library's (they sleep up to 3 min and cannot be stopped) and no redirects. The token is sent to the
 * configured origin and path, and nowhere else; the library would omit it silently, because its list of hosts
 * does not know ports. We read the raw answer, so that a proxy's page is not mistaken for an answer of the
 * service. docs/decisions/0007-cloud-clients.md.
 */
export function openGraph(directoryBase: string, connection: Sender): Graph {
  const middleware = sendingMiddleware(directoryBase, connection)
  let client: Promise<Client> | undefined
  return async (request, call) => {
    client ??= import('@microsoft/microsoft-graph-client').then(({ Client }) =>
      Client.initWithMiddleware({ baseUrl: `${directoryBase}/`, middleware }),
    )
    const attempt = new GraphAttempt(request, call)
    const raw = 'raw' as ResponseType.RAW
    const prepared = (await client).api(request.path).middlewareOptions([attempt]).responseType(raw)
    try {
      if (request.method === 'GET') await prepared.get()
      else if (request.method === 'DELETE') await prepared.delete()
      else if (request.method === 'PATCH') await prepared.patch(request.body ?? {})
      else await prepared.post(request.body ?? {})
    } catch (error) {
      throw attempt.failure ?? error
    }
    if (attempt.answer === undefined) throw unusableAnswer(request, 0)
    return attempt.answer
  }
}

/** The middleware that sends a request, with its token, to addresses below the configured one only. */
function sendingMiddleware(directoryBase: string, connection: Sender): Middleware {
  const base = new URL(directoryBase)
  const root = `${base.origin}${base.pathname.replace(/\/$/, '')}/v1.0/`
  return {
    execute: async (context: Context) => {
      const attempt: unknown = context.middlewareControl?.getMiddlewareOptions(GraphAttempt)
      if (!(attempt instanceof GraphAttempt)) throw new Error('a directory request without its attempt')
      const { request, call } = attempt
      try {
        const url = String(context.request)
        if (URL.parse(url)?.href.startsWith(root) !== true) throw foreignAddress(request)
        const headers = {
          ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(request.prefer === undefined ? {} : { prefer: request.prefer }),
          accept: 'application/json',
          authorization: `Bearer ${request.token}`,
          'client-request-id': call.correlationId,
        }
        const body: unknown = context.options?.body
        const sent = { ...request, url, headers, body: typeof body === 'string' ? body : undefined }
        attempt.answer = await connection.send(sent, call)
        context.response = new Response(null, { status: attempt.answer.status })
      } catch (error) {
        attempt.failure = error instanceof UpstreamError ? error : undefined
        throw error
      }
    },
  }
}

/** To which a list or a discovery document may point. */
export const foreignAddress = (kind: RequestKind): UpstreamError =>
  UpstreamError.of(kind, 'foreign_address', 'the address is not one of the configured service')
