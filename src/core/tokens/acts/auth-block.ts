import { joined } from '../store/policy-names.ts'
import { shownScope } from '../store/scope.ts'
import type { Token, TokenType } from '../store/token.ts'

/** The `auth` block of a login, token creation or renewal response. docs/contract/http.md#answers */
export type AuthBlock = {
  client_token: string
  accessor: string
  policies: string[]
  token_policies?: string[]
  identity_policies?: string[]
  /** Only of a token with a scope. docs/contract/scopes.md */
  scope_policies?: readonly string[]
  scope_paths?: readonly string[]
  scope_expire_time?: string
  metadata: Record<string, string> | null
  lease_duration: number
  renewable: boolean
  entity_id: string
  token_type: TokenType
  orphan: boolean
  mfa_requirement: null
  num_uses: number
}

/**
 * What became of a login that a request carries, in its headers or as its token: its own token serves that request only,
 * like a batch token. docs/contract/inline-login.md#the-caller
 */
export type CarriedLogin = {
  /** The type that the login's token would have had. */
  readonly tokenType: TokenType
  /** The uses that it would have had, this request included; 0 is no limit. */
  readonly uses: number
  /** Of a JWT that is the token of the request. */
  readonly jwt?: JwtTimes
}

/** When a JWT was issued and when it ends, in milliseconds since the epoch. */
export type JwtTimes = { readonly issuedAt: number; readonly endsAt: number }

/** What is known of an issued or renewed token beyond its auth block. `carried`: of a login that its request carried. */
export type IssuedToken = {
  readonly token: Token
  readonly entityCreated: boolean
  readonly carried?: CarriedLogin
}

/** An auth block and the warnings of its response. */
export type Issued = { readonly auth: AuthBlock; readonly issued: IssuedToken; readonly warnings: string[] }

/** `id` is empty if the caller sent only an accessor. */
export function authBlock(token: Token, id: string, identityPolicies: readonly string[]): AuthBlock {
  return {
    client_token: id,
    accessor: token.accessor,
    policies: joined(token.policies, identityPolicies),
    ...(token.policies.length === 0 ? {} : { token_policies: [...token.policies] }),
    ...(identityPolicies.length === 0 ? {} : { identity_policies: [...identityPolicies] }),
    ...shownScope(token.scope),
    metadata: token.meta,
    lease_duration: token.granted_ttl,
    renewable: token.renewable,
    entity_id: token.entity_id,
    token_type: token.type,
    orphan: token.parent === '',
    mfa_requirement: null,
    num_uses: token.granted_uses,
  }
}
