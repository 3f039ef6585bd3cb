import { PrefixIndex } from '../../lib/data/prefix-index.ts'
import type { QuotaPlace } from './quota.ts'

type AnyRule = { readonly quota: QuotaPlace }

/** What a request asks for. */
export type QuotaTarget = {
  /** Ids of its namespace and those above, the root first. */
  readonly lineage: readonly string[]
  /** UUID of its mount, if any. */
  readonly mount: string | undefined
  /** Its path below the mount. */
  readonly below: string
  /** The role of a login, if known. */
  readonly role: string | undefined
}

type RulesOfMount<Rule> = {
  readonly whole: Rule | undefined
  readonly byRole: ReadonlyMap<string, Rule>
  readonly byPath: ReadonlyMap<string, Rule>
  readonly globs: PrefixIndex<Rule>
}

/** An immutable index of all rules: finds the most specific one for a request. docs/contract/quotas.md */
export class QuotaIndex<Rule extends AnyRule> {
  readonly #ofMount = new Map<string, RulesOfMount<Rule>>()
  readonly #ofNamespace = new Map<string, Rule>()

  constructor(rules: readonly Rule[]) {
    const ofMounts = rules.filter(({ quota }) => quota.mount !== '')
    for (const [mount, own] of Map.groupBy(ofMounts, ({ quota }) => quota.mount))
      this.#ofMount.set(mount, rulesOfMount(own))
    for (const rule of rules) if (rule.quota.mount === '') this.#ofNamespace.set(rule.quota.namespace, rule)
  }

  /** Whether some rule of the mount names a role. */
  hasRoles(mount: string): boolean {
    return (this.#ofMount.get(mount)?.byRole.size ?? 0) > 0
  }

  find({ lineage, mount, below, role }: QuotaTarget): Rule | undefined {
    const own = mount === undefined ? undefined : this.#ofMount.get(mount)
    return (own && ofPath(own, below, role)) ?? this.#ofLineage(lineage)
  }

  #ofLineage(lineage: readonly string[]): Rule | undefined {
    return lineage
      .map((id) => this.#ofNamespace.get(id))
      .findLast((rule, at) => rule !== undefined && (at === lineage.length - 1 || rule.quota.inheritable))
  }
}

const rulesOfMount = <Rule extends AnyRule>(rules: readonly Rule[]): RulesOfMount<Rule> => {
  const keyed = (part: readonly Rule[], keyOf: (quota: QuotaPlace) => string) =>
    part.map((rule) => [keyOf(rule.quota), rule] as const)
  const [ofRoles, others] = split(rules, ({ role }) => role !== '')
  const [globs, paths] = split(others, ({ suffix }) => suffix.endsWith('*'))
  return {
    whole: paths.find(({ quota }) => quota.suffix === ''),
    byRole: new Map(keyed(ofRoles, ({ role }) => role.toLowerCase())),
    byPath: new Map(keyed(paths, ({ suffix }) => suffix)),
    globs: new PrefixIndex(keyed(globs, ({ suffix }) => suffix.slice(0, -1))),
  }
}

const split = <Rule extends AnyRule>(
  rules: readonly Rule[],
  isFirst: (quota: QuotaPlace) => boolean,
): [Rule[], Rule[]] => [
  rules.filter(({ quota }) => isFirst(quota)),
  rules.filter(({ quota }) => !isFirst(quota)),
]

const ofPath = <Rule>(
  { byRole, byPath, globs, whole }: RulesOfMount<Rule>,
  below: string,
  role: string | undefined,
): Rule | undefined =>
  (role === undefined ? undefined : byRole.get(role.toLowerCase())) ??
  byPath.get(withoutSlash(below)) ??
  globs.longest(below) ??
  whole

/** A path with a trailing slash is served like the one without, or is a list. */
export const withoutSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path)
