import { PrefixIndex } from '../../lib/data/prefix-index.ts'
import { type Grants, mergeGrants } from './grants.ts'
import {
  compareRank,
  matchesAfterHead,
  type Pattern,
  type PrefixPattern,
  type SegmentedPath,
  type SegmentPattern,
  type WildcardPattern,
} from './pattern.ts'

/** A policy of a namespace, by its id. */
export type PolicyRef = { readonly name: string; readonly namespace: string }

/** What one policy contributes to a rule. */
type RuleSource = { readonly policy: PolicyRef; readonly grants: Grants }

/** A pattern and what it grants. */
export type Rule<P extends Pattern = Pattern> = {
  readonly pattern: P
  readonly grants: Grants
  readonly sources: readonly RuleSource[]
}

/** All wildcard rules with the same text before the first wildcard. */
type Head = {
  readonly prefix: Rule<PrefixPattern> | undefined
  /** In order of precedence. */
  readonly segments: readonly Rule<SegmentPattern>[]
}

/**
 * Finds the deciding rule fast. Exact rules are in a map. The others are found by the heads that a path begins with.
 * docs/contract/tokens-and-policies.md#which-rule-decides
 */
export class RuleTable {
  readonly #ruleByText: ReadonlyMap<string, Rule>
  readonly #heads: PrefixIndex<Head>
  #denied: readonly Pattern[] | undefined

  private constructor(ruleByText: ReadonlyMap<string, Rule>, heads: PrefixIndex<Head>) {
    this.#ruleByText = ruleByText
    this.#heads = heads
  }

  /**
   * Merges rules with the same pattern, including the one in `base`.
   * docs/contract/tokens-and-policies.md#which-rule-decides
   */
  static of(rules: readonly Rule[], base?: RuleTable): RuleTable {
    const rulesByText = Map.groupBy(rules, ({ pattern }) => pattern.text)
    const ruleByText = new Map<string, Rule>()
    const wildcards: Rule<WildcardPattern>[] = []
    for (const [text, own] of rulesByText) {
      const known = base?.ruleOf(text)
      const rule = mergedRule(known === undefined ? own : [known, ...own])
      if (rule === undefined) continue
      ruleByText.set(text, rule)
      if (isWildcard(rule)) wildcards.push(rule)
    }
    return new RuleTable(ruleByText, headsOf(wildcards))
  }

  /** The patterns that deny, computed on first use. */
  get denied(): readonly Pattern[] {
    this.#denied ??= [...this.#ruleByText.values()]
      .filter(({ grants }) => grants.isDeny)
      .map(({ pattern }) => pattern)
    return this.#denied
  }

  ruleOf(text: string): Rule | undefined {
    return this.#ruleByText.get(text)
  }

  rules(): Iterable<Rule> {
    return this.#ruleByText.values()
  }

  exact(path: string): Rule | undefined {
    const rule = this.#ruleByText.get(path)
    return rule?.pattern.kind === 'exact' ? rule : undefined
  }

  /** The deciding wildcard rule for the path. */
  best(path: SegmentedPath): Rule<WildcardPattern> | undefined {
    for (const { prefix, segments } of this.#heads.matching(path.text)) {
      const segment = segments.find(({ pattern }) => matchesAfterHead(pattern, path))
      if (segment !== undefined)
        return prefix === undefined || compareRank(segment.pattern, prefix.pattern) < 0 ? segment : prefix
      if (prefix !== undefined) return prefix
    }
    return undefined
  }
}

const isPrefix = (rule: Rule): rule is Rule<PrefixPattern> => rule.pattern.kind === 'prefix'
const isSegment = (rule: Rule): rule is Rule<SegmentPattern> => rule.pattern.kind === 'segment'
const isWildcard = (rule: Rule): rule is Rule<WildcardPattern> => rule.pattern.kind !== 'exact'

function mergedRule(all: readonly Rule[]): Rule | undefined {
  const [first] = all
  if (first === undefined || all.length === 1) return first
  return {
    pattern: first.pattern,
    grants: mergeGrants(all.map(({ grants }) => grants)),
    sources: all.flatMap(({ sources }) => sources),
  }
}

function headsOf(rules: readonly Rule<WildcardPattern>[]): PrefixIndex<Head> {
  const rulesByHead = Map.groupBy(rules, ({ pattern }) => pattern.head)
  return new PrefixIndex(
    [...rulesByHead].map(([text, own]) => {
      const segments = own.filter(isSegment).sort((a, b) => compareRank(a.pattern, b.pattern))
      return [text, { prefix: own.find(isPrefix), segments }] as const
    }),
  )
}
