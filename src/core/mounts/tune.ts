import { z } from 'zod'
import { refuse } from '../../errors.ts'
import { boolField, commaListField, kvField, mapField, stringField } from '../../lib/text/fields.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { isTokenType } from './fixed-types.ts'
import { decodeLockout, lockoutForm, tunedLockout } from './lockout-config.ts'
import type { Mount, MountConfig } from './mount.ts'
import {
  checkPluginVersion,
  checkVisibility,
  keptSettings,
  listNames,
  lockoutRefused,
  readTtl,
  type SystemTtls,
  settingNames,
  tokenType,
} from './mount-config.ts'
import type { MountVersions } from './mount-type.ts'

/** An absent field keeps its value. docs/contract/mounts.md#tuning */
export const tuneInput = z.object({
  default_lease_ttl: stringField
    .optional()
    .describe('Default TTL of tokens and leases of the mount; `system` or `0` for the system value')
    .meta({ examples: ['1h30m', '3600'] }),
  max_lease_ttl: stringField
    .optional()
    .describe('Maximum TTL of tokens and leases of the mount; `system` or `0` for the system value')
    .meta({ examples: ['1h30m', '3600'] }),
  description: stringField.optional().describe('Free text'),
  audit_non_hmac_request_keys: commaListField.optional().describe('Request fields written to audit in clear'),
  audit_non_hmac_response_keys: commaListField
    .optional()
    .describe('Response fields written to audit in clear'),
  passthrough_request_headers: commaListField.optional().describe('Request headers handed to the plugin'),
  allowed_response_headers: commaListField.optional().describe('Response headers the plugin may set'),
  allowed_managed_keys: commaListField.optional().describe('Kept and shown; there are no managed keys'),
  delegated_auth_accessors: commaListField
    .optional()
    .describe('Kept and shown; no mount delegates its logins'),
  trim_request_trailing_slashes: boolField
    .optional()
    .describe('Serve a path that ends in / like the one without, except for a list'),
  listing_visibility: stringField
    .optional()
    .describe('`unauth`: listed before login; `hidden` or empty: not')
    .meta({ examples: ['unauth', 'hidden'] }),
  token_type: stringField
    .optional()
    .describe('Auth mounts only: `default-service`, `default-batch`, `service` or `batch`')
    .meta({ examples: ['default-service', 'default-batch'] }),
  options: kvField.optional().describe('Merged into the options; an empty value deletes'),
  user_lockout_config: mapField
    .optional()
    .describe(
      'Auth types that lock users out only: `lockout_threshold`, `lockout_duration`, `lockout_counter_reset_duration`, `lockout_disable`',
    )
    .meta({ examples: [{ lockout_threshold: '5', lockout_duration: '15m' }] }),
  plugin_version: stringField.optional().describe('Refused: built-in plugins have one version'),
  identity_token_key: stringField
    .optional()
    .describe('Key of `identity/oidc` that signs the identity tokens of the mount; empty: `default`'),
})

export type TuneRequest = Readonly<z.output<typeof tuneInput>>

/** The fields that a fixed mount refuses; the error names the first one in this order. */
const fixedFields = tuneInput.keyof().options.filter((name) => !name.startsWith('audit_'))
const builtIn = /^(?:sys|cubbyhole|identity|audit)\//

/** Refuses fields that fixed mounts do not accept, whether or not the mount exists. */
export function checkTunable(path: string, request: TuneRequest): void {
  const field = builtIn.test(path) ? fixedFields.find((name) => request[name] !== undefined) : undefined
  if (field !== undefined) throw refuse('invalid', `cannot tune parameter ${field} of ${path}`)
}

/** The tuning of a mount, as a tune call that leaves nothing as it is. */
export function tuneForm({ path, table, type, description, config, options }: Mount): object {
  const lists = Object.fromEntries(listNames.map((name) => [name, config[name] ?? []]))
  if (builtIn.test(path)) {
    const { audit_non_hmac_request_keys, audit_non_hmac_response_keys } = lists
    return { audit_non_hmac_request_keys, audit_non_hmac_response_keys }
  }
  const { user_lockout_config: lockout } = config
  return {
    ...lists,
    default_lease_ttl: String(config.default_lease_ttl),
    max_lease_ttl: String(config.max_lease_ttl),
    description,
    trim_request_trailing_slashes: config.trim_request_trailing_slashes ?? false,
    listing_visibility: config.listing_visibility ?? '',
    identity_token_key: config.identity_token_key ?? '',
    options: options ?? {},
    ...(table === 'auth' && !isTokenType(type) && { token_type: config.token_type ?? '' }),
    ...(lockout && { user_lockout_config: lockoutForm(lockout) }),
  }
}

export const nothingToTune = (path: string) =>
  refuse('invalid', `tune of path ${quoted(path)} failed: no mount entry found`)

export type TuneContext = SystemTtls & {
  readonly locksUsers?: boolean
  /** What a version means for the type of the mount, if it has any. */
  readonly versions?: MountVersions | undefined
}

/** The mount after tuning. Throws the errors of docs/contract/mounts.md#tuning */
export function tuned(mount: Mount, request: TuneRequest, context: TuneContext): Mount {
  checkTunable(mount.path, request)
  const config: MountConfig = {
    ...mount.config,
    ...tunedTtls(mount.config, request, context),
    ...tunedTokenType(mount, request),
  }
  Object.assign(config, tunedLockoutOf(mount, request, context))
  checkPluginVersion(request.plugin_version ?? '', mount.type)
  checkVisibility(request.listing_visibility ?? '')
  const given = settingNames.filter((name) => request[name] !== undefined)
  for (const name of given) delete config[name]
  Object.assign(config, keptSettings(Object.fromEntries(given.map((name) => [name, request[name] ?? []]))))
  return {
    ...mount,
    description: request.description ?? mount.description,
    config,
    ...tunedOptions(mount, request, context),
  }
}

/** A mount may be served by another plugin afterwards. */
function tunedOptions(
  { type, plugin, options: current }: Mount,
  { options: sent }: TuneRequest,
  { versions }: TuneContext,
): Pick<Mount, 'options' | 'plugin'> {
  if (sent === undefined || sent === null) return { options: current, plugin }
  const options = merged(current, versions?.ofTune(type, current, { ...sent }) ?? sent)
  return { options, plugin: versions?.pluginOf(options) ?? plugin }
}

function tunedTtls(
  config: MountConfig,
  request: TuneRequest,
  system: SystemTtls,
): Pick<MountConfig, 'default_lease_ttl' | 'max_lease_ttl'> {
  const next = (given: string | undefined, current: number): number => {
    if (given === undefined || given === '') return current
    const ttl = readTtl(given)
    if ('error' in ttl) throw refuse('invalid', ttl.error)
    return ttl.seconds
  }
  const default_lease_ttl = next(request.default_lease_ttl, config.default_lease_ttl)
  const max_lease_ttl = next(request.max_lease_ttl, config.max_lease_ttl)
  const longest = max_lease_ttl || system.maxTtl
  const changed = default_lease_ttl !== config.default_lease_ttl || max_lease_ttl !== config.max_lease_ttl
  if (changed && default_lease_ttl > longest) {
    throw refuse(
      'invalid',
      `backend max lease TTL of ${longest} would be less than backend default lease TTL of ${default_lease_ttl}`,
    )
  }
  return { default_lease_ttl, max_lease_ttl }
}

function tunedTokenType(
  { table, type }: Mount,
  { token_type: given }: TuneRequest,
): Pick<MountConfig, 'token_type'> {
  if (given === undefined) return {}
  if (table !== 'auth') throw refuse('invalid', "'token_type' can only be modified on auth mounts")
  if (isTokenType(type))
    throw refuse('invalid', "'token_type' cannot be set for 'token' or 'ns_token' auth mounts")
  return { token_type: tokenType(given) }
}

function tunedLockoutOf(
  { table, type, config }: Mount,
  { user_lockout_config: given }: TuneRequest,
  { locksUsers = false }: TuneContext,
): Pick<MountConfig, 'user_lockout_config'> {
  if (given === undefined || given === null) return {}
  if (table !== 'auth') throw refuse('invalid', "'user_lockout_config' can only be modified on auth mounts")
  const sent = decodeLockout(given)
  if (!locksUsers) throw lockoutRefused(type)
  return Object.keys(given).length === 0
    ? {}
    : { user_lockout_config: tunedLockout(config.user_lockout_config, sent) }
}

function merged(current: Mount['options'], given: Readonly<Record<string, string>>): Mount['options'] {
  const entries = new Map(Object.entries(current ?? {}))
  for (const [key, value] of Object.entries(given)) {
    if (value === '') entries.delete(key)
    else entries.set(key, value)
  }
  return Object.fromEntries(entries)
}
