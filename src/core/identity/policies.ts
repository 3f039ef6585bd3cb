import { refuse } from '../../errors.ts'
import { sanitise } from '../tokens/policy-names.ts'
import { canonicalName } from './canonical-name.ts'

/**
 * Policies of an entity or group as stored: trimmed, lower-case, each once, sorted. Throws for `root` in whatever spelling: no identity is root.
 * docs/contract/identity.md#entities, docs/contract/identity.md#groups.
 */
export function identityPolicies(names: readonly string[]): string[] {
  const policies = sanitise(names, false)
  if (policies.some((name) => canonicalName(name) === 'root')) throw refuse('invalid', 'policies cannot contain root')
  return policies
}
