import type { KeyObject } from 'node:crypto'
import { refuse, type ServiceError } from '../../../errors.ts'
import type { StrictObject } from '../../../jwt/jws/strict-json.ts'
import type { CheckName, Compared, Refusal } from '../../../logins/refusals/refusal.ts'

/**
 * Receives every check of a login, in order. The login's own trace ends it at the first refusal by throwing;
 * a recording trace sees every check that has something to check. Both run the same checks.
 */
export type Trace = {
  /** One check; it passed if there is no refusal. */
  check(name: CheckName, refused: Refusal | undefined, compared?: Compared): void
  /** A step that returns something; undefined if it was refused and the trace continues. */
  value<T extends object | string>(name: CheckName, result: T | Refusal): T | undefined
  /**
   * The claims to continue with, once the signature is verified. Only a trace that issues no token continues
   * with unverified ones.
   */
  claims(verify: () => Promise<ReadToken | Refusal>): Promise<ReadToken | undefined>
}

/** Claims with the algorithm and the signed text of their token; the text only if the signature is valid. */
export type ReadToken = {
  readonly claims: StrictObject
  readonly algorithm: string
  /** The header's `typ`; undefined for claims without a token. */
  readonly type?: unknown
  readonly signedText?: string
  /** The header's `kid`. */
  readonly keyId?: string
  /** The key that signed it. */
  readonly signer?: KeyObject
}

/** Whether a step was refused instead of returning something. */
export const isRefusal = (result: object | string): result is Refusal =>
  typeof result === 'object' && 'reason' in result && 'text' in result

/**
 * A refusal as sent to the caller: 400 with the bare text, 403 for an unbound address, 500 if the provider
 * cannot be reached.
 */
export function thrown({ reason, text, cause, isFailureElsewhere = false }: Refusal): ServiceError {
  if (reason === 'address_not_bound') return refuse('denied', 'permission denied', { reason })
  return refuse(reason === 'provider_unreachable' ? 'internal' : 'invalid', text, {
    reason,
    operatorText: cause,
    isFailureElsewhere,
  })
}

/** The first refusal ends the login. */
export const strictTrace: Trace = {
  check(_name, refused) {
    if (refused !== undefined) throw thrown(refused)
  },
  value<T extends object | string>(_name: CheckName, result: T | Refusal): T {
    if (isRefusal(result)) throw thrown(result)
    return result
  },
  async claims(verify) {
    const result = await verify()
    if (isRefusal(result)) throw thrown(result)
    return result
  },
}
