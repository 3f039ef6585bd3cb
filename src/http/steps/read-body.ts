import type { FastifyRequest } from 'fastify'
import { callOf } from '../exchange/call.ts'
import type { Capacity } from '../exchange/capacity.ts'
import type { AuditParts } from './record-request.ts'

/** The operations that may have a body; what others send is dropped. */
const withBody: ReadonlySet<string | undefined> = new Set(['write', 'patch', 'delete', 'preflight'])

/** Reads a body of any type as bytes, within the limits for one body and for all together. */
export const readBodyStep =
  ({ capacity, audit }: AuditParts & { readonly capacity: Capacity }) =>
  async (request: FastifyRequest): Promise<Buffer | undefined> => {
    const call = callOf(request.raw)
    if (!withBody.has(call.operation)) return undefined
    const { endpoint } = request
    return await capacity.readBody(request.raw, call, {
      isOpen: endpoint.isOpen(call),
      exempt: endpoint.isExempt(call),
      isKept: (field) => audit?.shows(field) === true,
    })
  }
