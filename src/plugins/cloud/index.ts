import type { FastifyPluginAsync } from 'fastify'
import { unknownPaths } from '../../http/resource.ts'

/** The cloud credentials engine can be mounted, tuned and moved; its paths come with a later version: each is 404 until then. */
export const cloud: FastifyPluginAsync = async (app) => {
  unknownPaths(app)
}
