import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import type { Secrets } from '../../core/audit/hashing.ts'
import type { Caller } from '../../core/callers/access.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import { belowMount } from '../../core/mounts/spellings.ts'
import type { AclOperation, Canonicalize } from '../../core/policies/acl.ts'
import type { Readings } from '../../core/policies/parameters.ts'
import type { WindowEffect } from '../../core/settings/announcements.ts'
import { fail, type ServiceError } from '../../errors.ts'
import type { JsonValue } from '../../lib/text/json.ts'
import type { Call } from './call.ts'
import type { Reply } from './envelope.ts'
import type { Follows } from './follow.ts'
import { aclOperationOf } from './operation.ts'
import type { UsedField } from './request-headers.ts'

export const verbs = ['read', 'write', 'list', 'scan', 'patch', 'delete'] as const
export type VerbName = (typeof verbs)[number]

/** What a handler gets. */
export type Exchange<Input, Params> = {
  readonly call: Call
  /** The mount this request belongs to. */
  readonly mount: Mount
  readonly params: Params
  /** The declared fields, converted. */
  readonly input: Input
  /** All fields as sent, including undeclared ones. */
  readonly sent: Sent
  /** Undefined on open paths, unless `sees` says otherwise. */
  readonly caller: Caller | undefined
  /** The token id of the request, valid or not; empty for none. */
  presented(): string
  /** SHA-256 of the client's verified certificate, in base64url; undefined without one. */
  clientCertificate(): string | undefined
  /** The value of a request header; the first of several. */
  header(name: UsedField): string | undefined
  /**
   * Calls `listener` when the client has disconnected, at once if it already has. Call the returned function
   * to stop listening.
   */
  whenGone(listener: () => void): () => void
  /** The same for a client that sends nothing more, whether it has disconnected or still reads. */
  whenSilent(listener: () => void): () => void
}

/** Fields as sent; numbers keep their text (lib/text/json.ts). */
export type Sent = Readonly<Record<string, JsonValue>>

/**
 * `presented` is the token id the request came with, valid or not; empty for none. `hasLogin`: its headers carry a login
 * instead.
 */
export type Precheck = (
  sent: Sent,
  request: { readonly call: Call; readonly presented: string; readonly hasLogin: boolean },
) => Promise<void> | void

/** The result of a handler. */
export type Outcome = Promise<Reply | undefined> | Reply | undefined

/** What `admit` needs to know about the route of a request. */
export type RouteRules = {
  readonly open: boolean
  /** Answers with a token to callers without one. docs/contract/inline-login.md#paths */
  readonly isLogin: boolean
  readonly caller: 'none' | 'optional' | 'if-good' | 'required-inside'
  readonly sudo: boolean
  readonly precheck: Precheck | undefined
  readonly follows: Follows | undefined
  readonly refusedCaller: ((sent: Sent, presented: string) => ServiceError | undefined) | undefined
  readonly exists: ((exchange: Exchange<unknown, unknown>) => Promise<boolean> | boolean) | undefined
  /** The fields of a write that restores a version. Absent: the path keeps no history. */
  readonly restore: ((exchange: Exchange<unknown, unknown>, version: number) => Promise<Sent>) | undefined
  readonly canonical: ((below: string) => string) | undefined
  readonly dropsSlash: boolean
  readonly namesRequest: boolean
  /** Audit entries hash all strings, whatever the device says. */
  readonly isCeremony: boolean
  /** What is secret in its data. */
  secrets(): Secrets
  readonly whileRemoved: boolean
  /** The windows in which it is refused. docs/contract/message-windows.md#effects */
  readonly haltedBy: readonly WindowEffect[]
  readonly wrapsWithoutToken: boolean
  /** How it reads its fields. */
  readonly readings: Readings
  /** The schema of the fields; without any for a verb that is not served. */
  readonly schema: z.ZodObject
  /** The fields as sent, without those that the path names. */
  fieldsOf(call: Call): Readonly<Record<string, JsonValue>>
  /** Refuses a field that would limit something, and that the path does not have. Throws `invalid`. */
  checkUndeclared(call: Call): void
  /** About fields that were sent, but do not count. docs/contract/http.md#answers */
  warnings(call: Call): string[]
  exchange(request: RoutedRequest, call: Call): Exchange<unknown, unknown>
}

/** A request and the captures of its route. */
type RoutedRequest = { readonly raw: IncomingMessage; readonly params: unknown }

/** One verb of a route. */
export type Served = {
  readonly operation: VerbName
  readonly rules: RouteRules
  readonly handle: (exchange: Exchange<unknown, unknown>) => Outcome
}

/** A call to a path below the mount of another call. */
export type OtherCall = {
  readonly operation: AclOperation
  readonly path: string
  /** It needs `sudo`, too. */
  readonly needsSudo?: boolean
  readonly fields?: Sent
  readonly readings?: Readings
  /** The canonical spelling of a path below the mount. */
  readonly canonical?: (below: string) => string
}

type Asking = Pick<Exchange<unknown, unknown>, 'call' | 'caller'>

/** Whether the rule that decides on the call grants `sudo`. */
export const hasSudo = ({ call, caller }: Asking, canonicalize?: Canonicalize): boolean =>
  caller?.acl.decide({ operation: aclOperationOf(call), path: call.path, fields: call.sent, canonicalize })
    .sudo === true

const mountPathOf = ({ path, below }: Call): string => path.slice(0, path.length - below.length)

/** Whether the caller may also send this call. */
export const maySend = (
  { call, caller }: Asking,
  { operation, path, needsSudo = false, fields = {}, readings, canonical }: OtherCall,
): boolean => {
  const decision = caller?.acl.decide({
    operation,
    fields,
    readings,
    path: mountPathOf(call) + path,
    canonicalize: canonical && belowMount(mountPathOf(call), canonical),
  })
  return decision?.allowed === true && (!needsSudo || decision.sudo)
}

/** Throws unless the caller may also send the other call. */
export function checkMaySend(asking: Asking, other: OtherCall): void {
  if (!maySend(asking, other)) throw fail('denied', 'permission denied')
}

/**
 * Whether the caller may also send a call that every server has, and that shows or does the same; or else has
 * a right to this call by a rule that does not cover the other one. A rule that covers both may be older than
 * this call. docs/contract/tokens-and-policies.md#calls-of-our-own
 */
export const mayReach = (asking: Asking, other: OtherCall): boolean => {
  const { call, caller } = asking
  if (maySend(asking, other)) return true
  const own = { operation: aclOperationOf(call), path: call.path }
  return caller !== undefined && !caller.acl.covers(own, mountPathOf(call) + other.path)
}

/** Throws unless the caller may reach what the other call would show or do. */
export function checkMayReach(asking: Asking, other: OtherCall): void {
  if (!mayReach(asking, other)) throw fail('denied', 'permission denied')
}

/** Whether the caller may list this folder, which ends in `/`, or no rule says anything about it. */
export function maySeeFolder(asking: Asking, path: string): boolean {
  const { call, caller } = asking
  if (maySend(asking, { operation: 'list', path }) || maySend(asking, { operation: 'scan', path }))
    return true
  const folder = mountPathOf(call) + path
  return caller !== undefined && !caller.acl.covers({ operation: 'list', path: folder }, folder)
}
