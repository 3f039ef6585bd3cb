import type { preValidationHookHandler } from 'fastify'
import { callOf } from '../exchange/call.ts'
import { failureText } from '../exchange/error-reply.ts'
import type { Auditing } from './auditing.ts'

/** Undefined while the server is sealed. */
export type AuditParts = { readonly audit: Auditing | undefined }

/** Records an admitted request: no handler runs before. docs/contract/audit.md#what-is-logged */
export const recordRequest =
  ({ audit }: AuditParts): preValidationHookHandler =>
  (request, _reply, done) => {
    const call = callOf(request.raw)
    if (call.trail === undefined || audit === undefined) return done()
    const bare = request.endpoint.showsBareCauses(call)
    return audit.recordRequest(request.raw, call, (error) => failureText(error, bare))
  }
