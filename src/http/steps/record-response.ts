import type { onSendHookHandler } from 'fastify'
import { callOf } from '../exchange/call.ts'
import type { AuditParts } from './record-request.ts'

/** Records the response of a handler: nothing is sent before. docs/contract/audit.md#what-is-logged */
export const recordResponse =
  ({ audit }: AuditParts): onSendHookHandler =>
  (request, _reply, _payload, done) => {
    const call = callOf(request.raw)
    if (call.trail === undefined || audit === undefined) return done()
    return audit.recordResponse(call)
  }
