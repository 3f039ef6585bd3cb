import type { Mount, MountConfig } from './mount.ts'
import type { SystemTtls } from './mount-config.ts'

/**
 * The default TTL of tokens and leases of a mount, in seconds. docs/contract/tokens-and-policies.md#lifetimes
 */
export const effectiveDefaultTtl = ({ config }: Pick<Mount, 'config'>, system: SystemTtls): number =>
  config.default_lease_ttl || system.defaultTtl

/**
 * The maximum TTL of tokens and leases of a mount, in seconds; a mount's own value may exceed the system's.
 * docs/contract/tokens-and-policies.md#lifetimes
 */
export const effectiveMaxTtl = ({ config }: Pick<Mount, 'config'>, system: SystemTtls): number =>
  config.max_lease_ttl || system.maxTtl

/**
 * A mount in responses of `sys/auth` and `sys/mounts`. `version` is the reported product version.
 * docs/contract/mounts.md#what-a-mount-shows
 */
export function mountInfo(mount: Mount, version: string) {
  const { default_lease_ttl, force_no_cache, max_lease_ttl, token_type } = mount.config
  return {
    accessor: mount.accessor,
    config: {
      default_lease_ttl,
      force_no_cache,
      max_lease_ttl,
      ...(token_type === undefined ? {} : { token_type }),
      ...whenSet(mount.config),
    },
    ...(isOldName(mount) ? {} : { deprecation_status: 'supported' }),
    description: mount.description,
    external_entropy_access: mount.external_entropy_access,
    local: mount.local,
    options: mount.options,
    plugin_version: '',
    running_plugin_version: `v${version.split('+', 1)[0]}+builtin.vault`,
    running_sha256: '',
    seal_wrap: mount.seal_wrap,
    type: mount.type,
    uuid: mount.uuid,
  }
}

/** The first name of the type `kv`. */
const isOldName = ({ type }: Mount): boolean => type === 'generic'

/**
 * The response to a read of a mount's tuning: effective lifetimes, other values as set.
 * docs/contract/mounts.md#tuning
 */
export function tuneInfo(mount: Mount, system: SystemTtls) {
  const { force_no_cache, token_type, user_lockout_config: lockout, ...config } = mount.config
  return {
    default_lease_ttl: effectiveDefaultTtl(mount, system),
    description: mount.description,
    force_no_cache,
    max_lease_ttl: effectiveMaxTtl(mount, system),
    ...(token_type === undefined ? {} : { token_type }),
    ...(mount.external_entropy_access ? { external_entropy_access: true } : {}),
    ...whenSet(config),
    ...lockout,
    ...(mount.options === null || Object.keys(mount.options).length === 0 ? {} : { options: mount.options }),
  }
}

function whenSet(
  config: Pick<MountConfig, 'default_lease_ttl' | 'max_lease_ttl'> & Partial<MountConfig>,
): Partial<MountConfig> {
  const { default_lease_ttl, max_lease_ttl, force_no_cache, token_type, ...rest } = config
  return rest
}
