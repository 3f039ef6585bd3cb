import {
  addedItems,
  addedPatterns,
  pinsLifted,
  shortText as text,
  when,
} from '../../../jwt/history/field-changes.ts'
import { isSame } from '../../../jwt/history/judged.ts'
import type { FieldChange } from '../../../jwt/history/what-if.ts'
import type { BoundClaim } from '../checks/bound-claims.ts'
import type { Config } from '../config/jwt-config.ts'
import type { Role, RoleRecord } from '../config/role.ts'

/** New ways in that follow from the fields of a role. */
export function roleAdmitsMore(
  before: Role | undefined,
  { record, boundClaims, program }: Role,
): FieldChange[] {
  if (before === undefined) return [{ field: 'role', text: 'the role is new' }]
  const former = before.record
  return [
    ...audiences(former, record),
    ...subjects(former, record),
    ...claimsUnbound(before.boundClaims, boundClaims),
    ...when(!isSame(program, before.program), 'cel_program', 'tokens that the new program accepts'),
    ...addedItems(
      'token_bound_cidrs',
      former.token_bound_cidrs ?? [],
      record.token_bound_cidrs ?? [],
      'any address',
    ),
    ...when(record.role_type !== former.role_type, 'role_type', `logins of type ${text(record.role_type)}`),
    ...when(
      record.groups_claim_optional === true && former.groups_claim_optional !== true,
      'groups_claim_optional',
      'tokens without groups',
    ),
    ...when(
      former.token_replay_protection === true && record.token_replay_protection !== true,
      'token_replay_protection',
      'a token may be used more than once',
    ),
    ...when(
      former.claim_mappings_text_only === true && record.claim_mappings_text_only !== true,
      'claim_mappings_text_only',
      'tokens whose mapped claims are no texts',
    ),
    ...Object.entries(usualLeeways).flatMap(([field, usual]) => {
      const secondsOf = (one: RoleRecord) => Math.max(0, one[field as keyof typeof usualLeeways] || usual)
      return when(secondsOf(record) > secondsOf(former), field, 'tokens before or after their time')
    }),
    ...(record.allowed_redirect_uris ?? [])
      .filter((uri) => former.allowed_redirect_uris?.includes(uri) !== true)
      .map((uri) => ({ field: 'allowed_redirect_uris', text: text(uri) })),
  ]
}

/** In seconds; a negative one is none. docs/contract/jwt.md#roles */
const usualLeeways = { expiration_leeway: 150, not_before_leeway: 150, clock_skew_leeway: 60 }

function audiences(former: RoleRecord, record: RoleRecord): FieldChange[] {
  const [before, after] = [former.bound_audiences ?? [], record.bound_audiences ?? []]
  if (after.length === 0) return when(before.length > 0, 'bound_audiences', 'tokens without an audience')
  const added = after.filter((one) => !before.includes(one))
  return added.map((one) => ({ field: 'bound_audiences', text: `tokens for audience ${text(one)}` }))
}

function subjects(
  { bound_subject: former = '' }: RoleRecord,
  { bound_subject: subject = '' }: RoleRecord,
): FieldChange[] {
  const isWider = former !== '' && subject !== former
  return when(isWider, 'bound_subject', subject === '' ? 'any subject' : `subject ${text(subject)}`)
}

/** Bound claims that are gone, have more values, or patterns that match more. */
function claimsUnbound(before: readonly BoundClaim[], after: readonly BoundClaim[]): FieldChange[] {
  return before.flatMap((former) => {
    const field = `bound_claims.${former.name}`
    const bound = after.find(({ name }) => name === former.name)
    if (bound === undefined) return [{ field, text: 'any value, or none' }]
    const [old, now] = [valuesOf(former), valuesOf(bound)]
    if (bound.type === 'glob')
      return addedPatterns(field, former.type === 'glob' ? old : old.filter(isPlain), now)
    return now
      .filter((value) => !old.includes(value))
      .map((value) => ({ field, text: `value ${text(value)}` }))
  })
}

/** In a list that has no patterns, a star is an ordinary character. */
const isPlain = (value: string): boolean => !value.includes('*')

const valuesOf = ({ expected }: BoundClaim): string[] =>
  'unusable' in expected ? [] : expected.map((one) => one.text)

/** New ways in that follow from a configuration. */
export function configAdmitsMore(before: Config | undefined, config: Config): FieldChange[] {
  if (before === undefined) return [{ field: 'config', text: 'the configuration is new' }]
  const keyFields = ['oidc_discovery_url', 'jwks_url', 'jwks_pairs', 'jwt_validation_pubkeys'] as const
  const widened = before.jwt_supported_algs.length > 0
  const algorithms = config.jwt_supported_algs.filter((one) => !before.jwt_supported_algs.includes(one))
  return [
    ...when(
      before.bound_issuer !== '' && config.bound_issuer !== before.bound_issuer,
      'bound_issuer',
      config.bound_issuer === '' ? 'tokens of any issuer' : `tokens of issuer ${text(config.bound_issuer)}`,
    ),
    ...pinsLifted(before.allowed_key_thumbprints, config.allowed_key_thumbprints),
    ...when(widened && config.jwt_supported_algs.length === 0, 'jwt_supported_algs', 'any algorithm'),
    ...(widened ? algorithms : []).map((one) => ({ field: 'jwt_supported_algs', text: text(one) })),
    ...keyFields
      .filter((field) => !isSame(config[field], before[field]) && config[field].length > 0)
      .map((field) => ({ field, text: 'tokens that other keys have signed' })),
    ...when(
      config.accept_as_token && !before.accept_as_token,
      'accept_as_token',
      'JWTs as tokens of requests',
    ),
    ...when(
      before.require_authorization_details && !config.require_authorization_details,
      'require_authorization_details',
      'JWTs as tokens without authorization_details',
    ),
    ...when(
      before.token_max_lifetime > 0 &&
        (config.token_max_lifetime === 0 || config.token_max_lifetime > before.token_max_lifetime),
      'token_max_lifetime',
      'JWTs as tokens that live longer',
    ),
    ...when(
      !isSame(config.provider_config, before.provider_config),
      'provider_config',
      'groups and claims as the provider gives them',
    ),
  ]
}
