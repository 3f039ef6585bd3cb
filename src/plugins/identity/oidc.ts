import { z } from 'zod'
import { loginOf } from '../../core/tokens/store/token.ts'
import { type Resource, resource } from '../../http/resource/resource.ts'
import { stringField } from '../../lib/text/fields.ts'
import { examples } from './examples.ts'
import { discoveryResources, type IdentityTokenParts, issuerMountOf } from './oidc-discovery.ts'
import { namedKeyResources } from './oidc-keys.ts'
import { identityTokenRoleResources } from './oidc-roles.ts'

const explicitIssuer =
  'If "issuer" is set explicitly, all tokens must be validated against that address, including those issued by secondary clusters. ' +
  'Setting issuer to "" will restore the default behavior of using the cluster\'s api_addr as the issuer.'

/** `identity/oidc/*`: the server as an issuer of identity tokens. docs/contract/identity-tokens.md */
export function identityTokenResources(parts: IdentityTokenParts): Resource[] {
  const { identityTokens, history } = parts
  return [
    resource('/oidc/config', {
      help: 'The issuer of identity tokens.',
      history: {
        store: history,
        record: ({ mount }) => identityTokens.issuerRecord(mount.uuid),
        path: () => 'oidc/config',
        form: async ({ mount }) => ({ issuer: await identityTokens.configuredIssuer(mount.uuid) }),
      },
      read: {
        summary: 'Read the configured issuer of identity tokens',
        example: examples.issuer,
        output: z.object({ issuer: z.string() }),
        handle: async ({ mount }) => ({
          data: { issuer: await identityTokens.configuredIssuer(mount.uuid) },
        }),
      },
      write: {
        summary: 'Configure the issuer of identity tokens',
        statuses: [204, 200],
        input: z.object({
          issuer: stringField
            .optional()
            .describe('Scheme, host and port; empty: the address of the server')
            .meta({ examples: ['https://vault.example.com'] }),
        }),
        handle: async (exchange) => {
          const { input } = exchange
          if (input.issuer === undefined) return undefined
          await identityTokens.configureIssuer(issuerMountOf(exchange), input.issuer)
          return input.issuer === '' ? undefined : { warnings: [explicitIssuer] }
        },
      },
    }),
    ...namedKeyResources(identityTokens.keys, history),
    ...identityTokenRoleResources(identityTokens.roles, history),
    ...discoveryResources(parts),
    resource('/oidc/token/:name', {
      help: 'A signed token that identifies the caller.',
      read: {
        summary: 'Get an identity token with a role',
        example: examples.identityToken,
        output: z.object({ token: z.string(), client_id: z.string(), ttl: z.int() }),
        handle: async (exchange) => {
          const { params, caller } = exchange
          return {
            data: await identityTokens.issue(
              issuerMountOf(exchange),
              params.name,
              caller?.token.entity_id ?? '',
              caller && loginOf(caller.token),
            ),
          }
        },
      },
    }),
    resource('/oidc/introspect', {
      help: 'Check whether an identity token is valid.',
      passesReadOnly: true,
      write: {
        summary: 'Check an identity token',
        form: 'bare',
        output: z.object({ active: z.boolean(), error: z.string().optional() }),
        example: examples.introspection,
        input: z.object({
          token: stringField.default('').meta({ description: 'The identity token', writeOnly: true }),
          client_id: stringField.default('').describe('Required audience; empty: any'),
        }),
        handle: async (exchange) => {
          const { token, client_id } = exchange.input
          const error = await identityTokens.problemOf(issuerMountOf(exchange), token, client_id)
          return {
            raw: {
              status: 200,
              contentType: 'application/json',
              body: JSON.stringify({ active: error === undefined, error }),
            },
          }
        },
      },
    }),
  ]
}
