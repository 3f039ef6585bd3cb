import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import sensible from '@fastify/sensible'
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify'
import { ServiceError } from '../errors.ts'
import { callOf } from './call.ts'
import { type Endpoint, failingEndpoint } from './endpoint.ts'
import { carrier } from './mount-router.ts'
import type { Pipeline } from './pipeline.ts'

/** Where the routes of one server lead. */
type Destinations = {
  /** The mount router. */
  rewrite(request: IncomingMessage): string
  readonly pipeline: Pipeline
  /** One for each path, in the same order. */
  readonly endpoints: readonly Endpoint[]
}

/** The routes of some paths. */
export type Routes = {
  readonly app: Pick<FastifyInstance, 'httpErrors' | 'to'>
  /** Routes a request to where its `destinations` lead. */
  readonly route: RequestListener
}

declare module 'http' {
  interface IncomingMessage {
    /** Of the server that routes the request. */
    destinations?: Destinations
  }
}

/**
 * Fastify neither validates nor serialises here. Passing these keeps it from loading its own compilers, which
 * takes a tenth of the start.
 */
const noCompilers = {
  compilersFactory: { buildValidator: () => () => () => true, buildSerializer: () => () => JSON.stringify },
  // Fastify only calls the result, although its type declares a complete ajv function
} as unknown as NonNullable<FastifyServerOptions['schemaController']>

/**
 * How paths are distinguished. Our one pattern, a generic name, has a single repetition, so it takes time
 * linear in the name's length.
 */
const routerOptions = { maxParamLength: 1 << 16, allowUnsafeRegex: true }

const kept = new Map<string, Routes>()
/** Sealed and unsealed servers have different paths. */
const maxKept = 4

/**
 * The routes of these paths. They take half of the time to open a server, and depend on the paths only, so a
 * server that is unsealed again uses them again, as do all servers of one process.
 */
export async function routesOf(urls: readonly string[]): Promise<Routes> {
  const key = urls.join('\n')
  const known = kept.get(key)
  if (known !== undefined) return known
  const made = await makeRoutes(urls)
  kept.set(key, made)
  for (const oldest of kept.keys()) {
    if (kept.size <= maxKept) break
    kept.delete(oldest)
  }
  return made
}

/** A Fastify that never responds itself: it routes every request to a pipeline. */
async function makeRoutes(urls: readonly string[]): Promise<Routes> {
  let route: RequestListener = () => {}
  const app = fastify({
    // connections belong to the server's listener, so this one never listens, and need not be closed
    serverFactory: (handler) => {
      route = handler
      return createServer()
    },
    rewriteUrl: (raw: IncomingMessage) => destinationsOf(raw).rewrite(raw),
    routerOptions,
    // all our plugins are there at once: no timer for each route
    pluginTimeout: 0,
    exposeHeadRoutes: false,
    genReqId: (raw: IncomingMessage) => callOf(raw).requestId,
    requestIdHeader: false,
    // a target that Fastify's router cannot read
    frameworkErrors: (_error, request, reply) => serve(request, reply, unreadable),
    schemaController: noCompilers,
    return503OnClosing: false,
  })
  app.setNotFoundHandler((request, reply) => serve(request, reply, unknown))
  app.setErrorHandler((error, request, reply) => serve(request, reply, failingEndpoint(error)))
  await app.register(sensible)
  for (const [number, url] of urls.entries())
    app.route({
      ...{ method: carrier, url },
      handler: (request, reply) => serve(request, reply, destinationsOf(request.raw).endpoints[number]),
    })
  await app.ready()
  return { app, route }
}

const unreadable = failingEndpoint(new ServiceError('invalid', ''))
const unknown = failingEndpoint(new ServiceError('missing', ''))

function destinationsOf({ destinations }: IncomingMessage): Destinations {
  if (destinations === undefined) throw new Error('a request leads nowhere')
  return destinations
}

/** Takes a request over from Fastify. */
function serve(
  { raw, params }: Pick<FastifyRequest, 'raw' | 'params'>,
  reply: Pick<FastifyReply, 'hijack' | 'raw'>,
  endpoint: Endpoint = unknown,
): void {
  reply.hijack()
  destinationsOf(raw).pipeline.serve(raw, reply.raw, { params, endpoint })
}
