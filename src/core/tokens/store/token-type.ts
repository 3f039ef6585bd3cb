import { refuse } from '../../../errors.ts'
import { pagesOf } from '../../../lib/data/pages.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import type { Mount } from '../../mounts/mount.ts'
import type { TokenType } from './token.ts'

/** What decides about the type of a login token besides its mount. */
type LoginTerms = { readonly tokenType: string; readonly numUses: number; readonly period: number }

/**
 * Type of a login token, from the tuning of the mount and the role. A default gives way to limits that batch tokens
 * cannot keep. docs/contract/tokens-and-policies.md#batch-tokens
 */
export function loginTokenType(
  mountType: string | undefined,
  { tokenType, numUses, period }: LoginTerms,
): TokenType {
  if (mountType === 'service' || mountType === 'batch') return mountType
  if (tokenType === 'service' || tokenType === 'batch') return tokenType
  return mountType === 'default-batch' && numUses === 0 && period === 0 ? 'batch' : 'service'
}

/** Throws `invalid` for a login that would get a batch token without the limits that it must have. */
export function checkLoginType(type: TokenType, { numUses, period }: Omit<LoginTerms, 'tokenType'>): void {
  const cannot = (what: string) =>
    refuse('invalid', `batch tokens cannot ${what}`, { reason: 'uses_need_service' })
  if (type === 'batch' && numUses !== 0) throw cannot('have "num_uses" set')
  if (type === 'batch' && period !== 0) throw cannot('be periodic')
}

/** The settings of a role, or of a user. */
type RoleTerms = {
  readonly token_type?: string
  readonly token_num_uses?: number
  readonly token_period?: number
}

/** The settings that keep logins from a mount of this type; empty if they can log in. */
const unkept = (
  mountType: string | undefined,
  { token_type: tokenType = '', token_num_uses: numUses = 0, token_period: period = 0 }: RoleTerms,
): string[] =>
  loginTokenType(mountType, { tokenType, numUses, period }) === 'service'
    ? []
    : [...(numUses === 0 ? [] : ['token_num_uses']), ...(period === 0 ? [] : ['token_period'])]

/** Why logins with these settings are refused on a mount of this type; empty if they are not. */
export function useLimitWarnings(mountType: string | undefined, settings: RoleTerms): string[] {
  const fields = unkept(mountType, settings)
  return fields.length === 0
    ? []
    : [
        `logins are refused: the token_type of the mount makes batch tokens, which cannot have ${fields.join(' and ')}`,
      ]
}

/** A finding of linters. docs/explain.md#what-the-linter-says */
export const usesFindings = (mountType: string | undefined, settings: RoleTerms) =>
  useLimitWarnings(mountType, settings).map((text) => ({
    code: 'uses_without_effect' as const,
    field: unkept(mountType, settings)[0] ?? '',
    text,
  }))

const maxNamed = 20

/** The roles, or users, of a mount. */
type NamedTerms = { readonly names: readonly string[]; find(name: string): Promise<RoleTerms | undefined> }

/** The warnings of a tune that keeps roles, or users, from logging in. */
export async function tunedTypeWarnings(
  [before, now]: readonly [before: Mount, now: Mount],
  rolesOf: () => Promise<NamedTerms>,
): Promise<string[]> {
  const mountType = now.config.token_type
  if (mountType !== 'batch' || before.config.token_type === mountType) return []
  const { names, find } = await rolesOf()
  const refused: string[] = []
  for await (const page of pagesOf(names)) {
    const found = await Promise.all(page.map(find))
    refused.push(...page.filter((_, at) => unkept(mountType, found[at] ?? {}).length > 0))
  }
  if (refused.length === 0) return []
  const shown = refused.slice(0, maxNamed).map((name) => quoted(name, 64))
  const more = refused.length > maxNamed ? ` and ${refused.length - maxNamed} more` : ''
  return [
    `logins are refused, because batch tokens cannot have token_num_uses or token_period: ${shown.join(', ')}${more}`,
  ]
}
