import type { ServiceError } from '../../../errors.ts'
import type { StrictObject } from '../../../jwt/jws/strict-json.ts'
import {
  type CheckName,
  type Compared,
  checkOfReason,
  type Refusal,
} from '../../../logins/refusals/refusal.ts'
import type { Outcome } from '../cel/outcome.ts'
import type { TokenRequest } from '../checks/as-token.ts'
import { isRefusal, thrown } from '../checks/trace.ts'
import type { ReadyConfig } from '../config/mount-state.ts'
import type { Role } from '../config/role.ts'
import type { BegunFlow } from './facts.ts'
import type { RecordedCheck } from './recording-trace.ts'

/**
 * The checks of one browser login in order, with what they looked at. The first refusal ends the login, as it
 * would without a trace.
 */
class FlowTrace {
  readonly recorded: RecordedCheck[] = []
  ready: ReadyConfig | undefined
  role: Role | undefined
  /** As named by the login. */
  roleName = ''
  login: BegunFlow | undefined
  /** The claims of the ID token, later merged with those of userinfo. */
  claims: StrictObject | undefined

  passed(name: CheckName, compared?: Compared): void {
    this.recorded.push({ name, refused: undefined, compared })
  }

  /** A step that the login skips, and why. */
  unusable(name: CheckName, why: string): void {
    this.recorded.push({ name, refused: undefined, unusable: why })
  }

  /** Records a refusal and returns it. */
  note(refused: Refusal): Refusal {
    this.recorded.push({ name: checkOfReason(refused.reason), refused })
    return refused
  }

  /** Records a refusal and returns the error to throw. */
  refused(refused: Refusal): ServiceError {
    return thrown(this.note(refused))
  }

  /** One check; throws a refusal. */
  check(name: CheckName, refused: Refusal | undefined, compared?: Compared): void {
    if (refused !== undefined) throw this.refused(refused)
    this.passed(name, compared)
  }

  /** A step that returns something, or is refused. */
  value<T extends object>(name: CheckName, result: T | Refusal, compared?: Compared): T {
    if (isRefusal(result)) throw this.refused(result)
    this.passed(name, compared)
    return result
  }
}

/** What is known of a login in progress, filled in step by step. */
export type Attempt = {
  /** As the caller named it; "" is the mount's default, or not known yet. */
  role: string
  /** The JWT or ID token; "" until there is one. */
  token: string
  /** Its signature is valid. */
  isVerified: boolean
  /** The thumbprint of the key that signed it. */
  signer: string | undefined
  /** How the program of a CEL role ended, if it ran. */
  outcome: Outcome | undefined
  /** The JWT is the token of a request. */
  asToken: TokenRequest | undefined
  /** The checks of a browser login. */
  readonly flow: FlowTrace
}

export const newAttempt = (known: Partial<Attempt> = {}): Attempt => ({
  role: '',
  token: '',
  isVerified: false,
  signer: undefined,
  outcome: undefined,
  asToken: undefined,
  flow: new FlowTrace(),
  ...known,
})
