import type { ExplainedCheck, Proposal } from '../../../logins/explain/explained.ts'
import { type Fixes, isWhole, oneOf, proposalFor, withOne } from '../../../logins/explain/proposing.ts'
import type { Role, RoleRecord } from '../config/role.ts'
import { isAccountName, isNamespace } from '../login/account.ts'
import { ofTheCluster } from '../login/login.ts'

type Refused = {
  readonly checks: readonly ExplainedCheck[]
  /** The role that the login named, as it is now. */
  readonly role: Role | undefined
}

/**
 * Changes after which the checks that refused would pass, with values of the token. Only the cluster can vouch for a
 * token that no key verifies, and it was not asked about one that does not fit the role.
 * docs/contract/kubernetes.md#what-to-change
 */
export function proposalsOf({ checks, role }: Refused): Proposal[] {
  const voucher = voucherOf(checks)
  if (role === undefined || voucher === 'none') return []
  const isVerified = voucher === 'known'
  const failed = checks
    .filter(({ verdict }) => verdict === 'fail')
    // the address says nothing of a token that is not vouched for
    .filter(({ reason }) => isVerified || reason !== 'address_not_bound')
  const issuer = failed.find(({ reason }) => reason === 'issuer_mismatch')
  const isMisspelled = issuer !== undefined && issuer.hint !== '' && isWhole(issuer.seen)
  const found = [
    ...(isMisspelled ? [{ path: 'config', fields: { issuer: issuer.seen } }] : []),
    ...proposalFor(`role/${role.name}`, role.record, { failed, fixes: fixesWith(checks) }).map((one) => ({
      ...one,
      fields: { ...keptOf(role), ...one.fields },
    })),
  ]
  return found.map((one) => (isVerified ? one : { ...one, unverified: true }))
}

const selector = 'bound_service_account_namespace_selector'

/** A write that leaves it out empties it. */
const keptOf = ({ record }: Role): Partial<RoleRecord> =>
  (record[selector] ?? '') === '' ? {} : { [selector]: record[selector] }

/** Who says that the values are those of a token of the cluster. */
function voucherOf(checks: readonly ExplainedCheck[]): 'known' | 'nobody yet' | 'none' {
  const at = (name: string) => checks.find((check) => check.name === name)
  const signature = at('signature')
  const isMadeUp =
    at('token')?.verdict === 'skipped' && signature?.verdict === 'skipped' && signature.detail !== ''
  if (isMadeUp || signature?.verdict === 'pass' || at('review')?.verdict === 'pass') return 'known'
  return signature?.verdict === 'skipped' &&
    signature.detail === ofTheCluster &&
    at('review')?.verdict !== 'fail'
    ? 'nobody yet'
    : 'none'
}

/** Tokens that pods have without asking: opening the role to them is no repair. */
const otherAudiences: ReadonlySet<string> = new Set(['default_audience', 'legacy_token'])

const names = 'bound_service_account_names'
const namespaces = 'bound_service_account_namespaces'
const none: Partial<RoleRecord> = {}

function fixesWith(checks: readonly ExplainedCheck[]): Fixes<RoleRecord> {
  const withNamespace = (seen: unknown, { [namespaces]: bound }: RoleRecord) =>
    typeof seen === 'string' && isNamespace(seen) ? { [namespaces]: withOne(bound ?? [], seen) } : none
  return {
    address_not_bound: ({ seen }, { token_bound_cidrs = [] }) =>
      typeof seen === 'string' ? { token_bound_cidrs: withOne(token_bound_cidrs, seen) } : none,
    audience_mismatch: withAudience,
    audience_unbound: withAudience,
    service_account_name_refused: ({ seen }, { [names]: bound = [] }) =>
      isWhole(seen) && isAccountName(seen) ? { [names]: withOne(bound, seen) } : none,
    namespace_refused: ({ seen }, record) => withNamespace(seen, record),
    namespace_labels_refused: (_check, record) =>
      withNamespace(checks.find(({ name }) => name === 'namespace')?.seen, record),
  }
}

function withAudience({ expected, seen, hint }: ExplainedCheck): Partial<RoleRecord> {
  const audience = otherAudiences.has(hint) ? undefined : oneOf(expected, seen)
  return typeof audience === 'string' ? { audience } : none
}
