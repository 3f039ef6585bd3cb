import { asList, readGroups } from '../../../jwt/checks/claims.ts'
import type { StrictObject } from '../../../jwt/jws/strict-json.ts'
import type { JsonValue } from '../../../lib/text/json.ts'
import { lookupClaim, setClaim } from '../../../lib/text/json-pointer.ts'
import { discreetRefusal, type Refusal, refusal, reworded } from '../../../logins/refusals/refusal.ts'
import { type Options, optionsOf, type ProviderConfig, providerName } from '../config/provider-config.ts'
import { fetchGroupsElsewhere, fetchOwnGroups } from '../directories/azure-groups.ts'
import {
  fetchGoogleGroups,
  fetchGoogleUserInfo,
  type GoogleOptions,
} from '../directories/google-directory.ts'
import { fetchOktaGroups, groupsFilter } from '../directories/okta-groups.ts'
import {
  DirectoryError,
  directoryUnavailable,
  type ProviderAccess,
  UnknownPersonError,
} from '../directories/provider-calls.ts'

/** What a mount's configuration says about its provider. */
export type ProviderSettings = {
  readonly provider_config: ProviderConfig
  readonly oidc_discovery_url: string
}

/**
 * Adds the claims that the provider's directory has; or returns why they could not be fetched.
 * docs/contract/jwt.md#login-in-this-order, docs/contract/login-providers.md#gsuite
 */
export async function addUserInfo(
  claims: StrictObject,
  { provider_config: config }: ProviderSettings,
  access: ProviderAccess,
): Promise<Refusal | undefined> {
  if (providerName(config) !== 'gsuite') return undefined
  const { text, flag } = optionsOf(config)
  if (!flag('fetch_user_info') || text('user_custom_schemas') === '') return undefined
  return orRefused('provider_failed', async () => {
    const schemas = await fetchGoogleUserInfo(claims, googleOptions(config), access)
    for (const [name, schema] of schemas) setOwn(claims, name, schema)
    return undefined
  })
}

/** A top-level claim, whatever its name. */
const setOwn = (claims: StrictObject, name: string, value: unknown): void =>
  void Object.defineProperty(claims, name, { value, enumerable: true, writable: true, configurable: true })

/**
 * The groups of a token, as the mount's provider supplies them. Leaves the claim in the form that
 * `bound_claims` expects. docs/contract/jwt.md#login-in-this-order, docs/contract/login-providers.md
 */
export async function groupsThroughProvider(
  claims: StrictObject,
  claim: GroupsClaim,
  settings: ProviderSettings,
  access: ProviderAccess,
): Promise<string[] | Refusal> {
  return namesOf(await providerGroups(claims, claim, settings, access), claims, claim)
}

/** The `groups_claim` of a role. */
export type GroupsClaim = {
  readonly name: string
  readonly isOptional: boolean
  /** An object in it lists the groups by the names of its members. */
  readonly areKeys: boolean
}

/** The value of the groups claim, as the provider supplies it. */
type Groups = {
  readonly groups: unknown /** From a directory, not from the token. */
  readonly isFetched?: true
}

function namesOf(
  found: Groups | Refusal,
  claims: StrictObject,
  { name: groupsClaim, isOptional, areKeys }: GroupsClaim,
): string[] | Refusal {
  if ('reason' in found) return reworded(found, (text) => `failed to fetch groups: ${text}`)
  setClaim(claims, groupsClaim, found.groups)
  if (isOptional && (found.groups ?? undefined) === undefined && !areElsewhere(claims, groupsClaim)) return []
  const names = readGroups(found.groups, groupsClaim, areKeys)
  if (found.isFetched !== true || Array.isArray(names)) return names
  return discreetRefusal(names.reason, {
    text: `failed to fetch groups: ${directoryUnavailable}`,
    cause: names.text,
  })
}

const saysTrue: ReadonlySet<unknown> = new Set([true, 'true'])

/**
 * Whether a token has too many groups to list them: Entra ID then refers to an address, or only says that
 * there are groups.
 */
export const areElsewhere = (claims: StrictObject, groupsClaim: string): boolean =>
  lookupClaim(claims, `/_claim_names/${groupsClaim}`) !== undefined ||
  saysTrue.has(lookupClaim(claims, 'hasgroups'))

async function providerGroups(
  claims: StrictObject,
  claim: GroupsClaim,
  settings: ProviderSettings,
  access: ProviderAccess,
): Promise<Groups | Refusal> {
  const groupsClaim = claim.name
  const { provider_config: config } = settings
  const groups = lookupClaim(claims, groupsClaim)
  switch (providerName(config)) {
    case 'secureauth':
      return { groups: typeof groups === 'string' ? groups.split(',') : groups }
    case 'ibmisam':
      return { groups: typeof groups === 'string' ? groups.split(' ') : groups }
    case 'azure':
      return azureGroups(groups, claim, { claims, options: optionsOf(config), access })
    case 'gsuite':
      return optionsOf(config).flag('fetch_groups')
        ? orRefused('groups_unavailable', async () => ({
            groups: await fetchGoogleGroups(claims, googleOptions(config), access),
            isFetched: true as const,
          }))
        : none
    case 'okta':
      return oktaGroups(groups, {
        claims,
        options: optionsOf(config),
        access,
        discoveryUrl: settings.oidc_discovery_url,
      })
    default:
      return { groups }
  }
}

const none: Groups = { groups: undefined }

type HookParts = { readonly claims: StrictObject; readonly options: Options; readonly access: ProviderAccess }

/** docs/contract/login-providers.md#azure */
async function azureGroups(
  groups: unknown,
  { name, isOptional }: GroupsClaim,
  { claims, options, access }: HookParts,
): Promise<Groups | Refusal> {
  if (options.flag('fetch_groups')) return fetchOwnGroups(access)
  if (groups !== undefined || (isOptional && !areElsewhere(claims, name))) return { groups }
  return fetchGroupsElsewhere(claims, name, access)
}

/** The cap that 0 stands for. docs/contract/login-providers.md#okta */
const usualGroupsCap = 100

/**
 * Okta limits the groups in a token: that many may be all, or only the first ones.
 * docs/contract/login-providers.md#okta
 */
async function oktaGroups(
  groups: unknown,
  { claims, options, access, discoveryUrl }: HookParts & { readonly discoveryUrl: string },
): Promise<Groups | Refusal> {
  const { text, flag, count } = options
  const filtered = (all: unknown) => ({ groups: filteredGroups(all, text('groups_filter')) })
  if (!flag('fetch_groups')) return groups === undefined ? none : filtered(groups)
  const listed = asList(groups)
  if (listed !== undefined && listed.length < (count('groups_cap') || usualGroupsCap)) return filtered(groups)
  const fetched = await orRefused('groups_unavailable', async () => {
    const { origin } = new URL(text('org_url') || discoveryUrl)
    const found = { origin, apiToken: text('api_token'), userIdClaim: text('user_id_claim') }
    return { ...filtered(await fetchOktaGroups(claims, found, access)), isFetched: true as const }
  })
  return 'reason' in fetched
    ? reworded(fetched, (why) => `unable to fetch groups from Okta API: ${why}`)
    : fetched
}

/** Names that match the filter; a value that is not a list stays unchanged. */
function filteredGroups(groups: unknown, expression: string): unknown {
  const listed = asList(groups)
  if (expression === '' || listed === undefined) return groups
  const filter = groupsFilter(expression)
  if ('problem' in filter) throw new Error('a configuration with an unusable groups_filter is in force')
  return listed.filter((name) => typeof name === 'string' && filter.matcher(name).find())
}

async function orRefused<T>(
  reason: 'groups_unavailable' | 'provider_failed',
  ask: () => Promise<T>,
): Promise<T | Refusal> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof UnknownPersonError) return refusal(reason, error.message)
    if (error instanceof DirectoryError)
      return discreetRefusal(reason, { text: directoryUnavailable, cause: error.message })
    throw error
  }
}

/** One object per configuration in force; access tokens requested with it are cached beside it. */
const googleOptionsByConfig = new WeakMap<Readonly<Record<string, JsonValue>>, GoogleOptions>()

function googleOptions(config: ProviderConfig): GoogleOptions {
  const known = config === null ? undefined : googleOptionsByConfig.get(config)
  if (known !== undefined) return known
  const { text, count } = optionsOf(config)
  const options = {
    serviceAccount: text('gsuite_service_account'),
    adminImpersonate: text('gsuite_admin_impersonate'),
    impersonatePrincipal: text('impersonate_principal'),
    domain: text('domain'),
    maxDepth: count('groups_recurse_max_depth'),
    customSchemas: text('user_custom_schemas'),
  }
  if (config !== null) googleOptionsByConfig.set(config, options)
  return options
}
