import type { KeyedHash } from '../../../core/records/keyed-hash.ts'
import type { LoginAuth } from '../../../core/tokens/acts/issue-login.ts'
import { type KeptClaims, keptClaims } from '../../../jwt/history/hashed-claims.ts'
import type { NotedLogin } from '../../../jwt/history/login-history.ts'
import { matchedPattern } from '../../../jwt/history/patterns.ts'
import { sentToken } from '../../../jwt/history/sent-token.ts'
import { ownMember, type StrictObject } from '../../../jwt/jws/strict-json.ts'
import { maxRecordedToken, type NewFailure } from '../../../logins/explain/login-failures.ts'
import type { Role } from '../config/role.ts'
import { type Account, readAccount } from '../login/account.ts'
import type { Admitted } from '../login/login.ts'
import { readToken, trimmedJwt } from '../login/token.ts'

/** How the two names of an account are remembered. */
export const nameKey = 'service_account_name'
export const namespaceKey = 'namespace'

/** The names of the claims that a role looks at. */
const claimsLookedAt = ({ record }: Role): string[] => [
  '/kubernetes.io/namespace',
  '/kubernetes.io/serviceaccount/name',
  ...((record.audience ?? '') === '' ? [] : ['aud']),
]

/** The claims that are remembered of an account. */
const keptOf = (claims: StrictObject, { name, namespace }: Pick<Account, 'name' | 'namespace'>) => ({
  iss: ownMember(claims, 'iss'),
  aud: ownMember(claims, 'aud'),
  [nameKey]: name,
  [namespaceKey]: namespace,
})

const hashedOf = (kept: StrictObject, hash: KeyedHash): KeptClaims =>
  keptClaims(kept, [nameKey, namespaceKey], { hash, lookup: ownMember })

/** The part of an account's token that a failure keeps, which nobody may have vouched for. */
export function sentAccount(token: string, role: Role | undefined): NewFailure<KeptClaims>['sent'] {
  const facts = sentToken({ token, verified: false, looked: role === undefined ? [] : claimsLookedAt(role) })
  const read = readToken(trimmedJwt(token), maxRecordedToken)
  const account = 'reason' in read ? undefined : readAccount(read.claims)
  const kept =
    'reason' in read || account === undefined || 'reason' in account
      ? undefined
      : keptOf(read.claims, account)
  return (hash) => ({ ...facts(hash), kept: kept && hashedOf(kept, hash) })
}

/** A login of a service account. docs/contract/what-if.md#mounts-of-type-kubernetes */
export function notedLogin(
  { alias }: LoginAuth,
  { role, account, claims }: Pick<Admitted, 'role' | 'account' | 'claims'>,
  address: string,
): NotedLogin {
  const { name, namespace } = account
  const kept = keptOf(claims, account)
  return {
    path: 'login',
    asToken: false,
    byDefault: false,
    address,
    role: role.name,
    subject: alias?.name ?? '',
    sameAs: JSON.stringify(kept),
    remember: (hash) => ({
      ...hashedOf(kept, hash),
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
