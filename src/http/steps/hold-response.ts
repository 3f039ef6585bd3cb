import type { onSendHookHandler } from 'fastify'
import { callOf } from '../exchange/call.ts'
import type { Capacity } from '../exchange/capacity.ts'
import { bytesOf, type Payload } from './answer.ts'

/** Counts the bytes of every response until its client has received them. docs/limits.md#overload */
export const holdResponse =
  ({ capacity }: { readonly capacity: Capacity }): onSendHookHandler<Payload> =>
  (request, reply, payload, done) => {
    capacity.hold(callOf(request.raw), bytesOf(reply, payload))
    done()
  }
