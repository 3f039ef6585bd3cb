import type { Mount } from '../../core/mounts/mount.ts'
import { KnownValues, type RecalledClaims, recalled } from './hashed-claims.ts'
import { historyDays } from './history-days.ts'
import { goneNow, type Judged, refusedBefore, type Verdict } from './judged.ts'
import type { LoginHistory, RememberedLogin } from './login-history.ts'
import { type Compared, type TriedTwice, type WhatIf, type WhatIfParts, whatIf } from './what-if.ts'

/** A login as it is remembered, with its claims. */
export type TriedLogin = {
  readonly login: Pick<
    RememberedLogin,
    'path' | 'asToken' | 'byDefault' | 'address' | 'algorithm' | 'keyId' | 'matched'
  >
  readonly recalled: RecalledClaims
}

/** A role and a configuration, before and after. Undefined: there is none. */
type Change<Tried> = { readonly before: Tried | undefined; readonly now: Tried | undefined }

export type WhatIfPlace = {
  readonly mount: Mount
  readonly history: LoginHistory
  readonly now: number
  /** Whether the caller may see what a role expects. */
  isSeen(role: string): boolean
}

export type AskedChange<Tried> = {
  /** Undefined for all. */
  readonly role: string | undefined
  /** Undefined for a role that does not exist. */
  changeOf(role: string): Change<Tried> | undefined
  /** The values that the roles compare claims with. */
  readonly values: readonly unknown[]
  readonly rest: WhatIfParts['rest']
}

/** How the logins of a method are judged. */
export type Judging<Tried> = {
  judge(tried: TriedLogin, now: Tried, before: Tried): Judged
  /** The same with the role of nobody, to which nothing is the same as before. */
  nobody(now: Tried): Tried
  describe(
    name: string,
    login: RememberedLogin,
    compared: {
      readonly tried: Tried | undefined
      readonly claims: RecalledClaims['claims']
      readonly verdict: Verdict
    },
  ): Promise<Compared> | Compared
  /** `known`: with what else is known of a refused login. */
  refusals(by: {
    twice(tried: TriedLogin, change: Change<Tried>): TriedTwice
    known(more: readonly unknown[]): KnownValues
  }): ReturnType<WhatIfParts['refusals']>
}

/** Tries the remembered logins of a mount before and after a change. docs/contract/what-if.md#how-a-login-is-tried */
export async function tryLogins<Tried>(
  { mount, history, now, isSeen }: WhatIfPlace,
  { role, changeOf, values, rest }: AskedChange<Tried>,
  { judge, nobody, describe, refusals }: Judging<Tried>,
): Promise<WhatIf> {
  const days = historyDays(mount)
  const hash = await history.hash()
  const knownWith = (more: readonly unknown[]): KnownValues => {
    const known = new KnownValues(hash)
    known.add(values)
    known.add(more)
    return known
  }
  const known = knownWith([])
  const twice = (login: TriedLogin, { before, now: after }: Change<Tried>): TriedTwice => ({
    before: before === undefined ? refusedBefore : judge(login, before, before),
    now: after === undefined ? goneNow : judge(login, after, before ?? nobody(after)),
  })
  return whatIf({
    days,
    now,
    logins: () => history.logins(days, role),
    tryBoth: (name, login) => {
      const change = changeOf(name)
      return change && twice({ login, recalled: recalled(login, known) }, change)
    },
    describe: (name, login, verdict) =>
      describe(name, login, { tried: changeOf(name)?.now, claims: recalled(login, known).claims, verdict }),
    isSeen,
    refusals: () => refusals({ twice, known: knownWith }),
    rest,
  })
}

/** For a caller who may not see the role. */
export const nothingShown: WhatIfParts['rest'] = {
  admits_more: [],
  changes: [],
  lint: { before: [], after: [] },
}
