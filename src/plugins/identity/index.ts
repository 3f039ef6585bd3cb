import type { FastifyPluginAsync } from 'fastify'
import { unknownPaths } from '../../http/resource.ts'
import { type EntityParts, entityRoutes } from './entities.ts'
import { entityAliasRoutes } from './entity-aliases.ts'
import { groupAliasRoutes } from './group-aliases.ts'
import { groupLookupRoutes } from './group-lookup.ts'
import { type GroupPluginParts, groupRoutes } from './groups.ts'
import { lookupRoutes } from './lookup.ts'
import { mergeRoutes } from './merge.ts'
import { identityTokenRoutes } from './oidc.ts'
import type { IdentityTokenParts } from './oidc-place.ts'
import { type RevokeTokensParts, revokeTokensRoutes } from './revoke-tokens.ts'
import { type TidyRouteParts, tidyRoutes } from './tidy.ts'

export type IdentityPluginParts = EntityParts &
  TidyRouteParts &
  GroupPluginParts &
  IdentityTokenParts &
  RevokeTokensParts

/** `identity/*`: entities, groups, aliases and identity tokens. docs/contract/identity.md */
export const identity: FastifyPluginAsync<IdentityPluginParts> = async (app, parts) => {
  entityRoutes(app, parts)
  entityAliasRoutes(app, parts)
  lookupRoutes(app, parts)
  groupRoutes(app, parts)
  groupAliasRoutes(app, parts)
  groupLookupRoutes(app, parts)
  mergeRoutes(app, parts)
  tidyRoutes(app, parts)
  identityTokenRoutes(app, parts)
  revokeTokensRoutes(app, parts)
  unknownPaths(app)
}
