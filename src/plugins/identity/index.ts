import type { FastifyPluginAsync } from 'fastify'
import { unknownPaths } from '../../http/resource.ts'
import { type EntityParts, entityRoutes } from './entities.ts'
import { entityAliasRoutes } from './entity-aliases.ts'
import { lookupRoutes } from './lookup.ts'
import { mergeRoutes } from './merge.ts'
import { type IdentityTokenParts, identityTokenRoutes } from './oidc.ts'
import { type RevokeTokensParts, revokeTokensRoutes } from './revoke-tokens.ts'

export type IdentityPluginParts = EntityParts & IdentityTokenParts & RevokeTokensParts

/** `identity/*`: thin routes over identities and the tokens that tell of them. Contract tokens §5. */
export const identity: FastifyPluginAsync<IdentityPluginParts> = async (app, parts) => {
  entityRoutes(app, parts)
  entityAliasRoutes(app, parts)
  lookupRoutes(app, parts)
  mergeRoutes(app, parts)
  identityTokenRoutes(app, parts)
  revokeTokensRoutes(app, parts)
  unknownPaths(app)
}
