import { refuse } from '../../../errors.ts'
import { globMatches } from '../../../lib/text/glob.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { sanitize } from '../store/policy-names.ts'
import type { TokenRoleRecord } from '../store/token-role.ts'

/** Whether a role restricts the policies of its tokens. If not, the rules for tokens without a role apply. */
export const listsPolicies = (role: TokenRoleRecord): boolean =>
  [
    role.allowed_policies,
    role.disallowed_policies,
    role.allowed_policies_glob,
    role.disallowed_policies_glob,
  ].some((list) => (list ?? []).length > 0)

export type RolePoliciesRequest = {
  requested: readonly string[]
  noDefaultPolicy: boolean
  caller: readonly string[]
}

/**
 * Policies of a token created with a role that restricts policies. Throws `invalid` if the role does not
 * allow them. docs/contract/tokens-and-policies.md#creating-a-token
 */
export function rolePolicies(
  role: TokenRoleRecord,
  { requested, noDefaultPolicy, caller }: RolePoliciesRequest,
): string[] {
  const { allowed_policies: allowed = [], allowed_policies_glob: globs = [] } = role
  const forbids = forbidden(role)
  const addDefault = !noDefaultPolicy && role.token_no_default_policy !== true && !forbids('default')
  const isLimited = allowed.length > 0 || globs.length > 0
  const wanted = requested.length > 0 ? sanitize(requested, addDefault) : []
  const own = isLimited ? sanitize(allowed, addDefault) : []
  const policies = wanted.length > 0 ? wanted : isLimited ? own : sanitize(caller, addDefault)
  if (isLimited && wanted.length > 0) {
    const known = new Set(own)
    const fits = (name: string) => known.has(name) || globs.some((glob) => globMatches(glob, name))
    if (!wanted.every(fits)) throw notAllowed(wanted, own, globs)
  }
  const refused = policies.find(forbids)
  if (refused !== undefined)
    throw refuse('invalid', `token policy ${quoted(refused)} is disallowed by this role`)
  return policies
}

function forbidden({
  disallowed_policies: names = [],
  disallowed_policies_glob: globs = [],
}: TokenRoleRecord): (name: string) => boolean {
  const known = new Set(names)
  return (name) => known.has(name) || globs.some((glob) => globMatches(glob, name))
}

/** Most names in an error text. */
const maxListed = 64
const listed = (list: readonly string[]): string => {
  const shown = list.slice(0, maxListed).map((name) => quoted(name))
  return `([${(list.length > maxListed ? [...shown, '…'] : shown).join(' ')}])`
}

const notAllowed = (wanted: readonly string[], allowed: readonly string[], globs: readonly string[]) =>
  refuse(
    'invalid',
    `token policies ${listed(wanted)} must be subset of the role's allowed policies ${listed(allowed)} or glob policies ${listed(globs)}`,
  )
