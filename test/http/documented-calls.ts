/**
 * One call of an operation of the API document, with the expected result. `$name` stands for a value from an
 * earlier call.
 */
export type DocumentedCall = {
  /** Verb and path as in the document. */
  ask: string
  name?: string
  params?: Record<string, string>
  query?: string
  body?: object
  raw?: string
  headers?: Record<string, string>
  /** Instead of the root token; empty: none. */
  token?: string
  ns?: string
  /** Instead of the one in `ask`. */
  verb?: string
  /** 200 by default. */
  status?: number
  /** Members of the body to remember, by name. */
  keep?: Record<string, string>
  /** The document requires more than the server does, as a schema cannot say what stands in for it. */
  isStricter?: true
}

const rules = 'path "x" { capabilities = ["read"] }'

const node: DocumentedCall[] = [
  { ask: 'get /health/live' },
  { ask: 'get /health/ready' },
  { ask: 'get /sys/health', token: '' },
  { ask: 'get /sys/init', token: '' },
  { ask: 'get /sys/seal-status', token: '' },
  { ask: 'get /sys/leader', token: '' },
  { ask: 'get /sys/metrics' },
  { ask: 'post /sys/step-down', status: 204 },
  { ask: 'post /sys/unseal', body: { key: '00'.repeat(32) }, token: '' },
]

/** A public key that does not expire. */
const pgpKey =
  'xjMEaVW5ABYJKwYBBAHaRw8BAQdAdno18q6p/4I6t1N9dex+Fy+hSFYeaa9bv4mo1aJlumTNBmhvbGRlcsLAEwQTFg' +
  'oAhQWCaVW5AAMLCQcJEOM5/6siJcwKRRQAAAAAABwAIHNhbHRAbm90YXRpb25zLm9wZW5wZ3Bqcy5vcmfsWsxftLop' +
  'ZnmumlNEtsZfWZpSkLS++8UIjti+pNp2kwUVCggODAQWAAIBAhkBApsDAh4BFiEE6AjtxfR5cfLKRT9e4zn/qyIlzA' +
  'oAACdVAQDLx/NDkIDC68ygusJhRmh8BOCAQOYtD6R5eIl+IZs8JAD/WzYsQXlQpL0WzKxV8Gc3kVn4asPPnG0FIgvh' +
  'P+Su7AbOOARpVbkAEgorBgEEAZdVAQUBAQdAWakgOcImmiGRcIumrrpzrm4ysw7AScWkA0P9fSRwgxwDAQgHwr0EGB' +
  'YKAHAFgmlVuQAJEOM5/6siJcwKRRQAAAAAABwAIHNhbHRAbm90YXRpb25zLm9wZW5wZ3Bqcy5vcmdQaBQoLZiaAqXl' +
  '+7M8UV9NkqxtSC3CUL3dv7XgRU+WxgKbDBYhBOgI7cX0eXHyykU/XuM5/6siJcwKAADAbwEA8seR0ujIZcxP/DZTQM' +
  'LmgzFxlSpsbv5avEjlyqwNAvMA92Eop0WdD4aoPJNeHfWcQNtw0XH04v07VkJr8KmvQQw='

const oneShare = { secret_shares: 1, secret_threshold: 1 }
const recovery = 'post /sys/rekey-recovery-key'

const rotated = 'post /sys/rotate/recovery'

/** The same ceremonies with an envelope. */
const wrappedCeremonies: DocumentedCall[] = [
  {
    ask: `${rotated}/init`,
    body: { ...oneShare, require_verification: true },
    keep: { nonce: 'data.nonce' },
  },
  { ask: 'get /sys/rotate/recovery/init' },
  { ask: `${rotated}/update`, body: { key: '$share', nonce: '$nonce' }, keep: { share: 'data.keys.0' } },
  { ask: 'get /sys/rotate/recovery/verify' },
  { ask: 'delete /sys/rotate/recovery/verify', keep: { nonce: 'data.nonce' } },
  { ask: `${rotated}/verify`, body: { key: '$share', nonce: '$nonce' } },
  { ask: 'delete /sys/rotate/recovery/init', status: 204 },
  { ask: 'post /sys/generate-root-token/attempt', keep: { nonce: 'data.nonce' } },
  { ask: 'get /sys/generate-root-token/attempt' },
  { ask: 'post /sys/generate-root-token/update', body: { key: '$share', nonce: '$nonce' } },
  { ask: 'delete /sys/generate-root-token/attempt', status: 204 },
]

const ceremonies: DocumentedCall[] = [
  { ask: `${recovery}/init`, name: 'for the first key', body: oneShare, keep: { share: 'keys.0' } },
  { ask: 'post /sys/generate-root/attempt', keep: { nonce: 'nonce', otp: 'otp' } },
  { ask: 'get /sys/generate-root/attempt' },
  {
    ask: 'post /sys/generate-root/update',
    body: { key: '$share', nonce: '$nonce' },
    keep: { encoded: 'encoded_token' },
  },
  { ask: 'post /sys/decode-token', body: { encoded_token: '$encoded', otp: '$otp' }, token: '' },
  { ask: `${recovery}/init`, body: { ...oneShare, require_verification: true }, keep: { nonce: 'nonce' } },
  {
    ask: `${recovery}/update`,
    body: { key: '$share', nonce: '$nonce' },
    keep: { share: 'keys.0', nonce: 'verification_nonce' },
  },
  { ask: 'get /sys/rekey-recovery-key/verify' },
  { ask: `${recovery}/verify`, body: { key: '$share', nonce: '$nonce' } },
  ...wrappedCeremonies,
  {
    ask: `${recovery}/init`,
    name: 'for PGP',
    body: { ...oneShare, pgp_keys: [pgpKey], backup: true },
    keep: { nonce: 'nonce' },
  },
  { ask: 'get /sys/rekey-recovery-key/init' },
  { ask: `${recovery}/update`, name: 'for PGP', body: { key: '$share', nonce: '$nonce' } },
  { ask: 'get /sys/rekey-recovery-key/backup' },
  { ask: 'get /sys/rekey/recovery-key-backup' },
  { ask: 'get /sys/rotate/recovery/backup' },
  { ask: 'delete /sys/rotate/recovery/backup', status: 204 },
  { ask: 'delete /sys/rekey-recovery-key/backup', status: 204 },
  { ask: 'delete /sys/rekey/recovery-key-backup', status: 204 },
]

const system: DocumentedCall[] = [
  { ask: 'post /sys/policies/acl/{path}', params: { path: 'deploy' }, body: { policy: rules }, status: 204 },
  { ask: 'post /sys/policies/acl/{name}/what-if', params: { name: 'deploy' }, body: { policy: rules } },
  { ask: 'post /sys/policies/explain', body: { path: 'team/a', policies: ['deploy'] } },
  { ask: 'get /sys/policies/acl', query: '?list=true' },
  { ask: 'get /sys/policies/acl/{path}', params: { path: 'deploy' } },
  {
    ask: 'post /sys/policies/acl/{path}',
    params: { path: 'team/ops' },
    body: { policy: rules },
    status: 204,
  },
  { ask: 'get /sys/policies/acl/{path}/', name: 'as a list', params: { path: 'team' }, query: '?list=true' },
  { ask: 'get /sys/policies/acl/{path}', name: 'of none', params: { path: 'none' }, status: 404 },
  { ask: 'get /sys/policy' },
  { ask: 'get /sys/policy/', name: 'as a list', query: '?list=true' },
  { ask: 'post /sys/policy/{path}', params: { path: 'old' }, body: { policy: rules }, status: 204 },
  { ask: 'post /sys/policy/{path}', name: 'with a warning', params: { path: 'old' }, body: { rules } },
  { ask: 'get /sys/policy/{path}', params: { path: 'old' } },
  { ask: 'get /sys/policy/{path}/', name: 'as a list', params: { path: 'team' }, query: '?list=true' },
  { ask: 'delete /sys/policy/{path}', params: { path: 'old' }, status: 204 },
  { ask: 'delete /sys/policies/acl/{path}', params: { path: 'team/ops' }, status: 204 },
  {
    ask: 'post /sys/policies/password/{name}',
    params: { name: 'short' },
    body: { policy: 'length = 12\nrule "charset" { charset = "abcdef" }\n' },
    status: 204,
  },
  {
    ask: 'post /sys/policies/password/{name}',
    name: 'of nothing',
    params: { name: 'none' },
    body: {},
    status: 400,
  },
  { ask: 'get /sys/policies/password', query: '?list=true' },
  { ask: 'get /sys/policies/password/{name}', params: { name: 'short' } },
  { ask: 'get /sys/policies/password/{name}', name: 'of none', params: { name: 'none' }, status: 404 },
  { ask: 'get /sys/policies/password/{name}/generate', params: { name: 'short' } },
  { ask: 'delete /sys/policies/password/{name}', params: { name: 'short' }, status: 204 },
  { ask: 'post /sys/capabilities-self', body: { paths: ['sys/auth', 'x'] } },
  { ask: 'post /sys/capabilities', body: { paths: 'x', token: 'root' } },
  { ask: 'get /auth/token/lookup-self', keep: { rootAccessor: 'data.accessor' } },
  { ask: 'post /sys/capabilities-accessor', body: { paths: 'x', accessor: '$rootAccessor' } },
  { ask: 'get /sys/auth' },
  {
    ask: 'post /sys/auth/{path}',
    params: { path: 'extra' },
    body: { type: 'jwt', config: { default_lease_ttl: '1h' } },
    status: 204,
  },
  { ask: 'get /sys/auth/{path}', params: { path: 'extra' } },
  {
    ask: 'post /sys/auth/{path}/tune',
    params: { path: 'extra' },
    body: { listing_visibility: 'unauth', description: 'd', options: { a: 'b' } },
    status: 204,
  },
  { ask: 'get /sys/auth/{path}/tune', params: { path: 'extra' } },
  { ask: 'get /sys/internal/ui/mounts', token: '' },
  { ask: 'get /sys/internal/ui/mounts' },
  { ask: 'get /sys/internal/ui/mounts/{path}', params: { path: 'cloud' } },
  {
    ask: 'post /sys/remount',
    body: { from: 'auth/extra', to: 'auth/moved' },
    keep: { migration: 'data.migration_id' },
  },
  { ask: 'get /sys/remount/status/{migration_id}', params: { migration_id: '$migration' } },
  { ask: 'delete /sys/auth/{path}', params: { path: 'moved' }, status: 204 },
  { ask: 'get /sys/mounts' },
  { ask: 'post /sys/mounts/{path}', params: { path: 'more' }, body: { type: 'cloud' }, status: 204 },
  { ask: 'get /sys/mounts/{path}', params: { path: 'more' } },
  {
    ask: 'post /sys/mounts/{path}/tune',
    params: { path: 'more' },
    body: { description: 'd', max_lease_ttl: '1h' },
    status: 204,
  },
  { ask: 'get /sys/mounts/{path}/tune', params: { path: 'more' } },
  { ask: 'delete /sys/mounts/{path}', params: { path: 'more' }, status: 204 },
  {
    ask: 'post /sys/namespaces/{path}',
    params: { path: 'team' },
    body: { custom_metadata: { owner: 'ops' } },
  },
  { ask: 'get /sys/namespaces', query: '?list=true' },
  { ask: 'get /sys/namespaces/{path}', params: { path: 'team' } },
  {
    ask: 'patch /sys/namespaces/{path}',
    params: { path: 'team' },
    body: { custom_metadata: { owner: 'dev' } },
  },
  { ask: 'get /sys/internal/ui/namespaces' },
  {
    ask: 'post /sys/namespaces/api-lock/lock/{path}',
    params: { path: 'team' },
    keep: { unlock: 'data.unlock_key' },
  },
  {
    ask: 'post /sys/namespaces/api-lock/unlock/{path}',
    params: { path: 'team' },
    body: { unlock_key: '$unlock' },
    status: 204,
  },
  { ask: 'post /sys/namespaces/api-lock/lock', ns: 'team' },
  { ask: 'post /sys/namespaces/api-lock/unlock', name: 'with sudo', ns: 'team' },
  { ask: 'delete /sys/namespaces/{path}', params: { path: 'team' } },
  { ask: 'delete /sys/namespaces/{path}', name: 'of none', params: { path: 'nope' } },
  { ask: 'get /sys/internal/ui/resultant-acl' },
  { ask: 'get /sys/in-flight-req' },
  { ask: 'get /sys/host-info' },
  { ask: 'get /sys/config/state/sanitized' },
  { ask: 'get /sys/experiments' },
  { ask: 'get /sys/internal/counters/config' },
  { ask: 'get /sys/plugins/catalog' },
  { ask: 'get /sys/plugins/catalog/auth', query: '?list=true' },
  { ask: 'get /sys/plugins/catalog/auth/{name}', params: { name: 'jwt' } },
  { ask: 'get /sys/plugins/catalog/database/{name}', params: { name: 'none' }, status: 404 },
  { ask: 'get /sys/plugins/catalog/secret/{name}', params: { name: 'kv' } },
  { ask: 'get /sys/plugins/catalog/database', query: '?list=true' },
  { ask: 'get /sys/plugins/catalog/secret', query: '?list=true' },
  { ask: 'get /sys/replication/status' },
  { ask: 'get /sys/ha-status' },
  { ask: 'get /sys/version-history', query: '?list=true' },
  { ask: 'get /sys/loggers' },
  { ask: 'post /sys/loggers', body: { level: 'info' }, status: 204 },
  { ask: 'get /sys/loggers/{name}', params: { name: 'core' } },
  { ask: 'post /sys/loggers/{name}', params: { name: 'core' }, body: { level: 'info' }, status: 204 },
  { ask: 'delete /sys/loggers/{name}', params: { name: 'core' }, status: 204 },
  { ask: 'delete /sys/loggers', status: 204 },
  { ask: 'get /sys/internal/counters/tokens' },
  { ask: 'get /sys/internal/counters/entities' },
  { ask: 'get /sys/internal/counters/requests', status: 404 },
  { ask: 'get /sys/internal/specs/openapi' },
  { ask: 'get /sys/key-status' },
  { ask: 'post /sys/rotate', status: 204 },
  { ask: 'post /sys/rotate/keyring', status: 204 },
  { ask: 'post /sys/rotate/root', status: 400 },
  { ask: 'get /sys/rotate/config' },
  { ask: 'post /sys/rotate/config', body: { interval: '48h' }, status: 204 },
  { ask: 'get /sys/rotate/keyring/config' },
  { ask: 'post /sys/rotate/keyring/config', body: { enabled: true }, status: 204 },
  { ask: 'post /sys/tools/random', body: { bytes: 4 } },
  { ask: 'post /sys/tools/random/{urlbytes}', params: { urlbytes: '4' } },
  { ask: 'post /sys/tools/random/{source}/{urlbytes}', params: { source: 'platform', urlbytes: '4' } },
  { ask: 'post /sys/tools/hash', body: { input: 'YWJj' } },
  {
    ask: 'post /sys/tools/hash/{urlalgorithm}',
    params: { urlalgorithm: 'sha2-512' },
    body: { input: 'YWJj' },
  },
  { ask: 'get /sys/config/cors' },
  { ask: 'post /sys/config/cors', body: { allowed_origins: '*' }, status: 204 },
  { ask: 'get /sys/config/cors', name: 'when on' },
  { ask: 'delete /sys/config/cors', status: 204 },
  { ask: 'post /sys/config/ui/headers/{header}', params: { header: 'X-Probe' }, body: { values: ['a'] } },
  { ask: 'get /sys/config/ui/headers/{header}', params: { header: 'X-Probe' } },
  {
    ask: 'get /sys/config/ui/headers/{header}',
    name: 'all values',
    params: { header: 'X-Probe' },
    query: '?multivalue=true',
  },
  { ask: 'get /sys/config/ui/headers', query: '?list=true' },
  { ask: 'delete /sys/config/ui/headers/{header}', params: { header: 'X-Probe' }, status: 204 },
  { ask: 'get /sys/quotas/config' },
  { ask: 'post /sys/quotas/config', body: { rate_limit_exempt_paths: ['sys/health'] }, status: 204 },
  {
    ask: 'post /sys/quotas/rate-limit/{name}',
    params: { name: 'probe' },
    body: { path: 'cubbyhole', rate: 1000 },
    status: 204,
  },
  { ask: 'get /sys/quotas/rate-limit/{name}', params: { name: 'probe' } },
  { ask: 'get /sys/quotas/rate-limit', query: '?list=true' },
  { ask: 'delete /sys/quotas/rate-limit/{name}', params: { name: 'probe' }, status: 204 },
  {
    ask: 'post /sys/quotas/lease-count/{name}',
    params: { name: 'probe' },
    body: { path: 'cubbyhole', max_leases: 1000 },
    status: 204,
  },
  { ask: 'get /sys/quotas/lease-count/{name}', params: { name: 'probe' } },
  { ask: 'get /sys/quotas/lease-count', query: '?list=true' },
  { ask: 'delete /sys/quotas/lease-count/{name}', params: { name: 'probe' }, status: 204 },
]

const header = { header: 'X-Request-Source' }
const audit: DocumentedCall[] = [
  {
    ask: 'post /sys/audit/{path}',
    params: { path: 'probe' },
    body: { type: 'file', options: { file_path: 'discard' } },
    status: 204,
  },
  { ask: 'get /sys/audit' },
  { ask: 'get /sys/audit/{path}', params: { path: 'probe' }, query: '?history=true' },
  { ask: 'get /sys/history' },
  { ask: 'get /sys/history/deleted' },
  { ask: 'post /sys/audit-hash/{path}', params: { path: 'probe' }, body: { input: 'a' } },
  { ask: 'delete /sys/audit/{path}', params: { path: 'probe' }, status: 204 },
  { ask: 'get /sys/audit-chain' },
  { ask: 'post /sys/audit-chain/rotate', status: 204 },
  {
    ask: 'post /sys/config/auditing/request-headers/{header}',
    params: header,
    body: { hmac: true },
    status: 204,
  },
  { ask: 'get /sys/config/auditing/request-headers' },
  { ask: 'get /sys/config/auditing/request-headers/{header}', params: header },
  { ask: 'delete /sys/config/auditing/request-headers/{header}', params: header, status: 204 },
]

const wrapped = { 'X-Vault-Wrap-TTL': '60' }
const wrapping: DocumentedCall[] = [
  { ask: 'post /sys/wrapping/wrap', body: { a: 1 }, headers: wrapped, keep: { wrapping: 'wrap_info.token' } },
  { ask: 'post /sys/wrapping/lookup', body: { token: '$wrapping' } },
  { ask: 'get /sys/wrapping/lookup', token: '$wrapping' },
  { ask: 'post /sys/wrapping/rewrap', body: { token: '$wrapping' }, keep: { again: 'wrap_info.token' } },
  { ask: 'post /sys/wrapping/unwrap', body: { token: '$again' } },
]

const tokens: DocumentedCall[] = [
  {
    ask: 'post /auth/token/create',
    body: { policies: ['deploy'], meta: { a: 'b' }, ttl: '1h' },
    keep: { token: 'auth.client_token', accessor: 'auth.accessor' },
  },
  { ask: 'post /auth/token/create-orphan', body: {}, keep: { orphan: 'auth.client_token' } },
  {
    ask: 'post /auth/token/roles/{role_name}',
    params: { role_name: 'r' },
    body: { allowed_policies: 'deploy' },
    status: 204,
  },
  {
    ask: 'post /auth/token/roles/{role_name}',
    name: 'with a warning',
    params: { role_name: 'r' },
    body: { token_explicit_max_ttl: '9999h' },
  },
  { ask: 'get /auth/token/roles', query: '?list=true' },
  { ask: 'get /auth/token/roles/{role_name}', params: { role_name: 'r' } },
  { ask: 'post /auth/token/create/{role_name}', params: { role_name: 'r' }, body: { period: '1h' } },
  { ask: 'delete /auth/token/roles/{role_name}', params: { role_name: 'r' }, status: 204 },
  { ask: 'get /auth/token/lookup' },
  { ask: 'post /auth/token/lookup', body: { token: '$token' } },
  { ask: 'post /auth/token/lookup-self' },
  { ask: 'post /auth/token/lookup-accessor', body: { accessor: '$accessor' } },
  { ask: 'post /auth/token/renew', body: { token: '$token' } },
  { ask: 'post /auth/token/renew-self', token: '$token' },
  { ask: 'post /auth/token/renew-accessor', body: { accessor: '$accessor' } },
  { ask: 'get /auth/token/accessors', query: '?list=true' },
  { ask: 'get /auth/token/accessors', name: 'with details', query: '?list=true&detailed=true' },
  { ask: 'post /auth/token/tidy', status: 202 },
  { ask: 'post /auth/token/revoke', body: { token: '$token' }, status: 204 },
  { ask: 'post /auth/token/revoke-accessor', body: { accessor: '$accessor' } },
  { ask: 'post /auth/token/revoke-orphan', body: { token: '$orphan' }, status: 204 },
  { ask: 'post /auth/token/create', name: 'as a batch token', body: { policies: ['deploy'], type: 'batch' } },
  {
    ask: 'post /auth/token/create',
    name: 'once more',
    body: {},
    keep: { own: 'auth.client_token', ownAccessor: 'auth.accessor' },
  },
  { ask: 'post /auth/token/revoke-self', token: '$own', status: 204 },
  { ask: 'post /cubbyhole/{path}', params: { path: 'a/b' }, body: { anything: [1] }, status: 204 },
  { ask: 'get /cubbyhole/{path}', params: { path: 'a/b' } },
  { ask: 'get /cubbyhole/{path}/', name: 'as a list', params: { path: 'a' }, query: '?list=true' },
  { ask: 'delete /cubbyhole/{path}', params: { path: 'a/b' }, status: 204 },
]

const people: DocumentedCall[] = [
  {
    ask: 'get /sys/auth/{path}',
    name: 'for its accessor',
    params: { path: 'jwt' },
    keep: { mount: 'data.accessor' },
  },
  {
    ask: 'post /identity/entity',
    body: { name: 'alice', metadata: { team: 'ops' }, policies: ['deploy'] },
    keep: { alice: 'data.id' },
  },
  {
    ask: 'post /identity/entity',
    name: 'to change it',
    body: { id: '$alice', disabled: false },
    status: 204,
  },
  { ask: 'post /identity/entity/name/{name}', params: { name: 'bob' }, body: {}, keep: { bob: 'data.id' } },
  {
    ask: 'post /identity/entity-alias',
    body: { name: 'alice@example.com', mount_accessor: '$mount', canonical_id: '$alice' },
    keep: { alias: 'data.id' },
  },
  {
    ask: 'post /identity/entity-alias/id/{id}',
    params: { id: '$alias' },
    body: { name: 'al@example.com', mount_accessor: '$mount', canonical_id: '$alice' },
  },
  { ask: 'get /identity/entity-alias/id', query: '?list=true' },
  { ask: 'get /identity/entity-alias/id/{id}', params: { id: '$alias' } },
  { ask: 'get /identity/entity/id', query: '?list=true' },
  { ask: 'get /identity/entity/name', query: '?list=true' },
  { ask: 'get /identity/entity/id/{id}', params: { id: '$alice' } },
  { ask: 'get /identity/entity/name/{name}', params: { name: 'alice' } },
  {
    ask: 'post /identity/entity/id/{id}',
    params: { id: '$bob' },
    body: { metadata: { a: 'b' } },
    status: 204,
  },
  { ask: 'post /identity/lookup/entity', body: { id: '$alice' } },
  { ask: 'post /identity/lookup/entity', name: 'of none', body: { id: 'nope' }, status: 204 },
  {
    ask: 'post /identity/group',
    body: { name: 'ops', member_entity_ids: ['$alice'] },
    keep: { group: 'data.id' },
  },
  {
    ask: 'post /identity/group/name/{name}',
    params: { name: 'dev' },
    body: { type: 'external' },
    keep: { external: 'data.id' },
  },
  {
    ask: 'post /identity/group/id/{id}',
    params: { id: '$group' },
    body: { policies: ['deploy'] },
    status: 204,
  },
  { ask: 'get /identity/group/id', query: '?list=true' },
  { ask: 'get /identity/group/name', query: '?list=true' },
  { ask: 'get /identity/group/id/{id}', params: { id: '$group' } },
  { ask: 'get /identity/group/name/{name}', params: { name: 'ops' } },
  { ask: 'post /identity/lookup/group', body: { name: 'ops' } },
  {
    ask: 'post /identity/group-alias',
    body: { name: 'developers', mount_accessor: '$mount', canonical_id: '$external' },
    keep: { groupAlias: 'data.id' },
  },
  { ask: 'get /identity/group-alias/id', query: '?list=true' },
  { ask: 'get /identity/group-alias/id/{id}', params: { id: '$groupAlias' } },
  {
    ask: 'post /identity/group-alias/id/{id}',
    params: { id: '$groupAlias' },
    body: { name: 'devs', mount_accessor: '$mount', canonical_id: '$external' },
  },
  { ask: 'get /identity/group/id/{id}', name: 'with an alias', params: { id: '$external' } },
  { ask: 'delete /identity/group-alias/id/{id}', params: { id: '$groupAlias' }, status: 204 },
  { ask: 'delete /identity/group/id/{id}', params: { id: '$external' }, status: 204 },
  {
    ask: 'post /identity/entity/merge',
    body: { to_entity_id: '$alice', from_entity_ids: ['$bob'] },
    status: 204,
  },
  { ask: 'post /identity/tidy', body: { unused_for: '90d', dry_run: true } },
  { ask: 'post /identity/entity/id/{id}/revoke-tokens', params: { id: '$alice' }, status: 204 },
  { ask: 'post /identity/entity/batch-delete', body: { entity_ids: ['nope'] }, status: 204 },
]

const identityTokens: DocumentedCall[] = [
  { ask: 'post /identity/oidc/config', body: { issuer: 'https://vault.example.com' } },
  { ask: 'post /identity/oidc/config', name: 'to the default', body: { issuer: '' }, status: 204 },
  { ask: 'get /identity/oidc/config' },
  {
    ask: 'post /identity/oidc/key/{name}',
    params: { name: 'k' },
    body: { allowed_client_ids: '*', algorithm: 'ES256' },
    status: 204,
  },
  { ask: 'get /identity/oidc/key', query: '?list=true' },
  { ask: 'get /identity/oidc/key/{name}', params: { name: 'k' } },
  { ask: 'post /identity/oidc/key/{name}/rotate', params: { name: 'k' }, body: {}, status: 204 },
  { ask: 'post /identity/oidc/role/{name}', params: { name: 'r' }, body: { key: 'k' }, status: 204 },
  { ask: 'get /identity/oidc/role', query: '?list=true' },
  { ask: 'get /identity/oidc/role/{name}', params: { name: 'r' } },
  {
    ask: 'post /auth/token/roles/{role_name}',
    name: 'for an entity',
    params: { role_name: 'person' },
    body: { allowed_entity_aliases: '*', orphan: true },
    status: 204,
  },
  {
    ask: 'post /sys/policies/acl/{path}',
    name: 'for an entity',
    params: { path: 'person' },
    body: { policy: 'path "*" { capabilities = ["read", "update"] }' },
    status: 204,
  },
  {
    ask: 'post /auth/token/create/{role_name}',
    name: 'for an entity',
    params: { role_name: 'person' },
    body: { entity_alias: 'carol', policies: ['person'] },
    keep: { person: 'auth.client_token' },
  },
  { ask: 'get /auth/token/lookup-self', name: 'of an entity', token: '$person' },
  {
    ask: 'get /identity/oidc/token/{name}',
    params: { name: 'r' },
    token: '$person',
    keep: { identityToken: 'data.token' },
  },
  { ask: 'post /identity/oidc/introspect', body: { token: '$identityToken' } },
  { ask: 'post /identity/oidc/introspect', name: 'of none', body: { token: 'x' } },
  { ask: 'get /identity/oidc/.well-known/openid-configuration', token: '' },
  { ask: 'get /identity/oidc/.well-known/keys', token: '' },
  { ask: 'get /identity/oidc/plugins/.well-known/openid-configuration', token: '' },
  { ask: 'get /identity/oidc/plugins/.well-known/keys', token: '' },
  { ask: 'delete /identity/oidc/role/{name}', params: { name: 'r' }, status: 204 },
  { ask: 'delete /identity/oidc/key/{name}', params: { name: 'k' }, status: 204 },
  { ask: 'delete /identity/entity-alias/id/{id}', params: { id: '$alias' }, status: 204 },
  { ask: 'delete /identity/entity/id/{id}', params: { id: '$alice' }, status: 204 },
  { ask: 'delete /identity/group/name/{name}', params: { name: 'ops' }, status: 204 },
]

const leases: DocumentedCall[] = [
  { ask: 'post /sys/leases/lookup', body: { lease_id: '$lease0' } },
  { ask: 'get /sys/leases/lookup/{path}', params: { path: 'practice/creds/' }, query: '?list=true' },
  { ask: 'post /sys/leases/renew', body: { lease_id: '$lease0' } },
  { ask: 'post /sys/leases/renew/{path}', params: { path: '$lease0' }, body: { increment: '1h' } },
  { ask: 'post /sys/renew', body: { lease_id: '$lease0' } },
  { ask: 'post /sys/renew/{path}', params: { path: '$lease0' } },
  { ask: 'post /sys/leases/lookup', name: 'once renewed', body: { lease_id: '$lease0' } },
  { ask: 'post /sys/leases/revoke', body: { lease_id: '$lease0' }, status: 204 },
  {
    ask: 'post /sys/leases/revoke',
    name: 'in the background',
    body: { lease_id: '$lease1', sync: false },
    status: 202,
  },
  { ask: 'post /sys/leases/revoke/{path}', params: { path: '$lease2' }, status: 204 },
  { ask: 'post /sys/revoke', body: { lease_id: '$lease3' }, status: 204 },
  { ask: 'post /sys/revoke/{path}', params: { path: '$lease4' }, status: 204 },
  { ask: 'post /sys/leases/revoke-prefix/{path}', params: { path: 'practice/creds/ci' }, status: 204 },
  { ask: 'post /sys/leases/revoke-force/{path}', params: { path: 'practice/creds/ci' }, status: 204 },
  { ask: 'post /sys/revoke-prefix/{path}', params: { path: 'practice' }, body: { sync: false }, status: 202 },
  { ask: 'post /sys/revoke-force/{path}', params: { path: 'practice' }, status: 204 },
  { ask: 'get /sys/leases/count', query: '?type=irrevocable' },
  { ask: 'get /sys/leases', query: '?type=irrevocable' },
  { ask: 'post /sys/leases/tidy', status: 202 },
]

const message = { title: 'Maintenance', message: 'SGVsbG8=', start_time: '2026-01-01T12:00:00Z' }
const whole = {
  ...message,
  type: 'modal',
  link: { more: 'https://example.com' },
  options: { a: [1] },
  severity: 'critical',
  priority: 3,
  end_time: '2099-01-01T00:00:00.5Z',
}
const messages: DocumentedCall[] = [
  { ask: 'post /sys/config/ui/custom-messages', body: whole, keep: { message: 'data.id' } },
  {
    ask: 'post /sys/config/ui/custom-messages',
    name: 'before login',
    body: { ...message, authenticated: false, end_time: '2099-01-01T00:00:00Z' },
  },
  { ask: 'post /sys/config/ui/custom-messages/preview', body: whole },
  { ask: 'get /sys/config/ui/custom-messages', query: '?list=true' },
  { ask: 'get /sys/config/ui/custom-messages/{id}', params: { id: '$message' } },
  {
    ask: 'post /sys/config/ui/custom-messages/{id}',
    params: { id: '$message' },
    body: { ...whole, audience: { policies: ['person'] } },
  },
  {
    ask: 'patch /sys/config/ui/custom-messages/{id}',
    params: { id: '$message' },
    body: { dismissible: false, acknowledge_required: true },
  },
  { ask: 'get /sys/internal/ui/unauthenticated-messages', token: '' },
  {
    ask: 'get /sys/internal/ui/unauthenticated-messages',
    name: 'that the client has',
    token: '',
    headers: { 'If-None-Match': '*' },
    status: 304,
  },
  { ask: 'get /sys/internal/ui/authenticated-messages', token: '$person' },
  { ask: 'get /sys/internal/ui/authenticated-messages', name: 'without a token', token: '' },
  {
    ask: 'get /sys/internal/ui/authenticated-messages',
    name: 'that the client has',
    headers: { 'If-None-Match': '*' },
    status: 304,
  },
  {
    ask: 'post /sys/internal/ui/authenticated-messages/{id}/ack',
    params: { id: '$message' },
    token: '$person',
    status: 204,
  },
  { ask: 'get /sys/config/ui/custom-messages/{id}/acks', params: { id: '$message' }, query: '?list=true' },
  { ask: 'delete /sys/config/ui/custom-messages/{id}', params: { id: '$message' }, status: 204 },
  {
    ask: 'get /sys/config/ui/custom-messages/{id}',
    name: 'of none',
    params: { id: '$message' },
    status: 404,
  },
]

const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'here', token_ttl: '1h' }
const logins: DocumentedCall[] = [
  { ask: 'post /auth/jwt/config', body: { jwt_validation_pubkeys: ['$publicKey'] }, status: 204 },
  { ask: 'get /auth/jwt/config' },
  { ask: 'post /auth/jwt/role/{name}', params: { name: 'ci' }, body: role, status: 204 },
  {
    ask: 'post /auth/jwt/role/{name}',
    name: 'with a warning',
    params: { name: 'ci' },
    body: { ...role, token_max_ttl: '9999h' },
  },
  { ask: 'get /auth/jwt/role', query: '?list=true' },
  { ask: 'get /auth/jwt/role/{name}', params: { name: 'ci' } },
  { ask: 'post /auth/jwt/login', body: { role: 'ci', jwt: '$jwt' }, token: '' },
  { ask: 'post /auth/jwt/login', name: 'that fails', body: { role: 'ci', jwt: 'x' }, token: '', status: 400 },
  {
    ask: 'post /auth/jwt/cel/role/{name}',
    params: { name: 'people' },
    body: { cel_program: { expression: 'pb.Auth{}' } },
  },
  {
    ask: 'patch /auth/jwt/cel/role/{name}',
    params: { name: 'people' },
    body: { message: 'ask the platform team' },
  },
  { ask: 'get /auth/jwt/cel/role', query: '?list=true' },
  { ask: 'get /auth/jwt/cel/role/{name}', params: { name: 'people' } },
  { ask: 'post /auth/jwt/cel/login', body: { role: 'people', jwt: '$jwt' }, token: '' },
  { ask: 'post /auth/jwt/cel/try', body: { cel_program: { expression: 'false' }, claims: {} } },
  { ask: 'delete /auth/jwt/cel/role/{name}', params: { name: 'people' }, status: 204 },
  { ask: 'post /auth/jwt/explain', body: { role: 'ci', jwt: '$jwt' } },
  {
    ask: 'post /auth/jwt/explain',
    name: 'of claims',
    body: { role: 'ci', claims: { sub: 'x', aud: ['y'], exp: 1.5 } },
  },
  { ask: 'get /auth/jwt/failures' },
  { ask: 'post /auth/jwt/failures/hash', body: { input: 'x' } },
  { ask: 'delete /auth/jwt/failures', status: 204 },
  { ask: 'get /auth/jwt/status' },
  { ask: 'get /auth/jwt/keys' },
  { ask: 'get /auth/jwt/lint' },
  {
    ask: 'post /auth/jwt/role/{name}/what-if',
    params: { name: 'ci' },
    body: { ...role, bound_audiences: 'elsewhere', token_policies: 'none' },
  },
  {
    ask: 'post /auth/jwt/cel/role/{name}/what-if',
    params: { name: 'people' },
    body: { cel_program: { expression: 'false' } },
  },
  { ask: 'post /auth/jwt/config/what-if', body: { jwt_validation_pubkeys: ['$publicKey'] } },
  { ask: 'delete /auth/jwt/role/{name}', params: { name: 'ci' }, status: 204 },
]

const bob = { username: 'bob' }
const users: DocumentedCall[] = [
  {
    ask: 'get /sys/auth/{path}',
    name: 'of users, for its accessor',
    params: { path: 'userpass' },
    keep: { usersMount: 'data.accessor' },
  },
  {
    ask: 'post /auth/userpass/users/{username}',
    params: bob,
    body: { password: 'correct horse', policies: 'deploy', token_ttl: '1h' },
    status: 204,
  },
  {
    ask: 'post /auth/userpass/users/{username}',
    name: 'without a password',
    params: { username: 'eve' },
    body: {},
    status: 400,
  },
  { ask: 'get /auth/userpass/users', query: '?list=true' },
  { ask: 'get /auth/userpass/users/{username}', params: bob },
  {
    ask: 'post /auth/userpass/users/{username}/password',
    params: bob,
    body: { password: 'battery staple' },
    status: 204,
  },
  {
    ask: 'post /auth/userpass/users/{username}/policies',
    params: bob,
    body: { token_policies: 'deploy' },
    status: 204,
  },
  {
    ask: 'post /auth/userpass/login/{username}',
    params: bob,
    body: { password: 'battery staple' },
    token: '',
  },
  {
    ask: 'post /auth/userpass/login/{username}',
    name: 'that fails',
    params: bob,
    body: { password: 'x' },
    token: '',
    status: 400,
  },
  { ask: 'get /sys/locked-users' },
  { ask: 'get /sys/locked-users', name: 'of a mount', query: '?mount_accessor=$usersMount' },
  {
    ask: 'post /sys/locked-users/{mount_accessor}/unlock/{name}',
    params: { mount_accessor: '$usersMount', name: 'bob' },
    status: 204,
  },
  { ask: 'get /auth/userpass/failures' },
  { ask: 'post /auth/userpass/failures/hash', body: { input: 'bob' } },
  { ask: 'delete /auth/userpass/failures', status: 204 },
  { ask: 'delete /auth/userpass/users/{username}', params: bob, status: 204 },
]

const approle = 'auth/approle/role/{role_name}'
const machine = { role_name: 'machine' }
const approles: DocumentedCall[] = [
  {
    ask: `post /${approle}`,
    params: machine,
    body: { secret_id_num_uses: 9, secret_id_bound_cidrs: '127.0.0.0/8', token_bound_cidrs: '127.0.0.0/8' },
    status: 204,
  },
  { ask: `post /${approle}`, name: 'with a warning', params: machine, body: { token_type: 'default-batch' } },
  { ask: `get /${approle}`, params: machine },
  { ask: 'get /auth/approle/role', query: '?list=true' },
  ...[
    { path: 'policies', body: { token_policies: 'p' } },
    { path: 'bound-cidr-list', body: { bound_cidr_list: '127.0.0.0/8' } },
    { path: 'secret-id-bound-cidrs', body: { secret_id_bound_cidrs: '127.0.0.0/8' } },
    { path: 'token-bound-cidrs', body: { token_bound_cidrs: '127.0.0.0/8' } },
    { path: 'bind-secret-id', body: { bind_secret_id: true } },
    { path: 'secret-id-num-uses', body: { secret_id_num_uses: 8 } },
    { path: 'secret-id-ttl', body: { secret_id_ttl: '1h' } },
    { path: 'token-num-uses', body: { token_num_uses: 0 } },
    { path: 'period', body: { token_period: 0 } },
    { path: 'token-ttl', body: { token_ttl: 60 } },
    { path: 'token-max-ttl', body: { token_max_ttl: 3600 } },
  ].flatMap(({ path, body }) => [
    { ask: `post /${approle}/${path}`, params: machine, body, status: 204 },
    { ask: `get /${approle}/${path}`, params: machine },
    { ask: `delete /${approle}/${path}`, params: machine, status: 204 },
  ]),
  { ask: `post /${approle}/role-id`, params: machine, body: { role_id: 'machine-7' }, status: 204 },
  { ask: `get /${approle}/role-id`, params: machine },
  { ask: `get /${approle}/local-secret-ids`, params: machine },
  {
    ask: `post /${approle}/secret-id`,
    params: machine,
    body: { metadata: 'team=shop', cidr_list: '127.0.0.0/8', num_uses: 5, ttl: '1h' },
    keep: { secretId: 'data.secret_id', secretIdAccessor: 'data.secret_id_accessor' },
  },
  {
    ask: `post /${approle}/custom-secret-id`,
    params: machine,
    body: { secret_id: 'chosen-secret-of-a-test' },
  },
  { ask: `get /${approle}/secret-id`, params: machine, query: '?list=true' },
  { ask: 'post /auth/approle/login', body: { role_id: 'machine-7', secret_id: '$secretId' }, token: '' },
  {
    ask: 'post /auth/approle/login',
    name: 'that fails',
    body: { role_id: 'machine-7', secret_id: 'x' },
    token: '',
    status: 400,
  },
  { ask: `post /${approle}/secret-id/search`, params: machine, body: { metadata: { team: '*' } } },
  { ask: `post /${approle}/secret-id/lookup`, params: machine, body: { secret_id: '$secretId' } },
  {
    ask: `post /${approle}/secret-id-accessor/lookup`,
    params: machine,
    body: { secret_id_accessor: '$secretIdAccessor' },
  },
  {
    ask: `post /${approle}/secret-id-accessor/lookup`,
    name: 'of none',
    params: machine,
    body: { secret_id_accessor: 'none' },
    status: 404,
  },
  {
    ask: `post /${approle}/secret-id-accessor/destroy`,
    params: machine,
    body: { secret_id_accessor: '$secretIdAccessor' },
    status: 204,
  },
  {
    ask: `post /${approle}/secret-id/destroy`,
    params: machine,
    body: { secret_id: 'chosen-secret-of-a-test' },
    status: 204,
  },
  {
    ask: `delete /${approle}/secret-id/destroy`,
    params: machine,
    query: '?secret_id=chosen-secret-of-a-test',
    status: 204,
  },
  {
    ask: `post /${approle}/custom-secret-id`,
    name: 'once more',
    params: machine,
    body: { secret_id: 'chosen-secret-of-a-test' },
    keep: { chosenAccessor: 'data.secret_id_accessor' },
  },
  {
    ask: `delete /${approle}/secret-id-accessor/destroy`,
    params: machine,
    query: '?secret_id_accessor=$chosenAccessor',
    status: 204,
  },
  { ask: 'get /auth/approle/lint' },
  { ask: 'get /auth/approle/failures' },
  { ask: 'post /auth/approle/failures/hash', body: { input: 'machine-7' } },
  { ask: 'delete /auth/approle/failures', status: 204 },
  { ask: 'post /auth/approle/tidy/secret-id', status: 202 },
  { ask: `delete /${approle}`, params: machine, status: 204 },
]

const db = { path: 'db' }
const merged = { headers: { 'content-type': 'application/merge-patch+json' } }
const secrets: DocumentedCall[] = [
  { ask: 'get /secret/config' },
  { ask: 'post /secret/config', body: { max_versions: 5 }, status: 204 },
  { ask: 'post /secret/data/{path}', params: db, body: { data: { user: 'app', hosts: ['a'] } } },
  {
    ask: 'post /secret/data/{path}',
    name: 'again',
    params: db,
    body: { data: { user: 'b' }, options: { cas: 1 } },
  },
  {
    ask: 'post /secret/data/{path}',
    name: 'with a value that the server makes',
    params: { path: 'made' },
    body: { data: {}, options: { generate: { password: { length: 20 } } } },
    isStricter: true,
  },
  { ask: 'patch /secret/data/{path}', params: db, body: { data: { port: 5432 } }, ...merged },
  { ask: 'get /secret/data/{path}', params: db },
  { ask: 'get /secret/data/{path}', name: 'of a version', params: db, query: '?version=1' },
  { ask: 'get /secret/data/{path}', name: 'that is absent', params: { path: 'absent' }, status: 404 },
  { ask: 'get /secret/subkeys/{path}', params: db },
  {
    ask: 'post /secret/metadata/{path}',
    params: db,
    body: { custom_metadata: { owner: 'shop' }, max_versions: 4 },
    status: 204,
  },
  {
    ask: 'patch /secret/metadata/{path}',
    params: db,
    body: { custom_metadata: { tier: 'one' } },
    ...merged,
    status: 204,
  },
  { ask: 'get /secret/metadata/{path}', params: db },
  { ask: 'post /secret/copy/{path}', params: { path: 'folder/copy' }, body: { from: 'db', versions: 'all' } },
  { ask: 'post /secret/move/{path}', params: { path: 'folder/moved' }, body: { from: 'folder/copy' } },
  { ask: 'get /secret/metadata/{path}/', params: { path: 'folder' }, query: '?list=true' },
  { ask: 'get /secret/detailed-metadata/{path}', params: { path: 'folder' }, query: '?list=true' },
  { ask: 'post /secret/delete/{path}', params: db, body: { versions: [2] }, status: 204 },
  { ask: 'post /secret/undelete/{path}', params: db, body: { versions: [2] }, status: 204 },
  { ask: 'post /secret/restore/{path}', params: db, body: { version: 1 } },
  { ask: 'post /secret/destroy/{path}', params: db, body: { versions: [1] }, status: 204 },
  { ask: 'delete /secret/data/{path}', params: db, status: 204 },
  { ask: 'delete /secret/metadata/{path}', params: db, status: 204 },
]

const cloudRole = {
  cloud_roles: '[{"role_name":"Reader","scope":"/subscriptions/$subscription"}]',
  cloud_groups: '[{"group_name":"foo"}]',
  ttl: '1h',
}

const cloud: DocumentedCall[] = [
  { ask: 'get /cloud/config' },
  {
    ask: 'post /cloud/config',
    body: {
      subscription_id: '$subscription',
      tenant_id: '$tenant',
      client_id: '$rootClient',
      client_secret: '$rootSecret',
    },
    status: 204,
  },
  { ask: 'post /cloud/config', name: 'with a cloud nobody knows', body: { environment: 'x' }, status: 400 },
  { ask: 'get /cloud/config', name: 'as written' },
  { ask: 'get /cloud/config/check' },
  { ask: 'get /cloud/config/identity' },
  { ask: 'get /cloud/config/certificate', name: 'that nobody made', status: 404 },
  { ask: 'post /cloud/config/certificate', body: { ttl: '1h' } },
  { ask: 'get /cloud/config/certificate' },
  { ask: 'get /cloud/roles', name: 'of none', query: '?list=true', status: 404 },
  { ask: 'post /cloud/roles/{name}', params: { name: 'deploy' }, body: cloudRole, status: 204 },
  { ask: 'post /cloud/roles/{name}', name: 'of nothing', params: { name: 'none' }, body: {}, status: 400 },
  { ask: 'get /cloud/roles', query: '?list=true' },
  { ask: 'get /cloud/roles/{name}', params: { name: 'deploy' } },
  { ask: 'get /cloud/creds/{name}', params: { name: 'deploy' }, keep: { cloudClient: 'data.client_id' } },
  { ask: 'get /cloud/creds/{name}', name: 'of no role', params: { name: 'none' }, status: 400 },
  {
    ask: 'post /cloud/roles/{name}',
    name: 'of a client that trusts it',
    params: { name: 'federated' },
    body: { credential_type: 'federated', federated_client_id: 'a-client' },
    status: 204,
  },
  { ask: 'get /cloud/creds/{name}', name: 'without a lease', params: { name: 'federated' } },
  { ask: 'get /cloud/token/{name}', name: 'of no role', params: { name: 'none' }, status: 400 },
  {
    ask: 'post /cloud/token/{name}',
    name: 'without a scope',
    params: { name: 'federated' },
    body: {},
    status: 400,
  },
  { ask: 'get /cloud/whois/{client_id}', params: { client_id: '$cloudClient' } },
  { ask: 'get /cloud/debris' },
  { ask: 'get /cloud/pool' },
  { ask: 'post /cloud/reap', body: {} },
  { ask: 'post /cloud/rotate-root', status: 204 },
  {
    ask: 'post /cloud/roles/{name}',
    name: 'that keeps an application',
    params: { name: 'kept' },
    body: { ...cloudRole, persist_app: true },
    status: 204,
  },
  {
    ask: 'get /cloud/roles/{name}',
    name: 'that owns it',
    params: { name: 'kept' },
    keep: { application: 'data.application_object_id' },
  },
  { ask: 'get /cloud/static-roles', name: 'of none', query: '?list=true', status: 404 },
  {
    ask: 'post /cloud/static-roles/{name}',
    params: { name: 'billing' },
    body: { application_object_id: '$application', metadata: { team: 'a' }, rotation_period: '720h' },
    status: 204,
  },
  {
    ask: 'post /cloud/static-roles/{name}',
    name: 'of nothing',
    params: { name: 'none' },
    body: {},
    status: 400,
  },
  { ask: 'get /cloud/static-roles', query: '?list=true' },
  { ask: 'get /cloud/static-roles/{name}', params: { name: 'billing' } },
  {
    ask: 'get /cloud/static-creds/{name}',
    params: { name: 'billing' },
    keep: { keyId: 'data.secret_id', password: 'data.client_secret' },
  },
  {
    ask: 'post /cloud/static-creds/{name}/token',
    params: { name: 'billing' },
    body: { scope: 'https://graph.microsoft.com/.default' },
  },
  {
    ask: 'post /cloud/static-creds/{name}/token',
    name: 'without a scope',
    params: { name: 'billing' },
    body: {},
    status: 400,
  },
  { ask: 'get /cloud/static-creds/{name}', name: 'of no role', params: { name: 'none' }, status: 404 },
  {
    ask: 'post /cloud/static-roles/{name}/import',
    params: { name: 'billing' },
    body: { secret_id: '$keyId', client_secret: '$password', skip_import_rotation: true },
    status: 204,
  },
  { ask: 'post /cloud/rotate-role/{name}', params: { name: 'billing' }, status: 204 },
  { ask: 'post /cloud/rotate-role/{name}', name: 'of no role', params: { name: 'none' }, status: 400 },
  { ask: 'delete /cloud/static-roles/{name}', params: { name: 'billing' }, status: 204 },
  { ask: 'delete /cloud/roles/{name}', params: { name: 'kept' }, status: 204 },
  { ask: 'delete /cloud/config', name: 'with a rotation in progress' },
  { ask: 'delete /cloud/config', status: 204 },
]

const last: DocumentedCall[] = [
  { ask: 'delete /identity/entity/name/{name}', params: { name: 'carol' }, status: 204 },
  { ask: 'post /sys/seal', status: 204 },
]

/**
 * The calls, in order. They need a server with a mount `auth/approle`, leases `$lease0` to `$lease5`,
 * `$publicKey` and a `$jwt` it verifies, configured for a directory with the root `$rootClient`.
 */
export const calls: readonly DocumentedCall[] = [
  ...node,
  ...ceremonies,
  ...system,
  ...audit,
  ...wrapping,
  ...tokens,
  ...people,
  ...identityTokens,
  ...leases,
  ...messages,
  ...logins,
  ...users,
  ...approles,
  ...secrets,
  ...cloud,
  ...last,
]
