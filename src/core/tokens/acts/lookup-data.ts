import { formatTime } from '../../../lib/text/time.ts'
import { shownScope } from '../store/scope.ts'
import { loginOf, type Token } from '../store/token.ts'

export type LookupContext = {
  /** As sent; empty for a lookup by accessor. */
  readonly id: string
  readonly now: number
  readonly identityPolicies: readonly string[]
  /** Policies from groups in other namespaces. docs/contract/namespaces.md#isolation */
  readonly external?: readonly { readonly namespace: string; readonly names: readonly string[] }[]
  /** Empty for the root namespace. */
  readonly namespacePath: string
  /** The caller looks itself up: on its last use it is still alive. */
  readonly isCaller?: boolean
}

/** `data` of a token lookup: exactly the keys of docs/contract/tokens-and-policies.md#tokens */
export function lookupData(
  token: Token,
  { id, now, identityPolicies, external = [], namespacePath, isCaller = false }: LookupContext,
): Record<string, unknown> {
  const spent = token.num_uses < 0 && !isCaller
  const login = loginOf(token)
  return {
    id,
    accessor: token.accessor,
    policies: token.policies,
    path: token.path,
    meta: token.meta,
    display_name: token.display_name,
    num_uses: token.num_uses,
    orphan: token.parent === '',
    creation_time: Math.floor(token.creation_time / 1000),
    creation_ttl: token.ttl,
    expire_time: token.expire_time === null ? null : formatTime(token.expire_time),
    ttl: spent ? 0 : secondsLeft(token, now),
    explicit_max_ttl: token.explicit_max_ttl,
    entity_id: token.entity_id,
    type: token.type,
    ...(token.role === undefined ? {} : { role: token.role }),
    ...(token.period === 0 ? {} : { period: token.period }),
    ...(token.bound_cidrs.length === 0 ? {} : { bound_cidrs: token.bound_cidrs }),
    ...shownScope(token.scope),
    ...(login && { login_metadata: login.metadata, login_accessor: login.accessor }),
    ...(token.initial_root === true
      ? {}
      : { issue_time: formatTime(issueTime(token)), renewable: token.renewable && !spent }),
    ...(token.last_renewal === undefined
      ? {}
      : {
          last_renewal: formatTime(token.last_renewal),
          last_renewal_time: Math.floor(token.last_renewal / 1000),
        }),
    ...(identityPolicies.length === 0 && external.length === 0
      ? {}
      : {
          identity_policies: identityPolicies,
          external_namespace_policies: Object.fromEntries(
            external.map(({ namespace, names }) => [namespace, names]),
          ),
        }),
    ...(namespacePath === '' ? {} : { namespace_path: namespacePath }),
  }
}

/** Batch tokens show whole seconds. docs/contract/tokens-and-policies.md#tokens */
const issueTime = ({ type, issue_time }: Token): number =>
  type === 'batch' ? Math.floor(issue_time / 1000) * 1000 : issue_time

/** Rounds now to the second and truncates the difference. docs/contract/tokens-and-policies.md#lifetimes */
export const secondsLeft = ({ expire_time }: Token, now: number): number =>
  expire_time === null ? 0 : Math.max(0, Math.trunc((expire_time - Math.round(now / 1000) * 1000) / 1000))
