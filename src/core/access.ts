import type { Acl } from './policies/acl.ts'
import type { Token } from './tokens/token.ts'

/** Who is asking: a valid token, and what it may do. */
export type Caller = {
  readonly token: Token
  /** The id as presented; kept for the length of the request only. */
  readonly tokenId: string
  /** Token and identity policies, sorted. */
  readonly policies: readonly string[]
  readonly identityPolicies: readonly string[]
  readonly acl: Acl
}
