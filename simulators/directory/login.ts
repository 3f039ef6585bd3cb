import type { ApiError } from './api-error.ts'
import type { Call, Reply, Route } from './call.ts'
import { type AssertionParts, checkAssertion } from './client-assertions.ts'
import { hasHeard } from './consistency.ts'
import { loginError, missingParameter } from './login-errors.ts'
import { secretVerdict } from './passwords.ts'
import type { Service } from './service.ts'
import type { Application, Principal, Tenant } from './tenant.ts'
import { accessClaims } from './tokens.ts'

export type LoginParts = AssertionParts & {
  /** Whether the resource of a scope is one of the stand-in's services or `orders`. */
  isResource(resource: string): boolean
  /** What a principal may do at a resource. */
  rolesAt(principal: Principal, resource: string): string[]
}

const defaultScope = '/.default'

/** Discovery and the client credentials grant of the identity platform. simulators/directory/README.md */
export function loginService(parts: LoginParts): Service {
  const routes: Route[] = [
    {
      operation: 'discovery',
      method: 'GET',
      path: /^\/(?<tenant>[^/]+)\/v2\.0\/\.well-known\/openid-configuration$/,
      handle: (call) => discovery(parts, call),
    },
    {
      operation: 'instanceDiscovery',
      method: 'GET',
      path: /^\/common\/discovery\/instance$/,
      handle: instanceDiscovery,
    },
    {
      operation: 'keys',
      method: 'GET',
      path: /^\/(?<tenant>[^/]+)\/discovery\/v2\.0\/keys$/,
      handle: () => ({ status: 200, body: parts.tokens.keys }),
    },
    {
      operation: 'token',
      method: 'POST',
      path: /^\/(?<tenant>[^/]+)\/oauth2\/v2\.0\/token$/,
      handle: (call) => token(parts, call),
    },
  ]
  return {
    name: 'login',
    routes,
    admit: () => undefined,
    refusal,
    unknown: () => ({ status: 404, body: { error: 'not_found' } }),
    throttled: () =>
      loginError(
        429,
        'temporarily_unavailable',
        50196,
        'The server terminated an operation because it encountered a client request loop. Please contact your app vendor.',
      ),
  }
}

function discovery({ tenant }: LoginParts, { params, origin }: Call): Reply {
  checkTenant(tenant, params.tenant)
  const base = `${origin}/${tenant.tenantId}`
  return {
    status: 200,
    body: {
      token_endpoint: `${base}/oauth2/v2.0/token`,
      token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt', 'client_secret_basic'],
      jwks_uri: `${base}/discovery/v2.0/keys`,
      response_modes_supported: ['query', 'fragment', 'form_post'],
      subject_types_supported: ['pairwise'],
      id_token_signing_alg_values_supported: ['RS256'],
      response_types_supported: ['code', 'id_token', 'code id_token', 'id_token token'],
      scopes_supported: ['openid', 'profile', 'email', 'offline_access'],
      issuer: `${base}/v2.0`,
      authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
      tenant_region_scope: 'EU',
      cloud_instance_name: new URL(origin).host,
    },
  }
}

function instanceDiscovery({ query, origin }: Call): Reply {
  const requested = URL.parse(query.get('authorization_endpoint') ?? '')
  const { host } = new URL(origin)
  if (requested?.host !== host)
    throw loginError(400, 'invalid_instance', 50049, 'Unknown or invalid instance.')
  const tenantDiscovery = `${origin}${requested.pathname.replace(/\/oauth2\/v2\.0\/authorize$/, '')}/v2.0/.well-known/openid-configuration`
  return {
    status: 200,
    body: {
      tenant_discovery_endpoint: tenantDiscovery,
      'api-version': '1.1',
      metadata: [{ preferred_network: host, preferred_cache: host, aliases: [host] }],
    },
  }
}

async function token(parts: LoginParts, call: Call): Promise<Reply> {
  const { tenant, tokens, settings } = parts
  checkTenant(tenant, call.params.tenant)
  const form = (name: string) => (typeof call.body[name] === 'string' ? call.body[name] : '')
  if (form('grant_type') === '') throw missingParameter('grant_type')
  if (form('grant_type') !== 'client_credentials')
    throw loginError(
      400,
      'unsupported_grant_type',
      70003,
      `The app requested an unsupported grant type '${form('grant_type')}'.`,
    )
  if (form('client_id') === '') throw missingParameter('client_id')
  const audience = readScope(parts, form('scope'))
  const application = tenant.applicationByAppId(form('client_id').toLowerCase())
  const principal = application === undefined ? undefined : tenant.principalByAppId(application.appId)
  if (application === undefined || !isKnown(call, application)) {
    const text = `Application with identifier '${form('client_id')}' was not found in the directory '${tenant.tenantId}'. This can happen if the application has not been installed by the administrator of the tenant or consented to by any user in the tenant. You may have sent your authentication request to the wrong tenant.`
    throw loginError(400, 'unauthorized_client', 700016, text)
  }
  if (form('client_assertion') !== '') await checkAssertion(parts, call, application)
  else checkSecret(call, [application, principal], form('client_secret'))
  if (
    principal === undefined ||
    (principal.deletedAt !== undefined && hasHeard(call.view, principal.deletedAt, 'removedSecretToToken'))
  ) {
    throw loginError(
      400,
      'unauthorized_client',
      7000229,
      `The client application ${application.appId} is missing service principal in the tenant ${tenant.tenantId}.`,
    )
  }
  const { tokenLifetimeSeconds } = settings()
  const issuedAt = Math.floor(call.view.now / 1000)
  const claims = accessClaims(tenant, principal, {
    audience,
    issuedAt,
    tokenLifetimeSeconds,
    roles: parts.rolesAt(principal, audience),
  })
  const body = {
    token_type: 'Bearer',
    expires_in: tokenLifetimeSeconds,
    ext_expires_in: tokenLifetimeSeconds,
    access_token: tokens.issue(claims, issuedAt),
  }
  return { status: 200, body }
}

/** Whether the creation of an application has reached the token endpoint and its deletion has not. */
function isKnown({ view }: Call, { createdAt, deletedAt }: Application): boolean {
  return (
    hasHeard(view, createdAt, 'applicationToToken') &&
    (deletedAt === undefined || !hasHeard(view, deletedAt, 'removedSecretToToken'))
  )
}

function checkTenant({ tenantId }: Tenant, named: string | undefined): void {
  if (named?.toLowerCase() === tenantId) return
  const text = `Tenant '${named}' not found. Check to make sure you have the correct tenant ID and are signing into the correct cloud. Check with your subscription administrator, this may happen if there are no active subscriptions for the tenant.`
  throw loginError(400, 'invalid_request', 90002, text)
}

/** The resource of the scope, which must be exactly one `<resource>/.default`. */
function readScope({ isResource, tenant }: LoginParts, scope: string): string {
  if (scope === '') throw missingParameter('scope')
  if (/\s/.test(scope.trim()))
    throw loginError(
      400,
      'invalid_scope',
      70011,
      `The provided request must include a 'scope' input parameter. The provided value for the input parameter 'scope' is not valid. The scope ${scope} is not valid.`,
    )
  if (!scope.endsWith(defaultScope)) {
    const text = `The provided value for scope ${scope} is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier (application ID URI).`
    throw loginError(400, 'invalid_scope', 1002012, text)
  }
  const resource = scope.slice(0, -defaultScope.length)
  if (isResource(resource)) return resource
  throw loginError(
    400,
    'invalid_resource',
    500011,
    `The resource principal named ${resource} was not found in the tenant named ${tenant.tenantId}.`,
  )
}

function checkSecret(
  call: Call,
  holders: readonly [Application, Principal | undefined],
  secret: string,
): void {
  if (secret === '') {
    throw loginError(
      401,
      'invalid_client',
      7000216,
      "'client_assertion', 'client_secret' or 'request' is required for the 'client_credentials' grant type.",
    )
  }
  const verdict = secretVerdict(call.view, holders, secret)
  if (verdict === 'good') return
  const { appId } = holders[0]
  if (verdict === 'expired') {
    throw loginError(
      401,
      'invalid_client',
      7000222,
      `The provided client secret keys for app '${appId}' are expired. Visit the Azure portal to create new keys for your app, or consider using certificate credentials for added security.`,
    )
  }
  throw loginError(
    401,
    'invalid_client',
    7000215,
    `Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '${appId}'.`,
  )
}

function refusal(
  { status, code, message, details }: ApiError,
  { view, requestId, clientRequestId }: Call,
): Reply {
  const number = details?.[0]?.number ?? Number(/^AADSTS(\d+):/.exec(message)?.[1] ?? 90033)
  const timestamp = `${new Date(view.now).toISOString().slice(0, 19).replace('T', ' ')}Z`
  return {
    status,
    body: {
      error: code,
      error_description: `${message} Trace ID: ${requestId} Correlation ID: ${clientRequestId} Timestamp: ${timestamp}`,
      error_codes: [number],
      timestamp,
      trace_id: requestId,
      correlation_id: clientRequestId,
      error_uri: `https://login.microsoftonline.com/error?code=${number}`,
    },
  }
}
