import type { Hint } from './hints.ts'

/** Why a login was refused, and the check that each reason belongs to: stable words. docs/explain.md#reasons */
const checkOf = {
  config_missing: 'config',
  role_missing: 'role',
  role_unknown: 'role',
  role_type_refused: 'role',
  token_missing: 'token',
  address_not_bound: 'address',
  keys_unavailable: 'signature',
  audience_unbound: 'audience',
  token_malformed: 'signature',
  algorithm_unsupported: 'signature',
  key_unknown: 'signature',
  key_not_allowed: 'signature',
  signature_invalid: 'signature',
  algorithm_not_allowed: 'algorithm',
  claim_type_invalid: 'claims',
  issuer_mismatch: 'issuer',
  subject_mismatch: 'subject',
  audience_mismatch: 'audience',
  times_missing: 'times',
  not_yet_valid: 'times',
  expired: 'times',
  issued_in_future: 'times',
  user_claim_missing: 'user_claim',
  user_claim_invalid: 'user_claim',
  provider_failed: 'provider',
  mapping_invalid: 'metadata',
  groups_unavailable: 'groups',
  groups_invalid: 'groups',
  bound_claim_missing: 'bound_claims',
  bound_claim_mismatch: 'bound_claims',
  bound_claim_invalid: 'bound_claims',
  policy_template_failed: 'policies',
  oidc_not_configured: 'config',
  redirect_uri_missing: 'redirect_uri',
  redirect_uri_refused: 'redirect_uri',
  provider_unreachable: 'provider',
  state_unknown: 'state',
  client_nonce_mismatch: 'client_nonce',
  provider_refused: 'provider',
  code_missing: 'code',
  exchange_failed: 'exchange',
  nonce_mismatch: 'nonce',
  authorized_party_mismatch: 'audience',
  login_too_old: 'times',
  confirmation_missing: 'confirmation',
  confirmation_invalid: 'confirmation',
  confirmation_denied: 'confirmation',
  cel_denied: 'program',
  cel_message: 'program',
  cel_error: 'program',
  cel_type: 'program',
  cel_limit: 'program',
  cel_auth_invalid: 'auth',
  lifetime_too_long: 'lifetime',
  type_unexpected: 'type',
  proof_missing: 'proof',
  authorization_details_invalid: 'authorization_details',
  service_account_name_refused: 'service_account_name',
  namespace_refused: 'namespace',
  uid_missing: 'uid',
  review_refused: 'review',
  review_unauthorized: 'review',
  review_forbidden: 'review',
  review_failed: 'review',
  review_unreachable: 'review',
  review_audience: 'review_audience',
  review_mismatch: 'review_identity',
  namespace_labels_refused: 'namespace_labels',
  namespace_labels_unavailable: 'namespace_labels',
  annotations_unavailable: 'annotations',
  annotations_invalid: 'annotations',
  lives_too_long: 'times',
  user_locked: 'lockout',
  password_missing: 'password',
  password_wrong: 'password',
  secret_id_missing: 'secret_id',
  secret_id_unknown: 'secret_id',
  too_many_logins: 'turn',
  client_gone: 'turn',
} as const

/** For logs, audit and metrics. */
export type ReasonCode = keyof typeof checkOf

export const isReason = (text: string): text is ReasonCode => Object.hasOwn(checkOf, text)

/** An expected "no" of a check: the text for the caller and the reason for the log. */
export type Refusal = {
  readonly reason: ReasonCode
  readonly text: string
  /**
   * The full cause, if the caller must not see it because it reveals another server's response or address.
   * Only the log, `failures` and `explain` show it: docs/contract/jwt.md#what-a-caller-is-not-told.
   */
  readonly cause?: string
  /**
   * What the check expected and saw, if only the check knows. For `failures` and `explain`, never for the
   * caller.
   */
  readonly compared?: Compared
  /** Vault takes it for a failure: docs/contract/inline-login.md#refusals, row 12. */
  readonly isFailureElsewhere?: boolean
}

/** The two sides of a failed comparison. `isLiteral`: `*` in an expected text is an ordinary character. */
export type Compared = {
  readonly expected: readonly unknown[]
  readonly seen: unknown
  readonly detail?: string
  readonly isLiteral?: boolean
  /** These are texts of a provider, which may be longer than others. */
  readonly isLong?: boolean
  /** There is nothing to compare. */
  readonly hint?: Hint
}

export const refusal = (reason: ReasonCode, text: string): Refusal => ({ reason, text })

/** A refusal with the values that were compared. */
export const comparing = (refused: Refusal, compared: Compared): Refusal => ({ ...refused, compared })

/** A refusal whose cause the caller must not see. */
export const discreetRefusal = (
  reason: ReasonCode,
  { text, cause }: { text: string; cause: string },
): Refusal => ({ reason, text, cause })

/** Rewords a refusal and its cause. */
export const reworded = (refused: Refusal, words: (text: string) => string): Refusal => ({
  ...refused,
  text: words(refused.text),
  ...(refused.cause === undefined ? {} : { cause: words(refused.cause) }),
})

/** A check, as logs and explanations name it. Missing userinfo never refuses a login. */
export type CheckName = (typeof checkOf)[ReasonCode] | 'userinfo' | VariableCheck

/** The check of a variable of a CEL program. */
type VariableCheck = `variable:${string}`

/** Reasons of the core, after the JWT is accepted. */
const coreChecks = {
  metadata_invalid: 'metadata',
  policy_forbidden: 'policies',
  entity_disabled: 'entity',
  uses_need_service: 'token_type',
  scope_refused: 'scope',
  token_replayed: 'replay',
} as const

/** A reason of the core. */
export type CoreReason = keyof typeof coreChecks

/** All reasons for refusing a login, except `internal`, with their checks. docs/explain.md#reasons */
export const checkByReason: ReadonlyMap<string, string> = new Map(
  Object.entries({ ...checkOf, ...coreChecks }),
)

/** The check that a refusal belongs to. */
export const checkOfReason = (reason: ReasonCode): CheckName => checkOf[reason]

/** The name of the check that refused; empty if it was not one of ours. */
export const checkNamed = (reason: string): string => checkByReason.get(reason) ?? ''
