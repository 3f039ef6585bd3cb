import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import sensible from '@fastify/sensible'
import fastify, { type FastifyInstance, type FastifyPluginCallback } from 'fastify'
import { explorerResource } from './document/explorer.ts'
import { HelpPages } from './document/help.ts'
import type { ApiDocument } from './document/openapi.ts'
import { WebUi } from './document/web-ui.ts'
import { callOf } from './exchange/call.ts'
import { Capacity, type CapacityLimits } from './exchange/capacity.ts'
import type { Host } from './exchange/host.ts'
import { isSysPath, rootPrefix, uiUrl } from './exchange/mount-router.ts'
import type { NodeResource, NodeRoute } from './resource/node-resource.ts'
import { nodeRoutes } from './resource/node-routes.ts'
import type { Plugin } from './resource/plugin.ts'
import { helpOnly, type Resource, unknownPaths } from './resource/resource.ts'
import { mountTypeRoutes } from './resource/resource-routes.ts'
import { Unserved } from './resource/unserved.ts'
import type { Admit } from './steps/admission.ts'
import { addSteps, type StepParts } from './steps/steps.ts'

export type HttpParts = Omit<StepParts, 'capacity' | 'isClosing'> & {
  readonly plugins: readonly Plugin[]
  /** Registers the mount types; `routesOf` is what Fastify serves of one. */
  register(app: FastifyInstance, routesOf: (plugin: Plugin) => FastifyPluginCallback): void
  readonly node: readonly NodeResource[]
  /** The mount router. */
  route(request: IncomingMessage): string
  /** docs/contract/http.md#the-order-of-refusals */
  readonly admit: Admit
  readonly host: Host
  readonly limits: CapacityLimits
  /** What operators have set for responses of the web UI. docs/contract/http.md#headers-of-the-web-ui */
  uiHeaders(): Readonly<Record<string, string>>
  /** Called when it begins to close: waiting requests must end. */
  onClosing(): void
  /** The API document, and what `/docs` shows of it. Absent: neither is served. */
  readonly documents?: { readonly all: ApiDocument; shown(): Promise<object> }
}

/** Serves requests; owns no connection. Disposing it ends waiting requests. */
export type Http = AsyncDisposable & {
  readonly receive: RequestListener
  /** Number of requests in progress. */
  readonly inFlight: number
  /** From now on each response closes its connection. */
  endConnections(): void
}

/**
 * Opens the server's Fastify application: the steps of every request, and a plugin for each mount type below its
 * canonical prefix.
 */
export async function openHttp(parts: HttpParts): Promise<Http> {
  const capacity = new Capacity(parts.limits)
  let isClosing = false
  let receive: RequestListener = () => {}
  const app = fastify({
    // connections belong to the server's listener, which outlives a seal, so this one never listens
    serverFactory: (handler) => {
      receive = handler
      return createServer()
    },
    rewriteUrl: (raw: IncomingMessage) => parts.route(raw),
    // our one pattern, a generic name, has a single repetition, so it takes time linear in the name's length
    routerOptions: { maxParamLength: 1 << 16, allowUnsafeRegex: true },
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    exposeHeadRoutes: false,
    genReqId: (raw: IncomingMessage) => callOf(raw).requestId,
    requestIdHeader: false,
    return503OnClosing: false,
    // all our plugins are there at once: no timer for each route
    pluginTimeout: 0,
    // a target that Fastify's router cannot read
    frameworkErrors: (_error, _request, reply) => void reply.raw.writeHead(400).end(),
  })
  app.addHttpMethod('SEARCH')
  app.addHttpMethod('REPORT')
  await app.register(sensible)
  addSteps(app, { ...parts, capacity, isClosing: () => isClosing })
  registerPlugins(app, parts)
  await app.ready()
  return {
    receive,
    get inFlight() {
      return capacity.inFlight
    },
    endConnections: () => {
      isClosing = true
    },
    [Symbol.asyncDispose]: async () => {
      isClosing = true
      parts.onClosing()
    },
  }
}

/** Fastify loads ajv and fast-json-stringify unless something takes their place. `addSteps` sets the validator. */
const noCompiler = (): never => {
  throw new Error('no schema is compiled')
}

function registerPlugins(app: FastifyInstance, parts: HttpParts): void {
  const { plugins, node, documents, admit, host, register } = parts
  const resources = completed(plugins, node)
  const of = ({ names: [name] }: Plugin) => name
  const mountHelp = (group: readonly Plugin[]) => ({
    about: group.find(({ help }) => help !== undefined)?.help ?? '',
    pages: group.flatMap((plugin) => resources.get(plugin)?.flatMap(({ page }) => page ?? []) ?? []),
  })
  const help = new HelpPages(
    new Map([...Map.groupBy(plugins, of)].map(([name, group]) => [name, mountHelp(group)])),
    async (place, path) => (await documents?.all.describePath(place, path)) ?? null,
  )
  documents?.all.cover(() => [
    ...node.flatMap(({ documented }) => documented),
    ...[...resources].flatMap(([plugin, own]) =>
      own.flatMap(({ documented }) => documented().map((one) => ({ ...one, group: of(plugin) }))),
    ),
  ])
  const groups = new Map(
    [...Map.groupBy(plugins, of)].map(([name, group]) => [
      name,
      group.flatMap((plugin) => resources.get(plugin) ?? []),
    ]),
  )
  const unserved = new Unserved(groups, { admit, help })
  app.decorate('unserved', (call) => unserved.endpointOf(call))
  app.setNotFoundHandler(unserved.handle)
  register(app, (plugin) =>
    named(
      of(plugin),
      mountTypeRoutes(resources.get(plugin) ?? [], groups.get(of(plugin)) ?? [], { admit, host }),
    ),
  )
  const pagesOfPeople = [
    uiRoute(new WebUi(), parts.uiHeaders),
    ...(documents ? [explorerResource(app, () => documents.shown())] : []),
  ]
  app.register(named('node', nodeRoutes([...node, ...pagesOfPeople], admit)), { prefix: rootPrefix })
}

/** Fastify would look for the name of a plugin without one among all modules. */
const named = (name: string, plugin: FastifyPluginCallback): FastifyPluginCallback =>
  Object.assign(plugin, { [Symbol.for('fastify.display-name')]: name })

const uiRoute = (ui: WebUi, added: HttpParts['uiHeaders']): NodeRoute => ({
  url: uiUrl,
  handle: ({ call: { verb, path, query }, header }) =>
    ui.answer({ verb, path, query, header, added: added() }),
})

/**
 * The resources of each plugin. The first of several with one name also has the help of node-level paths, and refuses
 * all other paths.
 */
function completed(
  plugins: readonly Plugin[],
  node: readonly NodeResource[],
): ReadonlyMap<Plugin, readonly Resource[]> {
  const byName = Map.groupBy(plugins, ({ names: [name] }) => name)
  return new Map(
    plugins.map((plugin) => {
      const [name] = plugin.names
      const group = byName.get(name) ?? []
      if (group[0] !== plugin) return [plugin, plugin.resources]
      const helped = name === 'system' ? node.filter(({ page }) => isSysPath(page.path)) : []
      const servesAll = group.some(({ resources }) => resources.some(({ urls }) => urls.includes('/*')))
      const rest = [
        ...helped.map(({ page }) => helpOnly(page.path.slice('/sys'.length), page)),
        ...(servesAll ? [] : [unknownPaths()]),
      ]
      return [plugin, [...plugin.resources, ...rest]]
    }),
  )
}
