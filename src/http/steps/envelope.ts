import type { FastifyReply, preSerializationHookHandler } from 'fastify'
import { callOf } from '../exchange/call.ts'
import { envelope, type Reply } from '../exchange/envelope.ts'
import type { Payload } from './answer.ts'

/** A response in its envelope, as text. */
class Enveloped {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Puts what a handler returned into the envelope that all responses share. docs/contract/http.md#answers */
export const putInEnvelope: preSerializationHookHandler<Reply> = (request, _reply, answer, done) => {
  done(null, new Enveloped(envelope(callOf(request.raw), answer)))
}

/** Fastify's serializer. */
export const toText: Parameters<FastifyReply['serializer']>[0] = (payload: Payload | Enveloped) =>
  payload instanceof Enveloped ? payload.text : String(payload)
