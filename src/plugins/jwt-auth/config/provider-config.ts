import { quoted } from '../../../lib/text/go-text.ts'
import { isJsonNumber, type JsonValue, numberText } from '../../../lib/text/json.ts'
import { serviceAccountProblem } from '../directories/google-credentials.ts'
import { groupsFilter } from '../directories/okta-groups.ts'

/** A mount's `provider_config` as stored; numbers keep their text. */
export type ProviderConfig = { readonly [option: string]: JsonValue } | null

type OptionType = 'bool' | 'int' | 'string'

type Provider = {
  readonly options: Readonly<Record<string, OptionType>>
  /** Never returned by a read. */
  readonly secrets: readonly string[]
  /** Why options of the right types cannot work. */
  problem?(options: Options, discoveryUrl: string): string | undefined
}

/** Options of a provider, by name; absent ones are "", false or 0. */
export type Options = { text(name: string): string; flag(name: string): boolean; count(name: string): number }

/** Names and options, docs/contract/login-providers.md. Unknown options are kept and echoed. */
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
    options: {
      org_url: 'string',
      api_token: 'string',
      fetch_groups: 'bool',
      user_id_claim: 'string',
      groups_cap: 'int',
      groups_filter: 'string',
    },
    secrets: ['api_token'],
    problem: oktaProblem,
  },
}

const providerOf = (name: string): Provider | undefined =>
  Object.hasOwn(providers, name) ? providers[name] : undefined

const memberOf = (config: ProviderConfig, name: string): JsonValue =>
  config !== null && Object.hasOwn(config, name) ? (config[name] ?? null) : null

/** The provider that a configuration names; undefined if it names none. */
export function providerName(config: ProviderConfig): string | undefined {
  const name = isUnset(config) ? undefined : memberOf(config, 'provider')
  return typeof name === 'string' ? name : undefined
}

const isUnset = (config: ProviderConfig): config is null =>
  config === null || Object.keys(config).length === 0

/**
 * Why a provider cannot start with these options; undefined if it can, or if none is named.
 * docs/contract/login-providers.md
 */
export function providerConfigProblem(config: ProviderConfig, discoveryUrl: string): string | undefined {
  if (isUnset(config)) return undefined
  const name = memberOf(config, 'provider')
  if (typeof name !== 'string') return "'provider' field not found in provider_config"
  const provider = providerOf(name)
  if (provider === undefined) return `provider ${quoted(name)} not found in custom providers`
  const problem = typeProblem(config, provider.options) ?? provider.problem?.(optionsOf(config), discoveryUrl)
  return problem === undefined ? undefined : `error initializing ${quoted(name)} provider_config: ${problem}`
}

/** The options without the secret ones. docs/contract/jwt.md#configuration */
export function withoutProviderSecrets(config: ProviderConfig): object {
  if (config === null) return {}
  const name = memberOf(config, 'provider')
  const secrets = typeof name === 'string' ? (providerOf(name)?.secrets ?? []) : []
  return Object.fromEntries(Object.entries(config).filter(([option]) => !secrets.includes(option)))
}

/** Types are strict: the text "true" is not a bool. */
function typeProblem(config: ProviderConfig, options: Provider['options']): string | undefined {
  const fits: Record<OptionType, (value: JsonValue) => boolean> = {
    bool: (value) => typeof value === 'boolean',
    int: (value) => isJsonNumber(value) && /^-?\d{1,15}$/.test(numberText(value)),
    string: (value) => typeof value === 'string',
  }
  const wrong = Object.entries(options).find(
    ([name, type]) => memberOf(config, name) !== null && !fits[type](memberOf(config, name)),
  )
  if (wrong === undefined) return undefined
  return `decoding failed due to the following error(s):\n\n'${wrong[0]}' expected type '${wrong[1]}'`
}

/** The options of a checked configuration. */
export const optionsOf = (config: ProviderConfig): Options => ({
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

/** docs/contract/login-providers.md#gsuite */
function gsuiteProblem({ text, count }: Options): string | undefined {
  if (count('groups_recurse_max_depth') < 0) return "'gsuite_recurse_max_depth' must be a positive integer"
  return serviceAccountProblem(text('gsuite_service_account'))
}

/** docs/contract/login-providers.md#okta */
function oktaProblem({ text, flag, count }: Options, discoveryUrl: string): string | undefined {
  const given = text('org_url') || discoveryUrl
  if (given !== '') {
    if (!/^https:/i.test(given)) return 'org_url must use https'
    if (!/^https:\/\/[^/?#]/i.test(given) || !URL.canParse(given)) return 'org_url must include a host'
  }
  if (flag('fetch_groups') && given === '') {
    return "'org_url' must be set in provider_config or oidc_discovery_url must be configured when fetch_groups=true"
  }
  if (flag('fetch_groups') && text('api_token') === '')
    return "'api_token' is required in provider_config when fetch_groups=true"
  if (count('groups_cap') < 0) return 'groups_cap must be >= 0'
  const filter = groupsFilter(text('groups_filter'))
  return 'problem' in filter ? `invalid groups_filter regex: ${filter.problem}` : undefined
}
