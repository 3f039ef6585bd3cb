import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { checkByReason } from '../../../../src/logins/refusals/refusal.ts'
import { lintCodes } from '../../../../src/plugins/jwt-auth/explain/lint.ts'

/** The list of docs/explain.md#reasons. A reason is never renamed. */
const contract = [
  ...[
    'config_missing',
    'role_missing',
    'role_unknown',
    'role_type_refused',
    'token_missing',
    'address_not_bound',
    'keys_unavailable',
  ],
  ...[
    'audience_unbound',
    'token_malformed',
    'algorithm_unsupported',
    'key_unknown',
    'key_not_allowed',
    'signature_invalid',
    'algorithm_not_allowed',
  ],
  ...[
    'claim_type_invalid',
    'issuer_mismatch',
    'subject_mismatch',
    'audience_mismatch',
    'times_missing',
    'not_yet_valid',
    'expired',
  ],
  ...[
    'issued_in_future',
    'user_claim_missing',
    'user_claim_invalid',
    'provider_failed',
    'mapping_invalid',
    'groups_unavailable',
  ],
  ...[
    'groups_invalid',
    'bound_claim_missing',
    'bound_claim_mismatch',
    'bound_claim_invalid',
    'metadata_invalid',
    'policy_template_failed',
    'policy_forbidden',
    'uses_need_service',
  ],
  ...[
    'entity_disabled',
    'token_replayed',
    'oidc_not_configured',
    'redirect_uri_missing',
    'redirect_uri_refused',
    'provider_unreachable',
  ],
  ...[
    'state_unknown',
    'client_nonce_mismatch',
    'provider_refused',
    'code_missing',
    'exchange_failed',
    'nonce_mismatch',
  ],
  ...[
    'authorized_party_mismatch',
    'login_too_old',
    'internal',
    'confirmation_missing',
    'confirmation_invalid',
    'confirmation_denied',
  ],
  ...[
    'service_account_name_refused',
    'namespace_refused',
    'uid_missing',
    'review_refused',
    'review_unauthorized',
    'review_forbidden',
    'review_failed',
  ],
  ...[
    'review_unreachable',
    'review_audience',
    'review_mismatch',
    'namespace_labels_refused',
    'namespace_labels_unavailable',
    'annotations_unavailable',
    'annotations_invalid',
  ],
  ...['lives_too_long', 'scope_refused', 'user_locked', 'password_missing', 'password_wrong'],
  ...['secret_id_missing', 'secret_id_unknown', 'too_many_logins', 'client_gone'],
  ...['cel_denied', 'cel_message', 'cel_error', 'cel_type', 'cel_limit', 'cel_auth_invalid'],
  ...['lifetime_too_long', 'type_unexpected', 'proof_missing', 'authorization_details_invalid'],
]

const reasonCodes = [...checkByReason.keys(), 'internal']

test('the reasons are those in the list', () => {
  expect(reasonCodes.toSorted()).toEqual(contract.toSorted())
})

test('docs/explain.md has advice for each reason and each finding', async () => {
  const page = await readFile(new URL('../../../../docs/explain.md', import.meta.url), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('|'))

  for (const code of [...reasonCodes, ...lintCodes])
    expect(rows.some((row) => row.split('|')[1]?.includes(`\`${code}\``))).toBe(true)
})
