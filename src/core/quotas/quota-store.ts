import { PrefixIndex } from '../../lib/data/prefix-index.ts'
import { countedAddress } from '../../lib/net/address.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { ViewRecord } from '../barrier/view.ts'
import { FollowedRecords } from '../records/followed-records.ts'
import { GuardedChanges } from '../records/guarded-changes.ts'
import { ClientWindows, type Verdict } from './client-windows.ts'
import { defaultQuotaConfig, type Quota, type QuotaConfig, readQuota, readQuotaConfig } from './quota.ts'
import type { QuotaTarget } from './quota-index.ts'
import { type QuotaRuleParts, QuotaRules } from './quota-rules.ts'

const configKey = 'quota/config'
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
  readonly #followed: FollowedRecords
  readonly #configurations: GuardedChanges
  #config = defaultQuotaConfig
  #exempt = exemptions(defaultQuotaConfig.exemptPaths)
  #absoluteExempt: ReturnType<typeof exemptions> | undefined

  private constructor({ view, shared, clock, onFailure }: QuotaStoreParts, rules: QuotaRules<Quota, Rule>) {
    this.#clock = clock
    this.rules = rules
    this.#followed = new FollowedRecords({
      view,
      prefix: configKey,
      onFailure,
      known: () => [configKey],
      apply: (found, gone) => this.#apply(found, gone, onFailure),
    })
    this.#configurations = new GuardedChanges({
      view,
      shared,
      key: 'guard/quota-config',
      followed: this.#followed,
    })
  }

  static async open(parts: QuotaStoreParts): Promise<QuotaStore> {
    const kind = { prefix: 'quota/rule/', guard: 'guard/quotas', read: readQuota, fresh: freshRule }
    const store = new QuotaStore(parts, await QuotaRules.open(kind, parts))
    await store.#followed
      .follow(async () => {
        const config = await parts.view.get(configKey)
        if (config !== undefined) store.#setConfig(readQuotaConfig(config))
      })
      .catch(parts.onFailure)
    return store
  }

  get isOn(): boolean {
    return this.rules.size > 0
  }

  get config(): QuotaConfig {
    return this.#config
  }

  configure(config: QuotaConfig): Promise<void> {
    return this.#configurations.run(async (write) => {
      await write([{ key: configKey, value: config }])
      this.#setConfig(config)
    })
  }

  /** Whether no rule limits a path below the path of its namespace. */
  isExempt(namespacePath: string, path: string): boolean {
    if (this.#exempt.longest(path) === true) return true
    return this.#absoluteExempt?.longest(namespacePath + path) === true
  }

  hasRoles(mount: string): boolean {
    return this.rules.index.hasRoles(mount)
  }

  /** Counts a request under the most specific rule, if any. */
  take(target: QuotaTarget, address: string): { name: string; verdict: Verdict } | undefined {
    const rule = this.rules.index.find(target)
    if (rule === undefined) return undefined
    const client = rule.quota.groupBy === 'none' ? everyone : countedAddress(address)
    const verdict = rule.windows.take(client, this.#clock.now())
    return { name: rule.quota.name, verdict }
  }

  #setConfig(config: QuotaConfig): void {
    this.#config = config
    this.#exempt = exemptions(config.exemptPaths)
    this.#absoluteExempt =
      config.absoluteExemptPaths.length === 0 ? undefined : exemptions(config.absoluteExemptPaths)
  }

  #apply(found: readonly ViewRecord[], gone: readonly string[], onFailure: (error: unknown) => void): void {
    try {
      for (const { value } of found) this.#setConfig(readQuotaConfig(value))
    } catch (error) {
      onFailure(error)
    }
    if (gone.length > 0) this.#setConfig(defaultQuotaConfig)
  }
}

const freshRule = (quota: Quota): Rule => ({ quota, windows: new ClientWindows(quota) })

const exemptions = (paths: readonly string[]) => new PrefixIndex(paths.map((path) => [path, true] as const))
