import { isDeepStrictEqual } from 'node:util'
import { refuse } from '../../errors.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import type { View, ViewRecord } from '../barrier/view.ts'
import type { Write } from '../records/change.ts'
import { FollowedRecords } from '../records/followed-records.ts'
import { GuardedChanges } from '../records/guarded-changes.ts'
import type { QuotaPlace } from './quota.ts'
import { QuotaIndex } from './quota-index.ts'

const mostRules = 1000

export type QuotaRuleParts = {
  /** The core's view. */
  readonly view: View
  /** Undefined if no other server writes the storage. */
  readonly shared: SharedStorage | undefined
  /** Called for a record that cannot be read: its rule does not apply. */
  onFailure(error: unknown): void
}

type Kind<Quota, Rule> = {
  /** What the keys of the records begin with. */
  readonly prefix: string
  /** The key of the guard of their changes. */
  readonly guard: string
  /** Parses a stored record; throws if it is invalid. */
  read(record: unknown): Quota
  /** A rule without a history. */
  fresh(quota: Quota): Rule
}

/** Stores the rules of one kind, and finds the most specific one. A write is stored before it applies. */
export class QuotaRules<Quota extends QuotaPlace, Rule extends { readonly quota: Quota }> {
  readonly #kind: Kind<Quota, Rule>
  readonly #parts: Pick<QuotaRuleParts, 'view'>
  readonly #changes: GuardedChanges
  readonly #followed: FollowedRecords
  readonly #rules = new Map<string, Rule>()
  #index = new QuotaIndex<Rule>([])

  private constructor(kind: Kind<Quota, Rule>, { view, shared, onFailure }: QuotaRuleParts) {
    this.#kind = kind
    this.#parts = { view }
    this.#followed = new FollowedRecords({
      view,
      prefix: kind.prefix,
      onFailure,
      known: () => [...this.#rules.keys()].map((name) => kind.prefix + name),
      apply: (found, gone) => this.#apply(found, gone, onFailure),
    })
    this.#changes = new GuardedChanges({ view, shared, key: kind.guard, followed: this.#followed })
  }

  static async open<Quota extends QuotaPlace, Rule extends { readonly quota: Quota }>(
    kind: Kind<Quota, Rule>,
    parts: QuotaRuleParts,
  ): Promise<QuotaRules<Quota, Rule>> {
    const rules = new QuotaRules(kind, parts)
    await rules.#followed
      .follow(async () => {
        for (const key of await parts.view.listKeys(kind.prefix)) await rules.#load(key, parts)
      })
      .catch(parts.onFailure)
    rules.#rebuild()
    return rules
  }

  /** The key of the record of a rule, from the root of the storage. */
  recordKey(name: string): string {
    return this.#parts.view.fromRoot({ key: this.#kind.prefix + name, value: undefined }).key
  }

  get size(): number {
    return this.#rules.size
  }

  /** Ordered. */
  get names(): string[] {
    return [...this.#rules.keys()].sort()
  }

  /** A new one after each change of a rule. */
  get index(): QuotaIndex<Rule> {
    return this.#index
  }

  get(name: string): Quota | undefined {
    return this.#rules.get(name)?.quota
  }

  /**
   * Stores the rule that `decide` returns, which may run again: it must refuse a mount or namespace that is
   * being removed. Throws `invalid` if another rule limits the same.
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
      await write([{ key: this.#kind.prefix + name, value: quota }])
      this.#rules.set(name, this.#kind.fresh(quota))
    })
  }

  delete(name: string): Promise<void> {
    return this.#change((write) => this.#deleteAll([name], write))
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

  async #load(key: string, { view, onFailure }: QuotaRuleParts): Promise<void> {
    try {
      const quota = this.#kind.read(await view.get(key))
      this.#rules.set(quota.name, this.#kind.fresh(quota))
    } catch (error) {
      onFailure(error)
    }
  }

  /** A rule that has not changed keeps its history. */
  #apply(found: readonly ViewRecord[], gone: readonly string[], onFailure: (error: unknown) => void): void {
    for (const { value } of found) {
      try {
        this.#follow(this.#kind.read(value))
      } catch (error) {
        onFailure(error)
      }
    }
    for (const key of gone) this.#rules.delete(key.slice(this.#kind.prefix.length))
    this.#rebuild()
  }

  #follow(quota: Quota): void {
    if (!isDeepStrictEqual(this.#rules.get(quota.name)?.quota, quota))
      this.#rules.set(quota.name, this.#kind.fresh(quota))
  }

  /** Writes even if there is no rule: another server that is adding one must decide again. */
  async #deleteAll(names: readonly string[], write: Write): Promise<void> {
    await write(names.map((name) => ({ key: this.#kind.prefix + name, value: undefined })))
    for (const name of names) this.#rules.delete(name)
  }

  #change(change: (write: Write) => Promise<void>): Promise<void> {
    return this.#changes.run(async (write) => {
      await change(write)
      this.#rebuild()
    })
  }

  #rebuild(): void {
    this.#index = new QuotaIndex([...this.#rules.values()])
  }
}

const isSimilar = (one: QuotaPlace, other: QuotaPlace): boolean =>
  one.namespace === other.namespace &&
  one.mount === other.mount &&
  one.suffix === other.suffix &&
  one.role.toLowerCase() === other.role.toLowerCase()
