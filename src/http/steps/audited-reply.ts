import type { AuditedReply } from '../../core/audit/entry.ts'
import { parseLossless } from '../../lib/text/json.ts'
import type { AuditTrail, MadeByCall } from '../exchange/audit-trail.ts'
import type { Answer, Reply } from '../exchange/envelope.ts'

/** What a reply names that belongs to nobody without it. */
export const madeBy = ({ auth, secret, lease, secretAccessor }: Reply): MadeByCall => ({
  accessor: auth?.accessor,
  secretAccessor,
  leaseId: secret && lease?.id,
})

/** Notes what a response will say. */
export function note(trail: AuditTrail, reply: Reply, warnings: readonly string[]): void {
  const { auth, issued, lease, data, dataText, secret } = reply
  trail.made = madeBy(reply)
  trail.reply = {
    warnings,
    ...(auth && { auth }),
    ...(issued && { issued }),
    ...(lease && { leaseId: lease.id }),
    ...(data && { data }),
    ...(dataText !== undefined && { dataText }),
    ...(secret?.correlationId !== undefined && { correlationId: secret.correlationId }),
  }
}

/** Notes the response that was unwrapped, or the form of another one that has no envelope. */
export function noteRaw(trail: AuditTrail, path: string, { contentType, body = '', status }: Answer): void {
  trail.reply =
    path === unwrapPath
      ? unwrapped(String(body))
      : { data: { http_content_type: contentType, http_raw_body: String(body), http_status_code: status } }
}

/** Notes the response of a node-level path, a JSON object without an envelope. */
export function noteNodeAnswer(trail: AuditTrail, { body }: Answer): void {
  const data = typeof body === 'string' ? parseLossless(body) : null
  if (typeof data === 'object' && data !== null) trail.reply = { data }
}

const unwrapPath = 'sys/wrapping/unwrap'

/** The text is an envelope that this server wrote, or empty. */
function unwrapped(body: string): AuditedReply {
  if (body === '') return {}
  const { auth, lease_id, warnings, wrap_info } = JSON.parse(body)
  const whole = parseLossless(body)
  const data = typeof whole === 'object' && whole !== null && 'data' in whole ? whole.data : null
  return {
    ...(auth && { auth }),
    ...(typeof lease_id === 'string' && lease_id !== '' && { leaseId: lease_id }),
    ...(typeof data === 'object' && { data }),
    ...(Array.isArray(warnings) && { warnings }),
    ...(wrap_info && { wrapInfo: wrap_info }),
  }
}
