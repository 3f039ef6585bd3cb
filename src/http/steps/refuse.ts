import { HttpError } from '@fastify/sensible'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse as refused, ServiceError } from '../../errors.ts'
import { FieldError } from '../../lib/text/fields.ts'
import { type Call, callOf } from '../exchange/call.ts'
import { bugReply, type ErrorReply, errorBody, errorReply, failureText } from '../exchange/error-reply.ts'
import { isOverQuota, type RateLimits } from '../exchange/rate-limits.ts'
import { removeOwnHeaders } from './answer.ts'
import type { Endpoint } from './endpoint.ts'
import type { AuditParts } from './record-request.ts'

export type RefusalParts = AuditParts & {
  /** Undefined while the server is sealed. */
  readonly limiter: Pick<RateLimits, 'isAudited'> | undefined
  /** Undefined without metrics. */
  readonly measure: { refused(reason: 'size' | 'overload'): void } | undefined
  /** Called for every internal error. */
  onBug(error: unknown, requestId: string): void
  /** A request or connection was refused because there were too many. */
  onOverload(): void
}

/** Fastify's error handler: the response to every refusal and failure. docs/contract/http.md#errors */
export const refuse =
  (parts: RefusalParts) =>
  async (thrown: unknown, request: FastifyRequest, reply: FastifyReply): Promise<string> => {
    const call = callOf(request.raw)
    const { endpoint } = request
    const error = await recorded(parts, { error: refusalOf(thrown), request, call, endpoint })
    count(parts, call, error)
    const { status, body, retryAfter } = replyFor(parts, error, {
      call,
      open: call.hasRefusedLogin || endpoint.showsBareCauses(call),
    })
    removeOwnHeaders(reply)
    if (call.hasRefusedLogin) reply.header('x-vault-inline-auth-failed', 'true')
    reply.code(status).header('content-type', 'application/json')
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
    // only for requests that reached a handler, not for a wrong verb or a sealed server
    const isNamed = endpoint.namesRequest(call) && call.converted !== undefined
    return isNamed || call.hasRefusedLogin ? naming(body, call.requestId) : body
  }

/** The refusal of a field that the validator compiler reports. */
export const refusalOf = (thrown: unknown): unknown =>
  thrown instanceof FieldError ? refused('invalid', `Field validation failed: ${thrown.text}`) : thrown

/** Writes the audit entries of a failure. Returns it, or what prevents its entries. */
async function recorded(
  { audit, limiter }: RefusalParts,
  failed: { error: unknown; request: FastifyRequest; call: Call; endpoint: Endpoint },
): Promise<unknown> {
  const { error, request, call, endpoint } = failed
  if (audit === undefined) return error
  try {
    if (isOverQuota(error)) {
      if (!call.hasRefusedLogin && audit.isOn && limiter?.isAudited === true)
        await audit.limited(request.raw, call, error)
    } else if (call.trail !== undefined)
      await audit.recordFailure(request.raw, call, {
        error,
        text: failureText(error, endpoint.showsBareCauses(call)),
      })
    return error
  } catch (other) {
    return other
  }
}

function count({ measure, onOverload }: RefusalParts, call: Call, error: unknown): void {
  if (!(error instanceof ServiceError)) return
  if (call.reason === '') call.reason = error.reason ?? ''
  if (error.kind === 'overloaded') {
    measure?.refused('overload')
    onOverload()
  } else if (error.kind === 'too-large') measure?.refused('size')
}

function replyFor(
  { onBug }: RefusalParts,
  error: unknown,
  { call, open }: { call: Call; open: boolean },
): ErrorReply {
  if (error instanceof ServiceError) {
    if (error.kind === 'internal' && !error.isPromised) onBug(error, call.requestId)
    return errorReply(error, open)
  }
  // a status without a text
  if (error instanceof HttpError && error.statusCode < 500)
    return { status: error.statusCode, body: errorBody(), retryAfter: undefined }
  onBug(error, call.requestId)
  return bugReply(open)
}

/** Adds the request id to a refusal. */
const naming = (body: string, requestId: string): string =>
  body.replace(/\}\n$/, `,"request_id":"${requestId}"}\n`)
