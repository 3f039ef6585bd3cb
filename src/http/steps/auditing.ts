import type { IncomingMessage } from 'node:http'
import { type AuditLog, notAudited } from '../../core/audit/audit-log.ts'
import type { AuditedHeaders } from '../../core/audit/audited-headers.ts'
import { Entries, type Verdict } from '../../core/audit/entry.ts'
import { noSecrets } from '../../core/audit/hashing.ts'
import { causeList, type ErrorKind, fail, ServiceError } from '../../errors.ts'
import { freshTrail, type MadeByCall } from '../exchange/audit-trail.ts'
import type { Call } from '../exchange/call.ts'
import { aclOperationOf } from '../exchange/operation.ts'
import { inlineHeader, isOfInlineLogin, tokenOf } from '../exchange/request-headers.ts'

export type AuditingParts = {
  readonly log: Pick<AuditLog, 'isOn' | 'version' | 'write'>
  readonly headers: Pick<AuditedHeaders, 'of' | 'get'>
  /** The path of the namespace with this id. */
  namespacePathOf(id: string): string
  /** Revokes a new token or secret that its caller will not receive. */
  takeBack(call: Call, made: MadeByCall): Promise<void>
}

/**
 * Writes the two audit entries of a request: no handler runs before the first is written, and no response is
 * sent before the second. docs/contract/audit.md#what-is-logged
 */
export class Auditing {
  readonly #parts: AuditingParts

  constructor(parts: AuditingParts) {
    this.#parts = parts
  }

  get isOn(): boolean {
    return this.#parts.log.isOn
  }

  /** Whether entries may show this header of requests. */
  shows(header: string): boolean {
    return this.#parts.headers.get(header) !== undefined
  }

  /** From here on, the call collects what its entries show. */
  begin(call: Call): void {
    call.trail = freshTrail()
  }

  /** Records an admitted request. Throws `internal` if its entry could not be written. */
  async recordRequest(raw: IncomingMessage, call: Call, textOf: (error: unknown) => string): Promise<void> {
    const { trail } = call
    if (trail?.isReached !== true) return
    const entries = this.#entriesOf(raw, call, { isDenied: false })
    trail.stage = 'over'
    try {
      await this.#writeRequest(entries, '')
    } catch (error) {
      if (!isKind(error, 'unrecorded')) throw error
      // only if the second entry is written, the refusal has the form of a failure
      const failure = notAudited(causeOf(error), fail)
      await this.#writeFailure(entries, call, { error: failure, text: textOf(failure) })
      throw failure
    }
    if (trail.isOneWay) return
    trail.stage = 'response'
    trail.entries = entries
  }

  /** Records what was refused, or what failed. Throws if that cannot be written. */
  async recordFailure(
    raw: IncomingMessage,
    call: Call,
    { error, text }: { readonly error: unknown; readonly text: string },
  ): Promise<void> {
    const { trail } = call
    if (trail === undefined) return
    const { stage, entries } = trail
    trail.stage = 'over'
    if (stage === 'request' && trail.isReached) await this.#refused(raw, call, error, text)
    if (stage === 'response' && entries !== undefined)
      await this.#writeFailure(entries, call, { error, text })
  }

  /** Records the response of a handler. If that fails, takes back what the call has made, and throws. */
  async recordResponse(call: Call): Promise<void> {
    const { trail } = call
    if (trail?.stage !== 'response' || trail.entries === undefined) return
    trail.stage = 'over'
    try {
      await this.#writeResponse(trail.entries, { reply: trail.reply, error: '', reason: call.reason })
    } catch (error) {
      if (trail.mustArrive) return
      await this.#parts.takeBack(call, trail.made)
      throw error
    }
  }

  /** Records a request that a rate limit refuses, in one entry. Throws `internal` if that fails. */
  async limited(raw: IncomingMessage, call: Call, refusal: ServiceError): Promise<void> {
    call.trail = { ...freshTrail(), isReached: true, isOneWay: true, stage: 'over' }
    await this.#refused(raw, call, refusal, refusal.message)
  }

  async #refused(raw: IncomingMessage, call: Call, error: unknown, text: string): Promise<void> {
    const entries = this.#entriesOf(raw, call, { isDenied: isKind(error, 'denied') })
    const written = await this.#writeRequest(entries, withoutValues(requestError(error))).then(
      () => true,
      (failure: unknown) => {
        if (!isKind(failure, 'unrecorded')) throw failure
        return false
      },
    )
    if (call.trail?.isOneWay !== true)
      return this.#writeFailure(entries, call, { error, text, isBeforeHandler: true })
    if (!written) throw notAudited(undefined)
  }

  #writeRequest(entries: Entries, error: string): Promise<void> {
    return this.#parts.log.write((hashing, now) => entries.requestLine(hashing, now, error))
  }

  #writeResponse(entries: Entries, ending: Parameters<Entries['responseLine']>[2]): Promise<void> {
    return this.#parts.log.write((hashing, now) => entries.responseLine(hashing, now, ending))
  }

  #writeFailure(
    entries: Entries,
    call: Call,
    { error, text, isBeforeHandler = false }: { error: unknown; text: string; isBeforeHandler?: boolean },
  ): Promise<void> {
    return this.#writeResponse(entries, {
      reply: text === '' ? {} : { data: { error: text } },
      error: responseError(error, text, isBeforeHandler),
      reason: call.reason === '' && error instanceof ServiceError ? (error.reason ?? '') : call.reason,
    })
  }

  #entriesOf(raw: IncomingMessage, call: Call, { isDenied }: { isDenied: boolean }): Entries {
    const { headers, log } = this.#parts
    const { requestId: id, namespace, mount, path, sent: data, caller, wrapTtl, remoteAddress } = call
    return new Entries(
      {
        id,
        mount,
        path,
        data,
        caller,
        wrapTtl,
        remoteAddress,
        operation: call.operation === 'header' ? 'header' : aclOperationOf(call),
        namespace: { id: namespace?.id ?? 'root', path: namespace?.path ?? '' },
        alwaysHashed: call.trail?.isCeremony === true,
        secrets: call.trail?.secrets ?? noSecrets,
        remotePort: raw.socket.remotePort,
        isCarried: call.loginKind !== 'login',
        headers: shownHeaders(headers.of(raw.rawHeaders), call),
        clientCertificateSerialNumber: raw.socket.clientCertificateSerialNumber,
        tokenId: tokenOf(raw),
        override: call.override,
        verdict: this.#verdictOf(call, isDenied),
      },
      log,
    )
  }

  /** Undefined if the request was refused before its policies were looked at. */
  #verdictOf(call: Call, isDenied: boolean): Verdict | undefined {
    const { caller, trail } = call
    if (trail?.isAllowed !== true) {
      return isDenied && caller !== undefined ? { allowed: false, granting: [] } : undefined
    }
    const granting = caller?.acl.granting({ operation: aclOperationOf(call), path: call.path }) ?? []
    const byName = new Map(granting.map((policy) => [`${policy.namespace}/${policy.name}`, policy]))
    return {
      allowed: true,
      granting: [...byName.values()].map((policy) => ({
        ...policy,
        namespacePath: this.#parts.namespacePathOf(policy.namespace),
      })),
    }
  }
}

/** The headers of a login belong to its own entries. Its parameters may be secret, so they are always hashed. */
const shownHeaders = (headers: ReturnType<AuditedHeaders['of']>, { loginKind }: Call) =>
  headers
    .filter(({ name }) => loginKind === 'inline' || !isOfInlineLogin(name))
    .map((header) => (header.name.startsWith(inlineHeader.parameter) ? { ...header, hmac: true } : header))

const isKind = (error: unknown, kind: ErrorKind): boolean =>
  error instanceof ServiceError && error.kind === kind

const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : error)

/** Why a request was refused before its handler. */
function requestError(error: unknown): string {
  if (!(error instanceof ServiceError)) return 'internal error'
  return error.wrapped ? causeList(error.message) : error.message
}

/**
 * What the response entry says beside the hashed text of a failure. A handler's plain refusal says nothing
 * more. docs/contract/audit.md#errors
 */
function responseError(error: unknown, text: string, isBeforeHandler: boolean): string {
  if (!(error instanceof ServiceError)) return text
  const { kind, wrapped, message } = error
  if (kind === 'invalid') return wrapped || isBeforeHandler ? causeList('invalid request') : ''
  const known = message === '' ? '' : errorOfKind[kind]
  return known === undefined ? text : known && causeList(known)
}

const errorOfKind: Partial<Record<ErrorKind, string>> = {
  denied: 'permission denied',
  unsupported: 'unsupported operation',
  missing: 'unsupported path',
}

/** The refusal of a field names it; the cause may repeat a value, which may be secret. */
const withoutValues = (text: string): string =>
  text.replace(/(error converting input for field "[^"]*").*/s, '$1')
