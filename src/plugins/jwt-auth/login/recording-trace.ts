import {
  type CheckName,
  type Compared,
  checkOfReason,
  type Refusal,
} from '../../../logins/refusals/refusal.ts'
import { isRefusal, type ReadToken, type Trace } from '../checks/trace.ts'
import type { Role } from '../config/role.ts'

/** The outcome of one check; `compared` has the values if only the check itself knows them. */
export type RecordedCheck = {
  readonly name: CheckName
  readonly refused: Refusal | undefined
  readonly compared?: Compared | undefined
  readonly unusable?: string
}

/** The outcome of a signature check, if there was one. */
export type KnownSignature = { readonly isChecked: boolean; readonly refused: Refusal | undefined }

/**
 * Continues after a refusal and records every check. It examines even unverified claims: nothing issues a
 * token from what this trace returns.
 */
export class RecordingTrace implements Trace {
  readonly recorded: RecordedCheck[] = []
  readonly #instead: () => ReadToken | undefined
  readonly #verifies: boolean
  readonly #known: KnownSignature | undefined
  #examined: ReadToken | undefined
  #isVerified = false

  /**
   * `instead` returns the claims to examine if none are verified. With `verifies`, a signature is checked
   * first, unless its outcome is `known`.
   */
  constructor({
    verifies,
    instead,
    known,
  }: { verifies: boolean; instead: () => ReadToken | undefined; known?: KnownSignature | undefined }) {
    this.#verifies = verifies
    this.#known = known
    this.#instead = instead
  }

  /** The examined claims. */
  get examined(): ReadToken | undefined {
    return this.#examined
  }

  /** A valid signature covers them. */
  get isVerified(): boolean {
    return this.#isVerified
  }

  get hasRefused(): boolean {
    return this.recorded.some(({ refused }) => refused !== undefined)
  }

  check(name: CheckName, refused: Refusal | undefined, compared?: Compared): void {
    this.recorded.push({ name, refused, compared })
  }

  value<T extends object | string>(name: CheckName, result: T | Refusal): T | undefined {
    const refused = isRefusal(result) ? result : undefined
    this.check(name, refused)
    return isRefusal(result) ? undefined : result
  }

  async claims(verify: () => Promise<ReadToken | Refusal>): Promise<ReadToken | undefined> {
    if (this.#known !== undefined) {
      if (this.#known.isChecked) this.check('signature', this.#known.refused)
      this.#examined = this.#instead()
      return this.#examined
    }
    const verified = this.#verifies ? this.#verified(await verify()) : undefined
    this.#isVerified = verified !== undefined
    this.#examined = verified ?? this.#instead()
    return this.#examined
  }

  /** An ID token may be refused for more than its signature. */
  #verified(result: ReadToken | Refusal): ReadToken | undefined {
    return this.value(isRefusal(result) ? checkOfReason(result.reason) : 'signature', result)
  }
}

export const noChecks: ReadonlySet<RecordedCheck> = new Set()

/**
 * The provider was not asked, so its claims and groups are unknown, and so is their comparison with the bound
 * ones.
 */
export function unaskedChecks(
  recorded: readonly RecordedCheck[],
  role: Role | undefined,
): ReadonlySet<RecordedCheck> {
  const bound = recorded.filter(({ name }) => name === 'bound_claims')
  const ofGroups = bound.filter((_, index) => role?.boundClaims[index]?.name === role?.record.groups_claim)
  return new Set([
    ...recorded.filter(
      ({ name, refused }) => refused !== undefined && (name === 'groups' || name === 'provider'),
    ),
    ...ofGroups,
  ])
}
