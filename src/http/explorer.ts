import { type FastifyInstance, fastify } from 'fastify'
import { callOf } from './call.ts'
import { carrierOf } from './mount-router.ts'

const specified = /^docs(?:\/[\w-]+(?:\.[\w-]+)*)*\/?$/

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * `/docs`: a page that shows the API document and can send requests. All it needs comes from this server, and
 * none of it is loaded before somebody asks: Fastify takes no routes once it listens, so the page lives in an
 * app of its own.
 */
export function explorerRoute(
  app: FastifyInstance,
  { url, document }: { url: string; document(): Promise<object> },
): void {
  let explorer: Promise<FastifyInstance> | undefined
  app.route({
    method: Object.values(carrierOf),
    url,
    schema: { hide: true },
    handler: async (request, reply) => {
      const { verb, path } = callOf(request.raw)
      if (verb !== 'GET' && verb !== 'HEAD') throw app.httpErrors.methodNotAllowed()
      if (!specified.test(path)) throw app.httpErrors.notFound()
      explorer ??= openExplorer(document)
      const [failure, opened] = await app.to(explorer)
      if (failure !== null) {
        // the next request tries again
        explorer = undefined
        throw failure
      }
      const answer = await opened.inject({ method: 'GET', url: `/${path}` })
      if (answer.statusCode >= 500) throw new Error(`the explorer answered ${answer.statusCode}`)
      if (answer.statusCode >= 400) throw app.httpErrors.notFound()
      const { location, 'content-type': type = 'application/octet-stream' } = answer.headers
      if (typeof location === 'string') reply.header('location', location)
      return reply
        .code(answer.statusCode)
        .headers({
          'content-type': type,
          'content-security-policy': policy,
          'x-content-type-options': 'nosniff',
        })
        .send(answer.rawPayload)
    },
  })
}

async function openExplorer(document: () => Promise<object>): Promise<FastifyInstance> {
  const [{ fastifySwagger }, { fastifySwaggerUi }] = await Promise.all([
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ])
  const app = fastify()
  // the document is valid OpenAPI 3.1; the plugin's types know the older versions only
  const specification = { document: (await document()) as never }
  await app.register(fastifySwagger, { mode: 'static', specification })
  await app.register(fastifySwaggerUi, {
    routePrefix: '/docs',
    theme: { title: 'Gatehouse API' },
    uiConfig: { docExpansion: 'none', persistAuthorization: false },
  })
  await app.ready()
  return app
}
