import type { StrictObject } from '../../../jwt/jws/strict-json.ts'
import type { ClockOffset } from '../../../jwt/keys/clock-offset.ts'
import type { ReadyConfig } from '../config/mount-state.ts'
import type { Role } from '../config/role.ts'

/** What was fixed when a browser login began. */
export type BegunFlow = {
  /** The address of the client that began it. */
  readonly address: string
  readonly redirect_uri: string
  readonly bound_audiences: readonly string[]
  /** Seconds; 0 means none. */
  readonly max_age: number
  /** Milliseconds since the epoch. */
  readonly created: number
  readonly confirmed: boolean
}

/** Everything that the checks of a login look at, as far as it is known. */
export type Facts = {
  readonly ready: ReadyConfig | undefined
  readonly role: Role | undefined
  /** As named by the caller, or the mount's default. */
  readonly roleName: string
  /** The existing roles, if the named one does not exist. */
  readonly roleNames: readonly string[]
  readonly remoteAddress: string
  /** From the token's header; "" if absent. */
  readonly keyId: string
  readonly algorithm: string
  readonly claims: StrictObject | undefined
  readonly nowMs: number
  readonly offset: ClockOffset | undefined
  /** Whether it is a browser login; `login` is that login, if known. */
  readonly isFlow?: boolean
  readonly login?: BegunFlow | undefined
}

/** So many names are looked at. */
const maxNames = 1_000

/** Names of the claims that are present, the first ones. */
export const claimNames = (claims: StrictObject = {}): string[] =>
  Object.keys(claims)
    .slice(0, maxNames)
    .filter((name) => claims[name] !== undefined)
