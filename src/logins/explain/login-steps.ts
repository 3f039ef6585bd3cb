import { ServiceError } from '../../errors.ts'
import { checkNamed } from '../refusals/refusal.ts'
import { type ExplainedCheck, nothing } from './explained.ts'

type Compared = Partial<Pick<ExplainedCheck, 'expected' | 'seen' | 'detail'>>

/** The checks of a login by a name and a secret, which ends at the first refusal by throwing it. */
export class LoginSteps {
  readonly #names: readonly string[]
  readonly #made: ExplainedCheck[] = []

  /** `names`: all checks, in order. */
  constructor(names: readonly string[]) {
    this.#names = names
  }

  passed(name: string, compared: Compared = {}): void {
    this.#made.push({ ...nothing, ...compared, name, verdict: 'pass' })
  }

  failed(name: string, reason: string, compared: Compared = {}): void {
    this.#made.push({ ...nothing, ...compared, name, verdict: 'fail', reason })
  }

  /** A check that throws its refusal. */
  during(name: string, compared: Compared, check: () => void): void {
    try {
      check()
    } catch (error) {
      this.failed(name, (error instanceof ServiceError ? error.reason : undefined) ?? 'internal', compared)
      throw error
    }
    this.passed(name, compared)
  }

  /** The checks of a login that was refused for this reason, with those that were not reached. */
  explained(reason: string): ExplainedCheck[] {
    const name = checkNamed(reason)
    const isRefused = this.#made.some(({ verdict }) => verdict === 'fail')
    const checks: readonly ExplainedCheck[] = isRefused
      ? this.#made
      : // a check that refuses may have passed before
        [...this.#made.filter((made) => made.name !== name), { ...nothing, name, verdict: 'fail', reason }]
    const made = new Set(checks.map((check) => check.name))
    const rest = this.#names.filter((one) => !made.has(one))
    return [...checks, ...rest.map((one): ExplainedCheck => ({ ...nothing, name: one, verdict: 'skipped' }))]
  }
}
