import type { FastifyPluginAsync } from 'fastify'
import { unknownPaths } from '../../http/resource.ts'
import { type ApiDocumentParts, apiDocumentRoute } from './api-document.ts'
import { capabilityRoutes } from './capabilities.ts'
import { type MountRouteParts, mountRoutes } from './mounts.ts'
import { policyRoutes } from './policies.ts'
import { uiRoutes } from './ui.ts'

export { genericPlaces } from './api-document.ts'

export type SysParts = MountRouteParts & ApiDocumentParts & Parameters<typeof policyRoutes>[1] & Parameters<typeof capabilityRoutes>[1]

/** The fixed paths below `sys/`. */
export const sys: FastifyPluginAsync<SysParts> = async (app, parts) => {
  policyRoutes(app, parts)
  capabilityRoutes(app, parts)
  mountRoutes(app, parts)
  uiRoutes(app)
  apiDocumentRoute(app, parts)
  unknownPaths(app)
}
