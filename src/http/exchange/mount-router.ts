import type { IncomingMessage } from 'node:http'
import type { Mount } from '../../core/mounts/mount.ts'
import { fixedPaths } from '../../core/mounts/mount-path.ts'
import { rootNamespace } from '../../core/namespaces/namespace.ts'
import type { ResolvedNamespace } from '../../core/namespaces/namespace-tree.ts'
import { withoutSlash } from '../../core/quotas/quota-index.ts'
import type { Random } from '../../lib/system/random.ts'
import { parseBool } from '../../lib/text/go-numbers.ts'
import { announcesBody } from './body-reader.ts'
import type { Call, EarlyReply, Operation } from './call.ts'
import { methodOf, nodeMethodOf } from './operation.ts'
import { firstValueOf } from './request-headers.ts'
import { cleanTarget, decodePath, firstOf, hasUnprintable, isRelative } from './target.ts'
import { withQuery } from './with-query.ts'

export type RouterParts = {
  random: Random
  /**
   * The namespace of a request by its header and path; undefined if the header names an unknown one.
   * docs/contract/namespaces.md#the-namespace-of-a-request
   */
  namespaceOf(header: string | undefined, path: string): ResolvedNamespace | undefined
  /** The mount that a path of a namespace belongs to. docs/contract/mounts.md#routing */
  resolve(namespace: string, path: string): { mount: Mount; below: string } | undefined
  clientAddress(request: IncomingMessage): string | EarlyReply
  /** Whether the web UI is served. */
  readonly ui: boolean
}

/** The prefix of canonical node-level paths; no plugin has this name. */
export const rootPrefix = '/-'
const nodePrefix = `${rootPrefix}/node/`
const healthPrefix = `${rootPrefix}/health/`

/** The probes, at the root of the server. */
export const healthPaths = { live: 'health/live', ready: 'health/ready' } as const

/**
 * Whether a request target is a health check, a scrape or the web UI, which must be answered while storage is
 * away.
 */
export const needsNoStorage = (target = ''): boolean =>
  /^\/(?:v1\/)?(?:sys\/health|health(?:\/live|\/ready)?|metrics)(?:\?|$)/.test(target) || isUiTarget(target)

/** Whether this is the canonical path of a node state: health, seal, metrics. */
export const isNodeState = (url: string): boolean =>
  url.startsWith(nodePrefix) || url.startsWith(healthPrefix)

/** Whether a node-level path is served below `/v1`. */
export const isSysPath = (path: string): boolean => path.startsWith(`/${fixedPaths.system}`)

const belowSys = (path: string): string => path.slice(fixedPaths.system.length)

/** The canonical path of a node-level path. */
export const nodeUrl = (path: string): string =>
  isSysPath(path) ? nodePrefix + belowSys(path.slice(1)) : rootPrefix + path

/** The node-level path of a canonical path; any other path unchanged. */
export function nodePathOf(url: string): string {
  if (url.startsWith(nodePrefix)) return `/${fixedPaths.system}${url.slice(nodePrefix.length)}`
  return url.startsWith(`${rootPrefix}/`) ? url.slice(rootPrefix.length) : url
}

/** The route of requests without a mount; their response is decided after authentication. */
export const noRoute = `${rootPrefix}/none`

const apiRoot = '/v1'
const apiPrefix = `${apiRoot}/`
/** The path of the page that shows the API document. */
const explorerPath = '/docs'
const explorerPrefix = `${explorerPath}/`

/** The route of `/docs` and everything below it. */
export const explorerUrl = rootPrefix + explorerPath

const uiPath = '/ui'
export const isUiTarget = (target = ''): boolean => /^\/ui(?:[/?]|$)/.test(target)

/** The route of `/ui` and everything below it. */
export const uiUrl = rootPrefix + uiPath

/** Whether a browser opens the root of the server. */
export const isOpenedPage = (verb: string, { url, headers }: IncomingMessage): boolean =>
  (verb === 'GET' || verb === 'HEAD') &&
  (url === '/' || url?.startsWith('/?') === true) &&
  headers.accept?.includes('text/html') === true

const nodePaths = new Set([
  'init',
  'seal-status',
  'seal',
  'step-down',
  'unseal',
  'leader',
  'health',
  'metrics',
  ...['rekey', 'rekey-recovery-key'].flatMap((key) => [`${key}/init`, `${key}/update`, `${key}/verify`]),
  'generate-root/attempt',
  'generate-root/update',
])
const isNodePath = (path: string): boolean =>
  path.startsWith(fixedPaths.system) && nodePaths.has(belowSys(path))
/** The node-level paths that also exist in namespaces. */
const servedInNamespaces = new Set([`${fixedPaths.system}seal-status`, `${fixedPaths.system}leader`])
const notInNamespaces =
  /^sys\/(?:raw|generate-recovery-token|init|seal|step-down|unseal|health|rekey-recovery-key|rekey|storage|generate-root|metrics|pprof|in-flight-req)(?:\/|$)/
const outside: ReadonlyMap<string, string> = new Map([
  ['health', `${nodePrefix}health`],
  ['metrics', `${nodePrefix}metrics`],
  [healthPaths.live, `${healthPrefix}live`],
  [healthPaths.ready, `${healthPrefix}ready`],
])

/**
 * Fastify's `rewriteUrl`: reads verb and target, finds namespace and mount, attaches the call to the request
 * and returns the canonical path of the mount's plugin. docs/contract/http.md#the-order-of-refusals,
 * docs/contract/http.md#verbs-and-paths, docs/contract/mounts.md#routing
 */
export function mountRouter({
  random,
  namespaceOf,
  resolve,
  clientAddress,
  ui,
}: RouterParts): (request: IncomingMessage) => string {
  const places = { namespaceOf, resolve, ui }
  return (request) => {
    const verb = request.method ?? 'GET'
    const route = located(verb, request, places)
    const address = clientAddress(request)
    request.call = {
      requestId: random.uuid(),
      verb,
      operation: route.operation,
      refusedStatus: route.refusedStatus,
      path: route.path,
      query: route.query,
      targetBytes: request.url?.length ?? 0,
      namespace: route.namespace,
      namespaceInPath: route.namespaceInPath,
      mount: route.mount,
      below: route.below,
      early:
        route.early ??
        (typeof address === 'string' || route.url.startsWith(healthPrefix) ? undefined : address),
      contentType: request.headers['content-type'],
      crossOrigin: undefined,
      limitHeaders: undefined,
      remoteAddress: typeof address === 'string' ? address : '',
      wrapTtl: 0,
      wrapsForStranger: false,
      sent: {},
      presented: '',
      caller: undefined,
      creates: false,
      restores: undefined,
      converted: undefined,
      wraps: undefined,
      reason: '',
      loginKind: 'login',
      hasRefusedLogin: false,
      override: undefined,
      countedUnder: undefined,
      isRefusedLogin: false,
      trail: undefined,
      heldBytes: 0,
      release: undefined,
      answered: undefined,
      isUnderWay: false,
      takePlace: undefined,
      setAside: undefined,
      startedAt: 0,
    }
    const methods = route.mount === undefined ? nodeMethodOf : methodOf
    request.method = methods[route.operation ?? 'preflight']
    // Fastify refuses types that it cannot read, and takes a request of HTTP/2 without one as one without a body
    if (announcesBody(request)) request.headers['content-type'] = 'application/octet-stream'
    else delete request.headers['content-type']
    return route.url
  }
}

type Lookups = Pick<RouterParts, 'namespaceOf' | 'resolve' | 'ui'>

/** Never throws, since an error here would end the process: errors become a response. */
function located(verb: string, request: IncomingMessage, places: Lookups): Located {
  try {
    if (request.headers['x-vault-namespace']?.includes(',') === true)
      request.headers['x-vault-namespace'] = firstValueOf(request, 'x-vault-namespace')
    if (places.ui && isOpenedPage(verb, request)) {
      const query = request.url?.slice('/?'.length) ?? ''
      return early({ kind: 'redirect', location: withQuery(`${uiPath}/`, query) })
    }
    return locate(verb, request.url ?? '/', request.headers['x-vault-namespace'], places)
  } catch (error) {
    return early({ kind: 'bug', error })
  }
}

type Located = Pick<
  Call,
  | 'operation'
  | 'refusedStatus'
  | 'path'
  | 'query'
  | 'namespace'
  | 'namespaceInPath'
  | 'mount'
  | 'below'
  | 'early'
> & { url: string }

const nowhere: Located = {
  operation: 'read',
  refusedStatus: 405,
  path: '',
  query: '',
  namespace: rootNamespace,
  namespaceInPath: false,
  mount: undefined,
  below: '',
  early: undefined,
  url: noRoute,
}

const early = (reply: EarlyReply): Located => ({ ...nowhere, early: reply })

function locate(
  verb: string,
  target: string,
  namespaceHeader: string | string[] | undefined,
  places: Lookups,
): Located {
  const question = target.indexOf('?')
  const query = question < 0 ? '' : target.slice(question + 1)
  const raw = question < 0 ? target : target.slice(0, question)
  const rawPath = raw.startsWith('/') ? raw : withoutOrigin(raw)
  const decoded = decodePath(rawPath)
  if (decoded === undefined) return early({ kind: 'errors', status: 400 })
  if (hasUnprintable(decoded)) return early({ kind: 'empty', status: 400 })
  if (rawPath === apiRoot || rawPath === '/' || rawPath.startsWith('//'))
    return early({ kind: 'errors', status: 404 })
  const clean = cleanTarget(rawPath)
  if (clean !== rawPath) return early({ kind: 'redirect', location: withQuery(clean, query) })

  const { operation, status } = operationOf(verb, query)
  let path = decoded.startsWith(apiPrefix) ? decoded.slice(apiPrefix.length) : decoded.slice(1)
  const header = firstOf(namespaceHeader)
  if (header !== undefined && header !== '' && notInNamespaces.test(path)) {
    return early({ kind: 'refusal', status: 400, text: 'operation unavailable in namespaces' })
  }
  const elsewhere = (rest: Partial<Located>): Located => ({
    ...nowhere,
    operation,
    refusedStatus: status,
    query,
    path,
    ...rest,
  })
  const fixed = decoded === rawPath && !rawPath.startsWith(apiPrefix) ? outside.get(path) : undefined
  if (fixed !== undefined) return elsewhere({ operation: operation ?? 'write', url: fixed })
  if (rawPath === explorerPath || rawPath.startsWith(explorerPrefix))
    return elsewhere({ operation: operation ?? 'write', url: explorerUrl })
  if (path === 'robots.txt') return early({ kind: 'text', status: 200, text: 'User-agent: *\nDisallow: /\n' })
  if (places.ui && isUiTarget(rawPath)) return elsewhere({ operation: operation ?? 'write', url: uiUrl })
  if (path === 'ui' || path.startsWith('ui/')) return early({ kind: 'errors', status: 404 })
  if (operation !== 'help' && isNodePath(path)) {
    return elsewhere({ operation: operation ?? 'preflight', url: nodeUrl(`/${path}`) })
  }
  if ((operation === 'list' || operation === 'scan') && !path.endsWith('/')) path += '/'
  const place = places.namespaceOf(header, path)
  if (place === undefined || isRelative(path)) return elsewhere({ namespace: place?.namespace })
  const { namespace, taken } = place
  if (taken > 0) path = path.slice(taken)
  if (taken > 0 && operation !== 'help' && servedInNamespaces.has(path)) {
    return elsewhere({ operation: operation ?? 'preflight', url: nodeUrl(`/${path}`) })
  }
  let hit = places.resolve(namespace.id, path)
  if (hit?.mount.config.trim_request_trailing_slashes === true && trimmed.has(operation)) {
    path = withoutSlash(path)
    hit = { mount: hit.mount, below: withoutSlash(hit.below) }
  }
  if (hit === undefined) return elsewhere({ path, namespace, namespaceInPath: taken > 0 })
  return {
    operation,
    refusedStatus: status,
    query,
    path,
    namespace,
    namespaceInPath: taken > 0,
    mount: hit.mount,
    below: hit.below,
    early: undefined,
    url: `/${hit.mount.plugin}/${escapeForRouter(hit.below)}`,
  }
}

/** Operations on a path that does not name a folder. */
const trimmed: ReadonlySet<Operation | undefined> = new Set(['read', 'write', 'patch', 'delete'])

function withoutOrigin(target: string): string {
  const path = target.indexOf('/', target.indexOf('://') + 3)
  return path < 0 ? '/' : target.slice(path)
}

const verbs: Record<string, Operation> = {
  GET: 'read',
  LIST: 'list',
  SCAN: 'scan',
  POST: 'write',
  PUT: 'write',
  PATCH: 'patch',
  DELETE: 'delete',
  HEAD: 'header',
  HELP: 'help',
  OPTIONS: 'preflight',
}
/** A verb with an operation. */
export const isKnownVerb = (verb: string): boolean => Object.hasOwn(verbs, verb)

/** Whether a query may have one of the three names that `operationOf` looks for: also one that is encoded. */
const mayChangeOperation = /(?:^|&)(?:help|list|scan|[^=&]*%)/

/** The operation of a verb and, for GET, of `list` and `scan`. docs/contract/http.md#verbs-and-paths */
function operationOf(verb: string, query: string): { operation: Operation | undefined; status: number } {
  const plain = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
  if (plain === undefined) return { operation: undefined, status: 405 }
  if (!mayChangeOperation.test(query)) return { operation: plain, status: 405 }
  // it drops a leading question mark, which belongs to the first name
  const parameters = new URLSearchParams(`&${query}`)
  if ((parameters.get('help') ?? '') !== '') return { operation: 'help', status: 405 }
  if (plain !== 'read') return { operation: plain, status: 405 }
  const list = parseBool(parameters.get('list') || 'false')
  const scan = parseBool(parameters.get('scan') || 'false')
  if (list === undefined || scan === undefined || (list && scan)) return { operation: undefined, status: 400 }
  return { operation: list ? 'list' : scan ? 'scan' : 'read', status: 405 }
}

const special = /[%?#]/

/** Escapes a decoded path for the router, which decodes it again and cuts it at `?` and `#`. */
function escapeForRouter(path: string): string {
  return special.test(path) ? path.replace(/[%?#]/g, encodeURIComponent) : path
}
