import { refuse } from '../../../errors.ts'
import { globMatches } from '../../../lib/text/glob.ts'
import { foldedName } from '../../identity/same-name.ts'
import type { TokenRoleRecord } from '../store/token-role.ts'

/**
 * Returns the requested entity alias. Throws `invalid` if the role does not allow it.
 * docs/contract/tokens-and-policies.md#creating-a-token
 */
export function entityAliasOf(role: TokenRoleRecord | undefined, requested: string): string {
  if (role === undefined)
    throw refuse('invalid', "'entity_alias' is only allowed in combination with token role")
  const name = foldedName(requested)
  const allowed = role.allowed_entity_aliases ?? []
  if (!allowed.some((pattern) => globMatches(foldedName(pattern), name)))
    throw refuse('invalid', "invalid 'entity_alias' value")
  return requested
}
