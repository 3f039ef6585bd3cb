import { refuse } from '../../errors.ts'
import { parseDuration } from '../../lib/text/go-duration.ts'
import { excerpt, quoted } from '../../lib/text/go-text.ts'
import { isJsonNumber, type JsonObject, type JsonValue, numberText } from '../../lib/text/json.ts'
import type { MountConfig, MountTable } from './mount.ts'

/** The default lifetimes of mounts, in seconds. */
export type SystemTtls = { readonly defaultTtl: number; readonly maxTtl: number }

export const listNames = [
  'audit_non_hmac_request_keys',
  'audit_non_hmac_response_keys',
  'passthrough_request_headers',
  'allowed_response_headers',
  'allowed_managed_keys',
  'delegated_auth_accessors',
] as const

/** The optional settings of a mount. */
export const settingNames = [
  ...listNames,
  'listing_visibility',
  'trim_request_trailing_slashes',
  'identity_token_key',
] as const

const tokenTypes = new Set(['default-service', 'default-batch', 'service', 'batch'])
const visibilities = new Set(['', 'hidden', 'unauth'])
const version = /^v?\d+(?:\.\d+)*(?:-[\w.~-]+)?(?:\+[\w.~-]+)?$/

/** The decoded `config` map of an enable call, not validated yet. */
export type GivenConfig = ReturnType<typeof decodeConfig>

/**
 * Decodes `config` of an enable call. A text must be a string or number, a flag a boolean, a list an array or
 * a comma-separated string; `null` means the zero value. Keys count in any letter case, as in Go; ignores unknown
 * ones.
 * docs/contract/mounts.md#enabling
 */
export function decodeConfig(table: MountTable, given: JsonObject | null | undefined) {
  const config: JsonObject = Object.fromEntries(
    Object.entries(given ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const badConfig = () => unconvertible(table)
  const text = (value: JsonValue | undefined): string => {
    if (value === undefined || value === null) return ''
    if (isJsonNumber(value)) return numberText(value)
    if (typeof value === 'string') return value
    throw badConfig()
  }
  const flag = (value: JsonValue | undefined): boolean => {
    if (value === undefined || value === null) return false
    if (typeof value === 'boolean') return value
    throw badConfig()
  }
  const list = (value: JsonValue | undefined): string[] => {
    if (value === undefined || value === null || value === '') return []
    const items = typeof value === 'string' ? value.split(',') : value
    if (!Array.isArray(items)) throw badConfig()
    return items.map((item) => text(item).trim())
  }
  return {
    default_lease_ttl: text(config.default_lease_ttl),
    max_lease_ttl: text(config.max_lease_ttl),
    force_no_cache: flag(config.force_no_cache),
    trim_request_trailing_slashes: flag(config.trim_request_trailing_slashes),
    token_type: text(config.token_type),
    listing_visibility: text(config.listing_visibility),
    plugin_version: text(config.plugin_version),
    lockout: table === 'auth' && requestsLockout(config.user_lockout_config, badConfig),
    identity_token_key: text(config.identity_token_key),
    lists: Object.fromEntries(listNames.map((name) => [name, list(config[name])])),
  }
}

/** docs/contract/mounts.md#enabling */
export const unconvertible = (table: MountTable) =>
  refuse('invalid', `unable to convert given ${table === 'auth' ? 'auth' : 'mount'} config information`)

/**
 * Whether the lockout map is not empty. Throws if its threshold is not a number or its switch not a boolean.
 */
function requestsLockout(given: JsonValue | undefined, badConfig: () => Error): boolean {
  if (given === undefined || given === null) return false
  if (typeof given !== 'object' || Array.isArray(given) || isJsonNumber(given)) throw badConfig()
  const { lockout_threshold: threshold, lockout_disable: disable } = given
  if (threshold !== undefined && threshold !== null && !isJsonNumber(threshold)) throw badConfig()
  if (disable !== undefined && disable !== null && typeof disable !== 'boolean') throw badConfig()
  return Object.keys(given).length > 0
}

/** The settings that a mount keeps: an empty text or list, or `false`, means that it has none. */
export const keptSettings = (
  given: Readonly<Record<string, string | boolean | readonly string[]>>,
): Pick<MountConfig, (typeof settingNames)[number]> =>
  Object.fromEntries(
    Object.entries(given).filter(([, value]) => (typeof value === 'boolean' ? value : value.length > 0)),
  )

/** Parses a mount's TTL: seconds, where 0 means the system's value, or why it is invalid. */
export function readTtl(given: string): { seconds: number } | { error: string } {
  return given === '' || given === 'system' ? { seconds: 0 } : parseDuration(given)
}

/** The TTLs of a new mount. docs/contract/mounts.md#enabling */
export function newTtls(
  given: GivenConfig,
  system: SystemTtls,
): Pick<MountConfig, 'default_lease_ttl' | 'max_lease_ttl'> {
  const read = (word: string, text: string): number => {
    const ttl = readTtl(text)
    if ('error' in ttl)
      throw refuse('invalid', `unable to parse ${word} TTL of ${excerpt(text)}: ${ttl.error}`)
    return ttl.seconds
  }
  const default_lease_ttl = read('default', given.default_lease_ttl)
  const max_lease_ttl = read('max', given.max_lease_ttl)
  if (max_lease_ttl > 0 && default_lease_ttl > max_lease_ttl)
    throw refuse('invalid', 'given default lease TTL greater than given max lease TTL')
  if (max_lease_ttl === 0 && default_lease_ttl > system.maxTtl) {
    throw refuse('invalid', `given default lease TTL greater than system max lease TTL of ${system.maxTtl}`)
  }
  return { default_lease_ttl, max_lease_ttl }
}

export function tokenType(given: string): string {
  if (given === '') return 'default-service'
  if (!tokenTypes.has(given)) throw refuse('invalid', "invalid value for 'token_type'")
  return given
}

export function checkVisibility(given: string): void {
  if (!visibilities.has(given)) throw refuse('invalid', `invalid listing_visibility ${excerpt(given)}`)
}

/** Refuses any plugin version, because built-in plugins have none. */
export function checkPluginVersion(given: string, type: string): void {
  if (given === '') return
  if (given.length > 256 || !version.test(given)) {
    throw refuse(
      'invalid',
      `version ${quoted(given)} is not a valid semantic version: malformed version: ${excerpt(given)}`,
    )
  }
  throw refuse('invalid', `plugin not found in the catalog: ${type}`)
}

/** docs/contract/lockout.md#tuning */
export const lockoutRefused = (type: string) =>
  refuse('invalid', `tuning of user lockout configuration for auth type "${type}" not allowed`)
