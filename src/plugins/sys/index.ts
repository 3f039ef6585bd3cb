import type { FastifyPluginAsync } from 'fastify'
import { unknownPaths } from '../../http/resource.ts'
import { type ApiDocumentParts, apiDocumentRoute } from './api-document.ts'
import { capabilityRoutes } from './capabilities.ts'
import { corsRoutes } from './cors.ts'
import { type CounterParts, counterRoutes } from './counters.ts'
import { keyRoutes } from './keys.ts'
import { type LeaseRouteParts, leaseRoutes } from './leases.ts'
import { messageRoutes } from './messages.ts'
import { type MountRouteParts, mountRoutes } from './mounts.ts'
import { type NamespaceRouteParts, namespaceRoutes } from './namespaces.ts'
import { policyRoutes } from './policies.ts'
import { toolRoutes } from './tools.ts'
import { type UiMessageParts, uiMessageRoutes } from './ui-messages.ts'
import { uiRoutes } from './ui.ts'
import { type WrappingParts, wrappingRoutes } from './wrapping.ts'

export { genericPlaces } from './api-document.ts'
export { storedCounts } from './counters.ts'
export { metricsRoute } from './metrics.ts'
export { beforeLoginPath, readyBeforeLogin } from './ui-messages.ts'

export type SysParts = MountRouteParts &
  NamespaceRouteParts &
  LeaseRouteParts &
  WrappingParts &
  CounterParts &
  ApiDocumentParts &
  UiMessageParts &
  Parameters<typeof corsRoutes>[1] &
  Parameters<typeof policyRoutes>[1] &
  Parameters<typeof capabilityRoutes>[1] &
  Parameters<typeof keyRoutes>[1] &
  Parameters<typeof toolRoutes>[1]

/** The fixed paths below `sys/`. */
export const sys: FastifyPluginAsync<SysParts> = async (app, parts) => {
  policyRoutes(app, parts)
  capabilityRoutes(app, parts)
  mountRoutes(app, parts)
  namespaceRoutes(app, parts)
  leaseRoutes(app, parts)
  uiRoutes(app)
  if (parts.edition === 'enterprise') messageRoutes(app, parts)
  uiMessageRoutes(app, parts)
  keyRoutes(app, parts)
  toolRoutes(app, parts)
  wrappingRoutes(app, parts)
  counterRoutes(app, parts)
  corsRoutes(app, parts)
  apiDocumentRoute(app, parts)
  unknownPaths(app)
}
