import { z } from 'zod'
import { signingAlgorithms } from '../../core/identity-tokens/signing-key.ts'
import { type Reply, type Resource, resource, unknownPaths } from '../../http/resource.ts'
import { examples } from './examples.ts'
import { type IdentityTokenParts, issuerMountOf } from './oidc-place.ts'

/** The longest time verifiers may cache keys, so that they soon drop a removed key. */
const maxAgeSeconds = 3600

/**
 * The public metadata and keys with which others verify identity tokens.
 * OpenID Connect Discovery 1.0 §4, docs/contract/identity-tokens.md
 */
export function discoveryResources({ identityTokens, now }: IdentityTokenParts): Resource[] {
  return [
    resource('/oidc/.well-known/openid-configuration', {
      help: 'The discovery document of the issuer of identity tokens.',
      open: true,
      collection: true,
      read: {
        summary: 'Read the discovery document of identity tokens',
        form: 'bare',
        output: z.object({ issuer: z.string(), jwks_uri: z.string() }).loose(),
        example: examples.discovery,
        handle: async (exchange) => {
          const issuer = await identityTokens.issuerOf(issuerMountOf(exchange))
          const document = {
            issuer,
            jwks_uri: `${issuer}/.well-known/keys`,
            response_types_supported: ['id_token'],
            subject_types_supported: ['public'],
            id_token_signing_alg_values_supported: signingAlgorithms,
          }
          return publicJson(JSON.stringify(document), maxAgeSeconds)
        },
      },
    }),
    resource('/oidc/.well-known/keys', {
      help: 'The public keys of identity tokens.',
      open: true,
      collection: true,
      read: {
        summary: 'Read the public keys of identity tokens',
        form: 'bare',
        output: z.object({ keys: z.array(z.object({ kty: z.string(), kid: z.string() }).loose()) }),
        example: examples.publicKeys,
        handle: async ({ mount }) => {
          const { text, nextChange } = await identityTokens.published.of(mount.uuid)
          const secondsLeft = Number.isFinite(nextChange) ? Math.floor((nextChange - now()) / 1000) : 0
          return publicJson(text, Math.min(secondsLeft, maxAgeSeconds))
        },
      },
    }),
    unknownPaths({ url: '/oidc/.well-known/*', open: true }),
  ]
}

/** `maxAge` in seconds; 0 sends the default `Cache-Control`. */
const publicJson = (body: string, maxAge: number): Reply => ({
  raw: {
    status: 200,
    contentType: 'application/json',
    body,
    ...(maxAge > 0 ? { cacheControl: `max-age=${maxAge}` } : {}),
  },
})
