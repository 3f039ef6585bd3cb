import type { OutboundClient } from '../../core/outbound.ts'

/** What a provider's hook may use to ask for more than a token says. */
export type ProviderReach = {
  readonly outbound: OutboundClient
  /** PEM roots that vouch for the provider; "" for the system's. */
  readonly caPem: string
  /** Undefined where the login brought none to begin with: an ID token without a code. */
  readonly accessToken: string | undefined
  readonly signal: AbortSignal | undefined
  /** The claim that names the person, of the role. */
  readonly userClaim: string
  /** Milliseconds since the epoch. */
  now(): number
}
