import type { IncomingMessage } from 'node:http'
import type { onRequestHookHandler } from 'fastify'
import { checkAnnouncedSize, overloaded } from '../exchange/body-reader.ts'
import { type Call, callOf, type EarlyReply } from '../exchange/call.ts'
import type { Capacity } from '../exchange/capacity.ts'
import { type CorsRules, lookAtOrigin } from '../exchange/cors.ts'
import type { Answer } from '../exchange/envelope.ts'
import { errorBody } from '../exchange/error-reply.ts'
import type { RateLimits } from '../exchange/rate-limits.ts'
import { put } from './answer.ts'
import type { Endpoint } from './endpoint.ts'
import { refuseOldCopies } from './take-place.ts'

export type HeadParts = {
  readonly capacity: Capacity
  /** Undefined while the server is sealed. */
  readonly limiter: Pick<RateLimits, 'isOn' | 'checkHead' | 'checkRefusedLogins'> | undefined
  /** The CORS rules; undefined while CORS is off. docs/contract/http.md#pages-of-other-origins */
  cors(): CorsRules | undefined
}

/** Decides what the head alone decides: limits, rate limits, CORS, redirects. */
export const settleHead =
  (parts: HeadParts): onRequestHookHandler =>
  (request, reply, done) => {
    try {
      const answer = settledByHead(parts, request.raw, callOf(request.raw), request.endpoint)
      if (answer === undefined) return done()
      const body = put(reply, answer)
      // the parser first reads the bytes that arrived with the head
      queueMicrotask(() => void reply.send(body))
    } catch (error) {
      done(error instanceof Error ? error : new Error('a head could not be settled', { cause: error }))
    }
  }

/** In the order of docs/contract/http.md#the-order-of-refusals */
function settledByHead(
  { capacity, limiter, cors }: HeadParts,
  request: IncomingMessage,
  call: Call,
  endpoint: Endpoint,
): Answer | undefined {
  const { early } = call
  const rules = cors()
  const crossing = rules === undefined ? undefined : lookAtOrigin(rules, request.headers, call)
  if (early?.kind === 'empty') return earlyAnswer(early)
  checkAnnouncedSize(request, capacity.maxBytes(endpoint.isOpen(call)))
  if (early !== undefined && !isServed(early)) return earlyAnswer(early)
  if (limiter?.isOn === true) limiter.checkHead(call)
  if (call.mount?.table === 'auth' && endpoint.isOpen(call)) limiter?.checkRefusedLogins(call)
  if (crossing !== undefined) return crossing
  if (early !== undefined) return earlyAnswer(early)
  if (request.isBeyondLimits === true && !endpoint.isExempt(call)) throw overloaded()
  refuseOldCopies(request, call, endpoint)
  return undefined
}

/**
 * Whether the head decides the request without refusing it: CORS comes first.
 * docs/contract/http.md#the-order-of-refusals
 */
const isServed = ({ kind }: EarlyReply): boolean => kind === 'redirect' || kind === 'text'

function earlyAnswer(early: EarlyReply): Answer {
  switch (early.kind) {
    case 'errors':
      return { status: early.status, contentType: 'application/json', body: errorBody() }
    case 'refusal':
      return { status: early.status, contentType: 'application/json', body: errorBody(early.text) }
    case 'redirect':
      return { status: 307, headers: { location: early.location } }
    case 'text':
      return { status: early.status, contentType: 'text/plain', body: early.text }
    case 'empty':
      return { status: early.status }
    case 'bug':
      throw early.error
  }
}
