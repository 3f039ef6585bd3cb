import type { Claims, ClaimsInput } from './claims.ts'
import { auth0Claims, entraClaims, googleClaims, keycloakClaims, oktaClaims } from './people-claims.ts'
import { githubClaims, gitlabClaims, kubernetesClaims } from './pipeline-claims.ts'

const claimsByProvider = {
  github: githubClaims,
  gitlab: gitlabClaims,
  kubernetes: kubernetesClaims,
  entra: entraClaims,
  okta: oktaClaims,
  google: googleClaims,
  keycloak: keycloakClaims,
  auth0: auth0Claims,
} as const satisfies Record<string, (input: ClaimsInput) => Claims>

/** A provider whose tokens are imitated, for pipelines, workloads or people. */
export type Provider = keyof typeof claimsByProvider
// Object.keys of this literal returns exactly its names
export const providers = Object.keys(claimsByProvider) as Provider[]

/** The claims of a token of the provider; `input.claims` override the defaults. */
export const claimsOf = (provider: Provider, input: ClaimsInput): Claims => claimsByProvider[provider](input)
