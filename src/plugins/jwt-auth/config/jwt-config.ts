import { z } from 'zod'
import { caCertificates, type OutboundClient } from '../../../core/outbound/outbound.ts'
import { fail, refuse } from '../../../errors.ts'
import { isSupportedAlgorithm } from '../../../jwt/jws/algorithms.ts'
import { DiscoveryError, discover } from '../../../jwt/keys/discovery.ts'
import { fetchJwkSet, KeyFetchError, type KeySource } from '../../../jwt/keys/fetch-jwk-set.ts'
import { emptySet, type JwkSet } from '../../../jwt/keys/jwk-set.ts'
import { checkPins, pinsField, shownPins } from '../../../jwt/keys/pins.ts'
import { parsePublicKeyPem } from '../../../jwt/keys/public-key-pem.ts'
import type { LogLine } from '../../../lib/system/log-fields.ts'
import {
  boolField,
  commaListField,
  convertFields,
  durationField,
  lowerStringField,
  mapOrTextField,
  sliceField,
  stringField,
} from '../../../lib/text/fields.ts'
import { excerpt, goText, quoted } from '../../../lib/text/go-text.ts'
import { isJsonNumber, type JsonValue } from '../../../lib/text/json.ts'
import { redactUrl } from '../../../logins/refusals/redact.ts'
import { withAdvice } from './config-advice.ts'
import { providerConfigProblem, withoutProviderSecrets } from './provider-config.ts'

/**
 * docs/contract/jwt.md#configuration. Fields keep their wire names in storage. A field that a write omits
 * returns to its zero value.
 */
export const configFields = z.object({
  oidc_discovery_url: stringField.describe('OIDC discovery URL, without the .well-known component'),
  oidc_discovery_ca_pem: stringField.describe(
    'PEM certificates to trust for the discovery URL; the system’s if empty',
  ),
  oidc_client_id: stringField.describe('OAuth client id at the provider'),
  oidc_client_secret: stringField.meta({
    description: 'OAuth client secret at the provider',
    writeOnly: true,
  }),
  oidc_public_client: boolField.describe(
    'The client has no secret: its id identifies it, and PKCE protects the code',
  ),
  oidc_response_mode: stringField.describe('`query` or `form_post`; `query` if empty'),
  oidc_response_types: commaListField.describe('`code` or `id_token`; `code` if empty'),
  jwks_url: stringField.describe('URL of a JWK set that verifies signatures'),
  jwks_ca_pem: stringField.describe('PEM certificates to trust for the JWKS URL; the system’s if empty'),
  jwks_pairs: sliceField.describe('Several JWK sets: objects with `jwks_url` and optionally `jwks_ca_pem`'),
  default_role: lowerStringField.describe('Role for logins that name none'),
  jwt_validation_pubkeys: commaListField.describe('PEM public keys that verify signatures'),
  jwt_supported_algs: commaListField.describe('Accepted signature algorithms; all if empty'),
  bound_issuer: stringField.describe('Required value of `iss`; any if empty'),
  provider_config: mapOrTextField.describe(
    'Options of a provider that needs special handling; also as JSON text',
  ),
  namespace_in_state: boolField
    .optional()
    .describe('Carry the namespace in the OIDC state; true for a new configuration'),
  unsupported_critical_cert_extensions: commaListField.describe(
    'OIDs of critical certificate extensions to tolerate at the provider',
  ),
  override_allowed_server_names: commaListField.describe(
    'Names of which the certificate of provider or key server must have one, instead of the host of the URL',
  ),
  accept_as_token: boolField.describe('Accept the JWTs of `bound_issuer` as tokens of requests'),
  token_max_lifetime: durationField
    .default(86_400)
    .describe('Longest lifetime of a JWT that is the token of a request; 0: any'),
  require_authorization_details: boolField.describe(
    'Refuse a JWT as token that has no `authorization_details`',
  ),
  allowed_key_thumbprints: pinsField,
})

/** A write also says how it is checked. */
export const configInput = configFields.extend({
  skip_jwks_validation: boolField.describe(
    'Store the configuration, with a warning, even if discovery document or keys cannot be fetched',
  ),
})
export type ConfigInput = z.output<typeof configInput>

type ConfigFields = z.output<typeof configFields>

/** The stored configuration of a mount. */
export type Config = ConfigFields & { readonly namespace_in_state: boolean }

/** Parses a stored record as a configuration. */
export function readConfig(stored: unknown): Config {
  if (typeof stored !== 'object' || stored === null)
    throw new Error('a stored JWT configuration is not an object')
  const { values } = convertFields(configFields, { ...stored })
  return { ...values, namespace_in_state: values.namespace_in_state ?? true }
}

/** A write replaces every field except this one. docs/contract/jwt.md#configuration */
export const replaced = (
  { skip_jwks_validation: _ofTheWrite, ...input }: ConfigInput,
  before: Config | undefined,
): Config => ({
  ...input,
  namespace_in_state: input.namespace_in_state ?? before?.namespace_in_state ?? true,
})

/**
 * The configuration without its secrets. Throws `internal` if its provider can no longer start (for example,
 * a key file is gone). docs/contract/jwt.md#configuration
 */
export function shownConfig({ oidc_client_secret: _hidden, ...shown }: Config): object {
  const problem = providerConfigProblem(shown.provider_config, shown.oidc_discovery_url)
  if (problem !== undefined) throw fail('internal', problem)
  const { allowed_key_thumbprints: pins, ...rest } = shown
  return { ...rest, ...shownPins(pins), provider_config: withoutProviderSecrets(shown.provider_config) }
}

/**
 * Whether an OpenID client is configured, so that people can log in by browser.
 * docs/contract/jwt.md#configuration, docs/contract/oidc.md#configuration
 */
export const hasOidcClient = (config: Config): boolean =>
  config.oidc_discovery_url !== '' &&
  config.oidc_client_id !== '' &&
  (config.oidc_client_secret !== '' || config.oidc_public_client)

/** How the provider's own addresses are reached. */
export const providerTrust = (config: ConfigFields): Omit<KeySource, 'url'> => ({
  caPem: config.oidc_discovery_ca_pem,
  serverNames: config.override_allowed_server_names,
})

export const discoverySource = (config: ConfigFields): KeySource => ({
  url: config.oidc_discovery_url,
  ...providerTrust(config),
})

export const jwksSource = (config: ConfigFields): KeySource => ({
  url: config.jwks_url,
  caPem: config.jwks_ca_pem,
  serverNames: config.override_allowed_server_names,
})

/** Receives details that the caller is not told. */
export type ConfigLog = { readonly warn: LogLine }

/** What the checks of an accepted configuration found. */
export type CheckedConfig = {
  readonly warnings: string[]
  /** Why no key can be had at present, if that is so. */
  readonly unchecked: string | undefined
}

/**
 * Checks a configuration in the order of docs/contract/jwt.md#configuration, and fetches discovery document
 * and keys. Throws the first refusal.
 */
export async function checkConfig(
  config: ConfigInput,
  { outbound, log }: { outbound: OutboundClient; log: ConfigLog },
): Promise<CheckedConfig> {
  checkSources(config)
  const unfetched: string[] = []
  const parts: CheckParts = {
    outbound,
    log,
    refuseOrNote: (text, cause) => {
      if (!config.skip_jwks_validation) throw refuse('invalid', text, { cause })
      unfetched.push(text)
    },
  }
  const discovered = config.oidc_discovery_url === '' ? [] : await checkDiscovery(config, parts)
  if (config.oidc_client_id !== '' && config.oidc_discovery_url === '')
    throw refuse('invalid', "'oidc_discovery_url' must be set for OIDC")
  if (config.jwks_pairs.length > 0) {
    if (config.jwks_ca_pem !== '') {
      throw refuse(
        'invalid',
        "CA PEMs must be provided as part of the 'jwks_pairs' when using multiple JWKS URLs",
      )
    }
    if (config.bound_issuer !== '')
      throw refuse('invalid', "Bound issuer is not supported for use with 'jwks_pairs'")
  }
  const sources = config.jwks_url === '' ? jwksPairs(config) : [jwksSource(config)]
  const warnings = await checkJwks(sources, config.jwks_url === '', parts)
  for (const pem of config.jwt_validation_pubkeys) {
    const parsed = parsePublicKeyPem(pem)
    if ('error' in parsed) throw refuse('invalid', `error parsing public key: ${parsed.error}`)
  }
  checkOptions(config)
  const unusable = [...discovered, ...warnings]
  const [none] = unusable.length >= sources.length ? unusable : []
  return { warnings: [...unfetched, ...unusable], unchecked: unfetched[0] ?? none }
}

type CheckParts = {
  readonly outbound: OutboundClient
  readonly log: ConfigLog
  /** Called for a source that cannot be fetched. */
  refuseOrNote(text: string, cause: unknown): void
}

/** A key set is empty while its provider is set up, so that is no refusal. */
const keyWarnings = (set: JwkSet, field: string): string[] =>
  set.hasUsableKey ? [] : [noUsableKey(field, set.skipped()[0]?.problem ?? emptySet)]

const noUsableKey = (field: string, cause: string): string => `no usable key at ${field}: ${cause}`

function checkSources(config: ConfigInput): void {
  const { oidc_discovery_url, jwt_validation_pubkeys, jwks_url, jwks_pairs } = config
  const sources = [oidc_discovery_url, jwt_validation_pubkeys, jwks_url, jwks_pairs].filter(
    (source) => source.length > 0,
  )
  if (sources.length !== 1) {
    throw refuse(
      'invalid',
      "exactly one of 'jwt_validation_pubkeys', 'jwks_url', 'jwks_pairs' or 'oidc_discovery_url' must be set",
    )
  }
  if (config.oidc_public_client) {
    if (config.oidc_client_secret !== '')
      throw refuse('invalid', "'oidc_client_secret' must be empty for a public client")
  } else if ((config.oidc_client_id === '') !== (config.oidc_client_secret === '')) {
    throw refuse('invalid', "both 'oidc_client_id' and 'oidc_client_secret' must be set for OIDC")
  }
}

/**
 * A caller who may write a configuration is told why it cannot be used. docs/contract/jwt.md#configuration
 */
async function checkDiscovery(
  config: ConfigInput,
  { outbound, log, refuseOrNote }: CheckParts,
): Promise<string[]> {
  const source = discoverySource(config)
  const { url, caPem } = source
  if (/(?:^|\/)\.well-known(?:\/|$)/.test(url))
    throw refuse('invalid', "'oidc_discovery_url' contains '.well-known' component")
  const checking = 'error checking oidc discovery URL: '
  const problem = config.oidc_client_id === '' ? undefined : clientProblem(config)
  if (problem !== undefined) throw refuse('invalid', checking + problem)
  try {
    const { jwks_uri } = await discover(outbound, source)
    return await discoveredWarnings(outbound, { ...source, url: jwks_uri })
  } catch (error) {
    if (!(error instanceof DiscoveryError)) throw error
    log.warn(
      { err: error, event: 'discovery_refused' },
      'the OIDC discovery URL of a configuration cannot be used',
    )
    const field = { name: 'oidc_discovery_url', url, caField: 'oidc_discovery_ca_pem', caPem } as const
    refuseOrNote(checking + withAdvice(error.withoutBody, field), error)
    return []
  }
}

/** Keys that cannot be fetched are no refusal, as the document alone says where they will be. */
async function discoveredWarnings(outbound: OutboundClient, source: KeySource): Promise<string[]> {
  try {
    return keyWarnings(await fetchJwkSet(outbound, source), 'oidc_discovery_url')
  } catch (error) {
    if (error instanceof KeyFetchError) return [noUsableKey('oidc_discovery_url', error.withoutBody)]
    throw error
  }
}

const oid = /^[0-2](?:\.\d{1,20}){1,32}$/

/** With a client, the discovery check includes algorithms and OIDs. docs/contract/jwt.md#configuration */
function clientProblem(config: ConfigInput): string | undefined {
  const malformed = config.unsupported_critical_cert_extensions.find((extension) => !oid.test(extension))
  return (
    algorithmProblem(config) ??
    (malformed === undefined
      ? undefined
      : `invalid OID ${quoted(malformed)} in unsupported_critical_cert_extensions`)
  )
}

function algorithmProblem({ jwt_supported_algs }: ConfigInput): string | undefined {
  const unsupported = jwt_supported_algs.find((name) => !isSupportedAlgorithm(name))
  return unsupported === undefined ? undefined : `unsupported signing algorithm ${quoted(unsupported)}`
}

/** Reports the first one in the list that fails. docs/contract/jwt.md#configuration */
async function checkJwks(
  sources: readonly KeySource[],
  arePairs: boolean,
  { outbound, log, refuseOrNote }: CheckParts,
): Promise<string[]> {
  for (const { url, caPem } of sources) {
    if (url === '') throw refuse('invalid', 'error checking jwks_ca_pem: jwks_url is missing')
    if (caPem !== '' && caCertificates(caPem).length === 0)
      throw refuse('invalid', 'error checking jwks_ca_pem: it holds no certificate')
  }
  const checks = await Promise.allSettled(sources.map((source) => fetchJwkSet(outbound, source)))
  const warnings: string[] = []
  for (const [index, check] of checks.entries()) {
    if (check.status === 'fulfilled') {
      warnings.push(...keyWarnings(check.value, arePairs ? `jwks_pairs[${index}]` : 'jwks_url'))
      continue
    }
    const cause: unknown = check.reason
    if (!(cause instanceof KeyFetchError)) throw cause
    log.warn({ err: cause, event: 'jwks_refused' }, 'a JWKS URL of a configuration cannot be used')
    const { url = '', caPem = '' } = sources[index] ?? {}
    const why = withAdvice(cause.withoutBody, { name: 'jwks_url', url, caField: 'jwks_ca_pem', caPem })
    refuseOrNote(`error checking jwks URL ${excerpt(redactUrl(url), 1024)}: ${why}`, cause)
  }
  return warnings
}

const notPairs =
  'invalid jwks_pairs: jwks_pairs must be provided as a list of json objects with the fields jwks_url and jwks_ca_pem'

/** The pairs as key sources. Throws if one is malformed. docs/contract/jwt.md#configuration */
export function jwksPairs(
  config: Pick<ConfigInput, 'jwks_pairs' | 'override_allowed_server_names'>,
): KeySource[] {
  const { jwks_pairs, override_allowed_server_names: serverNames } = config
  return jwks_pairs.map((pair) => {
    if (typeof pair !== 'object' || pair === null || Array.isArray(pair) || isJsonNumber(pair))
      throw refuse('invalid', notPairs)
    return { url: pairMember(pair, 'jwks_url'), caPem: pairMember(pair, 'jwks_ca_pem'), serverNames }
  })
}

function pairMember(pair: Readonly<Record<string, JsonValue>>, name: string): string {
  const value = pair[name] ?? ''
  if (typeof value !== 'string')
    throw refuse('invalid', `invalid jwks_pairs: 1 error(s) decoding:\n\n* '${name}' expected type 'string'`)
  return value
}

function checkOptions(config: ConfigInput): void {
  const { oidc_response_types, oidc_response_mode, provider_config } = config
  checkPins(config.allowed_key_thumbprints)
  const ofAlgorithm = algorithmProblem(config)
  if (ofAlgorithm !== undefined) throw refuse('invalid', `invalid jwt_supported_algs: ${ofAlgorithm}`)
  if (!oidc_response_types.every((type) => type === 'code' || type === 'id_token')) {
    throw refuse(
      'invalid',
      `invalid response_types ${goText(oidc_response_types)}. 'code' and 'id_token' are allowed`,
    )
  }
  const isQuery = oidc_response_mode === '' || oidc_response_mode === 'query'
  if (isQuery && oidc_response_types.includes('id_token')) {
    throw refuse('invalid', 'query response_mode may not be used with an id_token response_type')
  }
  if (!isQuery && oidc_response_mode !== 'form_post')
    throw refuse('invalid', `invalid response_mode: ${quoted(oidc_response_mode)}`)
  const problem = providerConfigProblem(provider_config, config.oidc_discovery_url)
  if (problem !== undefined) throw refuse('invalid', `invalid provider_config: ${problem}`)
  if (config.accept_as_token && config.bound_issuer === '')
    throw refuse('invalid', "'bound_issuer' must be set when 'accept_as_token' is set")
}

/** The algorithms of ID tokens; JWT logins have their own list. docs/contract/oidc.md#configuration */
export const flowAlgorithms = (config: Config): readonly string[] =>
  config.jwt_supported_algs.length > 0 ? config.jwt_supported_algs : ['RS256']
