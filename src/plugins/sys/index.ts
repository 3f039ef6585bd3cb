import type { FastifyPluginAsync } from 'fastify'
import { unknownPaths } from '../../http/resource.ts'
import { capabilityRoutes } from './capabilities.ts'
import { type MountRouteParts, mountRoutes } from './mounts.ts'
import { policyRoutes } from './policies.ts'
import { uiRoutes } from './ui.ts'

export type SysParts = MountRouteParts & Parameters<typeof policyRoutes>[1] & Parameters<typeof capabilityRoutes>[1]

/** The fixed paths below `sys/`. */
export const sys: FastifyPluginAsync<SysParts> = async (app, parts) => {
  policyRoutes(app, parts)
  capabilityRoutes(app, parts)
  mountRoutes(app, parts)
  uiRoutes(app)
  unknownPaths(app)
}
