import { z } from 'zod'
import type { HistoryStore } from '../../core/history/history-store.ts'
import type { IdentityTokenRoleStore } from '../../core/identity-tokens/identity-token-role-store.ts'
import { nameList, type Resource, resource } from '../../http/resource/resource.ts'
import { durationField, stringField } from '../../lib/text/fields.ts'
import { examples } from './examples.ts'

const roleInput = z.object({
  key: stringField.optional().describe('Name of the key that signs'),
  ttl: durationField.optional().describe('Lifetime of the tokens; 24h by default'),
  template: stringField
    .optional()
    .describe(
      'Further claims: a JSON object, plain or base64, with placeholders such as {{identity.entity.name}} as values',
    ),
  client_id: stringField.optional().describe('Audience of the tokens; random by default'),
})
const roleOutput = z.object({ key: z.string(), ttl: z.int(), template: z.string(), client_id: z.string() })

/** The roles of identity tokens. docs/contract/identity-tokens.md */
export function identityTokenRoleResources(roles: IdentityTokenRoleStore, store: HistoryStore): Resource[] {
  return [
    nameList('/oidc/role', {
      help: 'The roles of identity tokens.',
      summary: 'List the roles of identity tokens',
      names: ({ uuid }) => roles.names(uuid),
    }),
    resource('/oidc/role/:name', {
      help: 'A role of identity tokens: its key, audience, lifetime and claims.',
      history: {
        store,
        record: ({ mount, params }) => roles.recordKey(mount.uuid, params.name),
        path: ({ params }) => `oidc/role/${params.name}`,
        form: async ({ mount, params }) => (await roles.find(mount.uuid, params.name))?.role,
      },
      exists: async ({ mount, params }) => (await roles.find(mount.uuid, params.name)) !== undefined,
      read: {
        summary: 'Read a role of identity tokens',
        example: examples.tokenRole,
        output: roleOutput,
        handle: async ({ mount, params }) => {
          const found = await roles.find(mount.uuid, params.name)
          return found && { data: found.role }
        },
      },
      write: {
        summary: 'Create or update a role of identity tokens',
        input: roleInput,
        handle: ({ mount, params, input }) => roles.write(mount.uuid, params.name, input),
      },
      delete: {
        summary: 'Delete a role of identity tokens',
        handle: ({ mount, params }) => roles.remove(mount.uuid, params.name),
      },
    }),
  ]
}
