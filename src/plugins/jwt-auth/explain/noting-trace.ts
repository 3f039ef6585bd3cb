import type { CheckName, Refusal } from '../refusal.ts'
import { isRefusal, type ReadToken, type Trace } from '../trace.ts'

/** What one check came to. */
export type Noted = { readonly name: CheckName; readonly refused: Refusal | undefined }

/**
 * Goes on after a refusal and remembers all that was checked. Claims that no signature vouches for are examined all the same: nobody gets a token
 * for what a walk with this trace gives back.
 */
export class NotingTrace implements Trace {
  readonly noted: Noted[] = []
  readonly #instead: () => ReadToken | undefined
  readonly #verifies: boolean
  #examined: ReadToken | undefined
  #isVouched = false

  /** `instead` gives the claims to examine where no signature vouches for any; with `verifies` a signature is looked at first. */
  constructor({ verifies, instead }: { verifies: boolean; instead: () => ReadToken | undefined }) {
    this.#verifies = verifies
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

  check(name: CheckName, refused: Refusal | undefined): void {
    this.noted.push({ name, refused })
  }

  value<T extends object | string>(name: CheckName, result: T | Refusal): T | undefined {
    const refused = isRefusal(result) ? result : undefined
    this.check(name, refused)
    return isRefusal(result) ? undefined : result
  }

  async claims(verify: () => Promise<ReadToken | Refusal>): Promise<ReadToken | undefined> {
    const vouched = this.#verifies ? this.value('signature', await verify()) : undefined
    this.#isVouched = vouched !== undefined
    this.#examined = vouched ?? this.#instead()
    return this.#examined
  }
}
