import { type Acl, bindAcl, type CompiledPolicies } from './acl.ts'
import type { TemplateContext } from './templates.ts'

type Bound = Pick<TemplateContext, 'entity' | 'groups' | 'login'> & { readonly acl: Acl }

/** The key of callers without an entity, or without a login. */
const nobody = {}

/**
 * Caches the Acl of each caller. Entities, groups and the metadata of logins are immutable, so the same objects yield
 * the same Acl until `validUntil`. An entry is collected together with its key, an entity or such metadata, or with its
 * policies.
 */
export class BoundAcls {
  readonly #acls = new WeakMap<CompiledPolicies, WeakMap<object, Bound>>()

  /** The Acl of these policies for this caller. */
  of(policies: CompiledPolicies, context: TemplateContext): Acl {
    if (context.groupsOf !== undefined) return bindAcl(policies, context)
    let byCaller = this.#acls.get(policies)
    if (byCaller === undefined) {
      byCaller = new WeakMap()
      this.#acls.set(policies, byCaller)
    }
    const { entity, groups, now } = context
    const login = policies.usesLogin ? context.login : undefined
    const key = login?.metadata ?? entity ?? nobody
    const known = byCaller.get(key)
    if (
      known !== undefined &&
      known.entity === entity &&
      known.groups === groups &&
      known.login?.accessor === login?.accessor &&
      (known.acl.validUntil ?? Number.POSITIVE_INFINITY) > now
    )
      return known.acl
    const acl = bindAcl(policies, context)
    byCaller.set(key, { entity, groups, login, acl })
    return acl
  }
}
