import { formatTime } from '../../lib/text/time.ts'
import type { Access } from '../callers/access.ts'
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
/** Compiled sets of policies that one what-if keeps. */
const mostSets = 100

type Change = { readonly use: CountedUse; readonly isAllowed: boolean }

/** What of the recent requests would be allowed or denied anew. docs/contract/what-if.md#policies */
export async function policyWhatIf({ uses, access, policies }: Parts, changed: ChangedPolicy) {
  const { namespace, name, parsed } = changed
  const before = await policies.parsedOf(namespace, name)
  const held: CountedUse[] = []
  const changes: Change[] = []
  const compiled = new Map<string, Promise<CompiledPolicies>>()
  const compiledFor = (sets: readonly PolicySet[]) => {
    const key = JSON.stringify(sets)
    const known = compiled.get(key) ?? policies.compiledIf({ namespace, name, parsed }, sets)
    if (compiled.size >= mostSets) compiled.clear()
    compiled.set(key, known)
    return known
  }
  await uses.record()
  for await (const page of uses.recent()) {
    for (const use of page) {
      const holder = await access.holderOf(use)
      if (holder === undefined || !holds(holder.sets, changed)) continue
      held.push(use)
      const [own, ...more] = holder.sets
      const now = await policies.aclFor(use.namespace, own.names, holder.context, more)
      const then = bindAcl(await compiledFor(holder.sets), holder.context)
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
    rules: rulesOf(before, held),
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

const holds = (sets: readonly PolicySet[], { namespace, name }: ChangedPolicy): boolean =>
  sets.some((set) => set.namespace === namespace && set.names.some((held) => policyName(held) === name))

const requestsOf = (uses: readonly CountedUse[]): number => uses.reduce((sum, { count }) => sum + count, 0)

/** How often each rule of a policy has matched; rules with templates are not among them. */
const rulesOf = (policy: ParsedPolicy | undefined, uses: readonly CountedUse[]) =>
  (policy?.stanzas ?? []).flatMap(({ label }) => {
    if (!('pattern' in label)) return []
    const matched = uses.filter(({ path }) => matches(label.pattern, path))
    const last = Math.max(0, ...matched.map((use) => use.last))
    return [
      {
        path: label.pattern.text,
        uses: matched.length,
        requests: requestsOf(matched),
        last_at: last === 0 ? '' : formatTime(last),
      },
    ]
  })
