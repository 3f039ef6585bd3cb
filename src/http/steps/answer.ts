import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Answer } from '../exchange/envelope.ts'

/** A body as Fastify sends it; an empty text is none. */
export type Payload = string | Buffer | Readable

/** Sets status and headers of an answer, and returns its body. */
export function put(reply: FastifyReply, { status, contentType, headers, body, stream }: Answer): Payload {
  reply.code(status)
  if (headers !== undefined) reply.headers(headers)
  if (contentType !== undefined) reply.header('content-type', contentType)
  if (stream !== undefined) {
    if (stream.bytes !== undefined) reply.header('content-length', String(stream.bytes))
    // a client sees the status before the first event
    else reply.raw.once('pipe', () => reply.raw.flushHeaders())
    return stream.stream
  }
  return body ?? ''
}

/** The bytes of a body; 0 for a stream whose length is not known. */
export const bytesOf = (reply: FastifyReply, payload: Payload): number =>
  payload instanceof Readable ? Number(reply.getHeader('content-length') ?? 0) : Buffer.byteLength(payload)

/** Removes the headers of a response that another one replaces. The step of the common headers decides about the connection. */
export function removeOwnHeaders(reply: FastifyReply): void {
  for (const name of Object.keys(reply.getHeaders())) if (name !== 'connection') reply.removeHeader(name)
}
