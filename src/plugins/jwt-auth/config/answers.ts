import { z } from 'zod'
import { exampleSettings } from '../../../core/tokens/store/token-fields.ts'
import type { DocumentedAnswer } from '../../../http/resource/resource.ts'
import { configFields } from './jwt-config.ts'
import { roleFields, shownRole } from './role.ts'

const text = z.string()
const neverSet = z.array(text).nullable()

/**
 * The responses of `auth/jwt/…`, for the API document. docs/contract/jwt.md#configuration,
 * docs/contract/jwt.md#roles
 */
export const answers = {
  config: {
    output: configFields
      .omit({ oidc_client_secret: true })
      .extend({ allowed_key_thumbprints: z.array(text).optional(), status: z.enum(['valid', 'invalid']) }),
    example: {
      oidc_discovery_url: '',
      oidc_discovery_ca_pem: '',
      oidc_client_id: '',
      oidc_public_client: false,
      oidc_response_mode: '',
      oidc_response_types: [],
      jwks_url: 'https://ci.example.com/.well-known/jwks',
      jwks_ca_pem: '',
      jwks_pairs: [],
      default_role: '',
      jwt_validation_pubkeys: [],
      jwt_supported_algs: [],
      bound_issuer: 'https://ci.example.com',
      provider_config: {},
      namespace_in_state: true,
      unsupported_critical_cert_extensions: [],
      override_allowed_server_names: [],
      status: 'valid',
      accept_as_token: false,
      token_max_lifetime: 86400,
      require_authorization_details: false,
      allowed_key_thumbprints: ['NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'],
    },
  },
  role: {
    output: roleFields.extend({
      bound_audiences: neverSet,
      allowed_redirect_uris: neverSet,
      oidc_scopes: neverSet,
      oauth2_metadata: neverSet,
    }),
    example: shownRole({
      record: {
        role_type: 'jwt',
        user_claim: 'sub',
        bound_audiences: ['https://vault.example.com'],
        bound_claims: { repository: 'acme/shop' },
        bound_claims_type: 'string',
        ...exampleSettings,
      },
    }),
  },
  authUrl: {
    output: z.object({
      auth_url: text,
      state: text.optional(),
      poll_interval: text.optional(),
      user_code: text.optional(),
    }),
    example: { auth_url: 'https://id.example.com/authorize?client_id=vault&state=st_q0H2c8vYw1sT' },
  },
} as const satisfies Record<string, DocumentedAnswer>
