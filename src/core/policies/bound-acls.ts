import { type Acl, bindAcl, type CompiledPolicies } from './acl.ts'
import type { TemplateContext } from './templates.ts'

type Bound = { readonly groups: TemplateContext['groups']; readonly acl: Acl }

/** Stands for callers without an entity. */
const nobody = {}

/**
 * The Acls of callers who come again: the records of an entity and its groups never change, so that the same
 * ones bring the same rights, as long as the time has no part in them. A copy goes with the entity's record,
 * or with the policies.
 */
export class BoundAcls {
  readonly #acls = new WeakMap<CompiledPolicies, WeakMap<object, Bound>>()

  /** The Acl of these policies for this caller. */
  of(policies: CompiledPolicies, context: TemplateContext): Acl {
    if (context.groupsOf !== undefined) return bindAcl(policies, context)
    let byEntity = this.#acls.get(policies)
    if (byEntity === undefined) {
      byEntity = new WeakMap()
      this.#acls.set(policies, byEntity)
    }
    const entity = context.entity ?? nobody
    const known = byEntity.get(entity)
    if (
      known !== undefined &&
      known.groups === context.groups &&
      (known.acl.holdsUntil ?? Number.POSITIVE_INFINITY) > context.now
    )
      return known.acl
    const acl = bindAcl(policies, context)
    byEntity.set(entity, { groups: context.groups, acl })
    return acl
  }
}
