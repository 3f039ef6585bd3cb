import type { FastifyInstance, FastifyPluginCallback } from 'fastify'
import { routeTemplate } from '../exchange/access-log.ts'
import type { Call } from '../exchange/call.ts'
import { type RouteRules, type Served, type VerbName, verbs } from '../exchange/exchange.ts'
import type { Host } from '../exchange/host.ts'
import { isRevoking } from '../exchange/is-revoking.ts'
import { methodOf, partOf } from '../exchange/operation.ts'
import type { Admit } from '../steps/admission.ts'
import type { Endpoint } from '../steps/endpoint.ts'
import { handlerOf } from './answer.ts'
import type { Resource } from './resource.ts'

export type ResourceParts = {
  /** docs/contract/http.md#the-order-of-refusals */
  readonly admit: Admit
  readonly host: Host
}

/**
 * The Fastify plugin of a mount type: a route for each verb of its resources. `group` are the resources of all plugins
 * with the same prefix.
 */
export const mountTypeRoutes =
  (resources: readonly Resource[], group: readonly Resource[], parts: ResourceParts): FastifyPluginCallback =>
  (app, _options, done) => {
    const wide = group.flatMap(wideRoutesOf)
    for (const resource of resources)
      for (const url of resource.urls) addResource(app, { resource, url, wide }, parts)
    done()
  }

/** Requests for lists end in a slash: the mount router adds it. */
const canAsk = (verb: VerbName, url: string): boolean =>
  (verb !== 'list' && verb !== 'scan') || url.endsWith('/') || url.endsWith('*')

type Added = { readonly resource: Resource; readonly url: string; readonly wide: readonly WideRoute[] }

function addResource(
  app: FastifyInstance,
  { resource, url, wide }: Added,
  { admit, host }: ResourceParts,
): void {
  const label = routeTemplate(`${app.prefix}${url}`)
  const verbsHere = verbs.filter((verb) => canAsk(verb, url))
  for (const verb of verbsHere.flatMap((name) => resource.verbs[name] ?? []))
    app.route({
      method: methodOf[verb.operation],
      url,
      schema: schemaOf(verb),
      config: { endpoint: endpointOf(label, admit, () => verb.rules) },
      handler: handlerOf(host, verb),
    })
  const taken = takenVerbs(url, wide).filter(
    (verb) => verbsHere.includes(verb) && resource.verbs[verb] === undefined,
  )
  if (taken.length === 0) return
  app.route({
    method: taken.map((verb) => methodOf[verb]),
    url,
    config: { endpoint: endpointOf(label, admit, () => resource.rest()) },
    handler: async () => {
      throw resource.refusal()
    },
  })
}

/** A route that matches many paths: it would take the verbs that a more specific path does not serve. */
type WideRoute = { readonly segments: readonly string[]; readonly verbs: ReadonlySet<string> }

const wideRoutesOf = ({ urls, verbs: served }: Resource): WideRoute[] =>
  urls
    .filter((url) => url.includes('/:') || url.endsWith('*'))
    .map((url) => ({ segments: url.split('/'), verbs: new Set(Object.keys(served)) }))

/** The verbs that wider routes serve at paths of this one. */
function takenVerbs(url: string, wide: readonly WideRoute[]): readonly VerbName[] {
  const segments = url.split('/')
  const wider = wide.filter(
    (other) => overlap(segments, other.segments) && compareSegments(segments, other.segments) < 0,
  )
  return verbs.filter((verb) => wider.some((other) => other.verbs.has(verb)))
}

/** Sorts templates as the router tries them: in each segment a fixed text, then a name, then the rest of the path. */
export const bySpecificity = (one: string, other: string): number =>
  compareSegments(one.split('/'), other.split('/'))

function compareSegments(mine: readonly string[], theirs: readonly string[]): number {
  for (let at = 0; at < Math.max(mine.length, theirs.length); at += 1) {
    const left = mine[at] ?? ''
    const right = theirs[at] ?? ''
    const difference = widthOf(left) - widthOf(right)
    if (difference !== 0) return difference
    if (widthOf(left) === 0 && left !== right) return left < right ? -1 : 1
  }
  return 0
}

const widthOf = (segment: string): number => (segment === '*' ? 2 : segment.startsWith(':') ? 1 : 0)

/** Whether some path matches both templates. */
function overlap(one: readonly string[], other: readonly string[]): boolean {
  for (let at = 0; ; at += 1) {
    const mine = one[at]
    const theirs = other[at]
    if (mine === undefined || theirs === undefined) return mine === theirs
    if (mine === '*' || theirs === '*') return true
    if (!canMeet(mine, theirs) && !canMeet(theirs, mine)) return false
  }
}

/** Whether a segment matches the text of another; no name is empty. */
const canMeet = (pattern: string, text: string): boolean =>
  pattern === text || (pattern.startsWith(':') && text !== '')

const schemaOf = ({ operation, rules: { schema } }: Served) =>
  partOf(operation) === 'body' ? { body: schema } : { querystring: schema }

/** What is checked of a request to a resource. */
export const endpointOf = (label: string, admit: Admit, rulesOf: (call: Call) => RouteRules): Endpoint => ({
  label,
  isOpen: (call) => rulesOf(call).open,
  isExempt: isRevoking,
  showsBareCauses: (call) => rulesOf(call).open,
  namesRequest: (call) => rulesOf(call).namesRequest,
  admit: (request, call) => admit(request, rulesOf(call)),
})
