import { checkAssignable, sanitize } from '../../core/tokens/store/policy-names.ts'
import { loginTerms, type TokenSettings } from '../../core/tokens/store/token-fields.ts'
import { checkLoginType, loginTokenType } from '../../core/tokens/store/token-type.ts'
import { ServiceError } from '../../errors.ts'
import { checkNamed } from '../../logins/refusals/refusal.ts'

/** The outcome of one check of a remembered login. */
export type Verdict = {
  /** The check, as `explain` names it. */
  readonly name: string
  /** The record does not say. */
  readonly isUnknown: boolean
  readonly refused?: { readonly reason: string; readonly text: string } | undefined
  /** Numbers the checks of one name. */
  readonly index?: number
}

/** The outcome of a remembered login. */
export type Judged = {
  /** The first check that is known to refuse. */
  readonly refused: Verdict | undefined
  /** Checks of which nothing is known; empty if one refuses. */
  readonly unknown: readonly Verdict[]
  /** All that were made, in order. */
  readonly made: readonly Verdict[]
}

/** The differences between two settings, which are compared as JSON. */
export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

export const passed = (name: string): Verdict => ({ name, isUnknown: false })
export const unknown = (name: string): Verdict => ({ name, isUnknown: true })
export const verdict = (name: string, refused: Verdict['refused']): Verdict => ({
  name,
  isUnknown: false,
  refused,
})

/** A refusal counts, whatever is not known of other checks. */
export function judgedBy(verdicts: Iterable<Verdict>): Judged {
  const made = [...verdicts]
  const refused = made.find((one) => one.refused !== undefined)
  return { refused, unknown: refused === undefined ? made.filter(({ isUnknown }) => isUnknown) : [], made }
}

/** Nobody could log in. */
export const refusedBefore: Judged = { refused: { name: 'config', isUnknown: false }, unknown: [], made: [] }

/** The role is gone. */
export const goneNow: Judged = {
  refused: verdict('role', { reason: 'role_unknown', text: '' }),
  unknown: [],
  made: [],
}

/** How a refused login would go now, with the checks that this follows from. */
export type JudgedNow = {
  readonly now: 'allowed' | 'refused' | 'unknown'
  readonly now_checks: { name: string; verdict: 'pass' | 'fail' | 'unknown'; reason: string }[]
}

/** Nothing is kept of it that could be judged. */
export const notJudged: JudgedNow = { now: 'unknown', now_checks: [] }

/** Of several checks with one name, one that refuses counts most, and one that passed least. */
export function judgedNowBy({ refused, unknown: open, made }: Judged): JudgedNow {
  const told = made.map(({ name, refused: why, isUnknown }) => ({
    name,
    verdict: why !== undefined ? ('fail' as const) : isUnknown ? ('unknown' as const) : ('pass' as const),
    reason: why?.reason ?? '',
  }))
  const worst = ['fail', 'unknown', 'pass'].flatMap((verdict) =>
    told.filter((one) => one.verdict === verdict),
  )
  const names = [...new Set(told.map(({ name }) => name))]
  return {
    now: refused !== undefined ? 'refused' : open.length > 0 ? 'unknown' : 'allowed',
    now_checks: names.flatMap((name) => worst.find((one) => one.name === name) ?? []),
  }
}

/** The core's refusal of every login with these settings; undefined if it would refuse none. */
export function coreRefusal(settings: TokenSettings, mountType: string | undefined): Verdict | undefined {
  const terms = loginTerms(settings)
  try {
    checkLoginType(loginTokenType(mountType, terms), terms)
    const policies = sanitize(terms.policies, false)
    if (policies.includes('root')) return refusedFor('policy_forbidden')
    checkAssignable(policies)
    return undefined
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return refusedFor(error.reason ?? 'policy_forbidden')
  }
}

const refusedFor = (reason: string): Verdict => verdict(checkNamed(reason), { reason, text: '' })
