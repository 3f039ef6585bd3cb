import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { routeTemplate } from './access-log.ts'
import type { Admit } from './admission.ts'
import type { Host } from './answer.ts'
import { type Endpoint, mountEndpoint, nodeEndpoint, nowhereEndpoint } from './endpoint.ts'
import { explorerResource } from './explorer.ts'
import { HelpPages } from './help.ts'
import { explorerUrl, isSysPath, noRoute, uiUrl } from './mount-router.ts'
import type { NodeResource, NodeRoute } from './node-resource.ts'
import type { ApiDocument } from './openapi.ts'
import { Pipeline, type PipelineParts } from './pipeline.ts'
import {
  type LabelledNodeRead,
  PreparedAnswers,
  type PreparedAnswersParts,
  type PreparedRead,
} from './prepared-answers.ts'
import { helpOnly, type Resource, unknownPaths } from './resource.ts'
import { type Routes, routesOf } from './routes.ts'
import { WebUi } from './web-ui.ts'

/** What one plugin serves below its mounts. */
type ServedPlugin = {
  /** First segment of the canonical paths. */
  readonly name: string
  readonly help: string
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
  readonly host: Host
  readonly pipeline: Omit<PipelineParts, 'prepared'>
  /** Absent: no response is prepared. */
  readonly prepared: PreparedAnswersParts | undefined
  /** Called when it begins to close: waiting requests must end. */
  onClosing(): void
  /** The API document, and what `/docs` shows of it. Absent: neither is served. */
  readonly documents?: { readonly all: ApiDocument; shown(): Promise<object> }
}

/** Serves requests; owns no connection. Disposing it ends waiting requests. */
export type Http = AsyncDisposable & { readonly pipeline: Pipeline; readonly receive: RequestListener }

/** Serves plugins. Every route leads to the pipeline. */
export async function openHttp(parts: HttpParts): Promise<Http> {
  const plugins = parts.plugins.map((plugin) => ({ ...plugin, resources: completed(plugin, parts.node) }))
  const prepared =
    parts.prepared &&
    new PreparedAnswers(parts.prepared, {
      ofMounts: plugins.flatMap(preparedReads),
      ofNode: parts.node.flatMap(preparedNodeReads),
    })
  const pipeline = new Pipeline({ ...parts.pipeline, prepared })
  describe(plugins, parts)
  const places = placesOf(plugins, parts)
  const routes = await routesOf(places.map(({ url }) => url))
  const endpoints = places.map(({ endpoint }) => endpoint(routes.app))
  const destinations = { pipeline, rewrite: parts.route, endpoints }
  let isClosing = false
  const route = (request: IncomingMessage, response: ServerResponse) => {
    if (isClosing && request.httpVersionMajor === 1) response.setHeader('connection', 'close')
    request.destinations = destinations
    routes.route(request, response)
  }
  return {
    pipeline,
    receive: (request: IncomingMessage, response: ServerResponse) =>
      pipeline.receive(request, response, route),
    [Symbol.asyncDispose]: async () => {
      isClosing = true
      parts.onClosing()
    },
  }
}

/** A path, and what is served there. */
type Place = { readonly url: string; endpoint(app: Routes['app']): Endpoint }

function placesOf(plugins: readonly ServedPlugin[], { admit, host, node, documents }: HttpParts): Place[] {
  const pages = plugins.map(
    ({ name, help, resources }) =>
      [name, { about: help, pages: resources.flatMap(({ page }) => page ?? []) }] as const,
  )
  const help = new HelpPages(
    new Map(pages),
    async (place, path) => (await documents?.all.describePath(place, path)) ?? null,
  )
  const parts = {
    admit,
    help,
    host,
  }
  const nowhere = nowhereEndpoint(admit)
  return [
    ...plugins.flatMap(({ name, resources }) =>
      resources.flatMap((resource) =>
        resource.urls.map((path) => {
          const url = `/${name}${path}`
          return { url, endpoint: () => mountEndpoint(resource, url, parts) }
        }),
      ),
    ),
    ...node.map((route) => ({ url: route.url, endpoint: () => nodeEndpoint(route) })),
    { url: noRoute, endpoint: () => nowhere },
    { url: uiUrl, endpoint: () => nodeEndpoint(uiResource(new WebUi())) },
    {
      url: explorerUrl,
      endpoint: (app) =>
        documents === undefined ? nowhere : nodeEndpoint(explorerResource(app, () => documents.shown())),
    },
  ]
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
