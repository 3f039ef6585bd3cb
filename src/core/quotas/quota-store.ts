import { refuse } from '../../errors.ts'
import { countedAddress } from '../../lib/address.ts'
import type { Clock } from '../../lib/clock.ts'
import { quoted } from '../../lib/go/text.ts'
import { KeyedMutex } from '../../lib/keyed-mutex.ts'
import { PrefixIndex } from '../../lib/prefix-index.ts'
import type { View } from '../barrier/view.ts'
import type { Verdict } from './client-windows.ts'
import { defaultQuotaConfig, type Quota, type QuotaConfig, readQuota, readQuotaConfig } from './quota.ts'
import { freshRule, QuotaIndex, type QuotaTarget, type Rule } from './quota-index.ts'

const prefix = 'quota/rule/'
const configKey = 'quota/config'
const oneAtATime = 'quotas'
const mostRules = 1000

export type QuotaStoreParts = {
  /** The core's view. */
  readonly view: View
  readonly clock: Clock
  /** Called for a record that cannot be read: its rule does not apply. */
  onFailure(error: unknown): void
}

/**
 * Stores the rate limits and counts requests under them. A write is stored before it applies, and resets the
 * counters of its rule. docs/contract/quotas.md
 */
export class QuotaStore {
  readonly #view: View
  readonly #clock: Clock
  readonly #mutex = new KeyedMutex()
  readonly #rules = new Map<string, Rule>()
  #index = new QuotaIndex([])
  #config = defaultQuotaConfig
  #exempt = exemptions(defaultQuotaConfig)

  private constructor({ view, clock }: QuotaStoreParts) {
    this.#view = view
    this.#clock = clock
  }

  static async open(parts: QuotaStoreParts): Promise<QuotaStore> {
    const store = new QuotaStore(parts)
    try {
      for (const key of await parts.view.listKeys(prefix)) await store.#load(key, parts)
      const config = await parts.view.get(configKey)
      if (config !== undefined) store.#setConfig(readQuotaConfig(config))
    } catch (error) {
      parts.onFailure(error)
    }
    store.#rebuild()
    return store
  }

  /** Whether there is any rule. */
  get isOn(): boolean {
    return this.#rules.size > 0
  }

  get config(): QuotaConfig {
    return this.#config
  }

  /** Ordered. */
  get names(): string[] {
    return [...this.#rules.keys()].sort()
  }

  get(name: string): Quota | undefined {
    return this.#rules.get(name)?.quota
  }

  /** Throws `invalid` if another rule limits the same requests. */
  put(quota: Quota): Promise<void> {
    const { name } = quota
    return this.#change(async () => {
      for (const { quota: other } of this.#rules.values())
        if (other.name !== name && isSimilar(other, quota))
          throw refuse(
            'invalid',
            `quota rule with similar properties exists under the name ${quoted(other.name)}`,
          )
      if (!this.#rules.has(name) && this.#rules.size >= mostRules)
        throw refuse('invalid', `more than ${mostRules} quota rules`)
      await this.#view.write([{ key: prefix + name, value: quota }])
      this.#rules.set(name, freshRule(quota))
    })
  }

  delete(name: string): Promise<void> {
    return this.#change(() => this.#deleteAll([name]))
  }

  configure(config: QuotaConfig): Promise<void> {
    return this.#change(async () => {
      await this.#view.write([{ key: configKey, value: config }])
      this.#setConfig(config)
    })
  }

  /** Deletes the rules on mounts, given by their UUIDs, and on a namespace. */
  removeRulesOn(mounts: readonly string[], namespace?: string): Promise<void> {
    const removed = new Set(mounts)
    return this.#change(() =>
      this.#deleteAll(
        [...this.#rules.values()].flatMap(({ quota }) =>
          removed.has(quota.mount) || (quota.mount === '' && quota.namespace === namespace)
            ? [quota.name]
            : [],
        ),
      ),
    )
  }

  /** Whether no rule limits a path, which is relative to its namespace. */
  isExempt(path: string): boolean {
    return this.#exempt.longest(path) === true
  }

  /** Whether some rule of the mount names a role. */
  hasRoles(mount: string): boolean {
    return this.#index.hasRoles(mount)
  }

  /** Counts a request under the most specific rule, if any. */
  take(target: QuotaTarget, address: string): { name: string; verdict: Verdict } | undefined {
    const rule = this.#index.find(target)
    if (rule === undefined) return undefined
    const verdict = rule.windows.take(countedAddress(address), this.#clock.now())
    return { name: rule.quota.name, verdict }
  }

  async #load(key: string, { view, onFailure }: QuotaStoreParts): Promise<void> {
    try {
      const quota = readQuota(await view.get(key))
      this.#rules.set(quota.name, freshRule(quota))
    } catch (error) {
      onFailure(error)
    }
  }

  #setConfig(config: QuotaConfig): void {
    this.#config = config
    this.#exempt = exemptions(config)
  }

  async #deleteAll(names: readonly string[]): Promise<void> {
    if (names.length === 0) return
    await this.#view.write(names.map((name) => ({ key: prefix + name, value: undefined })))
    for (const name of names) this.#rules.delete(name)
  }

  #change(change: () => Promise<void>): Promise<void> {
    return this.#mutex.runExclusive(oneAtATime, async () => {
      await change()
      this.#rebuild()
    })
  }

  #rebuild(): void {
    this.#index = new QuotaIndex([...this.#rules.values()])
  }
}

const exemptions = ({ exemptPaths }: QuotaConfig) =>
  new PrefixIndex(exemptPaths.map((path) => [path, true] as const))

const isSimilar = (one: Quota, other: Quota): boolean =>
  one.namespace === other.namespace &&
  one.mount === other.mount &&
  one.suffix === other.suffix &&
  one.role.toLowerCase() === other.role.toLowerCase()
