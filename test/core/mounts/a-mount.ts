import type { Mount } from '../../../src/core/mounts/mount.ts'

/** A jwt or cloud mount with nothing set. */
export const aMount = (path: string, set: Partial<Mount> = {}): Mount => ({
  table: path.startsWith('auth/') ? 'auth' : 'secret',
  namespace: 'root',
  path,
  type: path.startsWith('auth/') ? 'jwt' : 'cloud',
  plugin: path.startsWith('auth/') ? 'jwt' : 'cloud',
  accessor: `accessor of ${set.namespace ?? 'root'}:${path}`,
  uuid: `uuid of ${set.namespace ?? 'root'}:${path}`,
  description: '',
  config: {
    default_lease_ttl: 0,
    max_lease_ttl: 0,
    force_no_cache: false,
    ...(path.startsWith('auth/') ? { token_type: 'default-service' } : {}),
  },
  options: {},
  local: false,
  seal_wrap: false,
  external_entropy_access: false,
  tainted: false,
  moves: 0,
  ...set,
})
