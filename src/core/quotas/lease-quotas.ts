import { refuse } from '../../errors.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { CountedLease, LeaseLimit } from '../leases/lease-limit.ts'
import type { MountStore } from '../mounts/mount-store.ts'
import type { NamespaceStore } from '../namespaces/namespace-store.ts'
import { type LeaseQuota, readLeaseQuota } from './quota.ts'
import type { QuotaIndex, QuotaTarget } from './quota-index.ts'
import { type QuotaRuleParts, QuotaRules } from './quota-rules.ts'

export type LeaseQuotaParts = QuotaRuleParts & {
  readonly namespaces: Pick<NamespaceStore, 'byId' | 'lineageOf'>
  readonly mounts: Pick<MountStore, 'table'>
  /** All live leases and tokens that count, in pages. */
  stored(): AsyncIterable<readonly CountedLease[]>
}

type Rule = { readonly quota: LeaseQuota }

/** The numbers of leases that are stored, by the name of the rule that they count under. */
type Count = {
  readonly index: QuotaIndex<Rule>
  readonly byRule: Map<string, number>
  /** When it began, in milliseconds of a clock that is never set. */
  readonly began: number
  /** For how long it may be used although it may be too high. */
  readonly usedForMs: number
}

/** A lease that is being written, or was while the stored ones were counted: that count leaves it out. */
type OwnLease = { readonly target: QuotaTarget; isStored: boolean }

/** As many leases are counted anew whenever it matters. */
const cheapCount = 2_000
/** A count of more is used for 50 times as long as it took, which limits its cost, but a minute at most. */
const usedForMs = (leases: number, tookMs: number): number =>
  leases <= cheapCount ? 0 : Math.min(50 * tookMs, 60_000)
/** Whether a count began too long before a request to decide about it. */
const mayRepeat = (count: Count, asked: number): boolean => count.began + count.usedForMs < asked

/**
 * Limits the number of live leases. Counts what is stored, when that first matters, and adds what this server
 * has stored since. So the count may be too high, because leases have ended, and then it is repeated before it
 * refuses anything. It may be too low only by what other servers have stored. docs/contract/quotas.md#leases
 */
export class LeaseQuotas implements LeaseLimit {
  readonly #parts: LeaseQuotaParts
  readonly rules: QuotaRules<LeaseQuota, Rule>
  /** By `ref`. */
  readonly #own = new Map<string, OwnLease>()
  #count: Count | undefined
  #counting: Promise<void> | undefined

  private constructor(parts: LeaseQuotaParts, rules: QuotaRules<LeaseQuota, Rule>) {
    this.#parts = parts
    this.rules = rules
  }

  static async open(parts: LeaseQuotaParts): Promise<LeaseQuotas> {
    const rules = await QuotaRules.open<LeaseQuota, Rule>(
      {
        prefix: 'lease-quota/',
        guard: 'guard/lease-quotas',
        read: readLeaseQuota,
        fresh: (quota) => ({ quota }),
      },
      parts,
    )
    return new LeaseQuotas(parts, rules)
  }

  /** The number of live leases under a rule. */
  async countOf(name: string): Promise<number> {
    const asked = performance.now()
    for (;;) {
      const count = this.#known(asked)
      if (count !== undefined && !mayRepeat(count, asked)) return this.#counted(name, count)
      await this.#recount()
    }
  }

  async within(lease: CountedLease, write: () => Promise<boolean>): Promise<boolean> {
    const own = await this.#admitted(lease, (target) => {
      const added: OwnLease = { target, isStored: false }
      this.#own.set(lease.ref, added)
      return added
    })
    if (own === undefined) return write()
    try {
      own.isStored = await write()
      return own.isStored
    } finally {
      this.#settle(lease.ref, own)
    }
  }

  async check(lease: Omit<CountedLease, 'ref'>): Promise<void> {
    await this.#admitted(lease, () => undefined)
  }

  /** Calls `enter` if there is room, before any other request can take it. Undefined if no rule applies. */
  async #admitted<T>(
    lease: Omit<CountedLease, 'ref'>,
    enter: (target: QuotaTarget) => T,
  ): Promise<T | undefined> {
    if (this.rules.size === 0) return undefined
    const asked = performance.now()
    const target = this.#targetOf(lease)
    for (;;) {
      const rule = target && this.rules.index.find(target)
      if (target === undefined || rule === undefined) return undefined
      const { name, maxLeases } = rule.quota
      const count = this.#known(asked)
      if (count !== undefined && this.#counted(name, count) < maxLeases) return enter(target)
      if (count !== undefined && !mayRepeat(count, asked))
        throw refuse('throttled', `request path ${quoted(lease.path)}: lease count quota exceeded`)
      await this.#recount()
    }
  }

  /** The last count, if the rules are still the same and, among several servers, it is recent. */
  #known(asked: number): Count | undefined {
    const count = this.#count
    if (count === undefined || count.index !== this.rules.index) return undefined
    return this.#parts.shared !== undefined && mayRepeat(count, asked) ? undefined : count
  }

  #counted(name: string, { byRule, index }: Count): number {
    const own = this.#own.values().filter(({ target }) => index.find(target)?.quota.name === name)
    return (byRule.get(name) ?? 0) + own.reduce((sum) => sum + 1, 0)
  }

  /** Waits for the count in progress, or counts. */
  #recount(): Promise<void> {
    this.#counting ??= this.#countStored()
    return this.#counting
  }

  async #countStored(): Promise<void> {
    const began = performance.now()
    try {
      await this.#countPages(began)
    } finally {
      this.#counting = undefined
    }
  }

  async #countPages(began: number): Promise<void> {
    const { index } = this.rules
    const byRule = new Map<string, number>()
    let leases = 0
    for await (const page of this.#parts.stored()) {
      leases += page.length
      for (const lease of page) if (!this.#own.has(lease.ref)) add(byRule, index, this.#targetOf(lease))
    }
    for (const [ref, { target, isStored }] of this.#own) {
      if (!isStored) continue
      this.#own.delete(ref)
      add(byRule, index, target)
    }
    this.#count = { index, byRule, began, usedForMs: usedForMs(leases, performance.now() - began) }
  }

  /** While the stored leases are counted, a new one is kept apart, so that it counts once. */
  #settle(ref: string, own: OwnLease): void {
    const { target, isStored } = own
    if (isStored && this.#counting !== undefined) return
    // another token may be about to get the same chosen id
    if (this.#own.get(ref) === own) this.#own.delete(ref)
    if (isStored && this.#count !== undefined) add(this.#count.byRule, this.#count.index, target)
  }

  /** Undefined if its namespace is gone. */
  #targetOf({ namespace, mountAccessor, path, role }: Omit<CountedLease, 'ref'>): QuotaTarget | undefined {
    const { namespaces, mounts } = this.#parts
    const found = namespaces.byId(namespace)
    if (found === undefined) return undefined
    const mount = mounts.table.byAccessor(mountAccessor)
    return {
      lineage: namespaces.lineageOf(found).map(({ id }) => id),
      mount: mount?.uuid,
      below: mount !== undefined && path.startsWith(mount.path) ? path.slice(mount.path.length) : '',
      role,
    }
  }
}

function add(counts: Map<string, number>, index: QuotaIndex<Rule>, target: QuotaTarget | undefined): void {
  const rule = target && index.find(target)
  if (rule !== undefined) counts.set(rule.quota.name, (counts.get(rule.quota.name) ?? 0) + 1)
}
