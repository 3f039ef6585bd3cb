import type { z } from 'zod'
import type { Mount } from '../../core/mounts/mount.ts'
import { pagesOf } from '../../lib/data/pages.ts'
import type { JsonValue } from '../../lib/text/json.ts'
import { formatTime } from '../../lib/text/time.ts'
import { KnownValues, type RecalledClaims, recalled, shownHash } from './hashed-claims.ts'
import { historyDays } from './history-days.ts'
import { goneNow, type Judged, refusedBefore, type Verdict } from './judged.ts'
import type { LoginHistory, RememberedLogin } from './login-history.ts'
import type { report } from './what-if-answers.ts'

type Shown = z.output<typeof report>

/** Describes, for people, a change of whom a role admits or what it grants. */
export type FieldChange = Shown['admits_more'][number]

/** A finding of the linter. */
type Finding = Shown['lint']['after'][number]

/** The values that the refusing check compares. */
type Compared = {
  readonly expected: readonly JsonValue[]
  readonly seen: JsonValue
  readonly hint: string
  readonly detail: string
}

type Loser = Omit<Shown['losers'][number], keyof Compared> & Compared

/** The report about a change, for those who logged in recently. docs/contract/what-if.md#the-report */
export type WhatIf = Omit<Shown, 'losers' | 'lint'> & {
  readonly losers: readonly Loser[]
  readonly lint: { readonly before: readonly Finding[]; readonly after: readonly Finding[] }
}

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

/** A login, tried before and after the change. */
type TriedTwice = { readonly before: Judged; readonly now: Judged }

export type WhatIfPlace = {
  readonly mount: Mount
  readonly history: LoginHistory
  readonly now: number
  /** Whether the caller may see what a role expects, and who uses it. */
  isSeen(role: string): boolean
}

export type AskedChange<Tried> = {
  /** Undefined for all. */
  readonly role: string | undefined
  /** Undefined for a role that does not exist. */
  changeOf(role: string): Change<Tried> | undefined
  /** The values that the roles compare claims with. */
  readonly values: readonly unknown[]
  readonly rest: Pick<WhatIf, 'admits_more' | 'changes' | 'lint'>
}

/** For a caller who may not see the role. */
export const nothingShown: AskedChange<never>['rest'] = {
  admits_more: [],
  changes: [],
  lint: { before: [], after: [] },
}

/** The refused logins that are remembered; without the id of one that the caller may not see. */
export type TriedRefusals = Iterable<TriedTwice & { readonly requestId: string }>

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
  ): Compared
  /** `known`: with what else is known of a refused login. */
  refusals(by: {
    twice(tried: TriedLogin, change: Change<Tried>): TriedTwice
    known(more: readonly unknown[]): KnownValues
  }): TriedRefusals
}

const mostShown = 50
const triedAtOnce = 5
const dayMs = 86_400_000

/**
 * Tries the remembered logins of a mount before and after a change. Other requests are served between two pages.
 * docs/contract/what-if.md#how-a-login-is-tried
 */
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
  const counts = { subjects: 0, succeed: 0, lose: 0, unknown: 0, regain: 0, refused_before: 0 }
  const losers: Loser[] = []
  const unjudged = new Map<string, number>()
  const tryOne = (name: string, login: RememberedLogin): void => {
    const change = changeOf(name)
    if (change === undefined) return
    const tried = twice({ login, recalled: recalled(login, known) }, change)
    const outcome = outcomeOf(tried)
    counts.subjects += 1
    counts[outcome] += 1
    const { refused, unknown } = tried.now
    if (outcome === 'unknown')
      for (const check of new Set(unknown.map((one) => one.name)))
        unjudged.set(check, (unjudged.get(check) ?? 0) + 1)
    if (outcome !== 'lose' || refused === undefined || losers.length >= mostShown || !isSeen(name)) return
    const { claims } = recalled(login, known)
    const compared = describe(name, login, { tried: change.now, claims, verdict: refused })
    losers.push(loser(name, login, refused, compared))
  }
  // one login may be compared with a thousand patterns
  for await (const page of days === 0 ? [] : history.logins(days, role))
    for await (const few of pagesOf(page, triedAtOnce))
      for (const { role: name, login } of few) tryOne(name, login)
  return {
    history_days: days,
    since: formatTime(now - days * dayMs),
    ...counts,
    losers,
    cannot_be_judged: [...unjudged].map(([check, subjects]) => ({
      check,
      subjects,
      text: whyUnknown(check),
    })),
    refusals: refusalsOf(refusals({ twice, known: knownWith })),
    ...rest,
  }
}

type Outcome = 'succeed' | 'lose' | 'unknown' | 'regain' | 'refused_before'

function outcomeOf({ before, now }: TriedTwice): Outcome {
  const wasRefused = before.refused !== undefined
  if (now.refused !== undefined) return wasRefused ? 'refused_before' : 'lose'
  if (now.unknown.length > 0) return wasRefused ? 'refused_before' : 'unknown'
  return wasRefused ? 'regain' : 'succeed'
}

const loser = (
  role: string,
  login: RememberedLogin,
  { name, refused }: Verdict,
  compared: Compared,
): Loser => ({
  role,
  subject: shownHash(login.subject),
  entity_id: login.entity,
  path: login.path,
  last_login_at: formatTime(login.last),
  logins: login.count,
  check: name,
  reason: refused?.reason ?? '',
  ...compared,
})

function refusalsOf(tried: TriedRefusals): WhatIf['refusals'] {
  const result: WhatIf['refusals'] = { tried: 0, would_succeed: 0, unknown: 0, request_ids: [] }
  for (const { requestId, before, now } of tried) {
    result.tried += 1
    if (before.refused === undefined || now.refused !== undefined) continue
    if (now.unknown.length > 0) result.unknown += 1
    else {
      result.would_succeed += 1
      if (requestId !== '' && result.request_ids.length < mostShown) result.request_ids.push(requestId)
    }
  }
  return result
}

/** Of findings before and after a change, those that come or go. */
export function onlyChanged({ before, after }: WhatIf['lint']): WhatIf['lint'] {
  const keysOf = (findings: readonly Finding[]) => new Set(findings.map((one) => JSON.stringify(one)))
  const without = (findings: readonly Finding[], others: ReadonlySet<string>) =>
    findings.filter((one) => !others.has(JSON.stringify(one))).slice(0, mostShown)
  return { before: without(before, keysOf(after)), after: without(after, keysOf(before)) }
}

/** Those who would or might lose access. docs/contract/what-if.md#guard */
export const mayLose = ({ lose, unknown }: WhatIf): number => lose + unknown

const whyUnknownOf: Readonly<Record<string, string>> = {
  bound_claims: 'the claim was not remembered, or a pattern is compared with what is only known as a hash',
  subject: 'the claim was not remembered',
  user_claim: 'the claim was not remembered',
  groups: 'the claim was not remembered, or the provider would be asked',
  metadata: 'the claim was not remembered',
  policies: 'a claim that names policies was not remembered',
  audience: 'the audience was not remembered',
  issuer: 'the issuer was not remembered',
  program: 'the program of the role is another one, which would need the claims themselves',
  signature: 'other keys would be used, and no key id says which',
  provider: 'the provider would be asked in another way',
  role: 'the logins named no role, and another one would be the default',
  redirect_uri: 'an allowed address was removed, and nobody remembers which ones were used',
  times: 'times were not remembered',
  lifetime: 'times were not remembered',
  review: 'the cluster would be asked in another way',
  namespace: 'a pattern is compared with what is only known as a hash',
  service_account_name: 'a pattern is compared with what is only known as a hash',
  namespace_labels: 'the cluster would be asked for the labels',
  annotations: 'the cluster would be asked for the annotations',
}
const whyUnknown = (check: string): string => whyUnknownOf[check] ?? 'it was not remembered'
