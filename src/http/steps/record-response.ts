import type { onSendAsyncHookHandler } from 'fastify'
import { callOf } from '../exchange/call.ts'
import type { AuditParts } from './record-request.ts'

/** Records the response of a handler: nothing is sent before. docs/contract/audit.md#what-is-logged */
export const recordResponse =
  ({ audit }: AuditParts): onSendAsyncHookHandler =>
  async (request) => {
    const call = callOf(request.raw)
    if (call.trail !== undefined) await audit?.recordResponse(call)
  }
