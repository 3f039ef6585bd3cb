import { isDeepStrictEqual } from 'node:util'
import { refuse } from '../../errors.ts'
import { countedAddress } from '../../lib/address.ts'
import type { Clock } from '../../lib/clock.ts'
import { quoted } from '../../lib/go/text.ts'
import { PrefixIndex } from '../../lib/prefix-index.ts'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import type { View, ViewRecord } from '../barrier/view.ts'
import { FollowedRecords } from '../followed-records.ts'
import { GuardedChanges } from '../guarded-changes.ts'
import type { JoinedWrite } from '../joined-changes.ts'
import type { Verdict } from './client-windows.ts'
import { defaultQuotaConfig, type Quota, type QuotaConfig, readQuota, readQuotaConfig } from './quota.ts'
import { freshRule, QuotaIndex, type QuotaTarget, type Rule } from './quota-index.ts'

const records = 'quota/'
const prefix = `${records}rule/`
const configKey = `${records}config`
const mostRules = 1000
/** The client of a rule that counts all together; no address looks like it. */
const everyone = 'everyone'

export type QuotaStoreParts = {
  /** The core's view. */
  readonly view: View
  /** Undefined if no other server writes the storage. */
  readonly shared: SharedStorage | undefined
  readonly clock: Clock
  /** Called for a record that cannot be read: its rule does not apply. */
  onFailure(error: unknown): void
}

/**
 * Stores the rate limits and counts requests under them, each server for itself. A write is stored before it
 * applies, and resets the counters of its rule. docs/contract/quotas.md
 */
export class QuotaStore {
  readonly #clock: Clock
  readonly #changes: GuardedChanges
  readonly #followed: FollowedRecords
  readonly #rules = new Map<string, Rule>()
  #index = new QuotaIndex([])
  #config = defaultQuotaConfig
  #exempt = exemptions(defaultQuotaConfig.exemptPaths)
  #absoluteExempt: ReturnType<typeof exemptions> | undefined

  private constructor({ view, shared, clock, onFailure }: QuotaStoreParts) {
    this.#clock = clock
    this.#followed = new FollowedRecords({
      ...{ view, prefix: records, onFailure },
      known: () => [configKey, ...[...this.#rules.keys()].map((name) => prefix + name)],
      apply: (found, gone) => this.#apply(found, gone, onFailure),
    })
    this.#changes = new GuardedChanges({ view, shared, key: 'guard/quotas', followed: this.#followed })
  }

  static async open(parts: QuotaStoreParts): Promise<QuotaStore> {
    const store = new QuotaStore(parts)
    await store.#followed
      .follow(async () => {
        for (const key of await parts.view.listKeys(prefix)) await store.#load(key, parts)
        const config = await parts.view.get(configKey)
        if (config !== undefined) store.#setConfig(readQuotaConfig(config))
      })
      .catch(parts.onFailure)
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

  /**
   * Stores the rule that `decide` returns, which may run again: it must refuse a mount or namespace that is
   * being removed. Throws `invalid` if another rule limits the same requests.
   */
  put(decide: () => Quota): Promise<void> {
    return this.#change(async (write) => {
      const quota = decide()
      const { name } = quota
      for (const { quota: other } of this.#rules.values())
        if (other.name !== name && isSimilar(other, quota))
          throw refuse(
            'invalid',
            `quota rule with similar properties exists under the name ${quoted(other.name)}`,
          )
      if (!this.#rules.has(name) && this.#rules.size >= mostRules)
        throw refuse('invalid', `more than ${mostRules} quota rules`)
      await write([{ key: prefix + name, value: quota }])
      this.#rules.set(name, freshRule(quota))
    })
  }

  delete(name: string): Promise<void> {
    return this.#change((write) => this.#deleteAll([name], write))
  }

  configure(config: QuotaConfig): Promise<void> {
    return this.#change(async (write) => {
      await write([{ key: configKey, value: config }])
      this.#setConfig(config)
    })
  }

  /** Deletes the rules on mounts, given by their UUIDs, and on a namespace. */
  removeRulesOn(mounts: readonly string[], namespace?: string): Promise<void> {
    const removed = new Set(mounts)
    return this.#change((write) =>
      this.#deleteAll(
        [...this.#rules.values()].flatMap(({ quota }) =>
          removed.has(quota.mount) || (quota.mount === '' && quota.namespace === namespace)
            ? [quota.name]
            : [],
        ),
        write,
      ),
    )
  }

  /** Whether no rule limits a path below the path of its namespace. */
  isExempt(namespacePath: string, path: string): boolean {
    if (this.#exempt.longest(path) === true) return true
    return this.#absoluteExempt?.longest(namespacePath + path) === true
  }

  /** Whether some rule of the mount names a role. */
  hasRoles(mount: string): boolean {
    return this.#index.hasRoles(mount)
  }

  /** Counts a request under the most specific rule, if any. */
  take(target: QuotaTarget, address: string): { name: string; verdict: Verdict } | undefined {
    const rule = this.#index.find(target)
    if (rule === undefined) return undefined
    const client = rule.quota.groupBy === 'none' ? everyone : countedAddress(address)
    const verdict = rule.windows.take(client, this.#clock.now())
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
    this.#exempt = exemptions(config.exemptPaths)
    this.#absoluteExempt =
      config.absoluteExemptPaths.length === 0 ? undefined : exemptions(config.absoluteExemptPaths)
  }

  /** A rule that has not changed keeps its counters. */
  #apply(found: readonly ViewRecord[], gone: readonly string[], onFailure: (error: unknown) => void): void {
    for (const { key, value } of found) {
      try {
        if (key === configKey) this.#setConfig(readQuotaConfig(value))
        else if (key.startsWith(prefix)) this.#follow(readQuota(value))
      } catch (error) {
        onFailure(error)
      }
    }
    for (const key of gone) {
      if (key === configKey) this.#setConfig(defaultQuotaConfig)
      else this.#rules.delete(key.slice(prefix.length))
    }
    this.#rebuild()
  }

  #follow(quota: Quota): void {
    if (!isDeepStrictEqual(this.#rules.get(quota.name)?.quota, quota))
      this.#rules.set(quota.name, freshRule(quota))
  }

  /** Writes even if there is no rule: another server that is adding one must decide again. */
  async #deleteAll(names: readonly string[], write: JoinedWrite): Promise<void> {
    await write(names.map((name) => ({ key: prefix + name, value: undefined })))
    for (const name of names) this.#rules.delete(name)
  }

  #change(change: (write: JoinedWrite) => Promise<void>): Promise<void> {
    return this.#changes.run(async (write) => {
      await change(write)
      this.#rebuild()
    })
  }

  #rebuild(): void {
    this.#index = new QuotaIndex([...this.#rules.values()])
  }
}

const exemptions = (paths: readonly string[]) => new PrefixIndex(paths.map((path) => [path, true] as const))

const isSimilar = (one: Quota, other: Quota): boolean =>
  one.namespace === other.namespace &&
  one.mount === other.mount &&
  one.suffix === other.suffix &&
  one.role.toLowerCase() === other.role.toLowerCase()
