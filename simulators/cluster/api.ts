import type { SigningKeys } from '../ci-issuer/signing-keys.ts'
import type { Objects, Right } from './objects.ts'
import { type Claims, claimsInForce, memberAt, ownerOf } from './tokens.ts'

/** A request to the API server. */
export type Asked = {
  readonly method: string
  readonly path: string
  /** Without `Bearer `; "" if there is none. */
  readonly bearer: string
  /** The JSON of the body; undefined if there is none. */
  readonly body: unknown
}

export type Answer = { readonly status: number; readonly body: object }

export type ApiParts = {
  readonly objects: Objects
  readonly keys: SigningKeys
  readonly issuer: string
  /** Whose audience a token without one has. */
  readonly audiences: readonly string[]
  /** Where the keys are; its address in the announced document. */
  readonly url: string
  /** As a server before version 1.12, or some proxies: audiences of a review are not looked at. */
  readonly ignoresAudiences: boolean
  /** Makes a token for an account, as `TokenRequest` does. */
  request(namespace: string, name: string, lifetime: number, audiences: readonly string[]): Promise<string>
}

export const reviewsPath = '/apis/authentication.k8s.io/v1/tokenreviews'
const discoveryPath = '/.well-known/openid-configuration'
const keysPath = '/openid/v1/jwks'
const namespacePath = /^\/api\/v1\/namespaces\/([^/]+)$/
const accountPath = /^\/api\/v1\/namespaces\/([^/]+)\/serviceaccounts\/([^/]+)(\/token)?$/

const failure = (status: number, reason: string, message: string): Answer => ({
  status,
  body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code: status },
})

const forbidden = (what: string): Answer =>
  failure(403, 'Forbidden', `${what} is forbidden: User "x" has no right to do that`)

const notFound = (what: string): Answer => failure(404, 'NotFound', `${what} not found`)

/** Answers as Kubernetes 1.31 to 1.35 do. */
export async function answerApi(asked: Asked, parts: ApiParts): Promise<Answer> {
  const { method, path, bearer } = asked
  const { objects, keys, issuer, url } = parts
  if (path === discoveryPath)
    return { status: 200, body: { issuer, jwks_uri: url + keysPath, response_types_supported: ['id_token'] } }
  if (path === keysPath) return { status: 200, body: { keys: keys.published() } }
  if (!objects.rights.has(bearer) && claimsInForce(bearer, keys, objects) === undefined)
    return failure(401, 'Unauthorized', 'Unauthorized')
  const lacks = (right: Right) => !objects.may(bearer, right)
  if (path === reviewsPath && method === 'POST')
    return lacks('review')
      ? forbidden('tokenreviews.authentication.k8s.io')
      : { status: 201, body: review(asked.body, parts) }
  const namespace = namespacePath.exec(path)?.[1]
  if (namespace !== undefined && method === 'GET')
    return lacks('namespaces') ? forbidden(`namespaces "${namespace}"`) : namespaceAnswer(namespace, objects)
  const [, of = '', name = '', token] = accountPath.exec(path) ?? []
  if (name === '') return notFound('the server could not find the requested resource')
  if (lacks('accounts')) return forbidden(`serviceaccounts "${name}"`)
  return token === undefined ? accountAnswer(of, name, objects) : tokenAnswer(of, name, asked, parts)
}

/** `status` of a TokenReview. Audiences that were asked for are intersected with those of the token. */
function review(sent: unknown, parts: ApiParts): object {
  const { keys, objects, audiences, ignoresAudiences } = parts
  const spec = memberAt(sent, 'spec')
  const token = memberAt(spec, 'token')
  const answer = (status: object) => ({
    kind: 'TokenReview',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { creationTimestamp: null },
    spec,
    status,
  })
  const claims = typeof token === 'string' ? claimsInForce(token, keys, objects) : undefined
  if (claims === undefined)
    return answer({ user: {}, error: '[invalid bearer token, service account token has been invalidated]' })
  const { namespace, name, uid } = ownerOf(claims)
  const user = {
    username: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  }
  if (ignoresAudiences) return answer({ authenticated: true, user })
  const wanted = listOf(memberAt(spec, 'audiences')) ?? audiences
  const own = audiencesOf(claims) ?? audiences
  const common = wanted.filter((audience) => own.includes(audience))
  return common.length === 0
    ? answer({
        user: {},
        error: `[invalid bearer token, token audiences ${JSON.stringify(own)} is invalid for the target audiences ${JSON.stringify(wanted)}]`,
      })
    : answer({ authenticated: true, user, audiences: common })
}

const audiencesOf = (claims: Claims): readonly unknown[] | undefined =>
  typeof claims['aud'] === 'string' ? [claims['aud']] : listOf(claims['aud'])

/** Undefined if it is no list, or an empty one. */
const listOf = (value: unknown): readonly unknown[] | undefined =>
  Array.isArray(value) && value.length > 0 ? value : undefined

function namespaceAnswer(name: string, { labels }: Objects): Answer {
  const found = labels.get(name)
  if (found === undefined) return notFound(`namespaces "${name}"`)
  return { status: 200, body: { kind: 'Namespace', apiVersion: 'v1', metadata: { name, labels: found } } }
}

function accountAnswer(namespace: string, name: string, objects: Objects): Answer {
  const found = objects.account(namespace, name)
  if (found === undefined) return notFound(`serviceaccounts "${name}"`)
  const { uid, annotations } = found
  return {
    status: 200,
    body: { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { namespace, name, uid, annotations } },
  }
}

async function tokenAnswer(
  namespace: string,
  name: string,
  { body }: Asked,
  { objects, request, audiences }: ApiParts,
): Promise<Answer> {
  if (objects.account(namespace, name) === undefined) return notFound(`serviceaccounts "${name}"`)
  const spec = memberAt(body, 'spec')
  const seconds = Number(memberAt(spec, 'expirationSeconds') ?? 3600)
  const wanted = (listOf(memberAt(spec, 'audiences')) ?? audiences).map(String)
  const token = await request(namespace, name, seconds, wanted)
  return {
    status: 201,
    body: {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      status: { token, expirationTimestamp: new Date(Date.now() + seconds * 1000).toISOString() },
    },
  }
}
