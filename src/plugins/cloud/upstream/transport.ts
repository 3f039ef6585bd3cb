import type { INetworkModule, NetworkRequestOptions, NetworkResponse } from '@azure/msal-node'
import type { Client, Context, Middleware, ResponseType } from '@microsoft/microsoft-graph-client'
import { clean, jsonOf, type RequestKind, type UpstreamAnswer, unusableAnswer } from './answer.ts'
import type { UpstreamConnection } from './connection.ts'
import type { UpstreamCall } from './upstream-call.ts'
import { UpstreamError } from './upstream-error.ts'

// The one file that knows the vendor's packages. Both are loaded at the first use: a server without a cloud
// mount in use is spared 35 MB.

export type FreshToken = {
  readonly token: string
  /** 0: not to be kept. */
  readonly lifetimeMs: number
}
/** One exchange of a client secret for a token, never from a cache. Throws `UpstreamError`. */
export type Login = (
  credential: { readonly clientId: string; readonly secret: string },
  scope: string,
  call: UpstreamCall,
) => Promise<FreshToken>

export type LoginPlace = { readonly authorityHost: string; readonly tenantId: string }

/** All that is needed of a connection. */
type Sender = Pick<UpstreamConnection, 'send'>

/**
 * The login hosts msal-node knows by heart, and what it makes of them; any other host is asked for its
 * endpoints.
 */
const builtInHosts: ReadonlyMap<string, string> = new Map([
  ['https://login.microsoftonline.com', 'https://login.microsoftonline.com'],
  ['https://login.microsoftonline.us', 'https://login.microsoftonline.us'],
  ['https://login.chinacloudapi.cn', 'https://login.partner.microsoftonline.cn'],
  ['https://login.partner.microsoftonline.cn', 'https://login.partner.microsoftonline.cn'],
])

const tokenRequest = { service: 'login', operation: 'token', repeatable: true } as const satisfies RequestKind

/**
 * Client credentials by msal-node. Each exchange has a client object of its own: the library's objects fail
 * without a request for a minute after one 429 or 5xx, and go on serving a revoked secret from their cache.
 * Its network is ours (time limits, no redirects, our certificates), goes to the authority's own origin only,
 * and remembers the real cause of a failure, which the library drops. docs/decisions/0007-cloud-clients.md.
 */
export function openLogin({ authorityHost, tenantId }: LoginPlace, connection: Sender): Login {
  const { origin, host } = new URL(authorityHost)
  const builtIn = builtInHosts.get(authorityHost)
  const allowed = new Set([origin, ...(builtIn === undefined ? [] : [builtIn])])
  const discovered = new Map<string, unknown>()
  return async (credential, scope, call) => {
    // it becomes a segment of the authority's path
    if (!/^[\w.-]{1,128}$/.test(tenantId) || /^\.+$/.test(tenantId))
      throw loginFailure('unusable_tenant', 'the tenant id is not one')
    const { ConfidentialClientApplication } = await import('@azure/msal-node')
    const network = new LoginNetwork({ connection, call, allowed, discovered, secret: credential.secret })
    try {
      const client = new ConfidentialClientApplication({
        auth: {
          clientId: credential.clientId,
          clientSecret: credential.secret,
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
      return { token: result.accessToken, lifetimeMs: lifetimeOf(result.expiresOn) }
    } catch (error) {
      if (error instanceof UpstreamError) throw error
      if (network.failure !== undefined) throw network.failure
      // the library would not have it: next time it is asked for anew
      discovered.clear()
      throw libraryFailure(error)
    }
  }
}

/** The library passes on what it was sent: it is to go into a header. */
const isToken = (token: unknown): token is string =>
  typeof token === 'string' && /^[\u0021-\u007e]+$/.test(token)

/** The library reckons in seconds of the machine's clock, and takes a life it was not told for none. */
function lifetimeOf(expiresOn: Date | null): number {
  const left = (expiresOn?.getTime() ?? Number.NaN) - Date.now()
  return left > 1_000 ? left : 0
}

const loginFailure = (code: string, text: string, cause?: unknown): UpstreamError =>
  new UpstreamError({ ...tokenRequest, status: 0, code, text, ...(cause === undefined ? {} : { cause }) })

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
  /** Origins a secret may be sent to. */
  allowed: ReadonlySet<string>
  /** Discovery documents by URL, for all exchanges. */
  discovered: Map<string, unknown>
  secret: string
}

class LoginNetwork implements INetworkModule {
  readonly #parts: LoginNetworkParts
  failure: UpstreamError | undefined

  constructor(parts: LoginNetworkParts) {
    this.#parts = parts
  }

  async sendGetRequestAsync<Body>(
    url: string,
    options?: NetworkRequestOptions,
  ): Promise<NetworkResponse<Body>> {
    const { discovered } = this.#parts
    const known = discovered.get(url)
    // what the body is, the library says and checks
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
    const { connection, call, allowed, secret } = this.#parts
    try {
      if (!allowed.has(URL.parse(url)?.origin ?? ''))
        throw loginFailure('foreign_address', 'the authority names an endpoint on another host')
      const { status, body } = await connection.send(
        { ...tokenRequest, method, url, headers: options?.headers ?? {}, body: options?.body },
        call,
      )
      const content = jsonOf(body)
      if (typeof content !== 'object' || content === null) throw unusableAnswer(tokenRequest, status)
      // as above; the library reads no headers of a success
      return { status, headers: {}, body: content as Body }
    } catch (error) {
      this.failure =
        error instanceof UpstreamError
          ? withoutSecret(error, secret)
          : loginFailure('login_failed', 'failed', error)
      throw this.failure
    }
  }
}

/** A service that repeats what it was sent does not get it into our answers. */
const withoutSecret = (error: UpstreamError, secret: string): UpstreamError =>
  error.message.includes(secret)
    ? new UpstreamError({
        ...error,
        text: error.text.replaceAll(secret, '…'),
        code: error.code.replaceAll(secret, '…'),
      })
    : error

export type GraphRequest = RequestKind & {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /**
   * Below `/v1.0`, its segments and query values encoded; or the absolute address of a further page, checked.
   */
  readonly path: string
  readonly body?: object | undefined
  readonly token: string
}

export type Graph = (request: GraphRequest, call: UpstreamCall) => Promise<UpstreamAnswer>

/**
 * What our middleware is told of one request, and what it found: the library drops the cause of a failed one.
 */
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
 * Requests by microsoft-graph-client. Its chain is one middleware of ours: no retries of its own (they sleep
 * up to 3 min and cannot be stopped), no redirects, and the token goes to exactly the configured origin and
 * path, where the library would send a request without it silently (its list of hosts knows no ports). The
 * answer is taken raw, so that a page of a proxy is not mistaken for one.
 * docs/decisions/0007-cloud-clients.md.
 */
export function openGraph(directoryBase: string, connection: Sender): Graph {
  const base = new URL(directoryBase)
  const root = `${base.origin}${base.pathname.replace(/\/$/, '')}/v1.0/`
  const sender: Middleware = {
    execute: async (context: Context) => {
      const attempt: unknown = context.middlewareControl?.getMiddlewareOptions(GraphAttempt)
      if (!(attempt instanceof GraphAttempt)) throw new Error('a directory request without its attempt')
      const { request, call } = attempt
      try {
        const url = String(context.request)
        if (URL.parse(url)?.href.startsWith(root) !== true) throw foreignAddress(request)
        const headers = {
          ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
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
  let client: Promise<Client> | undefined
  return async (request, call) => {
    client ??= import('@microsoft/microsoft-graph-client').then(({ Client }) =>
      Client.initWithMiddleware({ baseUrl: `${directoryBase}/`, middleware: sender }),
    )
    const attempt = new GraphAttempt(request, call)
    const raw = 'raw' as ResponseType.RAW
    const prepared = (await client).api(request.path).middlewareOptions([attempt]).responseType(raw)
    try {
      if (request.method === 'GET') await prepared.get()
      else if (request.method === 'DELETE') await prepared.delete()
      else await prepared.post(request.body ?? {})
    } catch (error) {
      throw attempt.failure ?? error
    }
    if (attempt.answer === undefined) throw unusableAnswer(request, 0)
    return attempt.answer
  }
}

/** Lists lead where they want; we go where we meant to. */
export const foreignAddress = ({ service, operation }: RequestKind): UpstreamError =>
  new UpstreamError({
    service,
    operation,
    status: 0,
    code: 'foreign_address',
    text: 'the address is not one of the configured service',
  })
