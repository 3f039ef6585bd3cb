import { type FastifyInstance, type FastifyReply, fastify } from 'fastify'
import { callOf } from './call.ts'
import { errorBody } from './error-reply.ts'
import { sendJson } from './json-reply.ts'
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
 * `/docs`: a page that shows the API document and can send requests. All it needs comes from this server, and none of it is loaded before somebody
 * asks: Fastify takes no routes once it listens, so the page lives in an app of its own.
 */
export function explorerRoute(app: FastifyInstance, { url, document }: { url: string; document(): Promise<object> }): void {
  let explorer: Promise<FastifyInstance> | undefined
  app.route({
    method: Object.values(carrierOf),
    url,
    schema: { hide: true },
    handler: async (request, reply) => {
      const { verb, path } = callOf(request.raw)
      if (verb !== 'GET' && verb !== 'HEAD') return refused(reply, 405)
      if (!specified.test(path)) return refused(reply, 404)
      explorer ??= openExplorer(document)
      const answer = await (await explorer).inject({ method: 'GET', url: `/${path}` })
      if (answer.statusCode >= 400) return refused(reply, answer.statusCode)
      const { location, 'content-type': type = 'application/octet-stream' } = answer.headers
      if (typeof location === 'string') reply.header('location', location)
      return reply
        .code(answer.statusCode)
        .headers({ 'content-type': type, 'content-security-policy': policy, 'x-content-type-options': 'nosniff' })
        .send(answer.rawPayload)
    },
  })
}

const refused = (reply: FastifyReply, status: number) => sendJson(reply, status, errorBody())

async function openExplorer(document: () => Promise<object>): Promise<FastifyInstance> {
  const [{ fastifySwagger }, { fastifySwaggerUi }] = await Promise.all([import('@fastify/swagger'), import('@fastify/swagger-ui')])
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
