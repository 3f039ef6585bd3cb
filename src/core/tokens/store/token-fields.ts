import { z } from 'zod'
import { refuse } from '../../../errors.ts'
import { parseBoundCidr } from '../../../lib/net/cidr.ts'
import {
  boolField,
  commaListField,
  durationField,
  intField,
  kvField,
  stringField,
} from '../../../lib/text/fields.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { metadataProblem } from '../../identity/metadata.ts'
import { sanitize } from './policy-names.ts'

/**
 * The settings of the tokens that a login issues, as the role or user of a login method has them.
 * docs/contract/tokens-and-policies.md#settings-of-login-tokens
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
  token_strictly_bind_ip: boolField
    .optional()
    .describe('Only the address that logs in may use the token; not beside `token_bound_cidrs`'),
  token_no_default_policy: boolField.optional().describe('Leave the `default` policy out'),
  token_num_uses: intField.optional().describe('Number of uses of a token; 0 is unlimited'),
  token_type: stringField
    .optional()
    .describe('`service`, `batch` or `default`')
    .meta({ examples: ['service', 'batch', 'default'] }),
  alias_metadata: kvField
    .optional()
    .describe('Metadata of the entity alias; what the login itself says counts more'),
}

/** For examples in the API document. */
export const exampleSettings = { token_policies: ['deploy'], token_ttl: 3600 }

export const instead = (name: string) => ({ description: `Use \`${name}\``, deprecated: true })

/** Older names of some settings, which are still written and read. A login method takes some of them. */
export const oldTokenFields = {
  policies: commaListField.optional().meta(instead('token_policies')),
  bound_cidrs: commaListField.optional().meta(instead('token_bound_cidrs')),
  num_uses: intField.optional().meta(instead('token_num_uses')),
  ttl: durationField.optional().meta(instead('token_ttl')),
  max_ttl: durationField.optional().meta(instead('token_max_ttl')),
  period: durationField.optional().meta(instead('token_period')),
}

const tokenSettings = z.object({ ...tokenFields, ...oldTokenFields })
/** What a write sends, or a record has, of these settings. A setting that was never written is absent. */
export type TokenSettings = z.output<typeof tokenSettings>

/** Each login, and each request with its token, is compared with all of them. */
const maxBoundCidrs = 1000

/** Normalised. Throws `invalid` for a text that is no address, with the text that clients know, behind `where`. */
export function boundCidrs(texts: readonly string[], where = ''): string[] {
  if (texts.length > maxBoundCidrs) throw refuse('invalid', `${where}more than ${maxBoundCidrs} addresses`)
  return texts.map((text) => {
    const parsed = parseBoundCidr(text)
    if ('error' in parsed) throw refuse('invalid', where + parsed.error)
    return parsed.cidr
  })
}

export const limitedBatchRole = () =>
  refuse(
    'invalid',
    "'token_type' cannot be 'batch' or 'default_batch' when set to generate tokens with limited use count",
  )

/** Throws `invalid` for settings that contradict each other. It does not look at the old names. */
export function checkTokenFields(settings: TokenSettings): void {
  const { token_type = '', token_num_uses = 0, token_period = 0, token_ttl = 0, token_max_ttl = 0 } = settings
  if (!['', 'default', 'service', 'batch'].includes(token_type))
    throw refuse('invalid', `invalid 'token_type' value ${quoted(token_type)}`)
  if (token_num_uses < 0) throw refuse('invalid', "'token_num_uses' cannot be negative")
  if (token_type === 'batch' && token_period !== 0) {
    throw refuse(
      'invalid',
      "'token_type' cannot be 'batch' or 'default_batch' when set to generate periodic tokens",
    )
  }
  if (token_type === 'batch' && token_num_uses !== 0) throw limitedBatchRole()
  if (token_max_ttl > 0 && token_ttl > token_max_ttl)
    throw refuse('invalid', "'token_ttl' cannot be greater than 'token_max_ttl'")
  const problem = metadataProblem(settings.alias_metadata ?? {})
  if (problem !== undefined) throw refuse('invalid', `invalid alias metadata: ${problem}`)
}

/**
 * The settings with each pair of names reconciled: if a write sends only the old name, both get its value; if
 * it sends both, the new name's value counts for both; if it sends only the new name, the old one is removed.
 * Throws `invalid` if the addresses of a token are then bound twice.
 * `merged` is the stored record merged with the write, whose `token_bound_cidrs` is normalised already.
 */
export function applyOldNames<Settings extends TokenSettings>(
  merged: Settings,
  sent: TokenSettings,
): Settings {
  const policies = sent.policies === undefined ? undefined : sanitize(sent.policies, false)
  const cidrs = sent.token_bound_cidrs === undefined ? sent.bound_cidrs : undefined
  const result = {
    ...merged,
    ...settled('policies', 'token_policies', policies, sent.token_policies),
    ...settled(
      'bound_cidrs',
      'token_bound_cidrs',
      cidrs === undefined ? sent.bound_cidrs : boundCidrs(cidrs),
      sent.token_bound_cidrs === undefined ? undefined : merged.token_bound_cidrs,
    ),
    ...settled('num_uses', 'token_num_uses', sent.num_uses, sent.token_num_uses),
    ...settled('ttl', 'token_ttl', sent.ttl, sent.token_ttl),
    ...settled('max_ttl', 'token_max_ttl', sent.max_ttl, sent.token_max_ttl),
    ...settled('period', 'token_period', sent.period, sent.token_period),
  }
  if (result.token_strictly_bind_ip === true && (result.token_bound_cidrs ?? []).length > 0)
    throw refuse('invalid', "'token_strictly_bind_ip' conflicts with 'token_bound_cidrs'; set only one")
  return result
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

/** As a read shows them: old names only if the last write used them and they have a value. */
export function shownTokenFields(record: TokenSettings): object {
  const { policies = [], bound_cidrs = [], num_uses = 0, ttl = 0, max_ttl = 0, period = 0 } = record
  return {
    token_bound_cidrs: record.token_bound_cidrs ?? [],
    token_explicit_max_ttl: record.token_explicit_max_ttl ?? 0,
    token_max_ttl: record.token_max_ttl ?? 0,
    token_no_default_policy: record.token_no_default_policy ?? false,
    token_num_uses: record.token_num_uses ?? 0,
    token_period: record.token_period ?? 0,
    token_policies: record.token_policies ?? [],
    token_strictly_bind_ip: record.token_strictly_bind_ip ?? false,
    token_ttl: record.token_ttl ?? 0,
    token_type: record.token_type || 'default',
    ...(record.alias_metadata !== undefined && { alias_metadata: record.alias_metadata ?? {} }),
    ...(policies.length > 0 && { policies }),
    ...(bound_cidrs.length > 0 && { bound_cidrs }),
    ...(num_uses > 0 && { num_uses }),
    ...(ttl > 0 && { ttl }),
    ...(max_ttl > 0 && { max_ttl }),
    ...(period > 0 && { period }),
  }
}

/** All of them, as a write that leaves nothing as it is. */
export const wholeTokenFields = (record: TokenSettings): object => ({
  ...shownTokenFields(record),
  alias_metadata: record.alias_metadata ?? {},
})

/** What a login passes on of the settings: the part of a `LoginAuth` that is about the token. */
export const loginTerms = (settings: TokenSettings) => ({
  policies: settings.token_policies ?? [],
  ttl: settings.token_ttl ?? 0,
  maxTtl: settings.token_max_ttl ?? 0,
  explicitMaxTtl: settings.token_explicit_max_ttl ?? 0,
  period: settings.token_period ?? 0,
  numUses: settings.token_num_uses ?? 0,
  tokenType: settings.token_type ?? '',
  boundCidrs: settings.token_bound_cidrs ?? [],
  bindsAddress: settings.token_strictly_bind_ip ?? false,
  noDefaultPolicy: settings.token_no_default_policy ?? false,
  aliasMetadata: settings.alias_metadata,
})

/**
 * The auth method's answer to a renewal: the current terms of the role, or the reason for a refusal. `gone`: the
 * one who logged in exists no more; the token stays as it is, and the response is empty. `isDenied`: the response is 403.
 */
export type RenewalTerms =
  | { readonly ok: true; readonly ttl: number; readonly maxTtl: number; readonly period: number }
  | { readonly ok: false; readonly reason: string; readonly isDenied?: true }
  | 'gone'

/** The terms on which a token of a login with these settings is renewed. */
export const renewalTermsOf = ({
  token_ttl = 0,
  token_max_ttl = 0,
  token_period = 0,
}: TokenSettings): RenewalTerms => ({ ok: true, ttl: token_ttl, maxTtl: token_max_ttl, period: token_period })
