import { permissionsAt } from './access.ts'
import { ApiError } from './api-error.ts'
import type { ApiParts } from './api-parts.ts'
import type { Call, Reply } from './call.ts'
import { arm, listOf } from './resource-manager-answers.ts'
import { assignmentRoutes } from './role-assignments.ts'
import { definitionRoutes } from './role-definitions.ts'
import { checkScope, tidyScope } from './scope.ts'
import type { Service } from './service.ts'
import { subscriptionRoutes } from './subscriptions.ts'
import type { TokenClaims } from './tokens.ts'

const versions = [
  '2015-07-01',
  '2018-01-01-preview',
  '2020-04-01-preview',
  '2020-01-01',
  '2021-04-01',
  '2022-04-01',
  '2022-05-01-preview',
  '2022-12-01',
]

/** The part of Azure Resource Manager that simulators/directory/README.md describes. */
export function resourceManagerService(parts: ApiParts): Service {
  return {
    name: 'resource-manager',
    routes: [
      ...assignmentRoutes(parts),
      ...definitionRoutes(parts),
      {
        operation: 'listPermissions',
        method: 'GET',
        path: arm('(?<scope>.*)/providers/Microsoft.Authorization/permissions'),
        handle: (call) => {
          const scope = tidyScope(call.params.scope ?? '')
          checkScope(parts.tenant, scope)
          const items = permissionsAt(parts.tenant, call.caller?.oid ?? '', scope).map(
            (permission, index) => ({ seq: index + 1, ...permission }),
          )
          return listOf(call, items, {
            pageSize: parts.settings().pageSize,
            show: ({ seq: _, ...permission }) => permission,
          })
        },
      },
      ...subscriptionRoutes(parts),
    ],
    admit: (call) => admit(parts, call),
    refusal,
    unknown: (call) => {
      throw new ApiError(
        404,
        'NotFound',
        `No HTTP resource was found that matches the request URI '${call.origin}${call.path}'.`,
      )
    },
    throttled: () => new ApiError(429, 'TooManyRequests', 'The request is being throttled.'),
  }
}

const tokenErrors = {
  missing: {
    code: 'AuthenticationFailed',
    message: "Authentication failed. The 'Authorization' header is missing.",
  },
  expired: {
    code: 'ExpiredAuthenticationToken',
    message: 'The access token expiry is before the current time.',
  },
  stranger: { code: 'InvalidAuthenticationToken', message: 'The access token is invalid.' },
  audience: {
    code: 'InvalidAuthenticationTokenAudience',
    message: 'The access token has been obtained for the wrong audience or resource.',
  },
}

function admit({ caller }: ApiParts, call: Call): TokenClaims {
  const found = caller(call)
  if (typeof found === 'string') {
    const { code, message } = tokenErrors[found]
    throw new ApiError(401, code, message, {
      headers: { 'www-authenticate': `Bearer error="invalid_token", error_description="${message}"` },
    })
  }
  const version = call.query.get('api-version')
  if (version === null)
    throw new ApiError(
      400,
      'MissingApiVersionParameter',
      'The api-version query parameter (?api-version=) is required for all requests.',
    )
  if (!versions.includes(version)) {
    throw new ApiError(
      400,
      'InvalidApiVersionParameter',
      `The api-version '${version}' is invalid. The supported versions are '${versions.join(',')}'.`,
    )
  }
  return found
}

const refusal = ({ status, code, message, details }: ApiError): Reply => ({
  status,
  body: { error: { code, message, ...(details !== undefined && { details }) } },
})
