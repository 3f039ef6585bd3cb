import { hash } from 'node:crypto'
import { fail, refuse, ServiceError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { formatTime } from '../../lib/time.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import { type Acl, type CompiledPolicies, compilePolicies, rootAcl } from './acl.ts'
import { BoundAcls } from './bound-acls.ts'
import { defaultPolicyText, responseWrapping, responseWrappingText } from './builtin.ts'
import { decodePolicyText, type ParsedPolicy, parsePolicy, policyBelow } from './policy.ts'
import type { TemplateContext } from './templates.ts'
import { WeightedCache } from './weighted-cache.ts'

/** `modified` is RFC 3339. */
export type StoredPolicy = { readonly name: string; readonly text: string; readonly modified?: string }

export type PolicyStoreParts = {
  view: View
  clock: Clock
  /**
   * For how long a copy in memory may miss what another process wrote; without it, no other one writes. What
   * this object writes acts at once.
   */
  maxAgeMs?: number
}

/** Policies a caller has beside those of its token: of its entity and groups. */
export type PolicySet = {
  readonly namespace: string
  readonly names: readonly string[]
  /**
   * The path from the caller's namespace down to that of the policies, whose paths count from there; empty
   * for the same.
   */
  readonly prefix: string
}

type LoadedPolicy = {
  readonly text: string | undefined
  readonly parsed: ParsedPolicy | undefined
  readonly weight: number
}

type CompiledSet = {
  readonly sources: readonly (ParsedPolicy | undefined)[]
  readonly compiled: CompiledPolicies
}

/** Memory a cache entry takes beside the policy text it stands for, roughly, in the same unit. */
const entryWeight = 256

/** How a policy is called everywhere: blanks around it and capitals make no difference. */
export const policyName = (written: string): string => written.trim().toLowerCase()

/**
 * The policies of each namespace, and what sets of them give.
 * docs/contract/tokens-and-policies.md#built-in-policies, docs/contract/tokens-and-policies.md#policies
 */
export class PolicyStore {
  readonly #view: View
  readonly #clock: Clock
  readonly #maxAgeMs: number
  readonly #parsed = new WeightedCache<LoadedPolicy>(16 * 1024 * 1024)
  readonly #compiled = new WeightedCache<CompiledSet>(32 * 1024 * 1024)
  /** Digests of lists of names: looking at a thousand names takes longer than a decision. */
  readonly #namesKeys = new WeakMap<readonly string[], string>()
  readonly #bound = new BoundAcls()
  #generation = 0

  constructor({ view, clock, maxAgeMs = Number.POSITIVE_INFINITY }: PolicyStoreParts) {
    this.#view = view
    this.#clock = clock
    this.#maxAgeMs = maxAgeMs
  }

  /** A store whose root namespace has its policies. */
  static async open(parts: PolicyStoreParts): Promise<PolicyStore> {
    const store = new PolicyStore(parts)
    await store.ensureBuiltins()
    return store
  }

  /** The namespace gets its `default` policy unless it has one already. */
  async ensureBuiltins(namespace = 'root'): Promise<void> {
    await this.#view.putIfAbsent(`${namespace}/default`, this.#record(defaultPolicyText))
    this.forget()
  }

  async get(namespace: string, name: string): Promise<StoredPolicy | undefined> {
    const known = policyName(name)
    if (known === 'response-wrapping') return { name: known, text: responseWrappingText }
    if (known === 'root' && namespace === 'root') return { name: known, text: '' }
    const stored = await this.#view.get(`${namespace}/${known}`)
    const text = textOf(known, stored)
    return text === undefined ? undefined : { name: known, text, ...modifiedOf(stored) }
  }

  async has(namespace: string, name: string): Promise<boolean> {
    return (await this.get(namespace, name)) !== undefined
  }

  /**
   * Creates or replaces a policy; the text may be base64. Gives warnings for the caller. Throws `invalid`
   */
  async put(namespace: string, name: string, text: string): Promise<string[]> {
    const known = policyName(name)
    if (known === '') throw refuse('invalid', 'policy name missing')
    if (isFixed(known)) throw refuse('invalid', `cannot update "${known}" policy`)
    if (text === '') throw refuse('invalid', "'policy' parameter not supplied or empty")
    const policy = decodePolicyText(text)
    parsePolicy(policy)
    try {
      await this.#view.update(`${namespace}/${known}`, (current) => ({
        ...recordOf(current),
        ...this.#record(policy),
      }))
    } finally {
      this.forget()
    }
    return known === name.trim() ? [] : [`policy name was converted to ${known}`]
  }

  /** Removing what is not there is no failure. */
  async delete(namespace: string, name: string): Promise<void> {
    const known = policyName(name)
    if (isFixed(known)) throw refuse('invalid', `cannot delete "${known}" policy`)
    if (known === 'default') throw refuse('invalid', 'cannot delete default policy')
    try {
      await this.#view.write([{ key: `${namespace}/${known}`, value: undefined }])
    } finally {
      this.forget()
    }
  }

  /** Names in order, `root` last; those below a folder with a `folder`. */
  async list(namespace: string, folder = ''): Promise<string[]> {
    const below = withoutEndSlashes(policyName(folder))
    const prefix = `${namespace}/`
    const keys = await this.#view.listKeys(below === '' ? prefix : `${prefix}${below}/`)
    const names = keys.map((key) => key.slice(prefix.length))
    return namespace === 'root' && below === '' ? [...names, 'root'] : names
  }

  /**
   * The records of a new namespace, for a batch that writes them together with other things. Keys are
   * relative to the view of this store.
   */
  firstEntries(namespace: string): ViewEntry[] {
    return [{ key: `${namespace}/default`, value: this.#record(defaultPolicyText) }]
  }

  /** Removes all policies of a namespace that is going; may run again. */
  async removeNamespace(namespace: string): Promise<void> {
    try {
      await this.#view.deletePrefix(`${namespace}/`)
    } finally {
      this.forget()
    }
  }

  /**
   * What these policies give this caller now: those of its token, and `more` that its identity brings. Names
   * without a policy give nothing. `root` gives everything, in the root namespace, and counts only as the
   * first name of a token: it is the only one there, and never comes from an identity.
   */
  async aclFor(
    namespace: string,
    policyNames: readonly string[],
    context: TemplateContext,
    more: readonly PolicySet[] = none,
  ): Promise<Acl> {
    if (policyNames[0] === 'root' && namespace === 'root') return rootAcl
    const key = this.#setsKey(namespace, policyNames, more)
    const { compiled } =
      this.#compiled.get(key, this.#clock.now()) ??
      (await this.#compile(key, [{ namespace, names: policyNames, prefix: '' }, ...more]))
    return this.#bound.of(compiled, context)
  }

  /** Drops all copies in memory: someone wrote, or tried to and may have. */
  forget(): void {
    this.#generation++
    this.#parsed.clear()
    this.#compiled.clear()
  }

  #record(policy: string) {
    return { policy, modified: formatTime(this.#clock.now()) }
  }

  /** No two lists of sets have the same key, whatever characters their names are made of. */
  #setsKey(namespace: string, names: readonly string[], more: readonly PolicySet[]): string {
    let key = `${namespace}/${this.#namesKey(names)}`
    for (const set of more)
      key += `/${set.prefix.length}:${set.prefix}/${set.namespace}/${this.#namesKey(set.names)}`
    return key
  }

  #namesKey(names: readonly string[]): string {
    let key = this.#namesKeys.get(names)
    if (key === undefined) {
      key = hash('sha256', JSON.stringify(names), 'base64url')
      this.#namesKeys.set(names, key)
    }
    return key
  }

  /** What is the same as before is not arranged anew: only its age was too great. */
  async #compile(key: string, sets: readonly PolicySet[]): Promise<CompiledSet> {
    const generation = this.#generation
    const before = this.#compiled.aged(key)
    const loaded = await Promise.all(eachOnce(sets).map((one) => this.#loadBelow(one)))
    const sources = loaded.map(({ parsed }) => parsed)
    const isSame =
      before !== undefined &&
      sources.length === before.sources.length &&
      sources.every((one, index) => one === before.sources[index])
    const compiled = isSame
      ? before
      : { sources, compiled: compilePolicies(sources.filter((one) => one !== undefined)) }
    const weight = loaded.reduce((sum, policy) => sum + policy.weight, entryWeight + key.length)
    // a write since we began may have changed what we read
    if (generation === this.#generation)
      this.#compiled.set(key, { value: compiled, weight, expiresAt: this.#clock.now() + this.#maxAgeMs })
    return compiled
  }

  async #loadBelow({ namespace, name, prefix }: NamedPolicy): Promise<LoadedPolicy> {
    const policy = await this.#load(namespace, name)
    return prefix === '' || policy.parsed === undefined
      ? policy
      : { ...policy, parsed: policyBelow(policy.parsed, { prefix, namespace }) }
  }

  async #load(namespace: string, name: string): Promise<LoadedPolicy> {
    if (name === 'response-wrapping')
      return { text: responseWrappingText, parsed: responseWrapping, weight: 0 }
    const key = `${namespace}/${name}`
    const cached = this.#parsed.get(key, this.#clock.now())
    if (cached !== undefined) return cached
    const generation = this.#generation
    const text = textOf(name, await this.#view.get(key))
    const before = this.#parsed.aged(key)
    const parsed =
      before?.text === text ? before?.parsed : text === undefined ? undefined : reparse(name, text)
    const loaded = { text, parsed, weight: entryWeight + key.length + (text?.length ?? 0) }
    if (generation === this.#generation)
      this.#parsed.set(key, {
        value: loaded,
        weight: loaded.weight,
        expiresAt: this.#clock.now() + this.#maxAgeMs,
      })
    return loaded
  }
}

const none: readonly PolicySet[] = []

type NamedPolicy = { readonly namespace: string; readonly name: string; readonly prefix: string }

/** A policy that comes in several ways counts once. */
function eachOnce(sets: readonly PolicySet[]): NamedPolicy[] {
  const policies = new Map<string, NamedPolicy>()
  for (const { namespace, names, prefix } of sets) {
    for (const name of names.map(policyName))
      policies.set(JSON.stringify([prefix, namespace, name]), { namespace, name, prefix })
  }
  return [...policies.values()]
}

/**
 * A folder of policies by its name alone. Not by a pattern: one would look at a run of slashes from each of
 * its places.
 */
export function withoutEndSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

const isFixed = (name: string): boolean => name === 'root' || name === 'response-wrapping'

const recordOf = (stored: unknown): object => (typeof stored === 'object' && stored !== null ? stored : {})

const modifiedOf = (stored: unknown): { modified?: string } => {
  const record = recordOf(stored)
  return 'modified' in record && typeof record.modified === 'string' ? { modified: record.modified } : {}
}

function textOf(name: string, stored: unknown): string | undefined {
  if (stored === undefined) return undefined
  const record = recordOf(stored)
  if ('policy' in record && typeof record.policy === 'string') return record.policy
  throw unreadable(name)
}

/** A policy that was accepted once: leaving it out could open what it denies. */
function reparse(name: string, text: string): ParsedPolicy {
  try {
    return parsePolicy(text)
  } catch (cause) {
    throw cause instanceof ServiceError ? unreadable(name, cause) : cause
  }
}

const unreadable = (name: string, cause?: Error) =>
  fail('internal', `policy ${JSON.stringify(name)} cannot be read`, { cause })
