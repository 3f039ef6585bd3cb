import { type Acl, bindAcl, type CompiledPolicies } from './acl.ts'
import type { TemplateContext } from './templates.ts'

type Bound = { readonly groups: TemplateContext['groups']; readonly acl: Acl }

/** The key of callers without an entity. */
const noEntity = {}

/**
 * Caches the Acl of each caller. Entity and group records are immutable, so the same objects yield the same
 * Acl until `validUntil`. An entry is collected together with its entity record or its policies.
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
    const entity = context.entity ?? noEntity
    const known = byEntity.get(entity)
    if (
      known !== undefined &&
      known.groups === context.groups &&
      (known.acl.validUntil ?? Number.POSITIVE_INFINITY) > context.now
    )
      return known.acl
    const acl = bindAcl(policies, context)
    byEntity.set(entity, { groups: context.groups, acl })
    return acl
  }
}
