import { refuse } from '../../errors.ts'

/**
 * Policy names as a token carries them: trimmed, lower-case, each once, sorted; `root` swallows all others; `default` added when asked.
 * docs/contract/tokens-and-policies.md#policies.
 */
export function sanitise(names: readonly string[], addDefault: boolean): string[] {
  const clean = new Set(names.map((name) => name.trim().toLowerCase()))
  if (clean.has('root')) return ['root']
  if (addDefault) clean.add('default')
  clean.delete('')
  return [...clean].sort()
}

/** Policies of a request beside each other: token and identity, each once, sorted. */
export const joined = (tokenPolicies: readonly string[], identityPolicies: readonly string[]): string[] =>
  identityPolicies.length === 0 ? [...tokenPolicies] : sanitise([...tokenPolicies, ...identityPolicies], false)

/** Refuses names no token may carry. */
export function checkAssignable(names: readonly string[]): void {
  if (names.includes('response-wrapping')) throw refuse('invalid', 'cannot assign policy "response-wrapping"', { reason: 'policy_forbidden' })
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

/** Policies of a token whose role, if any, lists none. docs/contract/tokens-and-policies.md#creating-a-token to d. Throws when the caller may not give them. */
export function childPolicies({ requested, noDefaultPolicy, caller, sudo, inherits }: RequestedPolicies): string[] {
  const policies = inherits ? chosen(requested, caller, sudo, !noDefaultPolicy) : sanitise(requested, !noDefaultPolicy)
  return noDefaultPolicy ? policies.filter((name) => name !== 'default') : policies
}

function chosen(requested: readonly string[], caller: readonly string[], sudo: boolean, addDefault: boolean): string[] {
  if (requested.length === 0) return sanitise(caller, false)
  if (sudo) return sanitise(requested, addDefault)
  const wanted = sanitise(requested, false)
  const own = new Set(sanitise(caller, false))
  if (!wanted.every((name) => own.has(name))) throw refuse('invalid', 'child policies must be subset of parent')
  return sanitise(wanted, addDefault && own.has('default'))
}
