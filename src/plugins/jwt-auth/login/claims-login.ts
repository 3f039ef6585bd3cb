import type { LoginAuth } from '../../../core/tokens/acts/issue-login.ts'
import { loginTerms } from '../../../core/tokens/store/token-fields.ts'
import { readMetadata, readUserClaim } from '../../../jwt/checks/claims.ts'
import type { StrictObject } from '../../../jwt/jws/strict-json.ts'
import { type Refusal, refusal, reworded } from '../../../logins/refusals/refusal.ts'
import { checkBoundClaim } from '../checks/bound-claims.ts'
import { filledPolicies } from '../checks/policy-templates.ts'
import type { Trace } from '../checks/trace.ts'
import type { Config } from '../config/jwt-config.ts'
import { providerConfigProblem } from '../config/provider-config.ts'
import type { Role } from '../config/role.ts'
import type { ProviderAccess } from '../directories/provider-calls.ts'
import { addUserInfo, groupsThroughProvider } from './provider-hooks.ts'

/** What a login depends on besides claims and role, and how to reach the provider. */
export type ClaimsContext = Omit<ProviderAccess, 'caPem' | 'userClaim'> & {
  readonly config: Config
  readonly trace: Trace
}

/**
 * Decides from verified claims what the token may do: first who it is, then whether the role accepts it. JWT
 * logins and browser logins share it. Returns undefined if a check refused and the trace continues.
 * docs/contract/jwt.md#login-in-this-order, docs/contract/oidc.md#the-callback-in-this-order
 */
export async function loginByClaims(
  claims: StrictObject,
  role: Role,
  context: ClaimsContext,
): Promise<NamedLogin | undefined> {
  const { record } = role
  const { config, trace } = context
  const access = { ...context, caPem: config.oidc_discovery_ca_pem, userClaim: record.user_claim ?? '' }
  const name = trace.value(
    'user_claim',
    readUserClaim(claims, record.user_claim ?? '', record.user_claim_json_pointer ?? false),
  )
  trace.check('provider', providerRefusal(config) ?? (await addUserInfo(claims, config, access)))
  const { claim_mappings: mappings = null, claim_mappings_text_only: isTextOnly = false } = record
  const mapped = trace.value('metadata', readMetadata(claims, { mappings, isTextOnly }, role.name))
  const groupsClaim = record.groups_claim ?? ''
  const claim = {
    name: groupsClaim,
    isOptional: record.groups_claim_optional === true,
    areKeys: record.groups_claim_type === 'object_keys',
  }
  const named = groupsClaim === '' ? [] : await groupsThroughProvider(claims, claim, config, access)
  const groups = trace.value('groups', named)
  // the groups claim now has the form that bound claims expect
  for (const bound of role.boundClaims)
    trace.check('bound_claims', validating(checkBoundClaim(claims, bound)))
  const policies =
    role.policyTemplates === undefined
      ? undefined
      : trace.value('policies', filledPolicies(role.policyTemplates, claims))
  if (name === undefined || mapped === undefined || groups === undefined) return undefined
  if (role.policyTemplates !== undefined && policies === undefined) return undefined
  return grant(role, { name, metadata: mapped.metadata, groups, ...(policies && { policies }) })
}

function providerRefusal({ provider_config, oidc_discovery_url }: Config): Refusal | undefined {
  const problem = providerConfigProblem(provider_config, oidc_discovery_url)
  return problem === undefined
    ? undefined
    : refusal('provider_failed', `failed to load custom provider config: ${problem}`)
}

const validating = (refused: Refusal | undefined): Refusal | undefined =>
  refused && reworded(refused, (text) => `error validating claims: ${text}`)

/** Who logs in. */
export type LoginIdentity = {
  readonly name: string
  readonly metadata: Record<string, string>
  readonly groups: readonly string[]
  /** Those that the role names by claims. */
  readonly policies?: readonly string[] | undefined
}

/** The login of someone whom the claims name. */
export type NamedLogin = LoginAuth & { readonly alias: Pick<LoginIdentity, 'name' | 'metadata'> }

/** What the role grants. docs/contract/jwt.md#login-in-this-order */
export function grant(
  { name: roleName, record }: Role,
  { name, metadata, groups, policies }: LoginIdentity,
): NamedLogin {
  return {
    alias: { name, metadata },
    displayName: name,
    groupNames: groups,
    ...loginTerms(record),
    ...(policies && { policies }),
    internal: { role: roleName },
  }
}
