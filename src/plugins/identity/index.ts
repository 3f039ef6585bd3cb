import type { FastifyPluginAsync } from 'fastify'
import { unknownPaths } from '../../http/resource.ts'
import { type IdentityTokenParts, identityTokenRoutes } from './oidc.ts'
import { type RevokeTokensParts, revokeTokensRoutes } from './revoke-tokens.ts'

export type IdentityPluginParts = IdentityTokenParts & RevokeTokensParts

/** `identity/*`: thin routes over identities and the tokens that tell of them. Contract tokens §5. */
export const identity: FastifyPluginAsync<IdentityPluginParts> = async (app, parts) => {
  identityTokenRoutes(app, parts)
  revokeTokensRoutes(app, parts)
  unknownPaths(app)
}
