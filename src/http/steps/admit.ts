import type { preValidationHookHandler } from 'fastify'
import { callOf } from '../exchange/call.ts'
import { endpointOf } from './endpoint.ts'
import type { AuditParts } from './record-request.ts'

/**
 * Fields, headers and path; token → caller; does the target exist? is this allowed? From here on, the call collects
 * what its audit entries show. docs/contract/http.md#the-order-of-refusals
 */
export const admit =
  ({ audit }: AuditParts): preValidationHookHandler =>
  (request, _reply, done) => {
    const call = callOf(request.raw)
    if (audit?.isOn === true) audit.begin(call)
    return endpointOf(request).admit?.(request, call) ?? done()
  }
