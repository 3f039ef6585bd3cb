import type { JsonObject, JsonValue } from '../../lib/json.ts'
import type { Acl, AclRequest, Decision } from './acl.ts'

/**
 * Nothing at all: a token has no rights beside or above its namespace. docs/contract/namespaces.md#isolation
 */
export const noRights: Acl = {
  decide: ({ operation }) => ({ allowed: operation === 'help', sudo: false }),
  capabilities: () => ['deny'],
  resultant: () => ({ root: false, exact_paths: {}, glob_paths: {} }),
  mountAccess: () => false,
  holdsUntil: undefined,
}

/**
 * The rights of policies of a namespace as they are seen from one below it, whose paths they name with
 * `prefix` in front. docs/contract/namespaces.md#isolation
 */
export class RelativeAcl implements Acl {
  readonly #acl: Acl
  readonly #prefix: string

  constructor(acl: Acl, prefix: string) {
    this.#acl = acl
    this.#prefix = prefix
  }

  get holdsUntil(): number | undefined {
    return this.#acl.holdsUntil
  }

  decide(request: AclRequest): Decision {
    const { path, meant, canonical } = request
    const prefix = this.#prefix
    return this.#acl.decide({
      ...request,
      path: prefix + path,
      meant: meant === undefined ? undefined : prefix + meant,
      canonical:
        canonical &&
        ((text) => (text.startsWith(prefix) ? prefix + canonical(text.slice(prefix.length)) : text)),
    })
  }

  capabilities(path: string): string[] {
    return this.#acl.capabilities(this.#prefix + path)
  }

  mountAccess(prefix: string): boolean {
    return this.#acl.mountAccess(this.#prefix + prefix)
  }

  resultant(): JsonObject {
    const whole = this.#acl.resultant()
    if (whole.root === true) return whole
    return {
      root: false,
      exact_paths: this.#below(whole.exact_paths),
      glob_paths: this.#globsBelow(whole.glob_paths),
    }
  }

  #below(paths: JsonValue | undefined): JsonObject {
    const below: JsonObject = Object.create(null)
    for (const [path, grants] of entriesOf(paths)) {
      if (path.startsWith(this.#prefix)) below[path.slice(this.#prefix.length)] = grants
    }
    return below
  }

  /** Of those that cover the whole namespace the longest decides. */
  #globsBelow(paths: JsonValue | undefined): JsonObject {
    const below = this.#below(paths)
    const covering = entriesOf(paths)
      .filter(([head]) => this.#prefix.startsWith(head))
      .sort(([a], [b]) => b.length - a.length)
    const [longest] = covering
    if (longest !== undefined) below[''] = longest[1]
    return below
  }
}

/**
 * The capabilities of a token as a namespace above its own asks for them: only paths that lead into the
 * token's namespace are in its reach.
 */
export class AclFromAbove implements Pick<Acl, 'capabilities'> {
  readonly #acl: Acl
  readonly #prefix: string

  constructor(acl: Acl, prefix: string) {
    this.#acl = acl
    this.#prefix = prefix
  }

  capabilities(path: string): string[] {
    return path.startsWith(this.#prefix)
      ? this.#acl.capabilities(path.slice(this.#prefix.length))
      : noRights.capabilities(path)
  }
}

const entriesOf = (paths: JsonValue | undefined): [string, JsonValue][] =>
  typeof paths === 'object' && paths !== null && !Array.isArray(paths)
    ? Object.entries(paths as JsonObject)
    : []
