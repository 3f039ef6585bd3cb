import { noSecrets } from '../core/audit/hashing.ts'
import { refuse } from '../errors.ts'
import type { JsonLimits } from '../lib/json.ts'
import { routeTemplate } from './access-log.ts'
import type { Admit, UnreadRequest } from './admission.ts'
import { answerRequest, type Host } from './answer.ts'
import type { AuditTrail } from './audit-trail.ts'
import { noteNodeAnswer } from './audited-reply.ts'
import { readFields } from './body.ts'
import type { Call } from './call.ts'
import type { Answer, RouteRules, Served } from './exchange.ts'
import type { HelpPages } from './help.ts'
import { isRevoking } from './is-revoking.ts'
import { isNodeState, noRoute } from './mount-router.ts'
import type { NodeExchange, NodeRoute } from './node-resource.ts'
import { tokenOf } from './request-headers.ts'
import type { Resource } from './resource.ts'

/** What a route serves. */
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
  /** Throws a refusal. Absent where nothing is checked before the answer. */
  admit?(request: UnreadRequest, call: Call): Promise<void>
  answer(request: UnreadRequest, call: Call): Promise<Answer> | Answer
}

export type EndpointParts = {
  /** docs/contract/http.md#the-order-of-refusals */
  readonly admit: Admit
  readonly host: Host
  readonly help: HelpPages
}

/** A resource of a plugin below its mounts. */
export function mountEndpoint(
  resource: Resource,
  url: string,
  { admit, host, help }: EndpointParts,
): Endpoint {
  const servedOf = ({ operation }: Call): Served | undefined =>
    operation === undefined ? undefined : resource.verbs[operation as Served['operation']]
  const rulesOf = (call: Call): RouteRules =>
    servedOf(call)?.rules ?? (call.operation === 'help' ? resource.helpRules : resource.rest)
  return {
    label: routeTemplate(url),
    isOpen: (call) => rulesOf(call).open,
    isExempt: isRevoking,
    showsBareCauses: (call) => rulesOf(call).open,
    namesRequest: (call) => rulesOf(call).namesRequest,
    admit: (request, call) => admit(request, rulesOf(call)),
    answer: (request, call) => {
      if (call.operation === 'help') return help.answer(resource, call)
      const served = servedOf(call)
      if (served === undefined) throw resource.refusal()
      return answerRequest(host, request, served)
    },
  }
}

/** A path that belongs to no mount. */
export function nodeEndpoint({ url, handle, audited }: NodeRoute): Endpoint {
  const exchangeOf = ({ raw, body }: UnreadRequest, call: Call): NodeExchange => ({
    ...{ call, body, presented: () => tokenOf(raw) },
    header: (name) => [raw.headers[name]].flat()[0],
  })
  return {
    label: routeTemplate(url),
    isOpen: () => true,
    isExempt: () => isNodeState(url),
    showsBareCauses: () => false,
    namesRequest: () => false,
    ...(audited && {
      admit: async (request, call) => {
        if (!audited.verbs.includes(call.verb)) return
        if (call.trail !== undefined) noteCeremony(call.trail, call, request.body, audited.entries)
        await audited.admit(exchangeOf(request, call))
        if (call.trail !== undefined) call.trail.isAllowed = true
      },
    }),
    answer: async (request, call) => {
      const answer = await handle(exchangeOf(request, call))
      if (call.trail?.isReached === true) noteNodeAnswer(call.trail, answer)
      return answer
    },
  }
}

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
export const nowhereEndpoint = (admit: Admit): Endpoint => ({
  label: routeTemplate(noRoute),
  isOpen: () => false,
  isExempt: () => false,
  showsBareCauses: () => false,
  namesRequest: () => false,
  admit: (request) => admit(request, rulesOfNowhere),
  answer: (_request, call) => {
    throw refuse('missing', `no handler for route "${call.path}". route entry not found.`)
  },
})

const rulesOfNowhere: RouteRules = {
  ...{ open: false, caller: 'none', sudo: false, dropsSlash: false, namesRequest: false, isCeremony: false },
  ...{ whileRemoved: false, wrapsWithoutToken: false },
  ...{
    precheck: undefined,
    follows: undefined,
    refusedCaller: undefined,
    canonical: undefined,
    exists: undefined,
  },
  secrets: () => noSecrets,
  readings: () => undefined,
  convert: () => ({ values: {}, unknown: [], replaced: [] }),
  exchange: () => {
    throw new Error('nothing is mounted here')
  },
}

/** Fails every request with this error. */
export const failingEndpoint = (error: unknown): Endpoint => ({
  label: routeTemplate(noRoute),
  isOpen: () => true,
  isExempt: () => true,
  showsBareCauses: () => false,
  namesRequest: () => false,
  answer: () => {
    throw error
  },
})
