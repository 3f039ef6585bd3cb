import { Readable } from 'node:stream'
import type { onSendAsyncHookHandler } from 'fastify'
import { callOf } from '../exchange/call.ts'
import { type Host, wrappedText } from '../resource/answer.ts'
import { type Payload, removeOwnHeaders } from './answer.ts'

/**
 * Stores a response that its client wants wrapped, and sends a wrapping token instead. docs/contract/wrapping.md#wrapping
 *
 * Asynchronous even where it waits for nothing: the steps after it, and a response that the head alone decides, come
 * once the bytes that arrived with the head have been read.
 */
export const wrap =
  (host: Pick<Host, 'wrap'>): onSendAsyncHookHandler<Payload> =>
  async (request, reply, payload) => {
    const call = callOf(request.raw)
    const { wraps } = call
    if (wraps === undefined || payload instanceof Readable) return payload
    call.wraps = undefined
    const status = reply.statusCode === 404 ? 404 : 200
    removeOwnHeaders(reply)
    reply.code(200).header('content-type', 'application/json')
    return wrappedText(request, await host.wrap(call, { body: String(payload), status }, wraps), wraps)
  }
