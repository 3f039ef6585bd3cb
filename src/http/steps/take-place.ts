import type { IncomingMessage } from 'node:http'
import type { FastifyRequest, preValidationHookHandler } from 'fastify'
import { refuse } from '../../errors.ts'
import { announcesBody } from '../exchange/body-reader.ts'
import { type Call, callOf } from '../exchange/call.ts'
import type { Capacity } from '../exchange/capacity.ts'
import type { RateLimits } from '../exchange/rate-limits.ts'
import type { Endpoint } from './endpoint.ts'

export type PlaceParts = {
  readonly capacity: Capacity
  /** Undefined while the server is sealed. */
  readonly limiter: Pick<RateLimits, 'decidesByRole'> | undefined
}

/**
 * Takes a place among the requests that are handled at once. A login that its role may refuse takes it later, once its
 * fields are read: what is over a limit must not wait.
 */
export const takePlace =
  ({ capacity, limiter }: PlaceParts): preValidationHookHandler =>
  (request, reply, done) => {
    const call = callOf(request.raw)
    const take = () => {
      const place = request.endpoint.isExempt(call) ? undefined : capacity.enter(call, reply.raw)
      return place === undefined && !announcesBody(request.raw) ? undefined : entered(request, place)
    }
    if (limiter?.decidesByRole(call) !== true) return take() ?? done()
    call.takePlace = async () => take()
    return done()
  }

/** Copies may have become old while the request waited, or while its body came. */
async function entered({ raw, endpoint }: FastifyRequest, place: Promise<void> | undefined): Promise<void> {
  await place
  await raw.checkCopies?.(raw)
  refuseOldCopies(raw, callOf(raw), endpoint)
}

/** Throws if copies of what other servers write may be old. */
export function refuseOldCopies(request: IncomingMessage, call: Call, endpoint: Endpoint): void {
  if (request.hasOldCopies !== true || endpoint.isExempt(call)) return
  throw refuse('unavailable', 'storage is unavailable', { reason: 'old_copies' })
}
