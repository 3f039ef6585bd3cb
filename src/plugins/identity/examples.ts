/** Example responses of `identity/…`, for the OpenAPI document. */

const entityId = 'c1f5bd07-3c0a-4b52-8e5e-7b3b0f6b1f7d'
const groupId = '7d0e4b1c-5a9f-4f27-b3a6-1c2d8e9f0a45'
const aliasId = '2b9c6f80-1e4d-4a73-9c58-6f0d3b7a1e22'
const times = { creation_time: '2026-01-01T12:00:00Z', last_update_time: '2026-01-01T12:00:00Z' }
const atMount = { mount_accessor: 'auth_jwt_5d3a9c1e', mount_type: 'jwt', mount_path: 'auth/jwt/' }

const entityAlias = {
  id: aliasId,
  canonical_id: entityId,
  ...atMount,
  name: 'alice@example.com',
  metadata: { role: 'people' },
  custom_metadata: null,
  merged_from_canonical_ids: null,
  local: false,
  ...times,
}

const discovery = (issuer: string) => ({
  issuer,
  jwks_uri: `${issuer}/.well-known/keys`,
  response_types_supported: ['id_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
})

export const examples = {
  entity: {
    id: entityId,
    name: 'alice',
    metadata: { team: 'ops' },
    policies: ['deploy'],
    disabled: false,
    namespace_id: 'root',
    ...times,
    merged_entity_ids: null,
    aliases: [entityAlias],
    group_ids: [groupId],
    direct_group_ids: [groupId],
    inherited_group_ids: [],
  },
  madeEntity: { id: entityId, name: 'alice', aliases: null },
  entities: { keys: [entityId], key_info: { [entityId]: { name: 'alice' } } },
  entityAlias: { ...entityAlias, namespace_id: 'root' },
  madeAlias: { id: aliasId, canonical_id: entityId },
  entityAliases: {
    keys: [aliasId],
    key_info: {
      [aliasId]: {
        name: 'alice@example.com',
        canonical_id: entityId,
        custom_metadata: null,
        metadata: null,
        local: false,
        ...atMount,
      },
    },
  },
  group: {
    id: groupId,
    name: 'ops',
    type: 'internal',
    policies: ['deploy'],
    metadata: null,
    member_entity_ids: [entityId],
    member_group_ids: null,
    parent_group_ids: null,
    alias: {},
    modify_index: 1,
    namespace_id: 'root',
    ...times,
  },
  madeGroup: { id: groupId, name: 'ops' },
  groups: {
    keys: [groupId],
    key_info: { [groupId]: { name: 'ops', num_member_entities: 1, num_parent_groups: 0 } },
  },
  groupAlias: {
    id: aliasId,
    canonical_id: groupId,
    ...atMount,
    name: 'developers',
    metadata: null,
    custom_metadata: null,
    merged_from_canonical_ids: null,
    namespace_id: 'root',
    local: false,
    ...times,
  },
  madeGroupAlias: { id: aliasId, canonical_id: groupId },
  groupAliases: {
    keys: [aliasId],
    key_info: { [aliasId]: { name: 'developers', canonical_id: groupId, ...atMount } },
  },
  tidied: {
    count: 1,
    dry_run: true,
    sample: [{ id: entityId, name: 'build-7', last_login_day: '2025-06-30' }],
  },
  signingKey: {
    algorithm: 'RS256',
    rotation_period: 86_400,
    verification_ttl: 86_400,
    allowed_client_ids: ['*'],
  },
  tokenRole: { key: 'main', ttl: 86_400, template: '', client_id: 'q0H2c8vYw1sT' },
  issuer: { issuer: 'https://vault.example.com' },
  identityToken: { token: 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln', client_id: 'q0H2c8vYw1sT', ttl: 86_400 },
  introspection: { active: true },
  discovery: discovery('https://vault.example.com/v1/identity/oidc'),
  mountDiscovery: discovery('https://vault.example.com/v1/identity/oidc/plugins'),
  publicKeys: {
    keys: [
      {
        kty: 'OKP',
        crv: 'Ed25519',
        x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
        kid: 'k1',
        use: 'sig',
        alg: 'EdDSA',
      },
    ],
  },
}
