import { z } from 'zod'
import { type CreateParts, createToken, unknownTokenRole } from '../../core/tokens/acts/create-token.ts'
import type { TokenRoleStore } from '../../core/tokens/store/token-role-store.ts'
import { type Resource, resource } from '../../http/resource/resource.ts'
import { boolField, intField, kvField, stringField, stringListField } from '../../lib/text/fields.ts'
import { answers } from './answers.ts'
import { signedIn } from './found-token.ts'

const durationText = (what: string) =>
  stringField
    .default('')
    .describe(`${what}: seconds, or text like 1h30m`)
    .meta({ examples: ['1h30m', '3600'] })

const createInput = z.object({
  id: stringField
    .default('')
    .describe('Id of the token; random by default. Needs sudo')
    .meta({ writeOnly: true }),
  policies: stringListField.default([]).describe('Policies of the token; by default those of the caller'),
  meta: kvField.default(null).describe('Notes about the token: text by name'),
  no_parent: boolField
    .default(false)
    .describe('Create an orphan: it is not revoked with the calling token. Needs sudo'),
  no_default_policy: boolField.default(false).describe('Omit the policy `default`'),
  renewable: boolField.default(true).describe('Whether the token can be renewed'),
  ttl: durationText('Lifetime of the token'),
  lease: durationText('Old name of ttl'),
  type: stringField
    .default('')
    .describe('`service` or `batch`')
    .meta({ examples: ['service', 'batch'] }),
  explicit_max_ttl: durationText('Longest lifetime of the token, renewals included'),
  period: durationText('The token can be renewed without limit, for this long each time (needs sudo)'),
  display_name: stringField.default('').describe('Name of the token in logs'),
  num_uses: intField.default(0).describe('Number of uses of the token; 0 means no limit'),
  entity_alias: stringField
    .default('')
    .describe('Alias of the entity the token is for; only with a token role that allows it'),
})

const example = { policies: ['deploy'], ttl: '1h' }

type Parts = CreateParts & { readonly roles: TokenRoleStore }

/** `auth/token/create*`. docs/contract/tokens-and-policies.md#tokens */
export const createResources = (parts: Parts): Resource[] => [
  ...(['create', 'create-orphan'] as const).map((form) =>
    resource(`/${form}`, {
      help:
        form === 'create'
          ? 'Make a token that is revoked with the calling token.'
          : 'Make a token that outlives the calling token.',
      write: {
        summary: form === 'create' ? 'Create a token' : 'Create an orphan token',
        ...answers.auth,
        input: createInput.meta({ examples: [example] }),
        handle: ({ mount, call, caller, input }) => {
          const { token: own, acl } = signedIn(caller)
          const { sudo } = acl.decide({ operation: 'update', path: call.path })
          return createToken(parts, { mount, caller: own, sudo, form, input })
        },
      },
    }),
  ),
  resource('/create/:role_name', {
    help: 'Create a token with a token role.',
    write: {
      summary: 'Create a token with a role',
      ...answers.auth,
      input: createInput.meta({ examples: [example] }),
      handle: async ({ mount, call, caller, params, input }) => {
        const role = await parts.roles.find(mount.namespace, params.role_name)
        if (role === undefined) throw unknownTokenRole(params.role_name)
        const { token: own, acl } = signedIn(caller)
        const { sudo } = acl.decide({ operation: 'update', path: call.path })
        return createToken(parts, { mount, caller: own, sudo, form: 'create', role, input })
      },
    },
  }),
]
