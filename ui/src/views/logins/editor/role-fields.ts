import type { FieldSpec, Values } from './spec.ts'

const inBrowser = ({ role_type: type }: Values): boolean => type === 'oidc'
const byJwt = ({ role_type: type }: Values): boolean => type === 'jwt'
const isPolled = (form: Values): boolean => inBrowser(form) && form['callback_mode'] !== 'client'
const withGroups = ({ groups_claim: claim }: Values): boolean => claim !== ''

/** A write without these sets them back. */
export const alwaysSent = [
  'role_type',
  'bound_claims_type',
  'callback_mode',
  'oidc_disable_confirmation',
] as const

const leeway = (name: string): FieldSpec => ({ name, kind: 'number', isMore: true })

/** Fields about the tokens of logins, the same for each method. */
export const tokenFields: readonly FieldSpec[] = [
  { name: 'token_policies', kind: 'policies' },
  { name: 'token_ttl', kind: 'duration' },
  { name: 'token_max_ttl', kind: 'duration' },
  { name: 'token_bound_cidrs', kind: 'list', isMore: true },
  { name: 'token_period', kind: 'duration', isMore: true },
  { name: 'token_explicit_max_ttl', kind: 'duration', isMore: true },
  { name: 'token_num_uses', kind: 'number', isMore: true },
  {
    name: 'token_type',
    kind: 'text',
    isMore: true,
    options: ['default', 'service', 'batch', 'default-service', 'default-batch'],
  },
  { name: 'token_no_default_policy', kind: 'switch', isMore: true },
  { name: 'token_strictly_bind_ip', kind: 'switch', isMore: true },
]

/** The fields of a role of the types `jwt` and `oidc`. */
export const roleFields: readonly FieldSpec[] = [
  { name: 'role_type', kind: 'text', options: ['jwt', 'oidc'] },
  { name: 'bound_audiences', kind: 'list' },
  { name: 'bound_claims', kind: 'claims' },
  { name: 'bound_claims_type', kind: 'text', options: ['string', 'glob'] },
  { name: 'user_claim', kind: 'text', isRequired: true },
  { name: 'groups_claim', kind: 'text' },
  { name: 'allowed_redirect_uris', kind: 'list', when: inBrowser },
  { name: 'oidc_scopes', kind: 'list', when: inBrowser },
  { name: 'callback_mode', kind: 'text', options: ['client', 'direct', 'device'], when: inBrowser },
  { name: 'poll_interval', kind: 'number', when: isPolled },
  ...tokenFields,
  { name: 'bound_subject', kind: 'text', isMore: true },
  { name: 'user_claim_json_pointer', kind: 'switch', isMore: true },
  { name: 'claim_mappings', kind: 'mappings', isMore: true },
  { name: 'claim_mappings_text_only', kind: 'switch', isMore: true },
  { name: 'groups_claim_optional', kind: 'switch', isMore: true, when: withGroups },
  {
    name: 'groups_claim_type',
    kind: 'text',
    options: ['list', 'object_keys'],
    isMore: true,
    when: withGroups,
  },
  { name: 'token_replay_protection', kind: 'switch', isMore: true, when: byJwt },
  { name: 'token_policies_template_claims', kind: 'switch', isMore: true },
  { name: 'max_age', kind: 'duration', isMore: true, when: inBrowser },
  { name: 'oauth2_metadata', kind: 'list', isMore: true, when: inBrowser },
  { name: 'oidc_disable_confirmation', kind: 'switch', isMore: true, when: inBrowser },
  { name: 'verbose_oidc_logging', kind: 'switch', isMore: true, when: inBrowser },
  ...['expiration_leeway', 'not_before_leeway', 'clock_skew_leeway'].map(leeway),
]
