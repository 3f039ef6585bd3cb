import { refuse } from '../../errors.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { JsonObject } from '../../lib/text/json.ts'
import { isTokenType } from './fixed-types.ts'
import { decodeLockout, tunedLockout } from './lockout-config.ts'
import type { Mount, MountConfig } from './mount.ts'
import {
  checkPluginVersion,
  listNames,
  lockoutRefused,
  readTtl,
  type SystemTtls,
  signingKey,
  slashTrimming,
  tokenType,
  visibility,
  withoutEmpty,
} from './mount-config.ts'
import type { MountVersions } from './mount-type.ts'

/** The fields of a tune call; absent ones keep their value. docs/contract/mounts.md#tuning */
export type TuneRequest = {
  readonly default_lease_ttl?: string
  readonly max_lease_ttl?: string
  readonly description?: string
  readonly audit_non_hmac_request_keys?: readonly string[]
  readonly audit_non_hmac_response_keys?: readonly string[]
  readonly passthrough_request_headers?: readonly string[]
  readonly allowed_response_headers?: readonly string[]
  readonly allowed_managed_keys?: readonly string[]
  readonly delegated_auth_accessors?: readonly string[]
  readonly trim_request_trailing_slashes?: boolean
  readonly listing_visibility?: string
  readonly token_type?: string
  /** Merged into the mount's options; an empty value deletes a key. */
  readonly options?: Readonly<Record<string, string>> | null
  readonly user_lockout_config?: JsonObject | null
  readonly plugin_version?: string
  readonly identity_token_key?: string
}

/** The fields that a fixed mount refuses; the error names the first one in this order. */
const fixedFields = [
  'default_lease_ttl',
  'max_lease_ttl',
  'description',
  'passthrough_request_headers',
  'allowed_response_headers',
  'allowed_managed_keys',
  'delegated_auth_accessors',
  'trim_request_trailing_slashes',
  'listing_visibility',
  'token_type',
  'options',
  'user_lockout_config',
  'plugin_version',
  'identity_token_key',
] as const
const builtIn = /^(?:sys|cubbyhole|identity|audit)\//

/** Refuses fields that fixed mounts do not accept, whether or not the mount exists. */
export function checkTunable(path: string, request: TuneRequest): void {
  const field = builtIn.test(path) ? fixedFields.find((name) => request[name] !== undefined) : undefined
  if (field !== undefined) throw refuse('invalid', `cannot tune parameter ${field} of ${path}`)
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
  const given = listNames.filter((name) => request[name] !== undefined)
  for (const name of given) delete config[name]
  Object.assign(config, withoutEmpty(Object.fromEntries(given.map((name) => [name, request[name] ?? []]))))
  if (request.listing_visibility !== undefined) {
    const next = visibility(request.listing_visibility)
    delete config.listing_visibility
    Object.assign(config, next)
  }
  if (request.trim_request_trailing_slashes !== undefined) {
    delete config.trim_request_trailing_slashes
    Object.assign(config, slashTrimming(request.trim_request_trailing_slashes))
  }
  if (request.identity_token_key !== undefined) {
    delete config.identity_token_key
    Object.assign(config, signingKey(request.identity_token_key))
  }
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
