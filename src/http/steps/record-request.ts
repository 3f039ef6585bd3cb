import type { preValidationAsyncHookHandler } from 'fastify'
import { callOf } from '../exchange/call.ts'
import { failureText } from '../exchange/error-reply.ts'
import type { Auditing } from './auditing.ts'
import { endpointOf } from './endpoint.ts'

/** Undefined while the server is sealed. */
export type AuditParts = { readonly audit: Auditing | undefined }

/** Records an admitted request: no handler runs before. docs/contract/audit.md#what-is-logged */
export const recordRequest =
  ({ audit }: AuditParts): preValidationAsyncHookHandler =>
  async (request) => {
    const call = callOf(request.raw)
    if (call.trail === undefined) return
    const bare = endpointOf(request).showsBareCauses(call)
    await audit?.recordRequest(request.raw, call, (error) => failureText(error, bare))
  }
