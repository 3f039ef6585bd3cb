import type { ServiceError } from '../../../errors.ts'
import type { ReadyConfig } from '../mount-state.ts'
import { type CheckName, type Compared, checkOfReason, type Refusal } from '../refusal.ts'
import type { Role } from '../role.ts'
import type { StrictObject } from '../strict-json.ts'
import type { BegunFlow } from './facts.ts'
import { isRefusal, thrown } from '../trace.ts'
import type { Noted } from '../noting-trace.ts'

/**
 * The checks of one browser login in the order they are made, and what they looked at. The first refusal ends
 * the login, as without a trace.
 */
export class FlowTrace {
  readonly noted: Noted[] = []
  ready: ReadyConfig | undefined
  role: Role | undefined
  /** As the login names it. */
  roleName = ''
  login: BegunFlow | undefined
  /** Those of the ID token, later with those of the userinfo. */
  claims: StrictObject | undefined

  passed(name: CheckName, compared?: Compared): void {
    this.noted.push({ name, refused: undefined, compared })
  }

  /** A step that the login does without, and why. */
  unusable(name: CheckName, why: string): void {
    this.noted.push({ name, refused: undefined, unusable: why })
  }

  /** Notes a refusal, which is given back. */
  note(refused: Refusal): Refusal {
    this.noted.push({ name: checkOfReason(refused.reason), refused })
    return refused
  }

  /** Notes a refusal; gives what is to be thrown for it. */
  refused(refused: Refusal): ServiceError {
    return thrown(this.note(refused))
  }

  /** One check; a refusal is thrown. */
  check(name: CheckName, refused: Refusal | undefined, compared?: Compared): void {
    if (refused !== undefined) throw this.refused(refused)
    this.passed(name, compared)
  }

  /** A step that gives something, or is refused. */
  value<T extends object>(name: CheckName, result: T | Refusal, compared?: Compared): T {
    if (isRefusal(result)) throw this.refused(result)
    this.passed(name, compared)
    return result
  }
}
