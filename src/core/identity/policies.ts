import { refuse } from '../../errors.ts'
import { sanitize } from '../tokens/store/policy-names.ts'
import { canonicalName } from './canonical-name.ts'

/**
 * Normalizes policies of an entity or group: trimmed, lower-case, unique, sorted. Throws `invalid` for `root`
 * in any spelling. docs/contract/identity.md#entities, docs/contract/identity.md#groups
 */
export function identityPolicies(names: readonly string[]): string[] {
  const policies = sanitize(names, false)
  if (policies.some((name) => canonicalName(name) === 'root'))
    throw refuse('invalid', 'policies cannot contain root')
  return policies
}
