import type { FieldSpec, Values } from './spec.ts'

const isFilled =
  (...names: readonly string[]) =>
  (form: Values): boolean =>
    names.some((name) => form[name] !== '' && form[name] !== false)

const isClient = isFilled('oidc_client_id')

/** The fields of a configuration of the types `jwt` and `oidc`. */
export const configFields: readonly FieldSpec[] = [
  { name: 'oidc_discovery_url', kind: 'text' },
  { name: 'bound_issuer', kind: 'text' },
  { name: 'oidc_client_id', kind: 'text' },
  { name: 'oidc_client_secret', kind: 'secret', when: isClient },
  { name: 'default_role', kind: 'text' },
  { name: 'jwks_url', kind: 'text', isMore: true },
  { name: 'jwks_ca_pem', kind: 'long', isMore: true, when: isFilled('jwks_url') },
  { name: 'jwks_pairs', kind: 'json', empty: [], isMore: true },
  { name: 'jwt_validation_pubkeys', kind: 'pems', isMore: true },
  { name: 'oidc_discovery_ca_pem', kind: 'long', isMore: true },
  { name: 'oidc_public_client', kind: 'switch', isMore: true, when: isClient },
  { name: 'oidc_response_mode', kind: 'text', isMore: true, when: isClient },
  { name: 'oidc_response_types', kind: 'list', isMore: true, when: isClient },
  { name: 'namespace_in_state', kind: 'switch', isMore: true, when: isClient },
  { name: 'provider_config', kind: 'json', isMore: true },
  { name: 'jwt_supported_algs', kind: 'list', isMore: true },
  { name: 'allowed_key_thumbprints', kind: 'list', isMore: true },
  { name: 'accept_as_token', kind: 'switch', isMore: true },
  { name: 'token_max_lifetime', kind: 'duration', isMore: true, when: isFilled('accept_as_token') },
  { name: 'require_authorization_details', kind: 'switch', isMore: true, when: isFilled('accept_as_token') },
  { name: 'unsupported_critical_cert_extensions', kind: 'list', isMore: true },
  { name: 'override_allowed_server_names', kind: 'list', isMore: true },
  { name: 'skip_jwks_validation', kind: 'switch', isMore: true },
]
