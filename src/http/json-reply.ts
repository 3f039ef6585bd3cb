import type { FastifyReply } from 'fastify'
import type { Answer } from './exchange.ts'

/**
 * Responses of at least this many characters count against the memory limit until the client has read them.
 */
export const largeAnswer = 1024 * 1024

const asWritten = (body: string): string => body

/**
 * Sends a body under exactly this content type: left alone, Fastify adds a charset, and clients that compare
 * the type then see no JSON. docs/contract/http.md#answers
 */
export function sendText(
  reply: FastifyReply,
  status: number,
  contentType: string,
  body: string,
): FastifyReply {
  return reply.code(status).header('content-type', contentType).serializer(asWritten).send(body)
}

/** Sends a JSON text. */
export const sendJson = (reply: FastifyReply, status: number, body: string): FastifyReply =>
  sendText(reply, status, 'application/json', body)

/** Sends a handler's response. */
export function sendAnswer(
  reply: FastifyReply,
  { status, contentType, headers, body }: Answer,
): FastifyReply {
  if (headers !== undefined) reply.headers(headers)
  if (contentType !== undefined) reply.header('content-type', contentType)
  return body === undefined ? reply.code(status).send() : reply.code(status).serializer(asWritten).send(body)
}
