import type { preValidationHookHandler } from 'fastify'
import { callOf } from '../exchange/call.ts'
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
    return request.endpoint.admit?.(request, call) ?? done()
  }
