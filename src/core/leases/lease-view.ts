import { formatTime } from '../../lib/text/time.ts'
import { suffixOf } from '../namespaces/suffix.ts'
import type { Token } from '../tokens/store/token.ts'
import { hasEnded, isIrrevocable, type Lease } from './lease.ts'

/** The lookup data of a lease. docs/contract/leases.md#calls */
export type ShownLease = {
  readonly id: string
  readonly path: string
  readonly issue_time: string
  readonly expire_time: string | null
  readonly last_renewal: string | null
  readonly renewable: boolean
  /** Seconds left; 0 if it never expires. */
  readonly ttl: number
  readonly namespace_path?: string
  readonly revoke_error?: string
}

type Shown = Pick<Lease, 'id' | 'path' | 'issue_time' | 'last_renewal' | 'renewable'> & {
  readonly expire_time: number | null
}

function shown(lease: Shown, now: number, namespacePath: string): ShownLease {
  return {
    id: lease.id,
    path: lease.path,
    issue_time: formatTime(lease.issue_time),
    expire_time: lease.expire_time === null ? null : formatTime(lease.expire_time),
    last_renewal: lease.last_renewal === undefined ? null : formatTime(lease.last_renewal),
    renewable: lease.renewable,
    ttl: lease.expire_time === null ? 0 : secondsLeft(lease.expire_time, now),
    ...(namespacePath === '' ? {} : { namespace_path: namespacePath }),
  }
}

/**
 * Rounds now to the second and truncates the difference; `|| 0` avoids −0.
 * docs/contract/tokens-and-policies.md#lifetimes
 */
const secondsLeft = (end: number, now: number): number =>
  Math.trunc((end - Math.round(now / 1000) * 1000) / 1000) || 0

export function shownSecretLease(lease: Lease, now: number, namespacePath: string): ShownLease {
  const base = shown(lease, now, namespacePath)
  const renewable = lease.renewable && !hasEnded(lease, now) && !isIrrevocable(lease)
  return {
    ...base,
    renewable,
    ...(lease.revoke_error === undefined ? {} : { revoke_error: lease.revoke_error }),
  }
}

export const shownTokenLease = (id: string, token: Token, now: number, namespacePath: string): ShownLease =>
  shown({ ...token, id, renewable: isTokenRenewable(token) }, now, namespacePath)

/** Whether a renewal is possible; a token that never expires is not renewable. */
export const isTokenRenewable = (token: Token): boolean => token.renewable && token.expire_time !== null

/** Id of a token's lease. docs/contract/leases.md#what-has-a-lease */
export const tokenLeaseId = (token: Token, hash: string): string =>
  `${token.path}/h${hash}${suffixOf(token.namespace)}`

const tokenLease = /^(.+)\/h([0-9a-f]{64})(?:\.[0-9A-Za-z]{6})?$/s

/** The token's hash in the id of its lease; undefined for any other id. */
export const hashOfTokenLease = (id: string): string | undefined => tokenLease.exec(id)?.[2]
