import { PrefixIndex } from '../../lib/data/prefix-index.ts'
import { countedAddress } from '../../lib/net/address.ts'
import type { Clock } from '../../lib/system/clock.ts'
import { KeptSetting } from '../settings/kept-setting.ts'
import { ClientWindows, type Verdict } from './client-windows.ts'
import { defaultQuotaConfig, type Quota, type QuotaConfig, readQuota, readQuotaConfig } from './quota.ts'
import type { QuotaTarget } from './quota-index.ts'
import { type QuotaRuleParts, QuotaRules } from './quota-rules.ts'

/** The client of a rule that counts all together; no address looks like it. */
const everyone = 'everyone'

export type QuotaStoreParts = QuotaRuleParts & { readonly clock: Clock }

/** A rule with its counters. */
type Rule = { readonly quota: Quota; readonly windows: ClientWindows }

/**
 * Stores the rate limits and counts requests under them, each server for itself. A write resets the counters
 * of its rule. docs/contract/quotas.md
 */
export class QuotaStore {
  readonly #clock: Clock
  readonly rules: QuotaRules<Quota, Rule>
  readonly #config: KeptSetting<QuotaConfig>
  #exempt: Exemptions = exemptionsOf(defaultQuotaConfig)

  private constructor(clock: Clock, rules: QuotaRules<Quota, Rule>, config: KeptSetting<QuotaConfig>) {
    this.#clock = clock
    this.rules = rules
    this.#config = config
  }

  static async open(parts: QuotaStoreParts): Promise<QuotaStore> {
    const kind = { prefix: 'quota/rule/', guard: 'guard/quotas', read: readQuota, fresh: freshRule }
    const config = await KeptSetting.open({ ...parts, key: 'quota/config', parse: readQuotaConfig })
    return new QuotaStore(parts.clock, await QuotaRules.open(kind, parts), config)
  }

  get isOn(): boolean {
    return this.rules.size > 0
  }

  /** The key of the record of the configuration, from the root of the storage. */
  get configRecord(): string {
    return this.#config.recordKey
  }

  get config(): QuotaConfig {
    return this.#config.current ?? defaultQuotaConfig
  }

  configure(config: QuotaConfig): Promise<void> {
    return this.#config.put(config)
  }

  /** Whether no rule limits a path below the path of its namespace. */
  isExempt(namespacePath: string, path: string): boolean {
    if (this.#exempt.of !== this.config) this.#exempt = exemptionsOf(this.config)
    const { paths, absolutePaths } = this.#exempt
    return paths.longest(path) === true || absolutePaths?.longest(namespacePath + path) === true
  }

  hasRoles(mount: string): boolean {
    return this.rules.index.hasRoles(mount)
  }

  /** Counts a request under the most specific rule, if any, unless that is the one that has counted it already. */
  take(
    target: QuotaTarget,
    address: string,
    countedUnder?: string,
  ): { name: string; verdict: Verdict } | undefined {
    const rule = this.rules.index.find(target)
    if (rule === undefined || rule.quota.name === countedUnder) return undefined
    const client = rule.quota.groupBy === 'none' ? everyone : countedAddress(address)
    const verdict = rule.windows.take(client, this.#clock.now())
    return { name: rule.quota.name, verdict }
  }
}

const freshRule = (quota: Quota): Rule => ({ quota, windows: new ClientWindows(quota) })

/** What a configuration exempts. */
type Exemptions = {
  readonly of: QuotaConfig
  readonly paths: PrefixIndex<true>
  readonly absolutePaths: PrefixIndex<true> | undefined
}

const exemptionsOf = (config: QuotaConfig): Exemptions => ({
  of: config,
  paths: indexOf(config.exemptPaths),
  absolutePaths: config.absoluteExemptPaths.length === 0 ? undefined : indexOf(config.absoluteExemptPaths),
})

const indexOf = (paths: readonly string[]) => new PrefixIndex(paths.map((path) => [path, true] as const))
