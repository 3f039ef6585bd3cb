import type { onRequestHookHandler } from 'fastify'
import { type AccessLine, accessLine } from '../exchange/access-log.ts'
import { type Call, callOf } from '../exchange/call.ts'
import type { Capacity } from '../exchange/capacity.ts'
import { isKnownVerb } from '../exchange/mount-router.ts'
import type { RequestSpan, RequestTracing } from '../exchange/request-span.ts'
import type { RequestsInProgress } from '../exchange/requests-in-progress.ts'
import { endpointOf } from './endpoint.ts'
import { toText } from './envelope.ts'

export type BeginParts = {
  readonly capacity: Capacity
  readonly inProgress: RequestsInProgress
  /** Undefined without traces. */
  readonly tracing?: RequestTracing | undefined
  /** Undefined without metrics. */
  readonly measure:
    | { request(measured: { method: string; route: string; code: number; seconds: number }): void }
    | undefined
  /** Called for every finished request, for the log; undefined while the access log is off. */
  readonly onAccess: ((line: AccessLine) => void) | undefined
  /** Called when a request has ended, answered or aborted; one-use tokens are revoked here. */
  afterRequest(call: Call): void
}

/**
 * Counts, times and traces a request. It ends when its response is complete and its connection is done with it, in
 * either order. So the work for a client that left is logged with the status that it would have received.
 */
export function begin(parts: BeginParts): onRequestHookHandler {
  const { capacity, inProgress, tracing } = parts
  return (request, reply, done) => {
    const call = callOf(request.raw)
    request.endpoint = endpointOf(request)
    const { label: route } = request.endpoint
    const started = performance.now()
    const span = tracing?.begin(request.raw.headers)
    let pending = 2
    inProgress.begin(call)
    capacity.holdHead(request.raw, call)
    const end = () => {
      pending -= 1
      if (pending > 0) return
      inProgress.end(call)
      capacity.end(call)
      call.release?.()
      report(parts, call, { route, status: reply.statusCode, ms: performance.now() - started })
      if (span !== undefined) span.end(tracedRequest(call, route, reply.statusCode))
      parts.afterRequest(call)
    }
    call.answered = end
    // without one of its own, Fastify adds a charset to the type of JSON
    reply.serializer(toText)
    reply.raw.on('close', end)
    if (span === undefined) done()
    else span.run(done)
  }
}

function report(
  { measure, onAccess }: BeginParts,
  call: Call,
  came: { route: string; status: number; ms: number },
): void {
  measure?.request({ method: methodOf(call), route: came.route, code: came.status, seconds: came.ms / 1000 })
  onAccess?.(accessLine(call, came))
}

const tracedRequest = (call: Call, route: string, status: number): Parameters<RequestSpan['end']>[0] => ({
  route,
  status,
  requestId: call.requestId,
  reason: call.reason,
  method: methodOf(call),
  mount: call.mount?.path ?? '',
  namespace: call.namespace?.path ?? '',
})

const methodOf = ({ verb }: Call): string => (isKnownVerb(verb) ? verb : 'other')
