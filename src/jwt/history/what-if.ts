import { pagesOf } from '../../lib/data/pages.ts'
import type { JsonValue } from '../../lib/text/json.ts'
import { formatTime } from '../../lib/text/time.ts'
import { shownHash } from './hashed-claims.ts'
import type { Judged, Verdict } from './judged.ts'
import type { RememberedLogin } from './login-history.ts'

/** Describes, for people, a change of whom a role admits or what it grants. */
export type FieldChange = { readonly field: string; readonly text: string }

/** A finding of the linter. */
type Finding = { readonly role: string; readonly code: string; readonly field: string; readonly text: string }

/** The values that the refusing check compares. */
export type Compared = {
  readonly expected: readonly JsonValue[]
  readonly seen: JsonValue
  readonly hint: string
  readonly detail: string
}

/** The report about a change, for those who logged in recently. docs/contract/what-if.md#the-report */
export type WhatIf = {
  history_days: number
  since: string
  subjects: number
  succeed: number
  lose: number
  unknown: number
  regain: number
  refused_before: number
  losers: Loser[]
  cannot_be_judged: { check: string; subjects: number; text: string }[]
  refusals: { tried: number; would_succeed: number; unknown: number; request_ids: string[] }
  admits_more: FieldChange[]
  changes: { field: string; before: JsonValue; after: JsonValue }[]
  lint: { before: readonly Finding[]; after: readonly Finding[] }
}

type Loser = Compared & {
  readonly role: string
  readonly subject: string
  readonly entity_id: string
  readonly path: string
  readonly last_login_at: string
  readonly logins: number
  readonly check: string
  readonly reason: string
}

/** A remembered login, tried before and after the change. */
export type TriedTwice = { readonly before: Judged; readonly now: Judged }

export type WhatIfParts = {
  readonly days: number
  readonly now: number
  logins(): AsyncIterable<readonly { readonly role: string; readonly login: RememberedLogin }[]>
  /** Undefined for a login that the change does not concern. */
  tryBoth(role: string, login: RememberedLogin): Promise<TriedTwice | undefined> | TriedTwice | undefined
  describe(role: string, login: RememberedLogin, verdict: Verdict): Promise<Compared> | Compared
  /** Whether the caller may see what this role expects, and who uses it. */
  isSeen(role: string): boolean
  /** The refused logins that are remembered, tried likewise; without the id of one that the caller may not see. */
  refusals(): Iterable<TriedTwice & { readonly requestId: string }>
  readonly rest: Pick<WhatIf, 'admits_more' | 'changes' | 'lint'>
}

const mostShown = 50
const triedAtOnce = 5
const dayMs = 86_400_000

/** Tries everybody. Other requests are served between two pages. */
export async function whatIf(parts: WhatIfParts): Promise<WhatIf> {
  const { days, now, rest } = parts
  const counts = { subjects: 0, succeed: 0, lose: 0, unknown: 0, regain: 0, refused_before: 0 }
  const losers: Loser[] = []
  const unjudged = new Map<string, number>()
  const tryOne = async (role: string, login: RememberedLogin): Promise<void> => {
    const tried = await parts.tryBoth(role, login)
    if (tried === undefined) return
    const outcome = outcomeOf(tried)
    counts.subjects += 1
    counts[outcome] += 1
    const { refused, unknown } = tried.now
    if (outcome === 'unknown')
      for (const name of new Set(unknown.map((one) => one.name)))
        unjudged.set(name, (unjudged.get(name) ?? 0) + 1)
    if (outcome === 'lose' && refused !== undefined && losers.length < mostShown && parts.isSeen(role))
      losers.push(loser(role, login, refused, await parts.describe(role, login, refused)))
  }
  // one login may be compared with a thousand patterns
  for await (const page of days === 0 ? [] : parts.logins())
    for await (const few of pagesOf(page, triedAtOnce))
      for (const { role, login } of few) await tryOne(role, login)
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
    refusals: refusalsOf(parts.refusals()),
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

function refusalsOf(tried: ReturnType<WhatIfParts['refusals']>): WhatIf['refusals'] {
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
