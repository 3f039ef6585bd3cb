import { refuse } from '../../../errors.ts'

/**
 * Normalizes policy names for a token: trimmed, lower-case, unique, sorted. `root` replaces all others.
 * docs/contract/tokens-and-policies.md#policies
 */
export function sanitize(names: readonly string[], addDefault: boolean): string[] {
  const clean = new Set(names.map((name) => name.trim().toLowerCase()))
  if (clean.has('root')) return ['root']
  if (addDefault) clean.add('default')
  clean.delete('')
  return [...clean].sort()
}

/** Merges token and identity policies: unique, sorted. */
export const joined = (tokenPolicies: readonly string[], identityPolicies: readonly string[]): string[] =>
  identityPolicies.length === 0
    ? [...tokenPolicies]
    : sanitize([...tokenPolicies, ...identityPolicies], false)

/** Throws `invalid` if a name may not be assigned to tokens. */
export function checkAssignable(names: readonly string[]): void {
  if (names.includes('response-wrapping'))
    throw refuse('invalid', 'cannot assign policy "response-wrapping"', { reason: 'policy_forbidden' })
}

export type RequestedPolicies = {
  /** As sent. */
  requested: readonly string[]
  noDefaultPolicy: boolean
  /** The caller's token policies. */
  caller: readonly string[]
  /** The caller has `sudo` on the request path. */
  sudo: boolean
  /** False for a caller of another namespace: its policies mean nothing here. */
  inherits: boolean
}

/**
 * Policies of a token created without a role, or with a role that lists no policies. Throws `invalid` if the
 * caller may not assign them. docs/contract/tokens-and-policies.md#creating-a-token
 */
export function childPolicies({
  requested,
  noDefaultPolicy,
  caller,
  sudo,
  inherits,
}: RequestedPolicies): string[] {
  const policies = inherits
    ? chosen(requested, caller, sudo, !noDefaultPolicy)
    : sanitize(requested, !noDefaultPolicy)
  return noDefaultPolicy ? policies.filter((name) => name !== 'default') : policies
}

function chosen(
  requested: readonly string[],
  caller: readonly string[],
  sudo: boolean,
  addDefault: boolean,
): string[] {
  if (requested.length === 0) return sanitize(caller, false)
  if (sudo) return sanitize(requested, addDefault)
  const wanted = sanitize(requested, false)
  const own = new Set(sanitize(caller, false))
  if (!wanted.every((name) => own.has(name)))
    throw refuse('invalid', 'child policies must be subset of parent')
  return sanitize(wanted, addDefault && own.has('default'))
}
