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

/** Whose token is imitated: that of a pipeline or workload, or of a person's login. */
export type Provider = keyof typeof claimsByProvider
// the keys of an object of ours are the names it is written with
export const providers = Object.keys(claimsByProvider) as Provider[]

/** The claims a token of the given provider would carry, with the given ones laid over them. */
export const claimsOf = (provider: Provider, input: ClaimsInput): Claims => claimsByProvider[provider](input)
