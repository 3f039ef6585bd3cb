import { timingSafeEqual } from 'node:crypto'
import { ApiError } from './api-error.ts'
import type { Call, Reply, Route } from './call.ts'
import type { Service } from './service.ts'
import type { Settings } from './settings.ts'
import type { ManagedIdentity, Principal, Tenant } from './tenant.ts'
import { accessClaims, type TokenBook } from './tokens.ts'

export type MetadataParts = {
  tenant: Tenant
  tokens: TokenBook
  settings(): Settings
  isResource(resource: string): boolean
  rolesAt(principal: Principal, resource: string): string[]
  /** The value that the platform's own form expects in `X-IDENTITY-HEADER`. */
  identityHeader: string
  /** The issuer of tokens that replace a secret. */
  exchangeIssuer(): string
}

/** Tokens for these audiences replace a secret of an application that trusts the identity. */
const exchangeAudiences = [
  'api://AzureADTokenExchange',
  'api://AzureADTokenExchangeUSGov',
  'api://AzureADTokenExchangeChina',
]

/** The metadata service of a virtual machine and the one of an application platform. README.md */
export function metadataService(parts: MetadataParts): Service {
  const kept = new Map<string, { token: string; issuedAt: number }>()
  const routes: Route[] = [
    {
      operation: 'machineToken',
      method: 'GET',
      path: /^\/metadata\/identity\/oauth2\/token$/,
      handle: (call) => {
        checkMachineForm(call)
        const found = findToken(parts, call, kept)
        return {
          status: 200,
          body: {
            access_token: found.token,
            client_id: found.clientId,
            expires_in: String(found.expiresIn),
            expires_on: String(found.expiresOn),
            ext_expires_in: String(found.expiresIn),
            not_before: String(found.issuedAt),
            resource: call.query.get('resource'),
            token_type: 'Bearer',
          },
        }
      },
    },
    {
      operation: 'platformToken',
      method: 'GET',
      path: /^\/msi\/token$/,
      handle: (call) => {
        checkPlatformForm(parts, call)
        const found = findToken(parts, call, kept)
        return {
          status: 200,
          body: {
            access_token: found.token,
            client_id: found.clientId,
            expires_on: String(found.expiresOn),
            resource: call.query.get('resource'),
            token_type: 'Bearer',
          },
        }
      },
    },
  ]
  return {
    name: 'metadata',
    isPlain: true,
    routes,
    admit: () => undefined,
    refusal,
    unknown: () => ({ status: 404, body: { error: 'Not found' } }),
    throttled: () => new ApiError(429, 'too_many_requests', 'Too many requests'),
  }
}

function checkMachineForm({ headers, query }: Call): void {
  if (headers.metadata?.toString().toLowerCase() !== 'true')
    throw new ApiError(400, 'bad_request_102', 'Required metadata header not specified')
  if (headers['x-forwarded-for'] !== undefined)
    throw new ApiError(400, 'invalid_request', 'The request was sent through a proxy')
  if (query.get('api-version') !== '2018-02-01')
    throw new ApiError(400, 'invalid_request', 'Invalid api-version parameter')
}

function checkPlatformForm({ identityHeader }: MetadataParts, { headers, query }: Call): void {
  const sent = Buffer.from(String(headers['x-identity-header'] ?? ''))
  const meant = Buffer.from(identityHeader)
  if (sent.length !== meant.length || !timingSafeEqual(sent, meant))
    throw new ApiError(401, 'unauthorized', 'The X-IDENTITY-HEADER is missing or wrong.')
  if (query.get('api-version') !== '2019-08-01')
    throw new ApiError(400, 'invalid_request', 'Unsupported API version.')
}

type Found = { token: string; clientId: string; issuedAt: number; expiresIn: number; expiresOn: number }

/** A token of the identity asked for; the service keeps tokens for as long as the settings say. */
function findToken(
  { tenant, tokens, settings, isResource, rolesAt, exchangeIssuer }: MetadataParts,
  { query, view }: Call,
  kept: Map<string, { token: string; issuedAt: number }>,
): Found {
  const resource = query.get('resource') ?? ''
  const isExchange = exchangeAudiences.includes(resource)
  if (resource === '')
    throw new ApiError(400, 'invalid_request', "Required query variable 'resource' is missing")
  if (!isResource(resource) && !isExchange) {
    const text = `AADSTS500011: The resource principal named ${resource} was not found in the tenant named ${tenant.tenantId}.`
    throw new ApiError(400, 'invalid_resource', text)
  }
  const identity = findIdentity(tenant, query, settings())
  const principal = tenant.principalByAppId(identity.appId)
  if (principal === undefined || principal.deletedAt !== undefined) throw identityMissing()
  const { cacheSeconds, tokenLifetimeSeconds } = settings().metadata
  const now = Math.floor(view.now / 1000)
  const name = `${principal.id} ${resource}`
  const known = kept.get(name)
  const entry =
    known !== undefined && now < known.issuedAt + cacheSeconds
      ? known
      : {
          issuedAt: now,
          token: tokens.issue(
            {
              ...accessClaims(tenant, principal, {
                audience: resource,
                issuedAt: now,
                tokenLifetimeSeconds,
                roles: rolesAt(principal, resource),
              }),
              ...(isExchange && { iss: exchangeIssuer() }),
              xms_mirid: identity.resourceId,
            },
            now,
          ),
        }
  kept.set(name, entry)
  const expiresOn = entry.issuedAt + tokenLifetimeSeconds
  return { ...entry, clientId: identity.appId, expiresOn, expiresIn: Math.max(0, expiresOn - now) }
}

function findIdentity(tenant: Tenant, query: URLSearchParams, settings: Settings): ManagedIdentity {
  const offered = [...tenant.managedIdentities.values()].filter(
    ({ assigned }) => assigned === 'user' || settings.metadata.systemAssigned,
  )
  const clientId = query.get('client_id')
  const objectId = query.get('object_id') ?? query.get('principal_id')
  const resourceId = query.get('msi_res_id') ?? query.get('mi_res_id')
  const isChosen = clientId !== null || objectId !== null || resourceId !== null
  const found = offered.find(({ appId, assigned, resourceId: own }) =>
    isChosen
      ? appId === clientId || tenant.principalByAppId(appId)?.id === objectId || own === resourceId
      : assigned === 'system',
  )
  if (found !== undefined) return found
  if (isChosen || offered.length === 0) throw identityMissing()
  throw new ApiError(
    400,
    'invalid_request',
    'Multiple user assigned identities exist, please specify the clientId / resourceId of the identity in the token request',
  )
}

const identityMissing = () => new ApiError(400, 'invalid_request', 'Identity not found')

function refusal({ status, code, message }: ApiError, { operation }: Call): Reply {
  if (operation === 'platformToken') return { status, body: { statusCode: status, message } }
  return { status, body: { error: code, error_description: message } }
}
