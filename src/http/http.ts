import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import sensible from '@fastify/sensible'
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify'
import { ServiceError } from '../errors.ts'
import { routeTemplate } from './access-log.ts'
import type { Admit } from './admission.ts'
import type { Host } from './answer.ts'
import { type Call, callOf } from './call.ts'
import { type Endpoint, failingEndpoint, mountEndpoint, nodeEndpoint, nowhereEndpoint } from './endpoint.ts'
import { explorerResource } from './explorer.ts'
import { HelpPages } from './help.ts'
import { carrier, explorerUrl, isSysPath, noRoute, uiUrl } from './mount-router.ts'
import type { NodeResource, NodeRoute } from './node-resource.ts'
import type { ApiDocument } from './openapi.ts'
import type { LongText } from '../lib/long-text.ts'
import { Pipeline, type PipelineParts } from './pipeline.ts'
import {
  type LabelledNodeRead,
  PreparedAnswers,
  type PreparedAnswersParts,
  type PreparedRead,
} from './prepared-answers.ts'
import { helpOnly, type Resource, unknownPaths } from './resource.ts'
import { WebUi } from './web-ui.ts'

/** What one plugin serves below its mounts. */
type ServedPlugin = {
  /** First segment of the canonical paths. */
  readonly name: string
  readonly resources: readonly Resource[]
  /** Path of its mount, if every namespace has exactly one. */
  readonly fixedAt?: string
}

export type HttpParts = {
  readonly plugins: readonly ServedPlugin[]
  readonly node: readonly NodeResource[]
  /** The mount router. */
  route(request: IncomingMessage): string
  /** docs/contract/http.md#the-order-of-refusals */
  readonly admit: Admit
  readonly host: Omit<Host, 'hold'>
  readonly pipeline: Omit<PipelineParts, 'prepared'>
  /** Absent: no response is prepared. */
  readonly prepared: PreparedAnswersParts | undefined
  /** Called when it begins to close: waiting requests must end. */
  onClosing(): void
  /** The API document, and what `/docs` shows of it. Absent: neither is served. */
  readonly documents?: { readonly all: ApiDocument; shown(): object }
}

/** Serves requests; owns no connection. Disposing it ends waiting requests. */
export type Http = AsyncDisposable & { readonly pipeline: Pipeline; readonly receive: RequestListener }

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

/** Serves plugins. Fastify keeps their routes; every route leads to the pipeline. */
export async function openHttp(parts: HttpParts): Promise<Http> {
  const plugins = parts.plugins.map((plugin) => ({ ...plugin, resources: completed(plugin, parts.node) }))
  const prepared =
    parts.prepared &&
    new PreparedAnswers(parts.prepared, {
      ofMounts: plugins.flatMap(preparedReads),
      ofNode: parts.node.flatMap(preparedNodeReads),
    })
  const pipeline = new Pipeline({ ...parts.pipeline, prepared })
  const { app, route } = openFastify(parts, pipeline)
  await app.register(sensible)
  describe(plugins, parts)
  addRoutes(app, plugins, pipeline, parts)
  await app.ready()
  return {
    pipeline,
    receive: (request: IncomingMessage, response: ServerResponse) =>
      pipeline.receive(request, response, route),
    [Symbol.asyncDispose]: async () => app.close(),
  }
}

/** A Fastify that never responds itself: it routes every request to the pipeline. */
function openFastify(
  { route: rewriteUrl, onClosing }: HttpParts,
  pipeline: Pipeline,
): { app: FastifyInstance; route: RequestListener } {
  let route: RequestListener = () => {}
  const app = fastify({
    // connections belong to the server's listener, so this one never listens
    serverFactory: (handler) => {
      route = handler
      return createServer()
    },
    rewriteUrl,
    routerOptions,
    // all our plugins are there at once: no timer for each route
    pluginTimeout: 0,
    exposeHeadRoutes: false,
    genReqId: (raw: IncomingMessage) => callOf(raw).requestId,
    requestIdHeader: false,
    frameworkErrors: (_error, request, reply) => malformed(pipeline)(request, reply),
    schemaController: noCompilers,
    return503OnClosing: false,
  })
  app.addHook('preClose', (done) => {
    onClosing()
    done()
  })
  app.setNotFoundHandler(handlerOf(pipeline, failingEndpoint(new ServiceError('missing', ''))))
  app.setErrorHandler((error, request, reply) => handlerOf(pipeline, failingEndpoint(error))(request, reply))
  return { app, route }
}

function addRoutes(
  app: FastifyInstance,
  plugins: readonly ServedPlugin[],
  pipeline: Pipeline,
  { admit, host, node, documents }: HttpParts,
): void {
  const pages = plugins.map(
    ({ name, resources }) => [name, resources.flatMap(({ page }) => page ?? [])] as const,
  )
  const help = new HelpPages(
    new Map(pages),
    (place, path) => documents?.all.describePath(place, path) ?? null,
  )
  const parts = {
    admit,
    help,
    host: { ...host, hold: (call: Call, body: string | LongText) => pipeline.hold(call, body) },
  }
  const serve = (url: string, endpoint: Endpoint) =>
    app.route({ method: carrier, url, handler: handlerOf(pipeline, endpoint) })

  // one scope for all: one for each plugin would be a tenth of these routes' time, and they share every hook
  for (const { name, resources } of plugins)
    for (const resource of resources)
      for (const url of resource.urls.map((path) => `/${name}${path}`))
        serve(url, mountEndpoint(resource, url, parts))
  for (const route of node) serve(route.url, nodeEndpoint(route))
  const nowhere = nowhereEndpoint(admit)
  serve(noRoute, nowhere)
  serve(uiUrl, nodeEndpoint(uiResource(new WebUi())))
  serve(
    explorerUrl,
    documents === undefined ? nowhere : nodeEndpoint(explorerResource(app, () => documents.shown())),
  )
}

const uiResource = (ui: WebUi): NodeRoute => ({
  url: uiUrl,
  handle: ({ call: { verb, path, query }, header }) => ui.answer({ verb, path, query, header }),
})

function describe(plugins: readonly ServedPlugin[], { node, documents }: HttpParts): void {
  const ofPlugin = ({ name, resources }: ServedPlugin) =>
    resources.flatMap(({ documented }) => documented().map((one) => ({ ...one, group: name })))
  documents?.all.cover(() => [...node.flatMap(({ documented }) => documented), ...plugins.flatMap(ofPlugin)])
}

/** Takes a request over from Fastify. */
const handlerOf =
  (pipeline: Pipeline, endpoint: Endpoint) =>
  (
    { raw, params }: Pick<FastifyRequest, 'raw' | 'params'>,
    reply: Pick<FastifyReply, 'hijack' | 'raw'>,
  ): void => {
    reply.hijack()
    pipeline.serve(raw, reply.raw, { params, endpoint })
  }

/** A target that Fastify's router cannot read. */
const malformed = (pipeline: Pipeline) =>
  handlerOf(pipeline, failingEndpoint(new ServiceError('invalid', '')))

/** The resources of a plugin, with the help of node-level paths, and a refusal of all other paths. */
function completed({ name, resources }: ServedPlugin, node: readonly NodeResource[]): Resource[] {
  const helped = name === 'system' ? node.filter(({ page }) => isSysPath(page.path)) : []
  return [
    ...resources,
    ...helped.map(({ page }) => helpOnly(page.path.slice('/sys'.length), page)),
    ...(resources.some(({ urls }) => urls.includes('/*')) ? [] : [unknownPaths()]),
  ]
}

const preparedReads = ({ name, resources, fixedAt }: ServedPlugin): PreparedRead[] =>
  resources.flatMap(({ path, prepared }) =>
    prepared === undefined || fixedAt === undefined
      ? []
      : [{ path: `${fixedAt}${path.slice(1)}`, label: `/${name}${path}`, find: prepared }],
  )

const preparedNodeReads = ({ url, prepared }: NodeResource): LabelledNodeRead[] =>
  prepared === undefined ? [] : [{ ...prepared, label: routeTemplate(url) }]
