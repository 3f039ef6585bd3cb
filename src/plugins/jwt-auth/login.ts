import type { LoginAuth } from '../../core/tokens/issue-login.ts'
import { refuse, type ServiceError } from '../../errors.ts'
import { addressMatches } from '../../lib/cidr.ts'
import { quoted } from '../../lib/go-text.ts'
import { supportedAlgorithms } from './algorithms.ts'
import { checkBoundClaims } from './bound-claims.ts'
import { checkToken, checkUnboundAudience, readMetadata, readUserClaim } from './claims.ts'
import type { Config } from './config.ts'
import type { MountState } from './mount-state.ts'
import { groupsThroughProvider, providerConfigProblem, userInfoRefusal } from './provider-config.ts'
import { type Refusal, refusal } from './refusal.ts'
import type { Role } from './role.ts'
import type { StrictObject } from './strict-json.ts'

export type LoginInput = { readonly role: string; readonly jwt: string }

export type LoginContext = {
  readonly state: MountState
  readonly remoteAddress: string
  /** Milliseconds since the epoch, read once the signature is checked. */
  now(): number
}

/** A refusal as it goes out: 400 with the bare text, or 403 for an address that is not bound. */
export function thrown({ reason, text }: Refusal): ServiceError {
  return reason === 'address_not_bound' ? refuse('denied', 'permission denied', { reason }) : refuse('invalid', text, { reason })
}

/** Who logs in with this token, and what the role grants. Contract jwt-oidc §4.1 steps 1 to 11, in that order. Throws the first refusal. */
export async function jwtLogin(input: LoginInput, context: LoginContext): Promise<LoginAuth> {
  const ready = await context.state.findConfig()
  if (ready === undefined) throw thrown(refusal('config_missing', 'could not load configuration'))
  const role = await namedRole(input.role || ready.config.default_role, context.state)
  if (role.record.role_type === 'oidc') throw thrown(refusal('role_type_refused', 'role with oidc role_type is not allowed'))
  if (input.jwt === '') throw thrown(refusal('token_missing', 'missing token'))
  // before any work on the signature
  if (!addressMatches(role.record.token_bound_cidrs, context.remoteAddress)) throw thrown(refusal('address_not_bound', 'permission denied'))
  const token = await ready.keyset.verify(input.jwt)
  if ('reason' in token) throw thrown(token)
  const refused = checkVerified(token, role, ready.config, context.now())
  if (refused !== undefined) throw thrown(refused)
  const identity = readIdentity(token.claims, role, ready.config)
  if ('reason' in identity) throw thrown(identity)
  const unbound = checkBoundClaims(token.claims, role.boundClaims)
  if (unbound !== undefined) throw thrown({ ...unbound, text: `error validating claims: ${unbound.text}` })
  return grant(role, identity)
}

/** Steps 2 and 3; the name is lower-case. */
async function namedRole(name: string, state: MountState): Promise<Role> {
  if (name === '') throw thrown(refusal('role_missing', 'missing role'))
  const role = await state.findRole(name)
  if (role === undefined) throw thrown(refusal('role_unknown', `role ${quoted(name)} could not be found`))
  return role
}

/** What is left of step 8 once the signature is good, and step 9. */
function checkVerified(
  { claims, algorithm }: { claims: StrictObject; algorithm: string },
  role: Role,
  config: Config,
  nowMs: number,
): Refusal | undefined {
  const accepted: readonly string[] = config.jwt_supported_algs.length > 0 ? config.jwt_supported_algs : supportedAlgorithms
  if (!accepted.includes(algorithm)) {
    const text = 'error validating token: invalid algorithm (alg) header parameter: token signed with unexpected algorithm'
    return refusal('algorithm_not_allowed', text)
  }
  const { record } = role
  const boundAudiences = record.bound_audiences ?? []
  const rules = {
    bound_issuer: config.bound_issuer,
    bound_subject: record.bound_subject ?? '',
    bound_audiences: boundAudiences,
    expiration_leeway: record.expiration_leeway ?? 0,
    not_before_leeway: record.not_before_leeway ?? 0,
    clock_skew_leeway: record.clock_skew_leeway ?? 0,
  }
  const refused = checkToken(claims, rules, nowMs)
  return refused === undefined ? checkUnboundAudience(claims, boundAudiences) : { ...refused, text: `error validating token: ${refused.text}` }
}

type LoginIdentity = { readonly name: string; readonly metadata: Record<string, string>; readonly groups: readonly string[] }

/** Step 10: contract jwt-oidc §4.7, §4.8. The groups claim is left in the form bound claims shall see. */
function readIdentity(claims: StrictObject, { name: roleName, record }: Role, config: Config): LoginIdentity | Refusal {
  const name = readUserClaim(claims, record.user_claim ?? '', record.user_claim_json_pointer ?? false)
  if (typeof name !== 'string') return name
  const problem = providerConfigProblem(config.provider_config, config.oidc_discovery_url)
  if (problem !== undefined) return refusal('provider_failed', `failed to load custom provider config: ${problem}`)
  const noInfo = userInfoRefusal(config.provider_config)
  if (noInfo !== undefined) return noInfo
  const read = readMetadata(claims, record.claim_mappings ?? null, roleName)
  if ('reason' in read) return read
  const groupsClaim = record.groups_claim ?? ''
  const groups = groupsClaim === '' ? [] : groupsThroughProvider(claims, groupsClaim, config.provider_config)
  return 'reason' in groups ? groups : { name, metadata: read.metadata, groups }
}

/** Contract jwt-oidc §4.10. */
function grant({ name: roleName, record }: Role, { name, metadata, groups }: LoginIdentity): LoginAuth {
  return {
    alias: { name, metadata },
    displayName: name,
    groupNames: groups,
    policies: record.token_policies ?? [],
    ttl: record.token_ttl ?? 0,
    maxTtl: record.token_max_ttl ?? 0,
    explicitMaxTtl: record.token_explicit_max_ttl ?? 0,
    period: record.token_period ?? 0,
    numUses: record.token_num_uses ?? 0,
    tokenType: record.token_type ?? '',
    boundCidrs: record.token_bound_cidrs ?? [],
    noDefaultPolicy: record.token_no_default_policy ?? false,
    internal: { role: roleName },
  }
}
