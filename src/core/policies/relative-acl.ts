import type { JsonObject, JsonValue } from '../../lib/text/json.ts'
import type { Acl, AclRequest, Canonicalize, Decision, PolicyRef, Rule } from './acl.ts'

/**
 * Grants nothing: a token has no rights outside its namespace and the namespaces below it.
 * docs/contract/namespaces.md#isolation
 */
export const noRights: Acl = {
  decide: ({ operation }) => ({ allowed: operation === 'help', sudo: false }),
  covers: () => true,
  granting: () => [],
  matching: () => [],
  capabilities: () => ['deny'],
  resultant: () => ({ root: false, exact_paths: {}, glob_paths: {} }),
  mountAccess: () => false,
  unfilled: [],
  validUntil: undefined,
}

/**
 * An Acl of a namespace, seen from a namespace below it. `prefix` is the path down to that namespace.
 * docs/contract/namespaces.md#isolation
 */
export class RelativeAcl implements Acl {
  readonly #acl: Acl
  readonly #prefix: string

  constructor(acl: Acl, prefix: string) {
    this.#acl = acl
    this.#prefix = prefix
  }

  get unfilled(): readonly PolicyRef[] {
    return this.#acl.unfilled
  }

  get validUntil(): number | undefined {
    return this.#acl.validUntil
  }

  decide(request: AclRequest): Decision {
    const { path, canonicalPath, canonicalize } = request
    const prefix = this.#prefix
    return this.#acl.decide({
      ...request,
      path: prefix + path,
      canonicalPath: canonicalPath === undefined ? undefined : prefix + canonicalPath,
      canonicalize: canonicalize && this.#below(canonicalize),
    })
  }

  covers({ operation, path }: Pick<AclRequest, 'operation' | 'path'>, other: string): boolean {
    return this.#acl.covers({ operation, path: this.#prefix + path }, this.#prefix + other)
  }

  /** For paths that begin above the prefix. */
  #below(canonicalize: Canonicalize): Canonicalize {
    const prefix = this.#prefix
    return (text) => (text.startsWith(prefix) ? prefix + canonicalize(text.slice(prefix.length)) : text)
  }

  granting({ operation, path }: Pick<AclRequest, 'operation' | 'path'>): readonly PolicyRef[] {
    return this.#acl.granting({ operation, path: this.#prefix + path })
  }

  matching({ operation, path }: Pick<AclRequest, 'operation' | 'path'>): readonly Rule[] {
    return this.#acl.matching({ operation, path: this.#prefix + path })
  }

  capabilities(path: string, canonicalize?: Canonicalize): string[] {
    return this.#acl.capabilities(this.#prefix + path, canonicalize && this.#below(canonicalize))
  }

  mountAccess(prefix: string): boolean {
    return this.#acl.mountAccess(this.#prefix + prefix)
  }

  resultant(): JsonObject {
    const whole = this.#acl.resultant()
    if (whole.root === true) return whole
    return {
      root: false,
      exact_paths: this.#pathsBelow(whole.exact_paths),
      glob_paths: this.#globsBelow(whole.glob_paths),
    }
  }

  #pathsBelow(paths: JsonValue | undefined): JsonObject {
    const below: JsonObject = Object.create(null)
    for (const [path, grants] of entriesOf(paths)) {
      if (path.startsWith(this.#prefix)) below[path.slice(this.#prefix.length)] = grants
    }
    return below
  }

  /** Among globs that cover the whole namespace, the longest decides. */
  #globsBelow(paths: JsonValue | undefined): JsonObject {
    const below = this.#pathsBelow(paths)
    const covering = entriesOf(paths)
      .filter(([head]) => this.#prefix.startsWith(head))
      .sort(([a], [b]) => b.length - a.length)
    const [longest] = covering
    if (longest !== undefined) below[''] = longest[1]
    return below
  }
}

/**
 * The capabilities of a token, seen from a namespace above its own: everything outside the token's namespace
 * is denied.
 */
export class AclFromAbove implements Pick<Acl, 'capabilities'> {
  readonly #acl: Acl
  readonly #prefix: string

  constructor(acl: Acl, prefix: string) {
    this.#acl = acl
    this.#prefix = prefix
  }

  capabilities(path: string, canonicalize?: Canonicalize): string[] {
    const prefix = this.#prefix
    if (!path.startsWith(prefix)) return noRights.capabilities(path)
    return this.#acl.capabilities(
      path.slice(prefix.length),
      canonicalize && ((text) => canonicalize(prefix + text).slice(prefix.length)),
    )
  }
}

const entriesOf = (paths: JsonValue | undefined): [string, JsonValue][] =>
  typeof paths === 'object' && paths !== null && !Array.isArray(paths)
    ? Object.entries(paths as JsonObject)
    : []
