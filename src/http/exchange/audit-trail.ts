import type { AuditedReply, Entries } from '../../core/audit/entry.ts'
import { noSecrets, type Secrets } from '../../core/audit/hashing.ts'

/** Collected on the way of a request for its audit entries. docs/contract/audit.md */
export type AuditTrail = {
  /** What is written next: the entry of the request, that of its response, or nothing more. */
  stage: 'request' | 'response' | 'over'
  /** The entries of a recorded request. */
  entries: Entries | undefined
  /** It came far enough to be logged. docs/contract/audit.md#what-is-logged */
  isReached: boolean
  /** The policies allow it, or it needs none. */
  isAllowed: boolean
  /** All strings of its fields and its response are hashed, whatever the settings. */
  isCeremony: boolean
  /** What is secret in the data of its route. */
  secrets: Secrets
  /** Only the request entry is written. */
  isOneWay: boolean
  /** The response is sent even if its entry cannot be written: it holds the only copy of a key. */
  mustArrive: boolean
  reply: AuditedReply
  /** Taken back if the response is withheld. */
  made: MadeByCall
}

/** What a call has created and its response names: without the response it belongs to nobody. */
export type MadeByCall = {
  readonly accessor?: string | undefined
  readonly leaseId?: string | undefined
  /** Accessor of a credential that is not taken back: without the response nobody knows it. */
  readonly secretAccessor?: string | undefined
  /** Accessor of the wrapping token. */
  readonly wrappingAccessor?: string | undefined
}

export const freshTrail = (): AuditTrail => ({
  stage: 'request',
  entries: undefined,
  isReached: false,
  isAllowed: false,
  isCeremony: false,
  secrets: noSecrets,
  isOneWay: false,
  mustArrive: false,
  reply: {},
  made: {},
})
