import { lookupClaim, setClaim } from '../../lib/json-pointer.ts'
import { goText, quoted } from '../../lib/go-text.ts'
import { isJsonNumber, type JsonValue, numberText } from '../../lib/json.ts'
import { fetchGroupsElsewhere, fetchOwnGroups } from './azure-groups.ts'
import { readGroups } from './claims.ts'
import type { ProviderReach } from './provider-reach.ts'
import { type Refusal, refusal } from './refusal.ts'
import type { StrictObject } from './strict-json.ts'

/** A mount's `provider_config` as stored; numbers are literal text. */
export type ProviderConfig = { readonly [option: string]: JsonValue } | null

type OptionType = 'bool' | 'int' | 'string'

type Provider = {
  readonly options: Readonly<Record<string, OptionType>>
  /** Never shown to a reader. */
  readonly secrets: readonly string[]
  /** What is wrong with options of the right types. */
  problem?(options: Options, discoveryUrl: string): string | undefined
}

type Options = { text(name: string): string; flag(name: string): boolean; count(name: string): number }

/** Names and options, contract jwt-oidc §6. Unknown options are kept and echoed. */
const providers: Readonly<Record<string, Provider>> = {
  azure: { options: { fetch_groups: 'bool' }, secrets: [] },
  gsuite: {
    options: {
      gsuite_service_account: 'string',
      gsuite_admin_impersonate: 'string',
      impersonate_principal: 'string',
      fetch_groups: 'bool',
      fetch_user_info: 'bool',
      groups_recurse_max_depth: 'int',
      user_custom_schemas: 'string',
      domain: 'string',
    },
    secrets: ['gsuite_service_account'],
    problem: gsuiteProblem,
  },
  secureauth: { options: {}, secrets: [] },
  ibmisam: { options: {}, secrets: [] },
  okta: {
    options: { org_url: 'string', api_token: 'string', fetch_groups: 'bool', user_id_claim: 'string', groups_cap: 'int', groups_filter: 'string' },
    secrets: ['api_token'],
    problem: oktaProblem,
  },
}

const providerOf = (name: string): Provider | undefined => (Object.hasOwn(providers, name) ? providers[name] : undefined)

const memberOf = (config: ProviderConfig, name: string): JsonValue => (config !== null && Object.hasOwn(config, name) ? (config[name] ?? null) : null)

const isUnset = (config: ProviderConfig): config is null => config === null || Object.keys(config).length === 0

/** Why a provider cannot start with these options; undefined when it can or none is named. Contract jwt-oidc §6.1. */
export function providerConfigProblem(config: ProviderConfig, discoveryUrl: string): string | undefined {
  if (isUnset(config)) return undefined
  const name = memberOf(config, 'provider')
  if (typeof name !== 'string') return "'provider' field not found in provider_config"
  const provider = providerOf(name)
  if (provider === undefined) return `provider ${quoted(name)} not found in custom providers`
  const problem = typeProblem(config, provider.options) ?? provider.problem?.(optionsOf(config), discoveryUrl)
  return problem === undefined ? undefined : `error initializing ${quoted(name)} provider_config: ${problem}`
}

/** The options without the secret ones. Contract jwt-oidc §1.7. */
export function withoutProviderSecrets(config: ProviderConfig): object {
  if (config === null) return {}
  const name = memberOf(config, 'provider')
  const secrets = typeof name === 'string' ? (providerOf(name)?.secrets ?? []) : []
  return Object.fromEntries(Object.entries(config).filter(([option]) => !secrets.includes(option)))
}

/** Types are strict: the text "true" is no bool. */
function typeProblem(config: ProviderConfig, options: Provider['options']): string | undefined {
  const fits: Record<OptionType, (value: JsonValue) => boolean> = {
    bool: (value) => typeof value === 'boolean',
    int: (value) => isJsonNumber(value) && /^-?\d{1,15}$/.test(numberText(value)),
    string: (value) => typeof value === 'string',
  }
  const wrong = Object.entries(options).find(([name, type]) => memberOf(config, name) !== null && !fits[type](memberOf(config, name)))
  if (wrong === undefined) return undefined
  return `decoding failed due to the following error(s):\n\n'${wrong[0]}' expected type '${wrong[1]}'`
}

const optionsOf = (config: ProviderConfig): Options => ({
  text: (name) => {
    const value = memberOf(config, name)
    return typeof value === 'string' ? value : ''
  },
  flag: (name) => memberOf(config, name) === true,
  count: (name) => {
    const value = memberOf(config, name)
    return isJsonNumber(value) ? Number(numberText(value)) : 0
  },
})

/** Contract jwt-oidc §6.3. A key file is opened when groups are first fetched; a key given as text must be JSON. */
function gsuiteProblem({ text, count }: Options): string | undefined {
  if (count('groups_recurse_max_depth') < 0) return "'gsuite_recurse_max_depth' must be a positive integer"
  const account = text('gsuite_service_account')
  return account.trimStart().startsWith('{') && !isJson(account) ? 'error parsing service account JSON: not JSON' : undefined
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Contract jwt-oidc §6.5. */
function oktaProblem({ text, flag, count }: Options, discoveryUrl: string): string | undefined {
  const given = text('org_url') === '' ? discoveryUrl : text('org_url')
  if (given !== '') {
    const url = URL.parse(given)
    if (url?.protocol !== 'https:') return 'org_url must use https'
    if (url.hostname === '') return 'org_url must include a host'
  }
  if (flag('fetch_groups') && given === '') {
    return "'org_url' must be set in provider_config or oidc_discovery_url must be configured when fetch_groups=true"
  }
  if (flag('fetch_groups') && text('api_token') === '') return "'api_token' is required in provider_config when fetch_groups=true"
  if (count('groups_cap') < 0) return 'groups_cap must be >= 0'
  return isExpression(text('groups_filter')) ? undefined : `invalid groups_filter regex: ${goText(text('groups_filter'))}`
}

function isExpression(text: string): boolean {
  try {
    return new RegExp(text, 'u').source !== ''
  } catch {
    return false
  }
}

const notYet = (what: string): Refusal => refusal('provider_failed', `${what} comes with a later version`)

/** The provider's hook for more claims, contract jwt-oidc §4.7 row 2: refused until it is built, never left out. */
export function userInfoRefusal(config: ProviderConfig): Refusal | undefined {
  if (isUnset(config) || memberOf(config, 'provider') !== 'gsuite') return undefined
  const { text, flag } = optionsOf(config)
  return flag('fetch_user_info') && text('user_custom_schemas') !== '' ? notYet('fetching user information from Google Workspace') : undefined
}

/**
 * The groups of a token through its mount's provider, contract jwt-oidc §4.8 and §6. The claim is left in the form `bound_claims` shall see. What a
 * provider would have to fetch is refused until that is built, never left out. Only what is fetched is waited for.
 */
export function groupsThroughProvider(
  claims: StrictObject,
  groupsClaim: string,
  config: ProviderConfig,
  reach: ProviderReach,
): string[] | Refusal | Promise<string[] | Refusal> {
  const prepared = isUnset(config) ? undefined : prepareGroups(claims, groupsClaim, config, reach)
  const read = (refused: Refusal | undefined) =>
    refused === undefined ? readGroups(claims, groupsClaim) : { ...refused, text: `failed to fetch groups: ${refused.text}` }
  return prepared instanceof Promise ? prepared.then(read) : read(prepared)
}

function prepareGroups(
  claims: StrictObject,
  groupsClaim: string,
  config: ProviderConfig,
  reach: ProviderReach,
): Refusal | undefined | Promise<Refusal | undefined> {
  const options = optionsOf(config)
  const groups = lookupClaim(claims, groupsClaim)
  switch (memberOf(config, 'provider')) {
    case 'secureauth':
      return splitGroups(claims, groupsClaim, ',')
    case 'ibmisam':
      return splitGroups(claims, groupsClaim, ' ')
    case 'azure':
      if (options.flag('fetch_groups')) return fetchOwnGroups(claims, groupsClaim, reach)
      return groups === undefined ? fetchGroupsElsewhere(claims, groupsClaim, reach) : undefined
    case 'gsuite':
      return options.flag('fetch_groups') ? notYet('fetching groups from Google Workspace') : missing(groupsClaim)
    case 'okta':
      if (options.text('groups_filter') !== '') return notYet('filtering groups')
      if (!options.flag('fetch_groups')) return undefined
      return Array.isArray(groups) && groups.length < (options.count('groups_cap') || 100) ? undefined : notYet('fetching groups from Okta')
    default:
      return undefined
  }
}

const missing = (groupsClaim: string): Refusal => refusal('groups_unavailable', `${quoted(groupsClaim)} claim not found in token`)

/** Contract jwt-oidc §6.4: one string holds all names; a list stays as it is. */
function splitGroups(claims: StrictObject, groupsClaim: string, separator: string): undefined {
  const groups = lookupClaim(claims, groupsClaim)
  if (typeof groups === 'string') setClaim(claims, groupsClaim, groups.split(separator))
}
