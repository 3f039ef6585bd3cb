import { z } from 'zod'
import { refuse } from '../../errors.ts'
import { hex, type Random } from '../../lib/system/random.ts'
import { boolField, kvField, mapField, stringField } from '../../lib/text/fields.ts'
import { excerpt, quoted } from '../../lib/text/go-text.ts'
import { isFixedSecretType, isTokenType } from './fixed-types.ts'
import type { Mount, MountOptions } from './mount.ts'
import {
  checkPluginVersion,
  checkVisibility,
  decodeConfig,
  type GivenConfig,
  keptSettings,
  lockoutRefused,
  newTtls,
  type SystemTtls,
  tokenType,
  unconvertible,
} from './mount-config.ts'
import { isReservedPath, type MountPoint, pathFault, shownPath } from './mount-path.ts'
import type { MountIndex } from './mount-table.ts'
import type { MountTypeRegistry } from './mount-type-registry.ts'
import { unknownType } from './other-types.ts'

/** The fields of an enable call. docs/contract/mounts.md#enabling */
export const enableInput = z.object({
  type: stringField
    .default('')
    .describe('Type of the mount, as `jwt` or `cloud`')
    .meta({ examples: ['jwt', 'cloud'] }),
  plugin_name: stringField
    .default('')
    .describe('Type of the mount when `type` is `plugin`')
    .meta({ examples: ['jwt', 'cloud'] }),
  description: stringField.optional().describe('Free text'),
  config: mapField
    .optional()
    .describe('The settings of tuning, decoded more strictly')
    .meta({ examples: [{ default_lease_ttl: '1h' }] }),
  /** Undefined, unlike `null`, means that nothing was sent. */
  options: kvField.optional().describe('Free text by key'),
  local: boolField.default(false).describe('Stored and shown'),
  seal_wrap: boolField.default(false).describe('Stored and shown'),
  external_entropy_access: boolField.default(false).describe('Stored and shown'),
})

export type MountRequest = Readonly<Partial<z.output<typeof enableInput>> & { type: string }>

/** The state that a new mount is checked against. */
export type MountContext = {
  readonly table: MountIndex
  readonly system: SystemTtls
  readonly types: MountTypeRegistry
  /** A namespace at, above or below the path of a secrets mount. */
  conflictingNamespace(namespace: string, path: string): string | undefined
}

/**
 * Validates a request and returns its mount. Throws the errors of docs/contract/mounts.md#enabling in their
 * order.
 */
export function newMount(
  mountPoint: MountPoint,
  request: MountRequest,
  context: MountContext,
  random: Random,
): Mount {
  const type = requestedType(request)
  const given = decodeConfig(mountPoint.table, request.config)
  const ttls = newTtls(given, context.system)
  const token_type = tokenTypeOf(mountPoint, given)
  checkVisibility(given.listing_visibility)
  if (given.lockout) throw context.types.locksUsers(type) ? unconvertible('auth') : lockoutRefused(type)
  const offered = checkedPlugin(mountPoint, type, request, given, context.types)
  checkMountPoint(mountPoint, context)
  const sent: MountOptions = request.options === undefined ? {} : request.options && { ...request.options }
  const versions = context.types.versionsOf(mountPoint.table, type)
  const entry = versions?.ofNew(type, sent) ?? { type, options: sent }
  return {
    table: mountPoint.table,
    namespace: mountPoint.namespace,
    path: mountPoint.path,
    type: entry.type,
    plugin: versions?.pluginOf(entry.options) ?? offered,
    ...identifiers(mountPoint, entry.type, context.table, random),
    description: request.description ?? '',
    config: {
      ...ttls,
      force_no_cache: mountPoint.table === 'secret' && given.force_no_cache,
      ...token_type,
      ...keptSettings({
        listing_visibility: given.listing_visibility,
        ...given.lists,
        identity_token_key: given.identity_token_key,
        trim_request_trailing_slashes: given.trim_request_trailing_slashes,
      }),
    },
    options: entry.options,
    local: request.local ?? false,
    seal_wrap: request.seal_wrap ?? false,
    external_entropy_access: request.external_entropy_access ?? false,
    tainted: false,
    moves: 0,
  }
}

function requestedType({ type, plugin_name: pluginName = '' }: MountRequest): string {
  if (type === '') throw refuse('invalid', 'backend type must be specified as a string')
  if (type !== 'plugin') return type
  if (pluginName === '') throw refuse('invalid', 'plugin_name must be provided for plugin backend')
  return pluginName
}

const tokenTypeOf = ({ table }: MountPoint, given: GivenConfig) =>
  table === 'auth' ? { token_type: tokenType(given.token_type) } : {}

function checkedPlugin(
  { table }: MountPoint,
  type: string,
  request: MountRequest,
  given: GivenConfig,
  types: MountTypeRegistry,
): string {
  if (types.versionsOf(table, type) === undefined && (request.options?.version ?? '') !== '') {
    throw refuse(
      'invalid',
      `${table === 'auth' ? 'auth method' : 'secrets engine'} ${quoted(type)} does not allow setting a version`,
    )
  }
  checkPluginVersion(given.plugin_version, excerpt(type))
  if (table === 'auth' && isTokenType(type))
    throw refuse('invalid', 'token credential backend cannot be instantiated')
  if (table === 'secret' && isFixedSecretType(type))
    throw refuse('invalid', `mount type of "${type}" is not mountable`)
  const plugin = types.offeredPlugin(table, type)
  if (plugin === undefined) throw refuse('invalid', unknownType(table, type))
  return plugin
}

function checkMountPoint(mountPoint: MountPoint, { table, conflictingNamespace }: MountContext): void {
  if (shownPath(mountPoint) === '/') throw refuse('invalid', 'backend path must be specified')
  const fault = pathFault(mountPoint.path)
  if (fault !== undefined) throw refuse('invalid', fault)
  if (mountPoint.table === 'secret' && isReservedPath(mountPoint))
    throw refuse('invalid', `cannot mount ${quoted(mountPoint.path)}`)
  const mount = table.conflictWith(mountPoint.namespace, mountPoint.path)
  if (mount !== undefined) throw refuse('invalid', `path is already in use at ${shownPath(mount)}`)
  const other =
    mountPoint.table === 'secret' ? conflictingNamespace(mountPoint.namespace, mountPoint.path) : undefined
  if (other !== undefined) throw refuse('invalid', `existing mount at ${other}`)
}

/** Random identifiers that no mount has; the accessor contains `type`. */
export function identifiers(
  { table: kind }: Pick<MountPoint, 'table'>,
  type: string,
  table: MountIndex,
  random: Random,
): Pick<Mount, 'accessor' | 'uuid'> {
  const prefix = kind === 'auth' ? `auth_${type}` : type
  for (;;) {
    const accessor = `${prefix}_${hex(random, 8)}`
    if (table.byAccessor(accessor) === undefined) return { accessor, uuid: random.uuid() }
  }
}
