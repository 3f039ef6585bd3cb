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

/**
 * The warning that batch tokens ignore a limit of uses, for logins with these settings on a mount of this
 * type.
 */
export const useLimitWarnings = (
  mountType: string | undefined,
  { token_type = '', token_num_uses = 0 }: { token_type?: string; token_num_uses?: number },
): string[] =>
  token_num_uses > 0 && loginTokenType(mountType, token_type) === 'batch'
    ? [
        'token_num_uses has no effect: the token_type of the mount makes batch tokens, whose uses have no limit',
      ]
    : []
