import type { Caller } from '../core/callers/access.ts'
import { effectiveMaxTtl } from '../core/mounts/mount-info.ts'
import type { Core } from '../core/open/core.ts'
import { type LoginFailureLimit, LoginThrottle } from '../core/quotas/login-throttle.ts'
import type { WindowEffect } from '../core/settings/announcements.ts'
import type { PageSettings } from '../core/settings/page-settings.ts'
import { sentHeaders } from '../core/settings/ui-headers.ts'
import { isRoot } from '../core/tokens/store/token.ts'
import type { JsonLimits } from '../lib/text/json.ts'
import { CarriedLogins } from './carried/carried-logins.ts'
import { LoginRoutes } from './carried/login-routes.ts'
import type { ApiDocument } from './document/openapi.ts'
import { genericPlaces } from './document/openapi-places.ts'
import type { AccessLine } from './exchange/access-log.ts'
import type { Call } from './exchange/call.ts'
import { corsReader } from './exchange/cors.ts'
import { coreHost, type Host } from './exchange/host.ts'
import { mountRouter } from './exchange/mount-router.ts'
import { aclOperationOf } from './exchange/operation.ts'
import { RateLimits } from './exchange/rate-limits.ts'
import type { HttpParts } from './http.ts'
import type { Plugin } from './resource/plugin.ts'
import { admission, closedAdmission } from './steps/admission.ts'
import { Auditing } from './steps/auditing.ts'
import { clientAddressReader, connectionCounting } from './wire/client-address.ts'
import type { RawStatus } from './wire/raw-errors.ts'
import type { WebServerOptions } from './wire/web-server.ts'

/** Settings of the server, by name. */
export type HttpSettings = {
  readonly headerTimeoutMs: number
  readonly bodyTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly maxHeadSize: number
  readonly maxHeadFields: number
  readonly maxConnections: number
  readonly maxConnectionShare: number
  readonly maxRequestSize: number
  readonly maxLoginSize: number
  readonly maxBuffered: number
  readonly maxInFlight: number
  readonly inFlightWaitMs: number
  readonly loginFailures: LoginFailureLimit | undefined
  readonly maxJsonStrings: number
  readonly maxJsonMemory: number
  readonly trustedProxies: readonly string[]
  readonly trustedProxyHops: number
  readonly trustedProxyRequired: boolean
  readonly accessLog: boolean
  readonly ui: boolean
  readonly reportedVersion: string
}

/** Counts requests. */
type Measure = {
  request(measured: { method: string; route: string; code: number; seconds: number }): void
  refused(reason: 'size' | 'timeout' | 'malformed' | 'overload' | 'handshake'): void
  rateLimited(quota: string): void
  halted(effect: WindowEffect): void
}

/** What HTTP needs whether or not a core is open. */
export type HttpBase = Pick<HttpParts, 'node'> &
  Pick<HttpParts, 'onOverload' | 'inProgress' | 'tracing' | 'common'> & {
    readonly settings: HttpSettings
    /** Undefined without metrics. */
    readonly measure: Measure | undefined
  }

type Given = HttpBase & { readonly document: ApiDocument }

/** Limits of JSON bodies: with a token, and on paths that need none. */
export function jsonLimits({ maxJsonStrings, maxJsonMemory }: HttpSettings) {
  const limits: JsonLimits = { maxStrings: maxJsonStrings, maxMemory: maxJsonMemory, maxDepth: 10_000 }
  return { withToken: limits, open: { ...limits, maxValues: 10_000 } }
}

/** What HTTP needs to serve plugins over a core. */
export function httpParts(core: Core, plugins: readonly Plugin[], given: Given): Omit<HttpParts, 'register'> {
  const { access, namespaces, mounts, random, systemTtl } = core
  const { settings, document, node } = given
  const clientAddress = clientAddressReader(proxiesOf(settings))
  const resolve = (namespace: string, path: string) => mounts.table.resolve(namespace, path)
  const isSealed = () => core.barrier.isSealed()
  const json = jsonLimits(settings)
  const host = coreHost(core)
  const audit = auditing(core, host.takeBack)
  const limiter = new RateLimits({
    namespaces,
    resolve,
    mountTypes: core.mountTypes,
    quotas: core.quotas,
    throttle: settings.loginFailures && new LoginThrottle(settings.loginFailures, core.clock),
    onRefused: (quota) => given.measure?.rateLimited(quota),
  })
  return {
    plugins,
    node,
    route: mountRouter({
      random,
      resolve,
      clientAddress,
      ui: settings.ui,
      namespaceOf: (header, path) => namespaces.resolve(header, path),
    }),
    admit: admission({
      access,
      namespaces,
      resolve,
      isSealed,
      reportsEnterprise: settings.reportedVersion.endsWith('+ent'),
      limitLogin: (call) => limiter.checkLogin(call),
      jsonLimits: json.withToken,
      openJsonLimits: json.open,
      windows: {
        announcements: core.announcements,
        access: core.access,
        namespaces: core.namespaces,
        clock: core.clock,
        onRefused: (effect) => given.measure?.halted(effect),
      },
      noteUse: core.policyUses.isOn ? (call, caller) => noteUse(core, call, caller) : undefined,
      maxTtlOf: (mount) => effectiveMaxTtl(mount, systemTtl),
      carried: new CarriedLogins({
        ...{ namespaces, mounts, limiter, audit, host },
        mountTypes: core.mountTypes,
        routes: new LoginRoutes(plugins),
        limits: json.open,
        log: core.log,
      }),
    }),
    host,
    ...commonParts(core.log, given),
    audit,
    limiter,
    cors: corsReader(() => core.cors.current),
    uiHeaders: () => sentHeaders(core.uiHeaders.current),
    afterRequest: (call) => {
      const spent = call.caller?.token
      if (spent?.num_uses === -1) core.discard(spent.accessor)
    },
    onClosing: () => {
      for (const plugin of plugins) plugin.onClosing?.()
    },
    documents: { all: document, shown: () => document.describe(genericPlaces(mounts, 'root')) },
  }
}

/** Root tokens have no policy that could change; what a scope withholds says nothing about policies. */
function noteUse({ policyUses, namespaces }: Core, call: Call, { token }: Caller): void {
  const prefix = call.namespace && namespaces.pathBelow(token.namespace, call.namespace)
  if (prefix === undefined || call.operation === 'help' || token.scope !== undefined || isRoot(token)) return
  policyUses.note({
    namespace: token.namespace,
    policies: token.policies,
    entity: token.entity_id,
    operation: aclOperationOf(call),
    path: prefix + call.path,
  })
}

const proxiesOf = (settings: HttpSettings) => ({
  trusted: settings.trustedProxies,
  hops: settings.trustedProxyHops,
  required: settings.trustedProxyRequired,
})

type ClosedHttp = HttpBase &
  Pick<Core, 'random' | 'log'> & {
    /** Those from before the server was sealed, if it was open. */
    pageSettings(): PageSettings | undefined
  }

/** What HTTP serves while the server is sealed: node-level paths, and a refusal of all others. */
export function closedHttpParts({ random, log, pageSettings, ...given }: ClosedHttp): HttpParts {
  const { settings, node } = given
  const clientAddress = clientAddressReader(proxiesOf(settings))
  const nothing = () => undefined
  const unreachable = () => {
    throw new Error('a sealed server has no mounts')
  }
  return {
    plugins: [],
    node,
    register: nothing,
    route: mountRouter({ random, clientAddress, resolve: nothing, namespaceOf: nothing, ui: settings.ui }),
    admit: closedAdmission(jsonLimits(settings).withToken),
    host: {
      enter: unreachable,
      lease: unreachable,
      wrap: unreachable,
      bannerFor: unreachable,
      takeBack: unreachable,
    },
    ...commonParts(log, given),
    audit: undefined,
    limiter: undefined,
    afterRequest: nothing,
    cors: corsReader(() => pageSettings()?.cors),
    uiHeaders: () => sentHeaders(pageSettings()?.uiHeaders),
    onClosing: nothing,
  }
}

/** How the server accepts connections and reads requests. */
export function webServerOptions({
  settings,
  measure,
  onOverload,
  common,
}: Pick<HttpBase, 'settings' | 'measure' | 'onOverload' | 'common'>): WebServerOptions {
  const { headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs, maxConnections, maxConnectionShare } = settings
  return {
    headerTimeoutMs,
    bodyTimeoutMs,
    idleTimeoutMs,
    common,
    head: { maxBytes: settings.maxHeadSize, maxFields: settings.maxHeadFields },
    limits: {
      most: maxConnections,
      mostPerClient: Math.max(1, Math.floor(maxConnections * maxConnectionShare)),
      ...connectionCounting(proxiesOf(settings)),
      onCrowded: () => {
        measure?.refused('overload')
        onOverload()
      },
    },
    onRefused: (status) => measure?.refused(refusedReason[status]),
  }
}

/** Metric label of requests that are refused before a handler sees them. */
const refusedReason: Record<RawStatus, 'size' | 'timeout' | 'malformed'> = {
  400: 'malformed',
  405: 'malformed',
  417: 'malformed',
  408: 'timeout',
  413: 'size',
  414: 'size',
  431: 'size',
}

const auditing = ({ audit, namespaces }: Core, takeBack: Host['takeBack']) =>
  new Auditing({
    log: audit.log,
    headers: audit.headers,
    takeBack,
    namespacePathOf: (id) => namespaces.byId(id)?.path ?? '',
  })

function commonParts(
  log: Core['log'],
  { settings, measure, onOverload, inProgress, tracing, common }: Omit<HttpBase, 'node'>,
) {
  const maxBodyBytes = settings.maxRequestSize || Number.POSITIVE_INFINITY
  return {
    limits: {
      maxBodyBytes,
      maxOpenBodyBytes: Math.min(settings.maxLoginSize || maxBodyBytes, maxBodyBytes),
      maxBufferedBytes: settings.maxBuffered,
      places: { most: settings.maxInFlight, waitMs: settings.inFlightWaitMs },
    },
    onBug: (err: unknown, requestId: string) =>
      log.error({ event: 'request_failed', err, request_id: requestId }, 'a request failed'),
    onAccess: settings.accessLog
      ? (line: AccessLine) => log.info({ event: 'request', ...line }, 'request')
      : undefined,
    measure,
    onOverload,
    inProgress,
    tracing,
    common,
  }
}
