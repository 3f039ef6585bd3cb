import type { IncomingMessage } from 'node:http'
import { type AuditLog, notAudited } from '../core/audit/audit-log.ts'
import type { AuditedHeaders } from '../core/audit/audited-headers.ts'
import { Entries, type Verdict } from '../core/audit/entry.ts'
import { causeList, fail, type ErrorKind, ServiceError } from '../errors.ts'
import { noSecrets } from '../core/audit/hashing.ts'
import { type AuditTrail, freshTrail, type MadeByCall } from './audit-trail.ts'
import type { Call } from './call.ts'
import type { Answer } from './exchange.ts'
import { tokenOf } from './request-headers.ts'
import { aclOperationOf } from './operation.ts'

export type AuditingParts = {
  readonly log: Pick<AuditLog, 'isOn' | 'version' | 'write'>
  readonly headers: Pick<AuditedHeaders, 'of' | 'get'>
  /** The path of the namespace with this id. */
  namespacePathOf(id: string): string
  /** Revokes a new token or secret that its caller will not receive. */
  takeBack(call: Call, made: MadeByCall): Promise<void>
}

/** The steps of a request that its entries surround. */
export type Steps = {
  /** Throws a refusal. */
  admit(): Promise<void> | undefined
  answer(): Promise<Answer> | Answer
  /** The text of a failure in its response; empty without one. */
  textOf(error: unknown): string
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

  /** Takes the steps of a request. Throws what they throw, or `internal` if an entry could not be written. */
  async around(raw: IncomingMessage, call: Call, steps: Steps): Promise<Answer> {
    const trail = freshTrail()
    call.trail = trail
    try {
      await steps.admit()
    } catch (error) {
      if (trail.isReached) await this.#refused(raw, call, error, steps.textOf(error))
      throw error
    }
    if (!trail.isReached) return steps.answer()
    return this.#served(this.#entriesOf(raw, call, { isDenied: false }), call, trail, steps)
  }

  /** Records a request that a rate limit refuses, in one entry. Throws `internal` if that fails. */
  async limited(raw: IncomingMessage, call: Call, refusal: ServiceError): Promise<void> {
    call.trail = { ...freshTrail(), isReached: true, isOneWay: true }
    await this.#refused(raw, call, refusal, refusal.message)
  }

  async #served(entries: Entries, call: Call, trail: AuditTrail, steps: Steps): Promise<Answer> {
    try {
      await this.#writeRequest(entries, '')
    } catch (error) {
      if (!isKind(error, 'unrecorded')) throw error
      // only if the second entry is written, the refusal has the form of a failure
      const failure = notAudited(causeOf(error), fail)
      await this.#writeFailure(entries, call, { error: failure, text: steps.textOf(failure) })
      throw failure
    }
    let answer: Answer
    try {
      answer = await steps.answer()
    } catch (error) {
      if (!trail.isOneWay) await this.#writeFailure(entries, call, { error, text: steps.textOf(error) })
      throw error
    }
    if (trail.isOneWay) return answer
    try {
      await this.#writeResponse(entries, { reply: trail.reply, error: '', reason: call.reason })
    } catch (error) {
      if (trail.mustArrive) return answer
      await this.#parts.takeBack(call, trail.made)
      throw error
    }
    return answer
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
        ...{ id, mount, path, data, caller, wrapTtl, remoteAddress },
        operation: call.operation === 'header' ? 'header' : aclOperationOf(call),
        namespace: { id: namespace?.id ?? 'root', path: namespace?.path ?? '' },
        alwaysHashed: call.trail?.isCeremony === true,
        secrets: call.trail?.secrets ?? noSecrets,
        remotePort: raw.socket.remotePort,
        headers: headers.of(raw.rawHeaders),
        clientCertificateSerialNumber: raw.socket.clientCertificateSerialNumber,
        tokenId: tokenOf(raw),
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
