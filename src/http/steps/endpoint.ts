import type { FastifyRequest } from 'fastify'
import { routeTemplate } from '../exchange/access-log.ts'
import { type Call, callOf } from '../exchange/call.ts'
import { noRoute } from '../exchange/mount-router.ts'

/** What the steps of a request need to know about its route: the `config` of each route. */
export type Endpoint = {
  /** The route in metrics and in the access log. */
  readonly label: string
  /** Needs no token, or checks it itself: its bodies are limited by MAX_LOGIN_SIZE. */
  isOpen(call: Call): boolean
  /** Served under any load. docs/contract/http.md#limits */
  isExempt(call: Call): boolean
  /** Error texts are sent unchanged, without the list form of causes. docs/contract/http.md#errors */
  showsBareCauses(call: Call): boolean
  /** Refusals contain the request id. */
  namesRequest(call: Call): boolean
  /** Throws a refusal. Absent where nothing is checked before the handler. */
  admit?(request: FastifyRequest, call: Call): Promise<void>
}

declare module 'fastify' {
  interface FastifyContextConfig {
    endpoint?: Endpoint
  }
  interface FastifyRequest {
    /** Set by the first step. */
    endpoint: Endpoint
  }
  interface FastifyInstance {
    /** What is checked of a request that no route serves. */
    unserved(call: Call): Endpoint | undefined
  }
}

/** Paths that no route serves: reading their targets has failed. */
const unknown: Endpoint = {
  label: routeTemplate(noRoute),
  isOpen: () => true,
  isExempt: () => true,
  showsBareCauses: () => false,
  namesRequest: () => false,
}

export const endpointOf = ({ routeOptions, server, raw }: FastifyRequest): Endpoint =>
  routeOptions.config.endpoint ?? server.unserved(callOf(raw)) ?? unknown
