import type { TokenType } from './token.ts'

/**
 * Type of a login token, from the tuning of the mount and the role.
 * docs/contract/tokens-and-policies.md#batch-tokens
 */
export function loginTokenType(mountType: string | undefined, roleType: string): TokenType {
  if (mountType === 'service' || mountType === 'batch') return mountType
  if (roleType === 'service' || roleType === 'batch') return roleType
  return mountType === 'default-batch' ? 'batch' : 'service'
}
