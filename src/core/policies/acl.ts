import type { JsonObject, JsonValue } from '../../lib/text/json.ts'
import {
  type AclOperation,
  allCapabilities,
  capabilityBits,
  capabilityNames,
  requiredBit,
  resultantNames,
} from './capabilities.ts'
import { denyGrants, type Grants, type ParameterRules } from './grants.ts'
import { parametersAllow, type Readings, type RequestFields } from './parameters.ts'
import { compareRank, matches, type Pattern, patternOf, reachesBelow, SegmentedPath } from './pattern.ts'
import type { ParsedPolicy, PolicyStanza } from './policy.ts'
import { type PolicyRef, type Rule, RuleTable } from './rule-table.ts'
import { beginningOf, fillTemplate, isOfLogin, type TemplateContext } from './templates.ts'

export type { AclOperation } from './capabilities.ts'
export type { PolicyRef, Rule } from './rule-table.ts'

/**
 * An operation to authorize. `path` is relative to the namespace of the policies and has no leading slash; a
 * list may omit its trailing slash.
 */
export type AclRequest = {
  readonly operation: AclOperation
  readonly path: string
  /**
   * The canonical spelling, if `path` is another spelling of the same resource. Its rule can only restrict
   * what the rule for `path` grants.
   */
  readonly canonicalPath?: string | undefined
  /**
   * For a path with several spellings: a rule that denies one spelling denies them all.
   */
  readonly canonicalize?: Canonicalize | undefined
  /**
   * Top-level fields as sent: the body of a write, the query of a read. Defaults and path parameters are not
   * included.
   */
  readonly fields?: RequestFields | undefined
  /** How the path reads them. */
  readonly readings?: Readings | undefined
  /** The requested `X-Vault-Wrap-TTL`; undefined or 0 without one. */
  readonly wrapTtlSeconds?: number | undefined
}

/** Returns the canonical spelling of a path, or of the path in a rule. */
export type Canonicalize = (path: string) => string

/** `sudo`: whether the deciding rule grants `sudo`, even if it does not allow the operation. */
export type Decision = { readonly allowed: boolean; readonly sudo: boolean }

/** What a set of policies grants one caller. Immutable. */
export interface Acl {
  /**
   * docs/contract/tokens-and-policies.md#which-rule-decides,
   * docs/contract/tokens-and-policies.md#parameters-wrapping-expiration
   */
  decide(request: AclRequest): Decision
  /**
   * Whether the rule that decides on a request also covers this path. False if no rule decides.
   */
  covers(request: Pick<AclRequest, 'operation' | 'path'>, path: string): boolean
  /** The policies whose rules grant an allowed operation, for the audit log. */
  granting(request: Pick<AclRequest, 'operation' | 'path'>): readonly PolicyRef[]
  /** The rules for a path: the one that decides, if there is any, and then the others, which it precedes. */
  matching(request: Pick<AclRequest, 'operation' | 'path'>): readonly Rule[]
  /**
   * Sorted; `["deny"]` if empty. What a rule for another spelling withholds is left out if the path comes with
   * `canonicalize`. docs/contract/tokens-and-policies.md#asking-for-capabilities
   */
  capabilities(path: string, canonicalize?: Canonicalize): string[]
  /**
   * The data of `sys/internal/ui/resultant-acl`. docs/contract/tokens-and-policies.md#asking-for-capabilities
   */
  resultant(): JsonObject
  /**
   * Whether anything is granted on the mount path, which ends in `/`, or below it.
   * docs/contract/mounts.md#listing-for-user-interfaces
   */
  mountAccess(prefix: string): boolean
  /**
   * Policies with a rule that denies and that this caller's values cannot fill, so that everything is denied
   * that its path could mean. docs/contract/tokens-and-policies.md#paths-in-rules
   */
  readonly unfilled: readonly PolicyRef[]
  /**
   * When the Acl must be rebuilt, in milliseconds since the epoch. Undefined: valid until its policies or its
   * context change.
   */
  readonly validUntil: number | undefined
}

const allowedWithSudo: Decision = { allowed: true, sudo: true }
const allowedPlain: Decision = { allowed: true, sudo: false }
const deniedWithSudo: Decision = { allowed: false, sudo: true }
const deniedPlain: Decision = { allowed: false, sudo: false }

const rootPolicies: readonly PolicyRef[] = [{ name: 'root', namespace: 'root' }]

/** Policy `root`: everything on every path. docs/contract/tokens-and-policies.md#built-in-policies */
export const rootAcl: Acl = {
  decide: () => allowedWithSudo,
  covers: () => true,
  granting: () => rootPolicies,
  matching: () => [],
  capabilities: () => ['root'],
  resultant: () => ({ root: true }),
  mountAccess: () => true,
  unfilled: [],
  validUntil: undefined,
}

/** A set of policies, compiled once for all callers that hold it. */
export type CompiledPolicies = {
  readonly table: RuleTable
  /** Stanzas that depend on the caller or the time. */
  readonly conditional: readonly (PolicyStanza & { readonly policy: PolicyRef })[]
  /** Whether a stanza depends on the login of the caller's token. */
  readonly usesLogin: boolean
  /** Parameter rules compare values as a whole only. */
  readonly wholly: boolean
}

/** Does the work that does not depend on the caller. */
export function compilePolicies(
  policies: readonly (ParsedPolicy & { readonly policy: PolicyRef })[],
  wholly = false,
): CompiledPolicies {
  const rules: Rule[] = []
  const conditional: CompiledPolicies['conditional'][number][] = []
  for (const { stanzas, policy } of policies) {
    for (const stanza of stanzas) {
      if ('pattern' in stanza.label && stanza.expiresAt === undefined)
        rules.push(ruleOf(stanza.label.pattern, stanza.grants, policy))
      else conditional.push({ ...stanza, policy })
    }
  }
  const usesLogin = conditional.some(
    ({ label }) => 'template' in label && label.template.names.some(isOfLogin),
  )
  return { table: RuleTable.of(rules), conditional, usesLogin, wholly }
}

const ruleOf = (pattern: Pattern, grants: Grants, policy: PolicyRef): Rule => ({
  pattern,
  grants,
  sources: [{ policy, grants }],
})

/**
 * The Acl of one caller. Takes time proportional to the number of conditional stanzas only.
 * docs/contract/tokens-and-policies.md#which-rule-decides, docs/contract/tokens-and-policies.md#paths-in-rules
 */
export function bindAcl({ table, conditional, wholly }: CompiledPolicies, context: TemplateContext): Acl {
  if (conditional.length === 0) return new RuleAcl(table, { wholly })
  const rules: Rule[] = []
  const closed: Closed[] = []
  let validUntil = Number.POSITIVE_INFINITY
  for (const { label, grants, expiresAt, policy } of conditional) {
    if (expiresAt !== undefined && expiresAt <= context.now) continue
    if (expiresAt !== undefined) validUntil = Math.min(validUntil, expiresAt)
    if ('pattern' in label) {
      rules.push(ruleOf(label.pattern, grants, policy))
      continue
    }
    const filled = fillTemplate(label.template, context)
    if ('path' in filled) rules.push(ruleOf(patternOf(filled.path), grants, policy))
    else if (filled.unfilled === 'unsafe' && grants.bits === 0)
      closed.push({ beginning: beginningOf(label.template), policy })
    else continue
    if (label.template.isTimed) validUntil = Math.min(validUntil, nextSecond(context.now))
  }
  const until = Number.isFinite(validUntil) ? validUntil : undefined
  const own = rules.length === 0 ? undefined : RuleTable.of(rules, table)
  return new RuleAcl(table, { own, closed, validUntil: until, wholly })
}

/** Everything on these paths, each exact or with a final `*`: what the paths of a scope allow by themselves. */
export const aclOfPaths = (paths: readonly string[]): Acl =>
  new RuleAcl(
    RuleTable.of(paths.map((path) => ({ pattern: patternOf(path), grants: everything, sources: [] }))),
    { wholly: false },
  )

const everything: Grants = { ...denyGrants, bits: allCapabilities, isDeny: false }

/** All paths with this beginning, of which an unfilled rule of the policy denies an unknown part. */
type Closed = { readonly beginning: string; readonly policy: PolicyRef }

/** A `+` at the end would be the first letter of a segment. */
const patternOfClosed = (beginning: string): Pattern => patternOf(`${beginning.replace(/\+$/, '')}*`)

const nextSecond = (now: number): number => (Math.floor(now / 1000) + 1) * 1000

class RuleAcl implements Acl {
  readonly validUntil: number | undefined
  readonly #shared: RuleTable
  /** The caller's own rules. A rule whose pattern is also in the shared table is merged with that one. */
  readonly #own: RuleTable | undefined
  readonly #closed: readonly Closed[]
  readonly #wholly: boolean

  constructor(
    shared: RuleTable,
    {
      own,
      closed = [],
      validUntil,
      wholly,
    }: {
      own?: RuleTable | undefined
      closed?: readonly Closed[]
      validUntil?: number | undefined
      wholly: boolean
    },
  ) {
    this.#shared = shared
    this.#own = own
    this.#closed = closed
    this.validUntil = validUntil
    this.#wholly = wholly
  }

  get unfilled(): readonly PolicyRef[] {
    return this.#closed.map(({ policy }) => policy)
  }

  decide(request: AclRequest): Decision {
    const { operation, path, canonicalize } = request
    if (operation === 'help') return allowedPlain
    if (this.#isClosed(isListing(operation) && !path.endsWith('/') ? `${path}/` : path, canonicalize))
      return deniedPlain
    const rule = this.#ruleFor(operation, path)
    if (rule === undefined) return deniedPlain
    const canonicalPath = request.canonicalPath ?? canonicalize?.(path)
    if (canonicalPath !== undefined && this.#isClosed(canonicalPath, undefined)) return deniedPlain
    if (
      canonicalPath !== undefined &&
      canonicalize !== undefined &&
      this.#deniesSpelling(canonicalPath, rule, canonicalize)
    )
      return deniedPlain
    const asked = { ...request, operation, wholly: this.#wholly }
    const decision = verdict(rule.grants, asked)
    const other =
      canonicalPath === undefined || canonicalPath === path
        ? undefined
        : this.#ruleFor(operation, canonicalPath)
    if (
      other === undefined ||
      other === rule ||
      !(other.grants.isDeny || isMoreSpecific(other.pattern, rule.pattern))
    )
      return decision
    const { allowed, sudo } = verdict(other.grants, asked)
    return { allowed: decision.allowed && allowed, sudo: decision.sudo && sudo }
  }

  covers({ operation, path }: Pick<AclRequest, 'operation' | 'path'>, other: string): boolean {
    if (this.#isClosed(path, undefined) || this.#isClosed(other, undefined)) return true
    const pattern = this.#ruleFor(operation, path)?.pattern
    if (pattern === undefined) return false
    return matches(pattern, other) || (isListing(operation) && matches(pattern, other.replace(/\/$/, '')))
  }

  granting({ operation, path }: Pick<AclRequest, 'operation' | 'path'>): readonly PolicyRef[] {
    if (operation === 'help') return []
    const sources = this.#ruleFor(operation, path)?.sources ?? []
    return sources
      .filter(({ grants }) => (grants.bits & requiredBit[operation]) !== 0)
      .map(({ policy }) => policy)
  }

  matching({ operation, path }: Pick<AclRequest, 'operation' | 'path'>): readonly Rule[] {
    const decided = this.#ruleFor(operation, path)
    if (decided === undefined) return []
    const spelled = isListing(operation) ? [path.replace(/\/$/, ''), path.replace(/\/?$/, '/')] : [path]
    const others = [...this.#rules()].filter(
      (rule) => rule !== decided && spelled.some((text) => matches(rule.pattern, text)),
    )
    return [decided, ...others]
  }

  #isClosed(path: string, canonicalize: Canonicalize | undefined): boolean {
    return this.#closed.some(
      ({ beginning }) =>
        matches(patternOfClosed(beginning), path) ||
        (canonicalize !== undefined && matches(patternOfClosed(canonicalize(beginning)), canonicalize(path))),
    )
  }

  /** Whether a rule denies another spelling of the path and would decide if it named the canonical one. */
  #deniesSpelling(path: string, decided: Rule, canonicalize: Canonicalize): boolean {
    for (const table of [this.#shared, this.#own]) {
      for (const { text } of table?.denied ?? []) {
        const canonicalText = canonicalize(text)
        if (canonicalText === text) continue
        const pattern = patternOf(canonicalText)
        if ((pattern.kind === 'exact' || isMoreSpecific(pattern, decided.pattern)) && matches(pattern, path))
          return true
      }
    }
    return false
  }

  capabilities(path: string, canonicalize?: Canonicalize): string[] {
    if (this.#isClosed(path, canonicalize)) return capabilityNames(0)
    const rule = this.#findListed(path)
    const bits = rule?.grants.bits ?? 0
    if (rule === undefined || canonicalize === undefined) return capabilityNames(bits)
    const canonicalPath = canonicalize(path)
    if (this.#deniesSpelling(canonicalPath, rule, canonicalize)) return capabilityNames(0)
    const other = canonicalPath === path ? undefined : this.#findListed(canonicalPath)
    const restricts =
      other !== undefined && (other.grants.isDeny || isMoreSpecific(other.pattern, rule.pattern))
    return capabilityNames(restricts ? bits & other.grants.bits : bits)
  }

  resultant(): JsonObject {
    const exactPaths: JsonObject = Object.create(null)
    const globPaths: JsonObject = Object.create(null)
    for (const { pattern, grants } of this.#rules()) {
      if (this.#isClosed(pattern.kind === 'exact' ? pattern.text : pattern.head, undefined)) continue
      if (pattern.kind === 'exact') exactPaths[pattern.text] = shownGrants(grants)
      if (pattern.kind === 'prefix') globPaths[pattern.head] = shownGrants(grants)
    }
    for (const { beginning } of this.#closed) globPaths[beginning] = shownGrants(denyGrants)
    return { root: false, exact_paths: exactPaths, glob_paths: globPaths }
  }

  mountAccess(prefix: string): boolean {
    if (this.#isClosed(prefix, undefined)) return false
    if (this.#bitsOf(prefix) !== 0) return true
    for (const { pattern, grants } of this.#rules())
      if (grants.bits !== 0 && reachesBelow(pattern, prefix)) return true
    return false
  }

  *#rules(): Iterable<Rule> {
    if (this.#own !== undefined) yield* this.#own.rules()
    for (const rule of this.#shared.rules())
      if (this.#own?.ruleOf(rule.pattern.text) === undefined) yield rule
  }

  #bitsOf(path: string): number {
    return this.#findListed(path)?.grants.bits ?? 0
  }

  #ruleFor(operation: AclOperation, path: string): Rule | undefined {
    return isListing(operation) ? this.#findListed(path.endsWith('/') ? path : `${path}/`) : this.#find(path)
  }

  #find(path: string): Rule | undefined {
    return this.#exact(path) ?? this.#best(path)
  }

  /**
   * A rule for the path without its trailing slash decides if no rule matches the path with it. A more
   * specific rule that denies also decides: denying `a/+` is meant to include the list of `a/b`.
   * docs/contract/tokens-and-policies.md#which-rule-decides
   */
  #findListed(path: string): Rule | undefined {
    if (!path.endsWith('/')) return this.#find(path)
    const bare = path.slice(0, -1)
    const exact = this.#exact(path) ?? this.#exact(bare)
    if (exact !== undefined) return exact
    const listed = this.#best(path)
    const withoutSlash = this.#best(bare)
    if (listed === undefined || withoutSlash === undefined) return listed ?? withoutSlash
    return withoutSlash.grants.isDeny && isMoreSpecific(withoutSlash.pattern, listed.pattern)
      ? withoutSlash
      : listed
  }

  #exact(path: string): Rule | undefined {
    return this.#own?.exact(path) ?? this.#shared.exact(path)
  }

  #best(text: string): Rule | undefined {
    const path = new SegmentedPath(text)
    const shared = this.#shared.best(path)
    const own = this.#own?.best(path)
    if (own === undefined || shared === undefined) return own ?? shared
    return compareRank(own.pattern, shared.pattern) <= 0 ? own : shared
  }
}

const isListing = (operation: AclOperation): boolean => operation === 'list' || operation === 'scan'

/** The verdict of the deciding rule. docs/contract/tokens-and-policies.md#parameters-wrapping-expiration */
function verdict(
  grants: Grants,
  {
    operation,
    fields = {},
    readings,
    wrapTtlSeconds,
    wholly,
  }: AclRequest & { operation: Exclude<AclOperation, 'help'>; wholly: boolean },
): Decision {
  const allowed =
    (grants.bits & requiredBit[operation]) !== 0 &&
    wrappingAllows(grants, wrapTtlSeconds ?? 0) &&
    (isListing(operation) || operation === 'delete' || parametersAllow(grants, fields, { readings, wholly }))
  const sudo = (grants.bits & capabilityBits.sudo) !== 0
  if (allowed) return sudo ? allowedWithSudo : allowedPlain
  return sudo ? deniedWithSudo : deniedPlain
}

/** Whether the first pattern takes precedence if both match a path. */
function isMoreSpecific(first: Pattern, second: Pattern): boolean {
  if (first.kind === 'exact') return second.kind !== 'exact'
  return second.kind !== 'exact' && compareRank(first, second) < 0
}

function wrappingAllows(
  { minWrappingTtlSeconds: min, maxWrappingTtlSeconds: max }: Grants,
  wrapTtlSeconds: number,
): boolean {
  if (min === undefined && max === undefined) return true
  return (
    wrapTtlSeconds > 0 && wrapTtlSeconds >= (min ?? 0) && wrapTtlSeconds <= (max ?? Number.POSITIVE_INFINITY)
  )
}

function shownGrants(grants: Grants): JsonObject {
  const shown: JsonObject = { capabilities: resultantNames(grants.bits) }
  if (grants.minWrappingTtlSeconds !== undefined)
    shown.min_wrapping_ttl = JSON.rawJSON(String(grants.minWrappingTtlSeconds))
  if (grants.maxWrappingTtlSeconds !== undefined)
    shown.max_wrapping_ttl = JSON.rawJSON(String(grants.maxWrappingTtlSeconds))
  if (grants.allowedParameters !== undefined)
    shown.allowed_parameters = shownParameters(grants.allowedParameters)
  if (grants.deniedParameters !== undefined)
    shown.denied_parameters = shownParameters(grants.deniedParameters)
  if (grants.requiredParameters.length > 0) shown.required_parameters = [...grants.requiredParameters]
  return shown
}

function shownParameters(rules: ParameterRules): JsonValue {
  const shown: JsonObject = Object.create(null)
  for (const [name, values] of rules) shown[name] = [...values]
  return shown
}
