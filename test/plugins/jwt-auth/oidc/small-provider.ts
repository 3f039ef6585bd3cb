import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { borrowServer } from '../../../support/borrowed-server.ts'
import type { Answer, Client, Json } from '../../../support/client.ts'
import { rsaKeysNamed } from '../../../support/rsa-keys.ts'
import type { TestServer, TestServerOptions } from '../../../support/start-server.ts'
import { jwksOf, type Provider, startProvider } from '../provider.ts'
import { aSigner, newKeys, type Signer } from '../signer.ts'

export const clientId = 'abc'
export const clientSecret = 'def'
/** Where the browser returns. */
export const redirectUri = 'https://example.com/oidc/callback'

/** A wrong response of a token or userinfo endpoint. */
export type Reply = {
  status?: number
  type?: string
  body?: object | string
  headers?: Record<string, string>
}

type Grant = { challenge: string | undefined; idToken: string; more: object }

/**
 * A provider whose every response a test can replace. Codes are created without a login page: `codeFor`
 * stands for a person who signed in.
 */
export type SmallProvider = AsyncDisposable & {
  readonly web: Provider
  readonly url: string
  signer: Signer
  readonly tokenCalls: {
    authorization: string | undefined
    type: string | undefined
    form: URLSearchParams
  }[]
  readonly userInfoCalls: (string | undefined)[]
  /** Replaces the response of the token endpoint; undefined: the correct one. */
  token: Reply | undefined
  userInfo: Reply | undefined
  /** The forms that its device endpoint got. */
  readonly deviceCalls: URLSearchParams[]
  /** Changes the response of the device endpoint. */
  device: Reply | undefined
  /** The error with which it answers the polls of devices; '' once the person has signed in with `deviceClaims`. */
  deviceError: string
  deviceClaims: object
  /** The client authentication it accepts: both methods, or one. */
  accepts: 'both' | 'basic' | 'body' | 'none'
  claims(login: URLSearchParams, given?: object): object
  codeFor(login: URLSearchParams, given?: { claims?: object; idToken?: string; more?: object }): string
}

const keysByAlgorithm = new Map<string, ReturnType<typeof newKeys>>()

/**
 * Shared by all small providers of a run, because creating an RSA key takes longer than a login. For a
 * foreign signature, use another `aSigner`.
 */
function keysOf(algorithm: string): ReturnType<typeof newKeys> {
  const keys =
    keysByAlgorithm.get(algorithm) ?? newKeys(algorithm, 2048, (bits) => rsaKeysNamed('provider', bits))
  keysByAlgorithm.set(algorithm, keys)
  return keys
}

export async function startSmallProvider({
  algorithm = 'RS256',
  metadata = {},
  tls,
  host = '127.0.0.1',
}: {
  algorithm?: string
  metadata?: object
  tls?: { key: string; cert: string }
  host?: string
} = {}): Promise<SmallProvider> {
  const web = await startProvider({}, tls)
  const url = web.url.replace('127.0.0.1', host)
  const grants = new Map<string, Grant>()
  const provider: SmallProvider = {
    web,
    url,
    signer: aSigner(algorithm, { kid: 'k1', keys: keysOf(algorithm) }),
    tokenCalls: [],
    userInfoCalls: [],
    deviceCalls: [],
    device: undefined,
    deviceError: 'authorization_pending',
    deviceClaims: {},
    token: undefined,
    userInfo: undefined,
    accepts: 'both',
    claims: (login, given = {}) => {
      const now = Math.floor(Date.now() / 1000)
      const all = {
        iss: url,
        aud: clientId,
        sub: 'bob',
        iat: now - 5,
        exp: now + 300,
        nonce: login.get('nonce'),
        ...given,
      }
      return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
    },
    codeFor: (login, { claims, idToken, more = {} } = {}) => {
      const code = `code-${randomUUID()}`
      const challenge = login.get('code_challenge') ?? undefined
      grants.set(code, {
        challenge,
        idToken: idToken ?? provider.signer.sign(provider.claims(login, claims)),
        more,
      })
      return code
    },
    [Symbol.asyncDispose]: () => web.stop(),
  }
  web.routes.set('/.well-known/openid-configuration', {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/jwks`,
    userinfo_endpoint: `${url}/userinfo`,
    device_authorization_endpoint: `${url}/device`,
    ...metadata,
  })
  web.routes.set('/jwks', (answer) => send(answer, { body: jwksOf(provider.signer) }))
  web.routes.set('/userinfo', (answer, request) => {
    provider.userInfoCalls.push(request.headers.authorization)
    send(answer, provider.userInfo ?? { status: 404, body: 'none' })
  })
  web.routes.set('/token', async (answer, request) => {
    const form = new URLSearchParams(await textOf(request))
    const { authorization, 'content-type': type } = request.headers
    provider.tokenCalls.push({ authorization, type, form })
    const isDevice = form.get('grant_type') === deviceGrant
    const grant = isDevice
      ? devicePolled(form, provider)
      : exchanged(form, authorization, provider.accepts, grants)
    send(answer, provider.token ?? grant)
  })
  web.routes.set('/device', async (answer, request) => {
    provider.deviceCalls.push(new URLSearchParams(await textOf(request)))
    const body = {
      device_code: `device-${provider.deviceCalls.length}`,
      user_code: 'ABCD-EF',
      verification_uri: `${url}/verify`,
      expires_in: 600,
    }
    send(answer, provider.device ?? { body })
  })
  return provider
}

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** RFC 8628 §3.5. */
function devicePolled(form: URLSearchParams, provider: SmallProvider): Reply {
  const { deviceError, deviceClaims, signer } = provider
  if (form.get('client_id') !== clientId || form.get('client_secret') !== clientSecret)
    return { status: 401, body: { error: 'invalid_client' } }
  if (deviceError !== '') return { status: 400, body: { error: deviceError, error_description: 'as told' } }
  const idToken = signer.sign(provider.claims(new URLSearchParams(), { nonce: undefined, ...deviceClaims }))
  const code = form.get('device_code') ?? ''
  return {
    body: {
      access_token: `at-${code}`,
      token_type: 'Bearer',
      id_token: idToken,
      refresh_token: `rt-${code}`,
    },
  }
}

/** A code is valid once, for a client that knows the secret and the verifier of the challenge. */
function exchanged(
  form: URLSearchParams,
  authorization: string | undefined,
  accepts: SmallProvider['accepts'],
  grants: Map<string, Grant>,
): Reply {
  const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
  const inBody = form.get('client_id') === clientId && form.get('client_secret') === clientSecret
  const shown = authorization === basic ? 'basic' : inBody ? 'body' : 'none'
  if (shown !== accepts && (accepts !== 'both' || shown === 'none'))
    return { status: 401, body: { error: 'invalid_client' } }
  const code = form.get('code') ?? ''
  const grant = grants.get(code)
  if (grant === undefined) return { status: 401, type: 'text/plain', body: 'no such code' }
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url')
  if (grant.challenge !== challenge) return { status: 401, type: 'text/plain', body: 'bad verifier' }
  grants.delete(code)
  return {
    body: {
      access_token: `at-${code}`,
      token_type: 'Bearer',
      expires_in: 300,
      id_token: grant.idToken,
      ...grant.more,
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  // without an encoding, a request yields buffers
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

const send = (
  answer: ServerResponse,
  { status = 200, type = 'application/json', body = '', headers = {} }: Reply,
): void =>
  void answer
    .writeHead(status, { 'content-type': type, ...headers })
    .end(typeof body === 'string' ? body : JSON.stringify(body))

/** A server with the mount `auth/oidc` for this provider, and the role `test`. */
export async function withFlow(
  provider: SmallProvider,
  { config = {}, role = {}, ...options }: TestServerOptions & { config?: object; role?: object } = {},
): Promise<TestServer> {
  const server = await borrowServer(options)
  await server.root.write('sys/auth/oidc', { type: 'oidc' })
  await configure(server, provider, config)
  await writeRole(server, role)
  return server
}

export const configure = (server: TestServer, provider: SmallProvider, given: object = {}): Promise<Answer> =>
  server.root.write('auth/oidc/config', {
    oidc_discovery_url: provider.url,
    oidc_client_id: clientId,
    oidc_client_secret: clientSecret,
    default_role: 'test',
    ...given,
  })

export const writeRole = (server: TestServer, given: object = {}): Promise<Answer> =>
  server.root.write('auth/oidc/role/test', {
    user_claim: 'sub',
    allowed_redirect_uris: [redirectUri],
    ...given,
  })

/** `auth_url`, and the parameters that the browser gets from it. */
export async function begin(client: Client, given: object = {}): Promise<URLSearchParams> {
  const answer = await client.write('auth/oidc/oidc/auth_url', { redirect_uri: redirectUri, ...given })
  return new URLSearchParams(String(answer.body.data?.['auth_url']).split('?')[1])
}

export function callback(
  client: Client,
  query: Record<string, string | null | undefined>,
  options: { localAddress?: string } = {},
): Promise<Answer> {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return client.read(`auth/oidc/oidc/callback?${new URLSearchParams(given)}`, options)
}

/** What a browser posts for a provider, or from one of our pages. */
export const postForm = (
  client: Client,
  fields: Readonly<Record<string, string>>,
  path = 'auth/oidc/oidc/callback',
): Promise<Answer> =>
  client.call('POST', path, undefined, {
    raw: new URLSearchParams(fields).toString(),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  })

/** The hidden fields of each form of a page, in order. */
export const formsOf = ({ text }: Pick<Answer, 'text'>): Record<string, string>[] =>
  [...text.matchAll(/<form[^>]*>(.*?)<\/form>/gs)].map(([, inside = '']) =>
    Object.fromEntries(
      [...inside.matchAll(/<input[^>]*name="([^"]*)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
        name,
        value,
      ]),
    ),
  )

/** A complete login: begins, signs in with these claims, returns. */
export async function logIn(
  server: TestServer,
  provider: SmallProvider,
  claims: object = {},
): Promise<Answer> {
  const login = await begin(server.anonymous)
  return callback(server.anonymous, { state: login.get('state'), code: provider.codeFor(login, { claims }) })
}

/** `ok`, or status and text. */
export const verdict = (answer: Answer): string =>
  answer.status === 200 ? 'ok' : `${answer.status} ${String(answer.body.errors?.[0])}`

export const metadataOf = (answer: Answer): Json | undefined => answer.body.auth?.['metadata']
