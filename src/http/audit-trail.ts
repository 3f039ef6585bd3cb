import type { AuditedReply } from '../core/audit/entry.ts'
import { parseLossless } from '../lib/json.ts'
import type { Reply } from './envelope.ts'

/** Collected on the way of a request for its audit entries. docs/contract/audit.md */
export type AuditTrail = {
  /** It came far enough to be logged. docs/contract/audit.md#what-is-logged */
  isReached: boolean
  /** The policies allow it, or it needs none. */
  isAllowed: boolean
  /** All strings of its fields and its response are hashed, whatever the settings. */
  isCeremony: boolean
  /** Only the request entry is written. */
  isOneWay: boolean
  reply: AuditedReply
  /** Taken back if the response is withheld. */
  made: MadeByCall
}

/** What a call has created and its response names: without the response it belongs to nobody. */
export type MadeByCall = {
  readonly accessor?: string | undefined
  readonly leaseId?: string | undefined
  /** Accessor of the wrapping token. */
  readonly wrappingAccessor?: string | undefined
}

export const freshTrail = (): AuditTrail => ({
  isReached: false,
  isAllowed: false,
  isCeremony: false,
  isOneWay: false,
  reply: {},
  made: {},
})

export const madeBy = ({ auth, secret, lease }: Reply): MadeByCall => ({
  accessor: auth?.accessor,
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
export function noteRaw(trail: AuditTrail, path: string, raw: NonNullable<Reply['raw']>): void {
  const { contentType, body, status } = raw
  trail.reply =
    path === unwrapPath
      ? unwrapped(body)
      : { data: { http_content_type: contentType, http_raw_body: body, http_status_code: status } }
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
