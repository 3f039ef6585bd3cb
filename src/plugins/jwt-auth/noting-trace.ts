import type { CheckName, Compared, Refusal } from './refusal.ts'
import type { Role } from './role.ts'
import { isRefusal, type ReadToken, type Trace } from './trace.ts'

/** What one check came to; `compared` is what a check looked at that knows best itself. */
export type Noted = {
  readonly name: CheckName
  readonly refused: Refusal | undefined
  readonly compared?: Compared | undefined
  readonly unusable?: string
}

/** What came of a signature; it may not have been looked at. */
export type KnownSignature = { readonly isChecked: boolean; readonly refused: Refusal | undefined }

/**
 * Goes on after a refusal and remembers all that was checked. Claims that no signature vouches for are
 * examined all the same: nobody gets a token for what a walk with this trace gives back.
 */
export class NotingTrace implements Trace {
  readonly noted: Noted[] = []
  readonly #instead: () => ReadToken | undefined
  readonly #verifies: boolean
  readonly #known: KnownSignature | undefined
  #examined: ReadToken | undefined
  #isVouched = false

  /**
   * `instead` gives the claims to examine where no signature vouches for any; with `verifies` a signature is
   * looked at first, unless it is `known` what came of that.
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

  /** The claims that were examined. */
  get examined(): ReadToken | undefined {
    return this.#examined
  }

  /** A signature vouches for them. */
  get isVouched(): boolean {
    return this.#isVouched
  }

  get hasRefused(): boolean {
    return this.noted.some(({ refused }) => refused !== undefined)
  }

  check(name: CheckName, refused: Refusal | undefined): void {
    this.noted.push({ name, refused })
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
    const vouched = this.#verifies ? this.value('signature', await verify()) : undefined
    this.#isVouched = vouched !== undefined
    this.#examined = vouched ?? this.#instead()
    return this.#examined
  }
}

export const noChecks: ReadonlySet<Noted> = new Set()

/** What a provider would have said is not known, nor what its groups would have been bound to. */
export function unaskedOf(noted: readonly Noted[], role: Role | undefined): ReadonlySet<Noted> {
  const bound = noted.filter(({ name }) => name === 'bound_claims')
  const ofGroups = bound.filter((_, index) => role?.boundClaims[index]?.name === role?.record.groups_claim)
  return new Set([
    ...noted.filter(
      ({ name, refused }) => refused !== undefined && (name === 'groups' || name === 'provider'),
    ),
    ...ofGroups,
  ])
}
