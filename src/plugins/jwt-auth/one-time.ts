import { createHash } from 'node:crypto'
import type { OneTimeProof } from '../../core/tokens/replay-store.ts'
import { claimedEnd, lastingLeeway } from './claims.ts'
import type { RoleRecord } from './role.ts'
import type { ReadToken } from './trace.ts'

/**
 * What makes a token the same at each use: who issued it under which id; without an id what was signed, never
 * the signature, of which there can be several. Undefined for claims without an id that no token brought.
 * docs/contract/jwt.md#once-only.
 */
export function oneTimeProof({ claims, signingInput }: ReadToken): OneTimeProof | undefined {
  const issuer = textClaim(claims, 'iss')
  const id = textClaim(claims, 'jti')
  const issuedAt = Number(Object.hasOwn(claims, 'iat') ? claims['iat'] : Number.NaN) * 1000
  const times = { endsAt: claimedEnd(claims) * 1000, ...(issuedAt > 0 ? { issuedAt } : {}) }
  if (id !== '') return { of: `${issuer}\0${id}`, ...times }
  // without the zero byte: never the same as an issuer and an id
  return signingInput && { of: createHash('sha256').update(signingInput).digest('hex'), ...times }
}

const textClaim = (claims: ReadToken['claims'], name: string): string => {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  return typeof value === 'string' ? value : ''
}

/** How long after its own end any of these roles accepts a token, milliseconds. */
export function longestTolerance(roles: Iterable<RoleRecord>): number {
  let longest = lastingLeeway({ expiration_leeway: 0, clock_skew_leeway: 0 })
  for (const { expiration_leeway = 0, clock_skew_leeway = 0 } of roles) {
    longest = Math.max(longest, lastingLeeway({ expiration_leeway, clock_skew_leeway }))
  }
  return longest * 1000
}
