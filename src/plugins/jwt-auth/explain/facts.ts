import type { ReadyConfig } from '../mount-state.ts'
import type { Role } from '../role.ts'
import type { ClockOffset } from '../clock-offset.ts'
import type { StrictObject } from '../strict-json.ts'

/** What the beginning of a browser login has settled. */
export type BegunFlow = {
  /** Of the client that began it. */
  readonly address: string
  readonly redirect_uri: string
  readonly bound_audiences: readonly string[]
  /** Seconds; 0 is none. */
  readonly max_age: number
  /** Milliseconds since the epoch. */
  readonly created: number
  readonly confirmed: boolean
}

/** All that the checks of a login look at, as far as it is there. */
export type Facts = {
  readonly ready: ReadyConfig | undefined
  readonly role: Role | undefined
  /** As the caller names it, or the mount's default. */
  readonly roleName: string
  /** Those there are, where the one that was named is not. */
  readonly roleNames: readonly string[]
  readonly remoteAddress: string
  /** Of the header of a token, "" where it has none. */
  readonly keyId: string
  readonly algorithm: string
  readonly claims: StrictObject | undefined
  readonly nowMs: number
  readonly offset: ClockOffset | undefined
  /** It is a login in a browser, and this one where it is known. */
  readonly isFlow?: boolean
  readonly login?: BegunFlow | undefined
}

/** Names of the claims that are there. */
export const claimNames = (claims: StrictObject | undefined): string[] =>
  Object.entries(claims ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [name]))
