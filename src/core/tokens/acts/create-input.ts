import { z } from 'zod'
import { boolField, intField, kvField, stringField, stringListField } from '../../../lib/text/fields.ts'

const durationText = (what: string) =>
  stringField
    .default('')
    .describe(`${what}: seconds, or text like 1h30m`)
    .meta({ examples: ['1h30m', '3600'] })

/**
 * The fields of `auth/token/create` as sent; durations are not parsed yet.
 * docs/contract/tokens-and-policies.md#creating-a-token
 */
export const createInput = z.object({
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

export type CreateInput = Readonly<z.output<typeof createInput>>
