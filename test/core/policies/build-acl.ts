import { type Acl, bindAcl, compilePolicies } from '../../../src/core/policies/acl.ts'
import type { ParsedPolicy } from '../../../src/core/policies/policy.ts'
import type { TemplateContext } from '../../../src/core/policies/templates.ts'

/** The Acl of a caller with these policies. */
export const buildAcl = (policies: readonly ParsedPolicy[], context: TemplateContext): Acl =>
  bindAcl(
    compilePolicies(policies.map((policy) => ({ ...policy, policy: { name: 'p', namespace: 'root' } }))),
    context,
  )
