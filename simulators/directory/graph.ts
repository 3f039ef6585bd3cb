import { ApiError } from './api-error.ts'
import type { ApiParts } from './api-parts.ts'
import type { Call, Reply } from './call.ts'
import { appRoleRoutes } from './graph-app-roles.ts'
import { applicationRoutes } from './graph-applications.ts'
import { deletedRoutes } from './graph-deleted.ts'
import { groupRoutes } from './graph-groups.ts'
import { keyRoutes } from './graph-keys.ts'
import { principalRoutes } from './graph-service-principals.ts'
import { trustRoutes } from './graph-trusts.ts'
import type { Service } from './service.ts'
import type { TokenClaims } from './tokens.ts'

/** The part of Microsoft Graph v1.0 that simulators/directory/README.md describes. */
export function graphService(parts: ApiParts): Service {
  return {
    name: 'directory',
    routes: [
      ...applicationRoutes(parts),
      ...keyRoutes(parts),
      ...trustRoutes(parts),
      ...appRoleRoutes(parts),
      ...principalRoutes(parts),
      ...groupRoutes(parts),
      ...deletedRoutes(parts),
    ],
    admit: (call) => admit(parts, call),
    refusal,
    unknown: () => {
      throw new ApiError(400, 'BadRequest', 'Resource not found for the segment.')
    },
    throttled: () => new ApiError(429, 'TooManyRequests', 'Too many requests.', {}),
  }
}

const tokenTexts = {
  missing: 'Access token is empty.',
  expired: 'Lifetime validation failed, the token is expired.',
  stranger: 'IDX14100: JWT is not well formed, or its signing key is not known.',
  audience: 'Access token validation failure. Invalid audience.',
}

function admit({ caller }: ApiParts, call: Call): TokenClaims {
  const found = caller(call)
  if (typeof found === 'string') throw new ApiError(401, 'InvalidAuthenticationToken', tokenTexts[found])
  return found
}

function refusal(
  { status, code, message, details }: ApiError,
  { view, requestId, clientRequestId }: Call,
): Reply {
  const innerError = {
    date: new Date(view.now).toISOString().slice(0, 19),
    'request-id': requestId,
    'client-request-id': clientRequestId,
  }
  return { status, body: { error: { code, message, ...(details !== undefined && { details }), innerError } } }
}
