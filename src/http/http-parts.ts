import type { Core } from '../core/core.ts'
import { fixedPathOf } from '../core/mounts/first-mounts.ts'
import { effectiveMaxTtl } from '../core/mounts/mount-info.ts'
import type { JsonLimits } from '../lib/json.ts'
import { admission } from './admission.ts'
import { clientAddressReader, connectionCounting } from './client-address.ts'
import { corsReader } from './cors.ts'
import { coreHost } from './host.ts'
import type { HttpParts } from './http.ts'
import { mountRouter } from './mount-router.ts'
import { genericPlaces } from './openapi-places.ts'
import type { Plugin } from './plugin.ts'

/** Settings of the server, by name. */
export type HttpSettings = {
  readonly headerTimeoutMs: number
  readonly bodyTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly maxConnections: number
  readonly maxConnectionShare: number
  readonly maxRequestSize: number
  readonly maxLoginSize: number
  readonly maxBuffered: number
  readonly maxInFlight: number
  readonly maxJsonStrings: number
  readonly maxJsonMemory: number
  readonly trustedProxies: readonly string[]
  readonly trustedProxyHops: number
  readonly trustedProxyRequired: boolean
  readonly accessLog: boolean
}

type Given = Pick<HttpParts, 'document'> &
  Pick<HttpParts['pipeline'], 'measure'> & { readonly settings: HttpSettings }

/** Limits of JSON bodies: with a token, and on paths that need none. */
export function jsonLimits({ maxJsonStrings, maxJsonMemory }: HttpSettings) {
  const limits: JsonLimits = { maxStrings: maxJsonStrings, maxMemory: maxJsonMemory, maxDepth: 10_000 }
  return { withToken: limits, open: { ...limits, maxValues: 10_000 } }
}

/** What HTTP needs to serve plugins over a core. */
export function httpParts(core: Core, plugins: readonly Plugin[], given: Given): HttpParts {
  const { access, namespaces, mounts, random, systemTtl } = core
  const { settings, document, measure } = given
  const clientAddress = clientAddressReader(proxiesOf(settings))
  const resolve = (namespace: string, path: string) => mounts.table.resolve(namespace, path)
  const isSealed = () => core.barrier.isSealed()
  const json = jsonLimits(settings)
  return {
    document,
    plugins: served(plugins),
    node: plugins.flatMap(({ node = [] }) => node),
    server: listServer(settings, measure),
    route: mountRouter({
      ...{ random, resolve, clientAddress },
      namespaceOf: (header, path) => namespaces.resolve(header, path),
    }),
    admit: admission({
      ...{ access, namespaces, resolve, isSealed },
      jsonLimits: json.withToken,
      openJsonLimits: json.open,
      maxTtlOf: (mount) => effectiveMaxTtl(mount, systemTtl),
    }),
    host: coreHost(core),
    pipeline: pipelineParts(core, given),
    prepared: { resolve, namespaces, clientAddress, random, isSealed },
    onClosing: () => {
      for (const plugin of plugins) plugin.onClosing?.()
    },
    shownDocument: () => document.describe(genericPlaces(mounts, 'root')),
  }
}

const proxiesOf = (settings: HttpSettings) => ({
  trusted: settings.trustedProxies,
  hops: settings.trustedProxyHops,
  required: settings.trustedProxyRequired,
})

function listServer(settings: HttpSettings, measure: Given['measure']): HttpParts['server'] {
  const { headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs, maxConnections, maxConnectionShare } = settings
  return {
    ...{ headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs },
    connections: {
      most: maxConnections,
      mostPerClient: Math.max(1, Math.floor(maxConnections * maxConnectionShare)),
      ...connectionCounting(proxiesOf(settings)),
      onCrowded: () => measure?.refused('overload'),
    },
  }
}

function pipelineParts({ cors, log, discard }: Core, { settings, measure }: Given): HttpParts['pipeline'] {
  const maxBodyBytes = settings.maxRequestSize || Number.POSITIVE_INFINITY
  return {
    limits: {
      maxBodyBytes,
      maxOpenBodyBytes: Math.min(settings.maxLoginSize || maxBodyBytes, maxBodyBytes),
      maxBufferedBytes: settings.maxBuffered,
      maxInFlight: settings.maxInFlight,
    },
    cors: corsReader(() => cors.current),
    onBug: (err, requestId) => log.error({ err, request_id: requestId }, 'a request failed'),
    afterRequest: (call) => {
      const spent = call.caller?.token
      if (spent?.num_uses === -1) discard(spent.accessor)
    },
    onAccess: settings.accessLog ? (line) => log.info(line, 'request') : undefined,
    measure,
  }
}

/** The resources of all plugins with one name. */
function served(plugins: readonly Plugin[]): HttpParts['plugins'] {
  const byName = Map.groupBy(plugins, ({ names: [name] }) => name)
  return [...byName].map(([name, group]) => {
    const fixedAt = fixedPathOf(name)
    return {
      name,
      resources: group.flatMap(({ resources }) => resources),
      ...(fixedAt === undefined ? {} : { fixedAt }),
    }
  })
}
