import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { CompactSign } from 'jose'
import { host, listen, stop } from '../loopback.ts'
import type { Claims } from './claims.ts'
import { answerControl } from './controls.ts'
import { claimsOf, type Provider } from './providers.ts'
import {
  type Algorithm,
  algorithms,
  makeSigningKeys,
  type RotateOptions,
  type SigningKeys,
} from './signing-keys.ts'
import { answerWrongly, type Document, documents, sendJson, type Trouble } from './trouble.ts'

export type IssuerOptions = {
  /** Default 0: a free port. */
  port?: number
  /** The algorithms to make keys for; default all ten (five keys). */
  algorithms?: readonly Algorithm[]
  /** Serve HTTPS with this PEM pair. */
  tls?: { key: string; cert: string }
  /** Milliseconds since the epoch; default the system clock. */
  now?: () => number
  /** Serve `POST /token`, `/rotate` and `/trouble`, for use with curl. */
  controls?: boolean
}

type SignOptions = {
  algorithm?: Algorithm
  /** Added to the protected header; undefined removes a member (`kid: undefined` signs without one). */
  header?: Record<string, unknown>
  /** Sign with the key that was current before the last rotation. */
  previousKey?: boolean
}

/** A real HTTP issuer of pipeline JWTs on loopback. */
export interface Issuer extends AsyncDisposable {
  /** The `iss` of its tokens, without trailing slash. */
  readonly url: string
  readonly discoveryUrl: string
  readonly jwksUrl: string
  readonly keys: SigningKeys
  /** Number of requests so far, by path without query. */
  readonly requestsByPath: ReadonlyMap<string, number>
  /** The public key that verifies the given algorithm, PEM. */
  publicKeyPem(algorithm: Algorithm): string
  /** Signs exactly these claims, or this string as the payload. Default RS256. */
  sign(payload: Claims | string, options?: SignOptions): Promise<string>
  /** A token as a job, workload or client of the provider would get it; `claims` override the defaults. */
  signPipeline(provider: Provider, claims?: Claims, options?: SignOptions): Promise<string>
  rotate(options?: RotateOptions): Promise<void>
  /** Orders a fault for one document, or for all, until `behave`. */
  misbehave(trouble: Trouble, document?: Document): void
  behave(): void
  /** Connections are refused until `comeBack`, which listens on the same port. */
  goDown(): Promise<void>
  comeBack(): Promise<void>
}

const discoveryPath = '/.well-known/openid-configuration'
const jwksPath = '/.well-known/jwks'

/** Starts an issuer; it listens when the promise resolves. */
export async function startIssuer(options: IssuerOptions = {}): Promise<Issuer> {
  const { tls, now = Date.now } = options
  const keys = await makeSigningKeys(options.algorithms)
  const troubles = new Map<Document, Trouble>()
  const requestsByPath = new Map<string, number>()
  const closing = new AbortController()
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer)
  let port = await listen(server, options.port ?? 0)
  const url = `${tls === undefined ? 'http' : 'https'}://${host}:${port}`

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
    requestsByPath.set(path, (requestsByPath.get(path) ?? 0) + 1)
    if (path === discoveryPath) answerDocument('discovery', discoveryOf(url), request, response)
    else if (path === jwksPath) answerDocument('jwks', { keys: keys.published() }, request, response)
    else if (options.controls === true && request.method === 'POST')
      void answerControl(issuer, path, request, response)
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n')
  }

  function answerDocument(
    document: Document,
    body: Record<string, unknown>,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const trouble = troubles.get(document)
    if (trouble === undefined) sendJson(response, body)
    else answerWrongly({ trouble, request, response, body, signal: closing.signal })
  }

  const issuer: Issuer = {
    url,
    discoveryUrl: url + discoveryPath,
    jwksUrl: url + jwksPath,
    keys,
    requestsByPath,
    publicKeyPem: (algorithm) =>
      keys.current(algorithm).publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    sign: (payload, signOptions) => signWith(keys, payload, signOptions),
    signPipeline: (provider, claims, signOptions) =>
      signWith(
        keys,
        claimsOf(provider, { issuer: url, now: Math.floor(now() / 1000), ...(claims && { claims }) }),
        signOptions,
      ),
    rotate: keys.rotate,
    misbehave: (trouble, document) => {
      for (const one of document === undefined ? documents : [document]) troubles.set(one, trouble)
    },
    behave: () => troubles.clear(),
    goDown: () => stop(server),
    comeBack: async () => {
      port = await listen(server, port)
    },
    [Symbol.asyncDispose]: async () => {
      closing.abort()
      await stop(server)
    },
  }
  return issuer
}

const discoveryOf = (url: string) => ({
  issuer: url,
  jwks_uri: url + jwksPath,
  authorization_endpoint: `${url}/authorize`,
  token_endpoint: `${url}/oauth/token`,
  response_types_supported: ['id_token'],
  subject_types_supported: ['public', 'pairwise'],
  id_token_signing_alg_values_supported: [...algorithms],
  scopes_supported: ['openid'],
})

function signWith(keys: SigningKeys, payload: Claims | string, options: SignOptions = {}): Promise<string> {
  const { algorithm = 'RS256', header = {}, previousKey = false } = options
  const key = previousKey ? keys.previous(algorithm) : keys.current(algorithm)
  const bytes = new TextEncoder().encode(typeof payload === 'string' ? payload : JSON.stringify(payload))
  const critical = Array.isArray(header.crit)
    ? Object.fromEntries(header.crit.map((name) => [name, true]))
    : {}
  return new CompactSign(bytes)
    .setProtectedHeader({ typ: 'JWT', kid: key.kid, ...header, alg: algorithm })
    .sign(key.privateKey, { crit: critical })
}
