import type { Call } from './call.ts'

/** Served under any load: revoking tokens and leases. docs/contract/http.md#limits */
export function isRevoking({ mount, below }: Call): boolean {
  if (mount?.plugin === 'token') return below.startsWith('revoke')
  return mount?.plugin === 'system' && /^(?:leases\/)?revoke/.test(below)
}
