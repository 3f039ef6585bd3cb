import { z } from 'zod'
import { sanitize } from '../../core/tokens/store/policy-names.ts'
import {
  applyOldNames,
  boundCidrs,
  checkTokenFields,
  oldTokenFields,
  shownTokenFields,
  tokenFields,
} from '../../core/tokens/store/token-fields.ts'
import { convertFields } from '../../lib/text/fields.ts'

const { policies, ttl, max_ttl, bound_cidrs } = oldTokenFields

/** The settings of a user. docs/contract/userpass.md#users */
export const userFields = z.object({ ...tokenFields, policies, ttl, max_ttl, bound_cidrs })

/** The settings of a user, as sent and as stored: one that was never written is absent. */
export type UserSettings = z.output<typeof userFields>

export type User = { readonly settings: UserSettings; readonly passwordHash: string }

/**
 * Merges a write into the stored settings and checks the result as a whole. Throws the first refusal. It does
 * not change its arguments.
 */
export function changedSettings(before: UserSettings | undefined, sent: UserSettings): UserSettings {
  const settings: UserSettings = { ...before, ...sent }
  if (sent.token_bound_cidrs !== undefined) settings.token_bound_cidrs = boundCidrs(sent.token_bound_cidrs)
  const merged = applyOldNames(settings, sent)
  checkTokenFields(merged)
  return merged
}

/** A write of the policies only: both names are sanitized. */
export const changedPolicies = (
  before: UserSettings,
  { token_policies, ...sent }: Pick<UserSettings, 'policies' | 'token_policies'>,
): UserSettings =>
  changedSettings(before, {
    ...sent,
    ...(token_policies !== undefined && { token_policies: sanitize(token_policies, false) }),
  })

/** The fields that a read shows: nothing of the password. */
export const shownUser = ({ settings }: User): object => shownTokenFields(settings)

/** Whether tokens with these policies may be renewed. `default` does not count. */
export const hasPolicies = ({ token_policies = [] }: UserSettings, ofToken: readonly string[]): boolean =>
  countedPolicies(token_policies) === countedPolicies(ofToken)

const countedPolicies = (names: readonly string[]): string =>
  JSON.stringify(sanitize(names, false).filter((name) => name !== 'default'))

const storedParts = z.looseObject({ password_hash: z.string() })

/** Parses a stored record. */
export function readUser(stored: unknown): User {
  const { password_hash: passwordHash, ...fields } = storedParts.parse(stored)
  return { settings: convertFields(userFields, fields).values, passwordHash }
}

/** The name in a stored record. */
export const nameOf = (stored: unknown): string =>
  typeof stored === 'object' && stored !== null && 'name' in stored ? String(stored.name) : ''

export const storedUser = ({ settings, passwordHash }: User): object => ({
  ...settings,
  password_hash: passwordHash,
})
