import type { Hint } from '../refusals/hints.ts'
import type { CoreReason, ReasonCode } from '../refusals/refusal.ts'

const again = 'Begin a new login.'
const clocks = 'Compare the clocks: `clock` shows the provider’s offset.'

/** What an operator can do about each reason, worded as in docs/explain.md#reasons. */
const advices: Readonly<Record<ReasonCode | CoreReason | 'internal', string>> = {
  config_missing:
    'Write `config`, or use the path of the mount that is configured. `last_refused_config` in `status` says why a write was refused.',
  role_missing: 'Name a role, or set `default_role`.',
  role_unknown: 'Compare with `LIST role`; check namespace and mount.',
  role_type_refused: 'Write `role_type=jwt`. Every write that leaves it out sets it back to `oidc`.',
  token_missing: 'Check the variable of the job: it is often set only for protected branches.',
  address_not_bound:
    '`seen` is the client’s address. If it is a proxy’s, set `GATEHOUSE_TRUSTED_PROXIES`; else add it to the networks of the role or user.',
  keys_unavailable:
    'Check network, certificate (`…_ca_pem`) and `GATEHOUSE_OUTBOUND_DENY`; `status` has `last_error`.',
  token_malformed:
    'Send the token alone: three parts, no `Bearer`, quotes or line breaks, at most `GATEHOUSE_MAX_JWT_SIZE`.',
  algorithm_unsupported: 'Let the issuer sign with one of the ten asymmetric algorithms.',
  algorithm_not_allowed:
    'Add the algorithm to `jwt_supported_algs`; ID tokens need RS256 while that is empty.',
  key_unknown:
    'Check that this is the right issuer. Keys are fetched again after a rotation; `status` lists `kids` and `skipped_keys`.',
  key_not_allowed:
    'If the key belongs to the issuer, add its thumbprint to `allowed_key_thumbprints`; `auth/<mount>/keys` lists those of all keys.',
  signature_invalid:
    'If the mount has PEM keys, the key was probably rotated: write the new one or, better, a URL.',
  claim_type_invalid: 'The issuer must send this claim, with the right type.',
  issuer_mismatch:
    'Make both texts equal, including a trailing slash: `bound_issuer` for JWTs, `oidc_discovery_url` for ID tokens.',
  subject_mismatch:
    'Set `bound_subject` to what was seen. A pattern goes into `bound_claims` with `bound_claims_type=glob`.',
  audience_mismatch:
    'Request a token with exactly this audience from the platform, or set `bound_audiences` to what was seen.',
  audience_unbound: 'Set `bound_audiences` to what was seen.',
  times_missing: 'The issuer must send `iat`, `nbf` or `exp`.',
  not_yet_valid: `${clocks} A token with \`exp\` alone counts from 150 s before it.`,
  issued_in_future: clocks,
  expired: `Request the token just before the login. ${clocks}`,
  user_claim_missing:
    'Choose a `user_claim` that `seen` lists, or add the scope that brings it to `oidc_scopes`. A claim inside an object needs a JSON pointer and `user_claim_json_pointer`.',
  user_claim_invalid: 'Choose a `user_claim` that is a non-blank text.',
  provider_failed: 'Correct `provider_config` as the text says.',
  mapping_invalid: 'Take this claim out of `claim_mappings`, or unset `claim_mappings_text_only`.',
  metadata_invalid: 'Map fewer or shorter claims; a batch token also holds its policies.',
  groups_unavailable:
    'Let the provider send the claim (scope, mapper, optional claim), or name one that `seen` lists; if the claim is absent for people without groups, set `groups_claim_optional`; if you need no groups, leave `groups_claim` empty.',
  groups_invalid:
    '`groups_claim` must name a list of texts, or one text; an object only with `groups_claim_type=object_keys`.',
  bound_claim_missing:
    'The token has no claim of this name; `seen` lists those it has. A claim inside an object needs a JSON pointer: `/job/env`.',
  bound_claim_mismatch: 'Set the bound claim to what was seen, or correct it at the issuer.',
  bound_claim_invalid:
    'Write the role again: a bound claim is a text, number, bool or list; with `glob`, a text.',
  lifetime_too_long:
    'Let the issuer make tokens that end sooner, and send `exp`; or raise `token_max_lifetime` of the mount.',
  type_unexpected: 'Send an access token or an ID token: `seen` is the `typ` of what was sent.',
  proof_missing:
    'The token belongs to whoever has the key in `cnf`: connect with that client certificate, or get a token without `cnf`.',
  authorization_details_invalid:
    'Get a token without `authorization_details`, and leave `require_authorization_details` unset: the claim cannot be used yet.',
  policy_template_failed:
    'Let the issuer send this claim as a text, a whole number or a bool, or take it out of `token_policies`.',
  policy_forbidden: 'Remove this policy from role, entity and groups.',
  uses_need_service:
    'Give the role no `token_num_uses` and no `token_period`, or tune the mount to another `token_type` than `batch`.',
  entity_disabled: 'Enable the entity: `identity/entity`, `disabled=false`.',
  scope_refused:
    'Ask for policies that the login gives, and for paths in the form that docs/contract/scopes.md describes.',
  token_replayed: 'Get a new token for each login; a retry with the same one is refused.',
  oidc_not_configured: 'Set `oidc_discovery_url`, `oidc_client_id` and its secret, or `oidc_public_client`.',
  redirect_uri_missing: 'Send a `redirect_uri`.',
  redirect_uri_refused:
    'Add exactly the URI that was seen to `allowed_redirect_uris`, and register it at the provider. A loopback address may have any port.',
  provider_unreachable:
    'Check `oidc_discovery_url`, network and certificate (`oidc_discovery_ca_pem`); `status?refresh=true` tries again.',
  state_unknown: `${again} A state is valid once, for ten minutes, at the mount that issued it.`,
  client_nonce_mismatch: `${again} If this persists, somebody else’s login returns to this client.`,
  provider_refused: '`seen` is the provider’s error: check consent, assignment to the application, scopes.',
  code_missing:
    'The provider sent neither code nor error: check the response type and mode of the application.',
  exchange_failed:
    'Compare client id, secret and redirect URI with the application at the provider; `seen` is the error of its token endpoint.',
  nonce_mismatch: `${again} The ID token belongs to another login; if \`seen\` is null, it has no nonce, which the provider must include.`,
  authorized_party_mismatch: 'Set `oidc_client_id` to the application that the ID token was issued to.',
  login_too_old: 'Sign in at the provider again; it must send `auth_time` if the role has `max_age`.',
  confirmation_missing: 'Press `Confirm` on the page after the sign-in, then ask again.',
  confirmation_invalid: 'Use the most recent page, or begin a new login.',
  cel_denied: 'Read the program: it refuses these claims. `explain` with `cel=true` shows each variable.',
  cel_message: 'Read the program: it refuses these claims. `explain` with `cel=true` shows each variable.',
  cel_error:
    'Make the program safe for claims that are missing or of another type: `has(claims.x)`, `claims.?x.orValue("")`.',
  cel_type: 'Let the program end in `pb.Auth{…}`, `false` or a text.',
  cel_limit: 'Let the program do less: loops in loops multiply their steps.',
  service_account_name_refused: 'Add the name to `bound_service_account_names`; `*` stands for any text.',
  namespace_refused: 'Add the namespace to `bound_service_account_namespaces`, or label it for the selector.',
  uid_missing: 'Use a token that the cluster issued for a service account.',
  review_refused:
    'The cluster does not know this token: pod, secret or account were deleted, or it is of another cluster. `cause` has its words.',
  review_unauthorized:
    'The cluster does not accept the token that asks: renew `token_reviewer_jwt`, without `Bearer` in front.',
  review_forbidden: 'Bind the account that asks to the cluster role `system:auth-delegator`.',
  review_failed: 'The cluster answered something else than a review; `cause` says what.',
  review_unreachable:
    'Check `kubernetes_host`, `kubernetes_ca_cert`, network and `GATEHOUSE_OUTBOUND_DENY`; `status` has `last_review`.',
  review_audience:
    'The cluster did not confirm the audience: it is too old, or a proxy drops it. Ask the API server itself.',
  review_mismatch: 'The cluster says that the token is of another account: it was made anew since.',
  namespace_labels_refused: 'Label the namespace as the selector says, or list it in the role.',
  namespace_labels_unavailable:
    'Set `token_reviewer_jwt` of an account that may get namespaces; a selector needs one.',
  annotations_unavailable: 'Let the reviewer get service accounts.',
  annotations_invalid: 'Remove the annotation, whose name is one of the server’s own keys.',
  lives_too_long: 'Request a token of a shorter life, or raise `token_max_lifetime`.',
  user_locked:
    'Wait, or unlock the name: `sys/locked-users`. Refusals before this one show from where the wrong secrets came.',
  password_missing: 'Send a `password`: check the variable of the job.',
  password_wrong: 'Compare name and mount with `LIST users`, or set a new password.',
  secret_id_missing: 'Send a `secret_id`: check the variable of the job.',
  secret_id_unknown:
    'Make a new secret id: `role/<name>/secret-id`. The old one is wrong, used up, expired, destroyed or of another role.',
  too_many_logins: 'Let the client try again later; docs/limits.md says how many wait.',
  client_gone: 'The client did not wait for its turn: raise its time limit.',
  cel_auth_invalid: 'Correct the `pb.Auth` of the program as the text says; times are nanoseconds.',
  confirmation_denied:
    'Ask the person: perhaps somebody sent them a link. `remote_address` is the browser that refused, `detail` says where the login began.',
  internal: 'Look for the request id in the log.',
}

const advisedReasons: ReadonlyMap<string, string> = new Map(Object.entries(advices))

/** Advice by the error code of a token endpoint, RFC 6749 §5.2. */
const ofTokenErrors: readonly (readonly [RegExp, string])[] = [
  [
    /invalid_client/,
    'Set `oidc_client_id` and `oidc_client_secret` to those of the application; at Entra ID the secret’s value, not its id. A public client needs `oidc_public_client`.',
  ],
  [
    /invalid_grant/,
    'The redirect URI must be the registered one, and a code is valid once and briefly. Begin a new login; if the error persists, compare redirect URI and PKCE settings of the application.',
  ],
  [/unauthorized_client/, 'Allow the authorization code grant for this application at the provider.'],
]

/** One or two sentences of advice. `cause` is another server's response, if there was one. */
export function adviceFor(reason: string, cause = ''): string {
  const ofToken =
    reason === 'exchange_failed' ? ofTokenErrors.find(([error]) => error.test(cause))?.[1] : undefined
  return ofToken ?? advisedReasons.get(reason) ?? 'See docs/explain.md.'
}

const hintTexts: Readonly<Record<Exclude<Hint, ''>, string>> = {
  differs_in_case: 'differs only in case',
  differs_in_white_space: 'differs only in white space',
  differs_in_trailing_slash: 'differs only in a trailing slash',
  differs_in_type: 'reads the same but has another type (text, number, bool, list)',
  glob_in_string_mode: 'would match if `*` were a wildcard: set bound_claims_type to glob',
  write_as_json_pointer:
    'a claim exists at that path: write it as a JSON pointer, with a slash before each step',
  expired_in_file: 'the client reads an old copy of the file: read it at each login',
  default_audience: 'it is for the API server: mount a projected token with the audience of the role',
  legacy_token: 'the token of a secret has neither an audience nor an end: mount a projected token',
  other_cluster: 'none of the cluster’s keys has signed it: each cluster needs a mount of its own',
  clock_offset: 'in time by the provider’s clock: correct the clock that is wrong',
}

export const hintText = (hint: Exclude<Hint, ''>): string => `${hint}: ${hintTexts[hint]}`
