import type { IncomingMessage } from 'node:http'
import type { Caller } from '../../core/callers/access.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import type { Namespace } from '../../core/namespaces/namespace.ts'
import type { LoginKind } from '../../core/tokens/acts/login-reports.ts'
import type { JsonValue } from '../../lib/text/json.ts'
import type { ConvertedFields } from '../steps/convert-fields.ts'
import type { AuditTrail, MadeByCall } from './audit-trail.ts'

/**
 * What a verb asks for. docs/contract/http.md#verbs-and-paths. `write` becomes create or update once the
 * target's existence is known.
 */
export type Operation =
  | 'read'
  | 'list'
  | 'scan'
  | 'write'
  | 'patch'
  | 'delete'
  | 'header'
  | 'help'
  | 'preflight'

/** A response determined by the request's head alone. */
export type EarlyReply =
  | { kind: 'errors'; status: 400 | 404 }
  | { kind: 'empty'; status: number }
  | { kind: 'redirect'; location: string }
  | { kind: 'text'; status: number; text: string }
  | { kind: 'refusal'; status: number; text: string }
  | { kind: 'bug'; error: unknown }

/** The state of one request: created by the mount router from the raw target, completed by `admit`. */
export type Call = {
  readonly requestId: string
  /** The verb as sent. */
  readonly verb: string
  /** Undefined for an unknown verb or `list` value; the response then has `refusedStatus`. */
  readonly operation: Operation | undefined
  readonly refusedStatus: number
  /** Decoded, without `/v1/`, relative to the namespace; ends in `/` for list and scan. */
  path: string
  /** Raw query without `?`. */
  readonly query: string
  /** The length of the target as sent. */
  readonly targetBytes: number
  /** `admit` moves a call that follows an id, with its mount. */
  namespace: Namespace | undefined
  /**
   * The path named the namespace, so the envelope has no copies at its top level.
   * docs/contract/http.md#answers
   */
  readonly namespaceInPath: boolean
  mount: Mount | undefined
  /** Path below the mount. */
  below: string
  readonly early: EarlyReply | undefined
  /** `Content-Type` as sent. */
  readonly contentType: string | undefined
  /** The CORS headers for a page of an allowed origin. docs/contract/http.md#pages-of-other-origins */
  crossOrigin: CrossOrigin | undefined
  /** Headers that tell about a rate limit. docs/contract/quotas.md */
  limitHeaders: Readonly<Record<string, string>> | undefined
  /** The client's address. docs/contract/http.md#client-address */
  remoteAddress: string
  /** Requested wrapping TTL in seconds, with fractions; 0: the response is not wrapped. Set by `admit`. */
  wrapTtl: number
  /** The response is wrapped for a caller without a token. Set by `admit`. */
  wrapsForStranger: boolean
  /** Fields as sent: body of a write, query of the rest. Set by `admit`. */
  sent: Record<string, JsonValue>
  /** The token id as sent, valid or not; empty for none. Set by `admit`. */
  presented: string
  caller: Caller | undefined
  /** What the caller has overridden: a window that is in force. docs/contract/message-windows.md#override */
  override: 'maintenance' | undefined
  /** The write creates a new object. */
  creates: boolean
  /** The version of its object that the write restores. docs/contract/history.md#taking-a-change-back */
  restores: number | undefined
  /** The fields of the request, once it has reached a handler. */
  converted: ConvertedFields | undefined
  /** What a response that is to be wrapped names; undefined for one that is sent as it is. */
  wraps: MadeByCall | undefined
  /** The reason for the refusal, a stable code; empty for most requests. docs/explain.md#reasons */
  reason: string
  /** How the login comes, if it is one. A login that another request carries has a call of its own. */
  readonly loginKind: LoginKind
  /** The login in its headers was refused. */
  hasRefusedLogin: boolean
  /** The rate limit that has counted it: a login that it carries does not count under the same one. */
  countedUnder: string | undefined
  /** A login that was refused for what its caller sent, not because a provider or a setting is at fault. */
  isRefusedLogin: boolean
  /** What its audit entries need; undefined while auditing is off. */
  trail: AuditTrail | undefined
  /** Bytes held for its head, its body, and its response if that is large. */
  heldBytes: number
  /** Called when the request has ended, sent or not. */
  release: (() => void) | undefined
  /** Called when its response is complete. */
  answered: (() => void) | undefined
  /** Waits for a place among the requests in progress; undefined if it has one, or needs none. */
  takePlace: (() => Promise<void> | undefined) | undefined
  /** Whether it counts as in progress: it has arrived completely and is being handled. */
  isUnderWay: boolean
  /** Stops counting a waiting request as in progress, until the returned function is called. */
  setAside: (() => () => void) | undefined
  /** In milliseconds since the epoch. */
  startedAt: number
}

/** Headers for the page of one origin. */
type CrossOrigin = { readonly origin: string; readonly headers: Readonly<Record<string, string>> }

declare module 'node:http' {
  interface IncomingMessage {
    call?: Call
  }
}

/** The call of a raw request. Every request passes the router first, so it exists. */
export function callOf(raw: IncomingMessage): Call {
  if (raw.call === undefined) throw new Error('a request has passed the router without a call')
  return raw.call
}

/** Releases what the call holds until its response is complete. A second call has no effect. */
export function answerIsMade(call: Call): void {
  const { answered } = call
  call.answered = undefined
  answered?.()
}
