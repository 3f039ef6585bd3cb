import type { JsonObject, JsonValue } from '../../lib/text/json.ts'
import {
  type Acl,
  type AclRequest,
  aclOfPaths,
  type Canonicalize,
  type Decision,
  type PolicyRef,
  type Rule,
} from './acl.ts'

/**
 * With them a client learns about its own token, renews it within its limits, and ends it: they need the policies of
 * the login, and no place in the scope. docs/contract/scopes.md#what-a-scope-leaves-open
 */
const ownTokenPaths: ReadonlySet<string> = new Set([
  'auth/token/lookup-self',
  'auth/token/renew-self',
  'auth/token/revoke-self',
  'sys/capabilities-self',
  'sys/internal/ui/resultant-acl',
])

type Limits = {
  /** The rights that only the policies of the scope give; undefined if the scope does not name policies. */
  readonly narrowed: Acl | undefined
  readonly paths: readonly string[] | undefined
}

/**
 * The rights of a token with a scope: what all policies allow, and those of the scope, and its paths. A policy that
 * denies does so even if the scope does not name it. docs/contract/scopes.md#the-intersection
 */
export class ScopedAcl implements Acl {
  readonly #whole: Acl
  readonly #granting: Acl
  /** Each of them has to allow. */
  readonly #all: readonly Acl[]
  readonly #paths: Acl | undefined

  constructor(whole: Acl, { narrowed, paths }: Limits) {
    this.#whole = whole
    this.#granting = narrowed ?? whole
    this.#paths = paths && aclOfPaths(paths)
    this.#all = [whole, narrowed, this.#paths].filter((acl) => acl !== undefined)
  }

  get unfilled(): readonly PolicyRef[] {
    return this.#whole.unfilled
  }

  get validUntil(): number | undefined {
    const ends = this.#all.flatMap(({ validUntil }) => validUntil ?? [])
    return ends.length === 0 ? undefined : Math.min(...ends)
  }

  decide(request: AclRequest): Decision {
    if (ownTokenPaths.has(request.path)) return this.#whole.decide(request)
    const decisions = this.#all.map((acl) => acl.decide(request))
    return { allowed: decisions.every(({ allowed }) => allowed), sudo: decisions.every(({ sudo }) => sudo) }
  }

  /** What lies outside of the scope is denied by it, as if by a rule that covers everything. */
  covers(request: Pick<AclRequest, 'operation' | 'path'>, path: string): boolean {
    return (
      this.#paths?.decide(request).allowed === false || this.#all.some((acl) => acl.covers(request, path))
    )
  }

  granting(request: Pick<AclRequest, 'operation' | 'path'>): readonly PolicyRef[] {
    return (ownTokenPaths.has(request.path) ? this.#whole : this.#granting).granting(request)
  }

  matching(request: Pick<AclRequest, 'operation' | 'path'>): readonly Rule[] {
    return this.#whole.matching(request)
  }

  capabilities(path: string, canonicalize?: Canonicalize): string[] {
    if (ownTokenPaths.has(path)) return this.#whole.capabilities(path, canonicalize)
    return this.#all.map((acl) => acl.capabilities(path, canonicalize)).reduce(common)
  }

  /** A mount on which each of them grants something, even if it is not the same. */
  mountAccess(prefix: string): boolean {
    return this.#all.every((acl) => acl.mountAccess(prefix))
  }

  resultant(): JsonObject {
    const common = this.#all.map((acl) => acl.resultant()).reduce(commonResultant)
    // rules with a `+` decide too, and are not shown
    for (const [path, grants] of grantsIn(common.exact_paths)) grants.capabilities = this.capabilities(path)
    return common
  }
}

/** The capabilities in both lists. */
function common(some: readonly string[], others: readonly string[]): string[] {
  const both = some.filter((capability) => capability !== 'deny' && others.includes(capability))
  return both.length === 0 ? ['deny'] : both
}

type Shown = {
  readonly exact: ReadonlyMap<string, JsonObject>
  readonly globs: ReadonlyMap<string, JsonObject>
}

/** What two resultant ACLs grant both, on every path that either of them names. */
function commonResultant(some: JsonObject, others: JsonObject): JsonObject {
  const [first, second] = [shownIn(some), shownIn(others)]
  const onBoth = (names: Iterable<string>, of: (shown: Shown, name: string) => JsonObject | undefined) => {
    const both: JsonObject = Object.create(null)
    for (const name of names) both[name] = commonGrants(of(first, name), of(second, name))
    return both
  }
  return {
    root: false,
    exact_paths: onBoth(
      new Set([...first.exact.keys(), ...second.exact.keys()]),
      (shown, path) => shown.exact.get(path) ?? longestGlob(shown, path),
    ),
    glob_paths: onBoth(new Set([...first.globs.keys(), ...second.globs.keys()]), longestGlob),
  }
}

/** An Acl that is limited is none of a root token. */
const shownIn = ({ exact_paths, glob_paths }: JsonObject): Shown => ({
  exact: grantsIn(exact_paths),
  globs: grantsIn(glob_paths),
})

const grantsIn = (paths: JsonValue | undefined): ReadonlyMap<string, JsonObject> =>
  // `resultant` wrote it
  new Map(Object.entries((paths ?? {}) as Record<string, JsonObject>))

function longestGlob({ globs }: Shown, path: string): JsonObject | undefined {
  let longest: string | undefined
  for (const head of globs.keys())
    if (path.startsWith(head) && head.length >= (longest?.length ?? 0)) longest = head
  return longest === undefined ? undefined : globs.get(longest)
}

const capabilitiesIn = (grants: JsonObject | undefined): string[] =>
  Array.isArray(grants?.capabilities) ? grants.capabilities.map(String) : ['deny']

const commonGrants = (some: JsonObject | undefined, others: JsonObject | undefined): JsonObject => ({
  ...others,
  ...some,
  capabilities: common(capabilitiesIn(some), capabilitiesIn(others)),
})
