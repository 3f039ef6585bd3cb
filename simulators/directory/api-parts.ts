import type { Call } from './call.ts'
import type { Settings } from './settings.ts'
import type { Tenant } from './tenant.ts'
import type { TokenClaims } from './tokens.ts'

/** The dependencies of the directory API and the resource manager. */
export type ApiParts = {
  tenant: Tenant
  settings(): Settings
  /** The caller that a valid token names, or why the token is invalid. */
  caller(call: Call): TokenClaims | 'missing' | 'expired' | 'stranger' | 'audience'
}
