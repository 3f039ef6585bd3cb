import { refuse, type ServiceError } from '../../errors.ts'
import type { CheckName, Refusal } from './refusal.ts'
import type { StrictObject } from './strict-json.ts'

/**
 * Told of every check of a login, in the order they are made. The login's own trace ends at the first refusal
 * by throwing; one that only notes them sees all checks for which there is something to check. There is one
 * walk through the checks, whoever asks.
 */
export type Trace = {
  /** One check; without a refusal it was passed. */
  check(name: CheckName, refused: Refusal | undefined): void
  /** A step that gives something. Undefined where it was refused and the walk goes on all the same. */
  value<T extends object | string>(name: CheckName, result: T | Refusal): T | undefined
  /**
   * The claims to go on with, once a signature vouches for them. Only who makes no token of it goes on with
   * others.
   */
  claims(verify: () => Promise<ReadToken | Refusal>): Promise<ReadToken | undefined>
}

/**
 * Claims, and algorithm and signed text of the token they stood in; that text only where a signature vouches
 * for it.
 */
export type ReadToken = {
  readonly claims: StrictObject
  readonly algorithm: string
  readonly signingInput?: Buffer
}

/** Whether a step refused instead of giving something. */
export const isRefusal = (result: object | string): result is Refusal =>
  typeof result === 'object' && 'reason' in result && 'text' in result

/**
 * A refusal as it goes out: 400 with the bare text, 403 for an address that is not bound, 500 when the
 * provider cannot be had.
 */
export function thrown({ reason, text, cause }: Refusal): ServiceError {
  if (reason === 'address_not_bound') return refuse('denied', 'permission denied', { reason })
  return refuse(reason === 'provider_unreachable' ? 'internal' : 'invalid', text, {
    reason,
    operatorText: cause,
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
