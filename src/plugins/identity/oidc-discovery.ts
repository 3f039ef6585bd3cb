import { z } from 'zod'
import { type IssuerMount, keysUrl } from '../../core/identity-tokens/issuer-url.ts'
import type { KeySet } from '../../core/identity-tokens/published-keys.ts'
import { signingAlgorithms } from '../../core/identity-tokens/signing-key.ts'
import type { Core } from '../../core/open/core.ts'
import { causeList, fail } from '../../errors.ts'
import {
  type Exchange,
  namespaceOf,
  type Reply,
  type Resource,
  resource,
  unknownPaths,
} from '../../http/resource/resource.ts'
import type { Clock } from '../../lib/system/clock.ts'
import { examples } from './examples.ts'

export type IdentityTokenParts = Pick<Core, 'identityTokens' | 'mountTokens' | 'clock' | 'history'>

export const issuerMountOf = ({ call, mount }: Exchange<unknown, unknown>): IssuerMount => ({
  mount: mount.uuid,
  namespace: namespaceOf(call),
})

/** The longest time verifiers may cache keys, so that they soon drop a removed key. */
const maxAgeSeconds = 3600

type PublicIssuer = {
  readonly path: string
  /** Completes "… of identity tokens" in the descriptions. */
  readonly of: string
  readonly examples: { readonly discovery: object; readonly keys: object }
  readonly unsupported: string
  issuerOf(exchange: Exchange<unknown, unknown>): Promise<string>
  keySetOf(mount: string): Promise<KeySet>
}

/**
 * The public metadata and keys with which others verify identity tokens: those of roles, and those of mounts.
 * OpenID Connect Discovery 1.0 §4, docs/contract/identity-tokens.md
 */
export const discoveryResources = ({ identityTokens, mountTokens, clock }: IdentityTokenParts): Resource[] =>
  [
    {
      path: '/oidc',
      of: 'of identity tokens',
      unsupported: 'unsupported operation',
      examples: { discovery: examples.discovery, keys: examples.publicKeys },
      issuerOf: (exchange) => identityTokens.issuerOf(issuerMountOf(exchange)),
      keySetOf: (mount) => identityTokens.published.of(mount),
    } satisfies PublicIssuer,
    {
      path: '/oidc/plugins',
      of: 'of the identity tokens of mounts',
      unsupported: causeList('unsupported operation'),
      examples: { discovery: examples.mountDiscovery, keys: examples.publicKeys },
      issuerOf: (exchange) => mountTokens.issuerUrlOf(issuerMountOf(exchange)),
      keySetOf: (mount) => identityTokens.publishedForMounts.of(mount),
    } satisfies PublicIssuer,
  ].flatMap((issuer) => issuerResources(issuer, clock))

const issuerResources = (shown: PublicIssuer, clock: Clock): Resource[] => [
  ...documents(shown, clock).map((document) => ({
    ...document,
    refusal: () => fail('unsupported', shown.unsupported),
  })),
  unknownPaths({ url: `${shown.path}/.well-known/*`, open: true }),
]

const documents = (shown: PublicIssuer, clock: Clock): Resource[] => [
  resource(`${shown.path}/.well-known/openid-configuration`, {
    help: `The discovery document of the issuer ${shown.of}.`,
    open: true,
    collection: true,
    read: {
      summary: `Read the discovery document ${shown.of}`,
      form: 'bare',
      output: z.object({ issuer: z.string(), jwks_uri: z.string() }).loose(),
      example: shown.examples.discovery,
      handle: async (exchange) => {
        const issuer = await shown.issuerOf(exchange)
        const document = {
          issuer,
          jwks_uri: keysUrl(issuer),
          response_types_supported: ['id_token'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: signingAlgorithms,
        }
        return publicJson(JSON.stringify(document), maxAgeSeconds)
      },
    },
  }),
  resource(`${shown.path}/.well-known/keys`, {
    help: `The public keys ${shown.of}.`,
    open: true,
    collection: true,
    read: {
      summary: `Read the public keys ${shown.of}`,
      form: 'bare',
      output: z.object({ keys: z.array(z.object({ kty: z.string(), kid: z.string() }).loose()) }),
      example: shown.examples.keys,
      handle: async ({ mount }) => {
        const { text, nextChange } = await shown.keySetOf(mount.uuid)
        const secondsLeft = Number.isFinite(nextChange) ? Math.floor((nextChange - clock.now()) / 1000) : 0
        return publicJson(text, Math.min(secondsLeft, maxAgeSeconds))
      },
    },
  }),
]

/** `maxAge` in seconds; 0 sends the default `Cache-Control`. */
const publicJson = (body: string, maxAge: number): Reply => ({
  raw: {
    status: 200,
    contentType: 'application/json',
    body,
    ...(maxAge > 0 && { headers: { 'cache-control': `max-age=${maxAge}` } }),
  },
})
