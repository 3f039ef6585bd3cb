import { hash } from 'node:crypto'
import { refuse, ServiceError } from '../../errors.ts'
import { Cache } from '../../lib/data/cache.ts'
import { pagesOf } from '../../lib/data/pages.ts'
import type { Clock } from '../../lib/system/clock.ts'
import { formatTime } from '../../lib/text/time.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import type { CoreLog } from '../core-log.ts'
import type { CacheUses } from '../records/cache-use.ts'
import { type Acl, type CompiledPolicies, compilePolicies, type PolicyRef, rootAcl } from './acl.ts'
import { BoundAcls } from './bound-acls.ts'
import { defaultPolicyText, responseWrapping, responseWrappingText } from './builtin.ts'
import { decodePolicyText, type ParsedPolicy, parseNewPolicy, parsePolicy, policyBelow } from './policy.ts'
import {
  checkExpected,
  endOf,
  expirationOf,
  livePolicy,
  otherFields,
  type PolicyRecord,
  type PolicyTerms,
  readPolicyRecord,
  unreadablePolicy,
} from './policy-record.ts'
import { beginningOf, type TemplateContext } from './templates.ts'
import { valueAdvice } from './value-advice.ts'

/** A stored policy, or one that is built in, which has no version. */
export type StoredPolicy = Partial<Omit<PolicyRecord, 'policy'>> & {
  readonly name: string
  readonly text: string
}

export type PolicyStoreParts = {
  view: View
  clock: Clock
  caches?: CacheUses
  log?: CoreLog
  /** Parameter rules compare values as a whole only. */
  wholly?: boolean | undefined
}

/** Policies that a caller's entity and groups add to those of its token. */
export type PolicySet = {
  readonly namespace: string
  readonly names: readonly string[]
  /**
   * The path from the caller's namespace down to that of the policies, to which their paths are relative;
   * empty if they are the same.
   */
  readonly prefix: string
}

/** `parsed` is undefined if there is no such policy. */
type LoadedPolicy = { readonly parsed: ParsedPolicy | undefined; readonly weight: number }

type WeighedPolicies = { readonly compiled: CompiledPolicies; readonly weight: number }

/** Estimated overhead of a cache entry, in the unit of policy texts. */
const entryWeight = 256
/** Longer lists of names are hashed. */
const longestKey = 128

/** Over PostgreSQL they share a round trip. */
const loadedAtOnce = 16

/** The canonical name of a policy: trimmed and lower-cased. */
export const policyName = (written: string): string => written.trim().toLowerCase()

/**
 * Stores the policies of each namespace and compiles sets of them.
 * docs/contract/tokens-and-policies.md#built-in-policies, docs/contract/tokens-and-policies.md#policies
 */
export class PolicyStore {
  readonly #view: View
  readonly #clock: Clock
  readonly #wholly: boolean
  readonly #parsed = new Cache<LoadedPolicy>({
    name: 'policies',
    most: 100_000,
    mostWeight: 16 * 1024 * 1024,
    weigh: ({ weight }) => weight,
  })
  readonly #compiled = new Cache<WeighedPolicies>({
    name: 'compiled policies',
    most: 100_000,
    // half of it is the most that one set may weigh
    mostWeight: 64 * 1024 * 1024,
    weigh: ({ weight }) => weight,
  })
  /** Digests of lists of names: hashing a thousand names takes longer than a decision. */
  readonly #namesKeys = new WeakMap<readonly string[], string>()
  readonly #bound = new BoundAcls()
  readonly #log: CoreLog | undefined
  /** Policies whose unfilled rules were logged. */
  readonly #reported = new Cache<true>({ name: 'policies with unfilled rules', most: 1_000 })

  constructor({ view, clock, caches, log, wholly = false }: PolicyStoreParts) {
    this.#log = log
    this.#view = view
    if (caches !== undefined) this.#compiled.countIn(caches.of('policies'))
    this.#clock = clock
    this.#wholly = wholly
    view.watch('', () => this.forget())
  }

  /** Opens the store and creates the built-in policies of the root namespace. */
  static async open(parts: PolicyStoreParts): Promise<PolicyStore> {
    const store = new PolicyStore(parts)
    await parts.view.putIfAbsent('root/default', store.#record(defaultPolicyText))
    return store
  }

  /** The key of the record, from the root of the storage. */
  recordKey(namespace: string, name: string): string {
    return this.#view.fromRoot({ key: `${namespace}/${policyName(name)}`, value: undefined }).key
  }

  async get(namespace: string, name: string): Promise<StoredPolicy | undefined> {
    const known = policyName(name)
    if (known === 'response-wrapping') return { name: known, text: responseWrappingText }
    if (known === 'root' && namespace === 'root') return { name: known, text: '' }
    const record = this.#live(known, await this.#view.get(`${namespace}/${known}`))
    if (record === undefined) return undefined
    const { policy, ...rest } = record
    return { name: known, text: policy, ...rest }
  }

  async has(namespace: string, name: string): Promise<boolean> {
    return (await this.get(namespace, name)) !== undefined
  }

  /**
   * Creates or replaces a policy; the text may be base64. Returns warnings for the caller. Throws `invalid`.
   */
  async put(namespace: string, name: string, text: string, terms: PolicyTerms = {}): Promise<string[]> {
    const known = policyName(name)
    const { parsed, record } = this.#asWritten(known, text, terms)
    const warnings = [...fillWarnings(parsed), ...valueAdvice(parsed)].slice(0, mostWarnings)
    try {
      await this.#view.update(`${namespace}/${known}`, (current) => {
        const before = this.#live(known, current)
        checkExpected(terms, before)
        return { ...otherFields(current), ...record, version: (before?.version ?? 0) + 1 }
      })
    } finally {
      this.forget()
    }
    return known === name.trim() ? warnings : [`policy name was converted to ${known}`, ...warnings]
  }

  /** What a write stores, but for its version. Throws `invalid`. */
  #asWritten(
    known: string,
    text: string,
    terms: PolicyTerms,
  ): { readonly parsed: ParsedPolicy; readonly record: PolicyRecord } {
    if (known === '') throw refuse('invalid', 'policy name missing')
    if (isFixed(known)) throw refuse('invalid', `cannot update "${known}" policy`)
    if (text === '') throw refuse('invalid', "'policy' parameter not supplied or empty")
    const expiration = expirationOf(known, terms, this.#clock.now())
    const policy = decodePolicyText(text)
    const record: PolicyRecord = {
      ...this.#record(policy),
      cas_required: terms.cas_required ?? false,
      ...(expiration !== undefined && { expiration }),
      ...(terms.allow_slashes_in_identity_templates === true && {
        allow_slashes_in_identity_templates: true,
      }),
      ...(terms.allow_wildcards_in_identity_templates === true && {
        allow_wildcards_in_identity_templates: true,
      }),
    }
    return { parsed: parseNewPolicy(policy), record }
  }

  /** The policy that such a write would leave. Throws what the write would. */
  parsedIf(name: string, text: string, terms: PolicyTerms): ParsedPolicy {
    const { parsed, record } = this.#asWritten(policyName(name), text, terms)
    return underTerms(record, parsed)
  }

  /** Undefined if there is no such policy. */
  async parsedOf(namespace: string, name: string): Promise<ParsedPolicy | undefined> {
    return (await this.#load(namespace, policyName(name))).parsed
  }

  /** These sets as they would be with another form of one of their policies. */
  async compiledIf(
    changed: { readonly namespace: string; readonly name: string; readonly parsed: ParsedPolicy },
    sets: readonly PolicySet[],
  ): Promise<CompiledPolicies> {
    const named = distinctPolicies(sets)
    const loaded = await this.#loadAll(named)
    const all = named.flatMap(({ namespace, name, prefix }, at) => {
      const isChanged = namespace === changed.namespace && name === changed.name
      const other = prefix === '' ? changed.parsed : policyBelow(changed.parsed, { prefix, namespace })
      const parsed = isChanged ? other : loaded[at]?.parsed
      return parsed === undefined ? [] : [{ ...parsed, policy: { name, namespace } }]
    })
    return compilePolicies(all, this.#wholly)
  }

  /** Does nothing if the policy does not exist. */
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

  /** Sorted names, with `root` last; those below `folder` if given. */
  async list(namespace: string, folder = ''): Promise<string[]> {
    const below = withoutEndSlashes(policyName(folder))
    const prefix = `${namespace}/`
    const records = await this.#view.list(below === '' ? prefix : `${prefix}${below}/`)
    const names = records
      .map(({ key, value }) => ({ name: key.slice(prefix.length), value }))
      .filter(({ name, value }) => this.#live(name, value) !== undefined)
      .map(({ name }) => name)
    return namespace === 'root' && below === '' ? [...names, 'root'] : names
  }

  /**
   * The records of a new namespace, for a batch that also writes other records. Keys are relative to the view
   * of this store.
   */
  firstEntries(namespace: string): ViewEntry[] {
    return [{ key: `${namespace}/default`, value: this.#record(defaultPolicyText) }]
  }

  /** Removes all policies of a deleted namespace. Idempotent. */
  async removeNamespace(namespace: string): Promise<void> {
    try {
      await this.#view.deletePrefix(`${namespace}/`)
    } finally {
      this.forget()
    }
  }

  /**
   * The Acl of a caller with the policies of its token and `more` from its identity. Names without a policy
   * grant nothing. `root` grants everything, but only in the root namespace and as the first policy of a
   * token: a root token has no other policy, and an identity never adds `root`.
   */
  async aclFor(
    namespace: string,
    policyNames: readonly string[],
    context: TemplateContext,
    more: readonly PolicySet[] = none,
  ): Promise<Acl> {
    if (policyNames[0] === 'root' && namespace === 'root') return rootAcl
    const key = this.#setsKey(namespace, policyNames, more)
    // requests that need the same set at the same time share the work
    const { compiled } =
      this.#compiled.get(key) ??
      (await this.#compiled.readShared(key, () =>
        this.#compile(key, [{ namespace, names: policyNames, prefix: '' }, ...more]),
      ))
    const acl = this.#bound.of(compiled, context)
    for (const policy of acl.unfilled) this.#reportUnfilled(policy)
    return acl
  }

  #reportUnfilled({ name, namespace }: PolicyRef): void {
    const key = `${namespace}/${name}`
    if (this.#reported.has(key)) return
    this.#reported.set(key, true)
    this.#log?.warn(
      { event: 'policy_unfilled', policy: name, namespace },
      'a rule that denies cannot be filled with values of a caller: everything it could mean is denied',
    )
  }

  /** Drops all cached copies, after a write that succeeded or whose outcome is unknown. */
  forget(): void {
    this.#parsed.dropAll()
    this.#compiled.dropAll()
  }

  #record(policy: string, version = 1): PolicyRecord {
    return { policy, modified: formatTime(this.#clock.now()), version, cas_required: false }
  }

  #live(name: string, stored: unknown): PolicyRecord | undefined {
    return livePolicy(readPolicyRecord(name, stored), this.#clock.now())
  }

  /** Unambiguous whatever characters the names contain. */
  #setsKey(namespace: string, names: readonly string[], more: readonly PolicySet[]): string {
    let key = `${namespace}/${this.#namesKey(names)}`
    for (const set of more)
      key += `/${set.prefix.length}:${set.prefix}/${set.namespace}/${this.#namesKey(set.names)}`
    return key
  }

  #namesKey(names: readonly string[]): string {
    let key = this.#namesKeys.get(names)
    if (key === undefined) {
      const text = JSON.stringify(names)
      key = text.length <= longestKey ? text : hash('sha256', text, 'base64url')
      this.#namesKeys.set(names, key)
    }
    return key
  }

  async #compile(key: string, sets: readonly PolicySet[]): Promise<WeighedPolicies> {
    const named = distinctPolicies(sets)
    const { drops } = this.#parsed
    const loaded: LoadedPolicy[] = []
    for await (const page of pagesOf(named, loadedAtOnce)) loaded.push(...(await this.#loadAll(page)))
    // a write between two pages: what was read may never have been true at one time
    if (drops !== this.#parsed.drops) loaded.splice(0, loaded.length, ...(await this.#loadAll(named)))
    const compiled = compilePolicies(
      named.flatMap(({ name, namespace }, index) => {
        const parsed = loaded[index]?.parsed
        return parsed === undefined ? [] : [{ ...parsed, policy: { name, namespace } }]
      }),
      this.#wholly,
    )
    return { compiled, weight: loaded.reduce((sum, policy) => sum + policy.weight, entryWeight + key.length) }
  }

  #loadAll(named: readonly NamedPolicy[]): Promise<LoadedPolicy[]> {
    return Promise.all(named.map((policy) => this.#loadBelow(policy)))
  }

  async #loadBelow({ namespace, name, prefix }: NamedPolicy): Promise<LoadedPolicy> {
    const policy = await this.#load(namespace, name)
    return prefix === '' || policy.parsed === undefined
      ? policy
      : { ...policy, parsed: policyBelow(policy.parsed, { prefix, namespace }) }
  }

  async #load(namespace: string, name: string): Promise<LoadedPolicy> {
    if (name === 'response-wrapping') return { parsed: responseWrapping, weight: 0 }
    const key = `${namespace}/${name}`
    return this.#parsed.read(key, async () => {
      const record = this.#live(name, await this.#view.get(key))
      const parsed = record && underTerms(record, reparse(name, record.policy))
      return { parsed, weight: entryWeight + key.length + (record?.policy.length ?? 0) }
    })
  }
}

const none: readonly PolicySet[] = []

const tokenMetadata = 'token.metadata is written by whoever makes the token; use login.metadata'

/** What the author of a policy should know about its templates. */
function fillWarnings({ stanzas }: ParsedPolicy): string[] {
  const names = stanzas.flatMap(({ label }) => ('template' in label ? label.template.names : []))
  const beginnings = stanzas.flatMap(({ label, grants }) =>
    'template' in label && grants.bits === 0 ? [beginningOf(label.template)] : [],
  )
  const denying = [...new Set(beginnings)].map(
    (beginning) =>
      `a rule with a template denies: a caller whose value contains "/", "*", "+" or ".." is refused everything that begins with ${JSON.stringify(beginning)}`,
  )
  return names.some((name) => name.startsWith('token.')) ? [tokenMetadata, ...denying] : denying
}

const mostWarnings = 20

type NamedPolicy = { readonly namespace: string; readonly name: string; readonly prefix: string }

/** Each policy once, even if several sets contain it. */
function distinctPolicies(sets: readonly PolicySet[]): NamedPolicy[] {
  const policies = new Map<string, NamedPolicy>()
  for (const { namespace, names, prefix } of sets) {
    for (const name of names.map(policyName))
      policies.set(JSON.stringify([prefix, namespace, name]), { namespace, name, prefix })
  }
  return [...policies.values()]
}

/**
 * The name of a folder of policies. Not a regular expression, which takes quadratic time on a run of slashes.
 */
export function withoutEndSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

const isFixed = (name: string): boolean => name === 'root' || name === 'response-wrapping'

/** With stanzas that end with the policy, so that no cache outlives it, and with what its templates may be filled with. */
function underTerms(record: PolicyRecord, parsed: ParsedPolicy): ParsedPolicy {
  const end = endOf(record)
  const allows = {
    slashes: record.allow_slashes_in_identity_templates === true,
    wildcards: record.allow_wildcards_in_identity_templates === true,
  }
  if (!Number.isFinite(end) && !allows.slashes && !allows.wildcards) return parsed
  const stanzas = parsed.stanzas.map(({ label, expiresAt = Number.POSITIVE_INFINITY, ...stanza }) => ({
    ...stanza,
    label: 'template' in label ? { template: { ...label.template, allows } } : label,
    expiresAt: Number.isFinite(Math.min(end, expiresAt)) ? Math.min(end, expiresAt) : undefined,
  }))
  return { ...parsed, stanzas }
}

/** Parses a stored policy. Fails if it is unreadable: ignoring it could grant what it denies. */
function reparse(name: string, text: string): ParsedPolicy {
  try {
    return parsePolicy(text)
  } catch (cause) {
    throw cause instanceof ServiceError ? unreadablePolicy(name, cause) : cause
  }
}
