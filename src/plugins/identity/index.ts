import type { FastifyPluginAsync } from 'fastify'
import { unknownPaths } from '../../http/resource.ts'

/** Entities and aliases are made by logins; managing them over HTTP comes with a later version: each path is 404 until then. */
export const identity: FastifyPluginAsync = async (app) => {
  unknownPaths(app)
}
