import { Readable } from 'node:stream'
import type { onSendHookHandler } from 'fastify'
import { callOf } from '../exchange/call.ts'
import type { Host } from '../exchange/host.ts'
import { wrappedText } from '../resource/answer.ts'
import { type Payload, removeOwnHeaders } from './answer.ts'

/** Stores a response that its client wants wrapped, and sends a wrapping token instead. docs/contract/wrapping.md#wrapping */
export const wrap =
  (host: Pick<Host, 'wrap'>): onSendHookHandler<Payload> =>
  (request, reply, payload, done) => {
    const call = callOf(request.raw)
    const { wraps } = call
    if (wraps === undefined || payload instanceof Readable) return done()
    call.wraps = undefined
    const status = reply.statusCode === 404 ? 404 : 200
    removeOwnHeaders(reply)
    reply.code(200).header('content-type', 'application/json')
    return host
      .wrap(call, { body: String(payload), status }, wraps)
      .then((wrapInfo) => wrappedText(request, wrapInfo, wraps))
  }
