import { createHash } from 'node:crypto'
import type { OneTimeProof } from '../../../core/tokens/store/replay-store.ts'
import { claimedEnd, lastingLeeway } from '../../../jwt/checks/claims.ts'
import { ownMember } from '../../../jwt/jws/strict-json.ts'
import type { ReadToken } from '../checks/trace.ts'
import type { RoleRecord } from '../config/role.ts'

/**
 * Identifies a token across its uses: issuer and id or, without an id, the signed text. Never the signature,
 * because one text can have several. Undefined for claims without an id that came without a token.
 * docs/contract/jwt.md#once-only
 */
export function oneTimeProof({ claims, signedText }: ReadToken): OneTimeProof | undefined {
  const issuer = textClaim(claims, 'iss')
  const id = textClaim(claims, 'jti')
  const issuedAt = Number(ownMember(claims, 'iat')) * 1000
  const times = { endsAt: claimedEnd(claims) * 1000, ...(issuedAt > 0 ? { issuedAt } : {}) }
  if (id !== '') return { of: `${issuer}\0${id}`, ...times }
  // without a zero byte, so it never equals an issuer with an id
  return signedText === undefined
    ? undefined
    : { of: createHash('sha256').update(signedText).digest('hex'), ...times }
}

const textClaim = (claims: ReadToken['claims'], name: string): string => {
  const value = ownMember(claims, name)
  return typeof value === 'string' ? value : ''
}

/** Milliseconds for which any of these roles accepts a token after it has expired. */
export function longestTolerance(roles: Iterable<RoleRecord>): number {
  let longest = lastingLeeway({ expiration_leeway: 0, clock_skew_leeway: 0 })
  for (const { expiration_leeway = 0, clock_skew_leeway = 0 } of roles) {
    longest = Math.max(longest, lastingLeeway({ expiration_leeway, clock_skew_leeway }))
  }
  return longest * 1000
}
