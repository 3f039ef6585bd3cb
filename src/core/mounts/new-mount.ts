import { refuse } from '../../errors.ts'
import { excerpt, quoted } from '../../lib/go/text.ts'
import type { JsonObject } from '../../lib/json.ts'
import { hex, type Random } from '../../lib/random.ts'
import { isFixedSecretType, isTokenType } from './fixed-types.ts'
import type { Mount } from './mount.ts'
import {
  checkPluginVersion,
  decodeConfig,
  type GivenConfig,
  lockoutRefused,
  newTtls,
  type SystemTtls,
  tokenType,
  visibility,
} from './mount-config.ts'
import { isReservedPlace, type MountPlace, pathFault, shownPath } from './mount-path.ts'
import type { MountIndex } from './mount-table.ts'
import type { MountTypeRegistry } from './mount-type-registry.ts'

/** What an enable call asks for. docs/contract/mounts.md#enabling */
export type MountRequest = {
  readonly type: string
  readonly plugin_name?: string
  readonly description?: string
  readonly config?: JsonObject | null
  /** Undefined when nothing was sent, which is not `null`. */
  readonly options?: Readonly<Record<string, string>> | null
  readonly local?: boolean
  readonly seal_wrap?: boolean
  readonly external_entropy_access?: boolean
}

/** What a new mount is held against. */
export type Surroundings = {
  readonly table: MountIndex
  readonly system: SystemTtls
  readonly types: MountTypeRegistry
  /** A namespace, or a mount in one, at, above or below the path of a secrets mount. */
  namespaceInTheWay(namespace: string, path: string): string | undefined
}

/**
 * The mount a request would make, with everything checked that can be. Throws the refusals of
 * docs/contract/mounts.md#enabling, in their order.
 */
export function newMount(
  place: MountPlace,
  request: MountRequest,
  around: Surroundings,
  random: Random,
): Mount {
  const type = askedType(request)
  const given = decodeConfig(place.table, request.config)
  const ttls = newTtls(given, around.system)
  const shown = { ...tokenTypeOf(place, given), ...visibility(given.listing_visibility) }
  if (given.lockout) throw lockoutRefused(type)
  const plugin = checkedPlugin(place, type, request, given, around.types)
  checkPlace(place, around)
  return {
    table: place.table,
    namespace: place.namespace,
    path: place.path,
    type,
    plugin,
    ...identifiers(place, type, around.table, random),
    description: request.description ?? '',
    config: {
      ...ttls,
      force_no_cache: place.table === 'secret' && given.force_no_cache,
      ...shown,
      ...given.lists,
    },
    options: request.options === undefined ? {} : request.options && { ...request.options },
    local: request.local ?? false,
    seal_wrap: request.seal_wrap ?? false,
    external_entropy_access: request.external_entropy_access ?? false,
    tainted: false,
    moves: 0,
  }
}

function askedType({ type, plugin_name: pluginName = '' }: MountRequest): string {
  if (type === '') throw refuse('invalid', 'backend type must be specified as a string')
  if (type !== 'plugin') return type
  if (pluginName === '') throw refuse('invalid', 'plugin_name must be provided for plugin backend')
  return pluginName
}

const tokenTypeOf = ({ table }: MountPlace, given: GivenConfig) =>
  table === 'auth' ? { token_type: tokenType(given.token_type) } : {}

/** The only type with versions to choose from: not offered here, and whoever asks for it hears just that. */
const versioned = 'kv'

function checkedPlugin(
  { table }: MountPlace,
  type: string,
  request: MountRequest,
  given: GivenConfig,
  types: MountTypeRegistry,
): string {
  if (type !== versioned && (request.options?.version ?? '') !== '') {
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
  if (plugin === undefined) throw refuse('invalid', `plugin not found in the catalog: ${excerpt(type)}`)
  return plugin
}

function checkPlace(place: MountPlace, { table, namespaceInTheWay }: Surroundings): void {
  if (shownPath(place) === '/') throw refuse('invalid', 'backend path must be specified')
  const fault = pathFault(place.path)
  if (fault !== undefined) throw refuse('invalid', fault)
  if (place.table === 'secret' && isReservedPlace(place))
    throw refuse('invalid', `cannot mount ${quoted(place.path)}`)
  const mount = table.inTheWay(place.namespace, place.path)
  if (mount !== undefined) throw refuse('invalid', `path is already in use at ${shownPath(mount)}`)
  const other = place.table === 'secret' ? namespaceInTheWay(place.namespace, place.path) : undefined
  if (other !== undefined) throw refuse('invalid', `existing mount at ${other}`)
}

/** Random ids no mount has; `type` is the name the accessor shows. */
export function identifiers(
  { table: kind }: Pick<MountPlace, 'table'>,
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
