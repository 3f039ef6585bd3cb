import { type FastifyInstance, fastify } from 'fastify'
import { explorerUrl } from '../exchange/mount-router.ts'
import type { Answer, NodeExchange, NodeRoute } from '../resource/node-resource.ts'

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
 * `/docs`: a page that shows the API document and can send requests. Everything it needs comes from this
 * server and is loaded on the first request. Fastify accepts no routes once it listens, so the page has its
 * own app.
 */
export function explorerResource(
  app: Pick<FastifyInstance, 'httpErrors' | 'to'>,
  document: () => Promise<object>,
): NodeRoute {
  let explorer: Promise<FastifyInstance> | undefined
  /** By path: each is made once, because the app makes a copy for each request. */
  const files = new Map<string, Promise<Answer>>()
  const made = (opened: FastifyInstance, path: string): Promise<Answer> => {
    const file = files.get(path) ?? fileOf(app, opened, path)
    files.set(path, file)
    file.catch(() => files.delete(path))
    return file
  }
  const handle = async ({ call: { verb, path } }: NodeExchange): Promise<Answer> => {
    if (verb !== 'GET' && verb !== 'HEAD') throw app.httpErrors.methodNotAllowed()
    if (!specified.test(path)) throw app.httpErrors.notFound()
    explorer ??= openExplorer(document)
    const [failure, opened] = await app.to(explorer)
    if (failure !== null) {
      // the next request tries again
      explorer = undefined
      throw failure
    }
    return made(opened, path)
  }
  return { url: explorerUrl, handle }
}

async function fileOf(
  app: Pick<FastifyInstance, 'httpErrors'>,
  opened: FastifyInstance,
  path: string,
): Promise<Answer> {
  const answer = await opened.inject({ method: 'GET', url: `/${path}` })
  if (answer.statusCode >= 500) throw new Error(`the explorer answered ${answer.statusCode}`)
  if (answer.statusCode >= 400) throw app.httpErrors.notFound()
  const { location, 'content-type': contentType = 'application/octet-stream' } = answer.headers
  return {
    status: answer.statusCode,
    contentType,
    headers: {
      ...(typeof location === 'string' && { location }),
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
    },
    body: answer.rawPayload,
  }
}

async function openExplorer(document: () => Promise<object>): Promise<FastifyInstance> {
  const [{ fastifySwagger }, { fastifySwaggerUi }] = await Promise.all([
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ])
  const app = fastify()
  // the document is valid OpenAPI 3.1; the plugin's types only know older versions
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
