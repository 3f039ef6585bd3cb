import { z } from 'zod'
import { sanitize } from '../../core/tokens/policy-names.ts'
import { boolField, commaListField, durationField, intField, stringField } from '../../lib/fields.ts'

const instead = (name: string) => ({ description: `Use \`${name}\``, deprecated: true })

/**
 * Settings of the tokens that a role issues, and their older names, which are still written and read.
 * docs/contract/jwt.md#configuration, docs/contract/jwt.md#roles
 */
export const tokenFields = {
  token_ttl: durationField.optional().describe('Lifetime of a token'),
  token_max_ttl: durationField.optional().describe('Longest lifetime of a token, including renewals'),
  token_explicit_max_ttl: durationField
    .optional()
    .describe("Hard limit of a token's lifetime, whatever else is set"),
  token_period: durationField.optional().describe('Renewal period of a periodic token'),
  token_policies: commaListField.optional().describe('Policies of a token'),
  token_bound_cidrs: commaListField
    .optional()
    .describe('Addresses that may log in and use the token')
    .meta({ examples: [['10.0.0.0/8']] }),
  token_no_default_policy: boolField.optional().describe('Leave the `default` policy out'),
  token_num_uses: intField.optional().describe('Number of uses of a token; 0 is unlimited'),
  token_type: stringField
    .optional()
    .describe('`service`, `batch` or `default`')
    .meta({ examples: ['service', 'batch', 'default'] }),
  policies: commaListField.optional().meta(instead('token_policies')),
  bound_cidrs: commaListField.optional().meta(instead('token_bound_cidrs')),
  num_uses: intField.optional().meta(instead('token_num_uses')),
  ttl: durationField.optional().meta(instead('token_ttl')),
  max_ttl: durationField.optional().meta(instead('token_max_ttl')),
  period: durationField.optional().meta(instead('token_period')),
}

const tokenSettings = z.object(tokenFields)
type TokenSettings = z.output<typeof tokenSettings>

/**
 * The role with each pair of names reconciled: if a write sends only the old name, both get its value; if it
 * sends both, the new name's value counts for both; if it sends only the new name, the old one is removed.
 * `role` is the stored role merged with the write.
 */
export function applyLegacy<Role extends TokenSettings>(role: Role, sent: TokenSettings): Role {
  const policies = sent.policies === undefined ? undefined : sanitize(sent.policies, false)
  return {
    ...role,
    ...settled('policies', 'token_policies', policies, sent.token_policies),
    ...settled(
      'bound_cidrs',
      'token_bound_cidrs',
      sent.bound_cidrs,
      sent.token_bound_cidrs === undefined ? undefined : role.token_bound_cidrs,
    ),
    ...settled('num_uses', 'token_num_uses', sent.num_uses, sent.token_num_uses),
    ...settled('ttl', 'token_ttl', sent.ttl, sent.token_ttl),
    ...settled('max_ttl', 'token_max_ttl', sent.max_ttl, sent.token_max_ttl),
    ...settled('period', 'token_period', sent.period, sent.token_period),
  }
}

function settled(
  oldName: keyof TokenSettings,
  newName: keyof TokenSettings,
  oldValue: unknown,
  newValue: unknown,
): TokenSettings {
  if (newValue !== undefined)
    return { [newName]: newValue, [oldName]: oldValue === undefined ? undefined : newValue }
  return oldValue === undefined ? {} : { [newName]: oldValue, [oldName]: oldValue }
}

/**
 * A read shows old names only if the last write used them and they have a value. docs/contract/jwt.md#roles
 */
export function shownLegacy({
  policies = [],
  bound_cidrs = [],
  num_uses = 0,
  ttl = 0,
  max_ttl = 0,
  period = 0,
}: TokenSettings): object {
  return {
    ...(policies.length > 0 && { policies }),
    ...(bound_cidrs.length > 0 && { bound_cidrs }),
    ...(num_uses > 0 && { num_uses }),
    ...(ttl > 0 && { ttl }),
    ...(max_ttl > 0 && { max_ttl }),
    ...(period > 0 && { period }),
  }
}
