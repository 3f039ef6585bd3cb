import type { OutboundClient } from '../../../core/outbound/outbound.ts'

/** What a provider's hook may use to fetch more than a token says. */
export type ProviderAccess = {
  readonly outbound: OutboundClient
  /** PEM roots to trust for the provider; "" for the system's. */
  readonly caPem: string
  /** Undefined if the login has none: an ID token came without a code. */
  readonly accessToken: string | undefined
  readonly signal: AbortSignal | undefined
  /** The role's claim that names the person. */
  readonly userClaim: string
  /** Milliseconds since the epoch. */
  now(): number
}
