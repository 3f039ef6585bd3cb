import type { Call } from './call.ts'
import type { Settings } from './settings.ts'
import type { Tenant } from './tenant.ts'
import type { TokenClaims } from './tokens.ts'

/** What the directory API and the resource manager build on. */
export type ApiParts = {
  tenant: Tenant
  settings(): Settings
  /** The caller named by a valid token, or what is wrong with the token. */
  caller(call: Call): TokenClaims | 'missing' | 'expired' | 'stranger' | 'audience'
}
