import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import type { Answer, Asked } from './hosts.ts'

const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const groupScope = 'https://www.googleapis.com/auth/admin.directory.group.readonly'
const userScope = 'https://www.googleapis.com/auth/admin.directory.user.readonly'
const cloudScope = 'https://www.googleapis.com/auth/cloud-platform'

/** Keys of the service account, shared by all stand-ins of the process: making an RSA key is slow. */
const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** The data behind an access token. */
type Grant = {
  readonly scopes: readonly string[] /** The administrator it acts as; empty for the account itself. */
  readonly subject: string
  readonly expiresAt: number
}

/**
 * Google's token endpoint, directory and credentials service for one Workspace domain. Only a service account
 * that acts as an administrator through domain-wide delegation may read the directory.
 */
export class Google {
  readonly email = 'gatehouse@stand-in.iam.gserviceaccount.com'
  readonly keyId = 'key-1'
  readonly admin = 'admin@example.com'
  /** Addresses of the groups with a person or group as a direct member, by the member's address. */
  readonly groupsByMember = new Map<string, string[]>()
  /** Custom schemas by a person's address. */
  readonly schemasByUser = new Map<string, Record<string, object>>()
  pageSize = 200
  readonly now: () => number
  readonly #grants = new Map<string, Grant>()

  constructor(now: () => number = Date.now) {
    this.now = now
  }

  /** The key file of the service account. */
  get keyFile(): string {
    return JSON.stringify({
      type: 'service_account',
      project_id: 'stand-in',
      private_key_id: this.keyId,
      client_email: this.email,
      client_id: '1',
      private_key: keys.privateKey.export({ format: 'pem', type: 'pkcs8' }),
      token_uri: 'https://oauth2.googleapis.com/token',
    })
  }

  /** Revokes all access tokens. */
  revokeTokens(): void {
    this.#grants.clear()
  }

  /** `oauth2.googleapis.com`. */
  readonly token = async ({ method, url, body }: Asked): Promise<Answer> => {
    const form = new URLSearchParams(body)
    if (method !== 'POST' || url.pathname !== '/token' || form.get('grant_type') !== jwtBearer)
      return oauthFailure('unsupported_grant_type', 'Invalid grant_type')
    const options = {
      issuer: this.email,
      audience: 'https://oauth2.googleapis.com/token',
      currentDate: new Date(this.now()),
      algorithms: ['RS256'],
    }
    try {
      const { payload } = await jwtVerify(form.get('assertion') ?? '', keys.publicKey, options)
      if ((payload.exp ?? 0) - (payload.iat ?? 0) > 3600)
        return oauthFailure('invalid_grant', 'Invalid JWT: Token must be a short-lived token')
      const subject = payload.sub ?? ''
      if (subject !== this.admin && subject !== this.email)
        return oauthFailure(
          'unauthorized_client',
          'Client is unauthorized to retrieve access tokens using this method.',
        )
      return {
        status: 200,
        body: {
          access_token: this.#grant(String(payload['scope']).split(' '), subject),
          expires_in: 3599,
          token_type: 'Bearer',
        },
      }
    } catch (error) {
      if (error instanceof errors.JOSEError)
        return oauthFailure('invalid_grant', `Invalid JWT: ${error.message}`)
      throw error
    }
  }

  /** `metadata.google.internal`, for a machine that runs as the service account. */
  readonly metadata = ({ url, headers }: Asked): Answer => {
    if (headers['metadata-flavor'] !== 'Google')
      return { status: 403, body: 'Missing Metadata-Flavor:Google header.' }
    if (!url.pathname.endsWith('/instance/service-accounts/default/token'))
      return { status: 404, body: 'not found' }
    const scopes = (url.searchParams.get('scopes') ?? '').split(',')
    return {
      status: 200,
      body: { access_token: this.#grant(scopes, ''), expires_in: 3599, token_type: 'Bearer' },
    }
  }

  /** `iamcredentials.googleapis.com`. */
  readonly credentials = async ({ url, headers, body }: Asked): Promise<Answer> => {
    if (this.#grantOf(headers.authorization)?.scopes.includes(cloudScope) !== true) return unauthenticated
    const [, account = '', verb = ''] =
      /^\/v1\/projects\/-\/serviceAccounts\/([^/:]+):(\w+)$/.exec(url.pathname) ?? []
    if (decodeURIComponent(account) !== this.email)
      return apiFailure(404, 'Requested entity was not found.', 'NOT_FOUND')
    const requested = JSON.parse(body)
    if (verb === 'generateAccessToken')
      return {
        status: 200,
        body: { accessToken: this.#grant(requested.scope, ''), expireTime: '2099-01-01T00:00:00Z' },
      }
    if (verb !== 'signJwt') return apiFailure(404, 'Method not found.', 'NOT_FOUND')
    const signed = await new SignJWT(JSON.parse(requested.payload))
      .setProtectedHeader({ alg: 'RS256', kid: this.keyId })
      .sign(keys.privateKey)
    return { status: 200, body: { keyId: this.keyId, signedJwt: signed } }
  }

  /** `admin.googleapis.com`. */
  readonly directory = ({ method, url, headers }: Asked): Answer => {
    const grant = this.#grantOf(headers.authorization)
    if (grant === undefined) return unauthenticated
    const path = url.pathname.replace('/admin/directory/v1/', '')
    if (method === 'GET' && path === 'groups')
      return grant.scopes.includes(groupScope) && grant.subject === this.admin
        ? this.#groups(url)
        : notAuthorized
    const user = /^users\/([^/]+)$/.exec(path)?.[1]
    if (method !== 'GET' || user === undefined) return apiFailure(404, 'Not Found', 'NOT_FOUND')
    return grant.scopes.includes(userScope) && grant.subject === this.admin
      ? this.#user(decodeURIComponent(user), url)
      : notAuthorized
  }

  #groups(url: URL): Answer {
    const groups = this.groupsByMember.get(url.searchParams.get('userKey') ?? '')
    if (groups === undefined) return apiFailure(404, 'Resource Not Found: userKey', 'NOT_FOUND')
    const domain = url.searchParams.get('domain') ?? ''
    const inDomain = groups.filter((email) => domain === '' || email.endsWith(`@${domain}`))
    const start = Number(url.searchParams.get('pageToken') ?? 0)
    const end = start + this.pageSize
    const more = end < inDomain.length ? { nextPageToken: String(end) } : {}
    const page = inDomain.slice(start, end).map((email) => ({ email }))
    // without groups, the response lacks `groups`
    return { status: 200, body: { ...more, ...(page.length === 0 ? {} : { groups: page }) } }
  }

  #user(email: string, url: URL): Answer {
    const schemas = this.schemasByUser.get(email)
    if (schemas === undefined) return apiFailure(404, 'Resource Not Found: userKey', 'NOT_FOUND')
    const mask = (url.searchParams.get('customFieldMask') ?? '').split(',')
    if (url.searchParams.get('projection') !== 'custom') return { status: 200, body: {} }
    return {
      status: 200,
      body: {
        customSchemas: Object.fromEntries(Object.entries(schemas).filter(([name]) => mask.includes(name))),
      },
    }
  }

  #grant(scopes: readonly string[], subject: string): string {
    const token = `ya29.${randomUUID()}`
    this.#grants.set(token, { scopes, subject, expiresAt: this.now() + 3_599_000 })
    return token
  }

  #grantOf(authorization: string | undefined): Grant | undefined {
    const grant = this.#grants.get(/^Bearer (.+)$/.exec(authorization ?? '')?.[1] ?? '')
    return grant !== undefined && this.now() < grant.expiresAt ? grant : undefined
  }
}

const oauthFailure = (error: string, error_description: string): Answer => ({
  status: error === 'unauthorized_client' ? 401 : 400,
  body: { error, error_description },
})
const apiFailure = (code: number, message: string, status: string): Answer => ({
  status: code,
  body: { error: { code, message, status } },
})
const unauthenticated = apiFailure(401, 'Request had invalid authentication credentials.', 'UNAUTHENTICATED')
const notAuthorized = apiFailure(403, 'Not Authorized to access this resource/api', 'PERMISSION_DENIED')

/** Google's response to too many requests. */
export const throttledByGoogle: Answer = apiFailure(
  429,
  'Quota exceeded for quota metric',
  'RESOURCE_EXHAUSTED',
)
