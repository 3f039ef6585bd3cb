import { z } from 'zod'
import type { HistoryStore } from '../../core/history/history-store.ts'
import { shownSettings } from '../../core/identity-tokens/named-key.ts'
import type { NamedKeyStore } from '../../core/identity-tokens/named-key-store.ts'
import { nameList, type Resource, resource } from '../../http/resource/resource.ts'
import { commaListField, durationField, stringField } from '../../lib/text/fields.ts'
import { examples } from './examples.ts'

const keyInput = z.object({
  algorithm: stringField
    .optional()
    .describe('RS256 (default), RS384, RS512, ES256, ES384, ES512 or EdDSA')
    .meta({ examples: ['RS256', 'ES256', 'EdDSA'] }),
  rotation_period: durationField
    .optional()
    .describe('How often the signing key pair changes; 24h by default'),
  verification_ttl: durationField
    .optional()
    .describe('How long a retired public key stays published; 24h by default'),
  allowed_client_ids: commaListField
    .optional()
    .describe('Client ids of the roles that may use the key; * allows all; none by default'),
})
const keyOutput = z.object({
  algorithm: z.string(),
  rotation_period: z.int(),
  verification_ttl: z.int(),
  allowed_client_ids: z.array(z.string()),
})

/** The keys that sign identity tokens. docs/contract/identity-tokens.md */
export function namedKeyResources(keys: NamedKeyStore, store: HistoryStore): Resource[] {
  return [
    nameList('/oidc/key', {
      help: 'The keys that sign identity tokens.',
      summary: 'List the keys of identity tokens',
      names: ({ uuid }) => keys.names(uuid),
    }),
    resource('/oidc/key/:name', {
      help: 'A key that signs identity tokens: its algorithm, clients and rotation.',
      // the key pairs are not part of it: a key that is brought back gets new ones
      history: {
        store,
        record: ({ mount, params }) => keys.recordKey(mount.uuid, params.name),
        path: ({ params }) => `oidc/key/${params.name}`,
        form: async ({ mount, params }) => {
          const settings = await keys.settingsOf(mount.uuid, params.name)
          return settings && shownSettings(settings)
        },
      },
      exists: async ({ mount, params }) => (await keys.settingsOf(mount.uuid, params.name)) !== undefined,
      read: {
        summary: 'Read a key of identity tokens',
        example: examples.signingKey,
        output: keyOutput,
        handle: async ({ mount, params }) => {
          const settings = await keys.settingsOf(mount.uuid, params.name)
          return settings && { data: shownSettings(settings) }
        },
      },
      write: {
        summary: 'Create or update a key of identity tokens',
        input: keyInput,
        handle: ({ mount, params, input }) => keys.write(mount.uuid, params.name, input),
      },
      delete: {
        summary: 'Delete a key of identity tokens',
        handle: ({ mount, params }) => keys.remove(mount.uuid, params.name),
      },
    }),
    resource('/oidc/key/:name/rotate', {
      help: 'Sign with the next key pair from now on.',
      write: {
        summary: 'Rotate a key of identity tokens',
        input: z.object({
          verification_ttl: durationField
            .optional()
            .describe('How long the retired public key stays published, for this rotation only'),
        }),
        handle: ({ mount, params, input }) => keys.rotate(mount.uuid, params.name, input.verification_ttl),
      },
    }),
  ]
}
