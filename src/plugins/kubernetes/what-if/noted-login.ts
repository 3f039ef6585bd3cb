import type { LoginAuth } from '../../../core/tokens/acts/issue-login.ts'
import { keptClaims } from '../../../jwt/history/hashed-claims.ts'
import type { NotedLogin } from '../../../jwt/history/login-history.ts'
import { matchedPattern } from '../../../jwt/history/patterns.ts'
import { ownMember } from '../../../jwt/jws/strict-json.ts'
import type { Role } from '../config/role.ts'
import type { Admitted } from '../login/login.ts'

/** How the two names of an account are remembered. */
export const nameKey = 'service_account_name'
export const namespaceKey = 'namespace'

/** The names of the claims that a role looks at. */
export const claimsLookedAt = ({ record }: Role): string[] => [
  '/kubernetes.io/namespace',
  '/kubernetes.io/serviceaccount/name',
  ...((record.audience ?? '') === '' ? [] : ['aud']),
]

/** A login of a service account. docs/contract/what-if.md#mounts-of-type-kubernetes */
export function notedLogin(
  { alias }: LoginAuth,
  { role, account, claims }: Pick<Admitted, 'role' | 'account' | 'claims'>,
  address: string,
): NotedLogin {
  const { name, namespace } = account
  const kept = {
    iss: ownMember(claims, 'iss'),
    aud: ownMember(claims, 'aud'),
    [nameKey]: name,
    [namespaceKey]: namespace,
  }
  return {
    path: 'login',
    asToken: false,
    byDefault: false,
    address,
    role: role.name,
    subject: alias?.name ?? '',
    sameAs: JSON.stringify(kept),
    remember: (hash) => ({
      ...keptClaims(kept, [nameKey, namespaceKey], { hash, lookup: ownMember }),
      algorithm: '',
      keyId: '',
      matched: {
        ...matched(nameKey, role.record.bound_service_account_names, name),
        ...matched(namespaceKey, role.record.bound_service_account_namespaces, namespace),
      },
    }),
  }
}

function matched(key: string, patterns: readonly string[] = [], text: string): Record<string, string> {
  const pattern = matchedPattern(patterns, [text])
  return pattern === undefined ? {} : { [key]: pattern }
}
