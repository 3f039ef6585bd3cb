import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { routeTemplate } from './access-log.ts'
import type { Admit } from './admission.ts'
import { handlerOf, type Host } from './answer.ts'
import { type Call, callOf } from './call.ts'
import type { RouteRules, Served } from './exchange.ts'
import type { HelpPages } from './help.ts'
import { isRevoking } from './is-revoking.ts'
import { allMethods, methodOf, partOf } from './operation.ts'
import type { Resource } from './resource.ts'
import { type Payload, put } from './steps/answer.ts'
import type { Endpoint } from './steps/endpoint.ts'

export type ResourceParts = {
  /** docs/contract/http.md#the-order-of-refusals */
  readonly admit: Admit
  readonly host: Host
  readonly help: HelpPages
}

/** The Fastify plugin of a mount type: a route for each verb of its resources. */
export const mountTypeRoutes =
  (resources: readonly Resource[], parts: ResourceParts): FastifyPluginCallback =>
  (app, _options, done) => {
    for (const resource of resources)
      for (const url of resource.urls) addResource(app, { resource, url }, parts)
    done()
  }

function addResource(
  app: FastifyInstance,
  { resource, url }: { readonly resource: Resource; readonly url: string },
  { admit, host, help }: ResourceParts,
): void {
  const label = routeTemplate(`${app.prefix}${url}`)
  const served = Object.values(resource.verbs)
  for (const verb of served)
    app.route({
      method: methodOf[verb.operation],
      url,
      schema: schemaOf(verb),
      config: { endpoint: endpointOf(label, admit, () => verb.rules) },
      handler: handlerOf(host, verb),
    })
  const taken = new Set(served.map(({ operation }) => methodOf[operation]))
  app.route({
    method: allMethods.filter((method) => !taken.has(method)),
    url,
    config: {
      endpoint: endpointOf(label, admit, ({ operation }) =>
        operation === 'help' ? resource.helpRules : resource.rest,
      ),
    },
    handler: async (request: FastifyRequest, reply: FastifyReply): Promise<Payload> => {
      const call = callOf(request.raw)
      if (call.operation !== 'help') throw resource.refusal()
      return put(reply, await help.answer(resource, call))
    },
  })
}

const schemaOf = ({ operation, rules: { schema } }: Served) =>
  partOf(operation) === 'body' ? { body: schema } : { querystring: schema }

const endpointOf = (label: string, admit: Admit, rulesOf: (call: Call) => RouteRules): Endpoint => ({
  label,
  isOpen: (call) => rulesOf(call).open,
  isExempt: isRevoking,
  showsBareCauses: (call) => rulesOf(call).open,
  namesRequest: (call) => rulesOf(call).namesRequest,
  admit: (request, call) => admit(request, rulesOf(call)),
})
