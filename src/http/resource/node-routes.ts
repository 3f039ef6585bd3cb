import type { FastifyInstance, FastifyPluginCallback, FastifyRequest } from 'fastify'
import { refuse } from '../../errors.ts'
import type { JsonLimits } from '../../lib/text/json.ts'
import { routeTemplate } from '../exchange/access-log.ts'
import type { AuditTrail } from '../exchange/audit-trail.ts'
import { readFields } from '../exchange/body.ts'
import { type Call, callOf } from '../exchange/call.ts'
import type { RouteRules } from '../exchange/exchange.ts'
import { isNodeState, noRoute, rootPrefix } from '../exchange/mount-router.ts'
import { nodeMethods } from '../exchange/operation.ts'
import { tokenOf } from '../exchange/request-headers.ts'
import type { Admit } from '../steps/admission.ts'
import { put } from '../steps/answer.ts'
import { noteNodeAnswer } from '../steps/audited-reply.ts'
import type { Endpoint } from '../steps/endpoint.ts'
import type { NodeExchange, NodeRoute } from './node-resource.ts'
import { rulesOf } from './route-rules.ts'

/** The Fastify plugin of the paths that belong to no mount, and of requests that no path serves. */
export const nodeRoutes =
  (routes: readonly NodeRoute[], admit: Admit): FastifyPluginCallback =>
  (app, _options, done) => {
    for (const route of routes) addNodeRoute(app, route)
    app.route({
      method: [...nodeMethods],
      url: noRoute.slice(rootPrefix.length),
      config: { endpoint: nowhere(admit) },
      handler: async (request) => {
        throw refuse('missing', `no handler for route "${callOf(request.raw).path}". route entry not found.`)
      },
    })
    done()
  }

function addNodeRoute(app: FastifyInstance, { url, handle, audited }: NodeRoute): void {
  app.route({
    method: [...nodeMethods],
    url: url.slice(rootPrefix.length),
    config: { endpoint: endpointOf(url, audited) },
    handler: async (request, reply) => {
      const { trail } = callOf(request.raw)
      const answer = await handle(exchangeOf(request))
      if (trail?.isReached === true) noteNodeAnswer(trail, answer)
      return put(reply, answer)
    },
  })
}

const endpointOf = (url: string, audited: NodeRoute['audited']): Endpoint => ({
  label: routeTemplate(url),
  isOpen: () => true,
  isExempt: () => isNodeState(url),
  showsBareCauses: () => false,
  namesRequest: () => false,
  ...(audited && {
    admit: async (request: FastifyRequest, call: Call) => {
      if (!audited.verbs.includes(call.verb)) return
      const exchange = exchangeOf(request)
      if (call.trail !== undefined) noteCeremony(call.trail, call, exchange.body, audited.entries)
      await audited.admit(exchange)
      if (call.trail !== undefined) call.trail.isAllowed = true
    },
  }),
})

const exchangeOf = ({ raw, body }: FastifyRequest): NodeExchange => ({
  call: callOf(raw),
  body: body instanceof Uint8Array ? body : undefined,
  presented: () => tokenOf(raw),
  header: (name) => [raw.headers[name]].flat()[0],
})

/** Of a body that cannot be read, the entries show nothing. */
function noteCeremony(
  trail: AuditTrail,
  call: Call,
  body: Uint8Array | undefined,
  entries: 'request' | 'both',
): void {
  trail.isReached = true
  trail.isCeremony = true
  trail.isOneWay = entries === 'request'
  try {
    call.sent = readFields(body, undefined, ceremonyLimits)
  } catch {
    call.sent = {}
  }
}

const ceremonyLimits: JsonLimits = { maxStrings: 1000, maxMemory: 1024 * 1024, maxDepth: 100 }

/**
 * Requests without a mount, which are admitted like any other. docs/contract/http.md#the-order-of-refusals
 */
const nowhere = (admit: Admit): Endpoint => ({
  label: routeTemplate(noRoute),
  isOpen: () => false,
  isExempt: () => false,
  showsBareCauses: () => false,
  namesRequest: () => false,
  admit: (request) => admit(request, rulesOfNowhere),
})

/** A path that does not exist declares no fields. */
const rulesOfNowhere: RouteRules = {
  ...rulesOf({ help: '' }, 'header', undefined, []),
  readings: () => undefined,
}
