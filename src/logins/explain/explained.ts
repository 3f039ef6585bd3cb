import type { z } from 'zod'
import type { LoginAuth, LoginPlan } from '../../core/tokens/acts/issue-login.ts'
import type { ServiceError } from '../../errors.ts'
import type { JsonValue } from '../../lib/text/json.ts'
import type { Hint } from '../refusals/hints.ts'
import { checkNamed } from '../refusals/refusal.ts'
import type { loginFailure } from './explain-answers.ts'

/** One check of a login, with both sides of its comparison. */
export type ExplainedCheck = {
  readonly name: string
  readonly verdict: 'pass' | 'fail' | 'skipped'
  readonly expected: readonly JsonValue[]
  readonly seen: JsonValue
  /** A stable word; "" unless the check failed. */
  readonly reason: string
  readonly hint: Hint
  readonly detail: string
}

/** Fields of a write that would make checks pass: of a role or of the configuration, whose other fields stay. */
export type Proposal = {
  /** Of the role or the configuration, below the mount. */
  readonly path: string
  readonly fields: Readonly<Record<string, unknown>>
  /** Nobody vouches for the values: whoever sent the login may have made them up. */
  readonly unverified?: true
}

/** Another clock, and whose. */
export type MeasuredClock = {
  /** How far the other clock is ahead. */
  readonly seconds: number
  readonly isEstimate: boolean
  readonly measuredAt: number
  /** Whether it can explain a refusal. */
  readonly isCertain: boolean
  readonly source: string
}

/** The outcome of a login, and the reason. */
export type Explanation = {
  /** What the login would return; undefined if it is allowed. */
  readonly refused: ServiceError | undefined
  readonly role: string
  readonly clock: MeasuredClock | undefined
  readonly checks: readonly ExplainedCheck[]
  /** Undefined unless the login is allowed. */
  readonly login: { readonly auth: LoginAuth; readonly plan: LoginPlan } | undefined
}

/** The path, below the mount, that refused; `renew` is a renewal of a token. */
export type FailurePath = z.output<typeof loginFailure>['path']

/** Whether a caller brings the token, so that no provider takes part. */
export const bringsToken = (path: FailurePath): boolean => !path.startsWith('oidc/')

/** The checks of a refused login, as they ran at the time. */
export type LoginTrace = {
  readonly checks: readonly ExplainedCheck[]
  readonly clock: MeasuredClock | undefined
}

/** Only which check refused. */
export const bareTrace = (reason: string, detail = ''): LoginTrace => ({
  checks: [{ ...nothing, name: checkNamed(reason), verdict: 'fail', reason, detail }],
  clock: undefined,
})

/** A check of which nothing is known. */
export const nothing = { expected: [], seen: null, reason: '', hint: '', detail: '' } as const

/** Most characters of one failure, because many are kept. */
const maxSize = 8 * 1024
const sizeOf = (checks: readonly ExplainedCheck[]): number => JSON.stringify(checks).length

/** If there are too many large values, those of passed checks are dropped first. */
export function bounded(checks: readonly ExplainedCheck[]): readonly ExplainedCheck[] {
  if (sizeOf(checks) <= maxSize) return checks
  const essential = checks.map((check) =>
    check.verdict === 'fail' ? check : { ...check, expected: [], seen: null },
  )
  if (sizeOf(essential) <= maxSize) return essential
  const first = essential.findIndex(({ verdict }) => verdict === 'fail')
  return essential
    .slice(0, 64)
    .map((check, at) =>
      at === first
        ? { ...check, expected: check.expected.slice(0, 8) }
        : { ...check, expected: [], seen: null },
    )
}

type Told = Pick<ExplainedCheck, 'reason' | 'expected'>

/** Of the roles that an unknown name may have meant, only those that are seen. */
export const shownRoles = <One extends Told>(told: One, isSeen: (role: string) => boolean): One =>
  told.reason === 'role_unknown'
    ? { ...told, expected: told.expected.filter((name) => isSeen(String(name))) }
    : told
