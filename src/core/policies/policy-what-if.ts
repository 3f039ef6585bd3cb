import { letOthersRun, pagesOf } from '../../lib/data/pages.ts'
import { formatTime } from '../../lib/text/time.ts'
import type { Access, Holder } from '../callers/access.ts'
import { bindAcl, type CompiledPolicies } from './acl.ts'
import { matches } from './pattern.ts'
import type { ParsedPolicy } from './policy.ts'
import { type PolicySet, type PolicyStore, policyName } from './policy-store.ts'
import { type CountedUse, keptDays, type PolicyUses } from './policy-uses.ts'

type Parts = {
  readonly uses: PolicyUses
  readonly access: Pick<Access, 'holderOf'>
  readonly policies: Pick<PolicyStore, 'aclFor' | 'compiledIf' | 'parsedOf'>
}

/** A policy as a write would leave it. */
export type ChangedPolicy = {
  readonly namespace: string
  readonly name: string
  readonly parsed: ParsedPolicy
}

/** Most changes that a report lists; it counts all. */
const mostListed = 200

type Change = { readonly use: CountedUse; readonly isAllowed: boolean }

/** Tries a policy on recent requests of its holders. docs/contract/what-if.md#policies */
export async function policyWhatIf(parts: Parts, changed: ChangedPolicy) {
  const { uses, policies } = parts
  const before = await policies.parsedOf(changed.namespace, changed.name)
  await uses.record()
  const holders = await holdersOf(changed, parts)
  const held = holders.flatMap((one) => one.uses)
  const changes: Change[] = []
  let compiled: { readonly sets: string; readonly policies: CompiledPolicies } | undefined
  for (const { sets, holder, uses: own } of holders) {
    if (compiled?.sets !== sets)
      compiled = { sets, policies: await policies.compiledIf(changed, holder.sets) }
    const [first, ...more] = holder.sets
    const now = await policies.aclFor(first.namespace, first.names, holder.context, more)
    const then = bindAcl(compiled.policies, holder.context)
    await letOthersRun()
    for await (const page of pagesOf(own))
      for (const use of page) {
        const isAllowed = then.decide(use).allowed
        if (isAllowed !== now.decide(use).allowed) changes.push({ use, isAllowed })
      }
  }
  const lost = changes.filter(({ isAllowed }) => !isAllowed)
  const gained = changes.filter(({ isAllowed }) => isAllowed)
  return {
    since: formatTime(await uses.since()),
    days: keptDays,
    uses: held.length,
    requests: requestsOf(held),
    lose: lost.length,
    gain: gained.length,
    rules: await rulesOf(before, held),
    changes: [...lost, ...gained]
      .slice(0, mostListed)
      .map(({ use, isAllowed }) => ({
        entity_id: use.entity,
        path: use.path,
        operation: use.operation,
        requests: use.count,
        last_at: formatTime(use.last),
        before: isAllowed ? 'denied' : 'allowed',
        after: isAllowed ? 'allowed' : 'denied',
      })),
  }
}

type Held = {
  readonly holder: Holder
  /** Tells equal sets of policies. */
  readonly sets: string
  readonly uses: CountedUse[]
}

/** The holders of the policy with their uses, those with equal sets of policies one after the other. */
async function holdersOf(
  changed: ChangedPolicy,
  { uses, access }: Pick<Parts, 'uses' | 'access'>,
): Promise<readonly Held[]> {
  const known = new Map<string, Held | undefined>()
  for await (const page of uses.recent())
    for (const use of page) {
      const key = JSON.stringify([use.namespace, use.policies, use.entity])
      if (!known.has(key)) {
        const holder = await access.holderOf(use)
        const isHeld = holder !== undefined && holds(holder.sets, changed)
        known.set(key, isHeld ? { holder, sets: JSON.stringify(holder.sets), uses: [] } : undefined)
      }
      known.get(key)?.uses.push(use)
    }
  return [...known.values()]
    .filter((held) => held !== undefined)
    .sort((one, other) => (one.sets < other.sets ? -1 : 1))
}

const holds = (sets: readonly PolicySet[], { namespace, name }: ChangedPolicy): boolean =>
  sets.some((set) => set.namespace === namespace && set.names.some((held) => policyName(held) === name))

const requestsOf = (uses: readonly CountedUse[]): number => uses.reduce((sum, { count }) => sum + count, 0)

type UsedRule = {
  readonly path: string
  readonly uses: number
  readonly requests: number
  readonly last_at: string
}

/** How often each rule of a policy has matched; rules with templates are not among them. */
async function rulesOf(
  policy: ParsedPolicy | undefined,
  uses: readonly CountedUse[],
): Promise<readonly UsedRule[]> {
  const rules: UsedRule[] = []
  for await (const [stanza] of pagesOf(policy?.stanzas ?? [], 1)) {
    if (stanza === undefined || !('pattern' in stanza.label)) continue
    const { pattern } = stanza.label
    const matched = uses.filter(({ path }) => matches(pattern, path))
    const last = matched.reduce((latest, use) => Math.max(latest, use.last), 0)
    rules.push({
      path: pattern.text,
      uses: matched.length,
      requests: requestsOf(matched),
      last_at: last === 0 ? '' : formatTime(last),
    })
  }
  return rules
}
