import { z } from 'zod'
import type { DocumentedAnswer } from '../../http/resource.ts'
import { configFields } from './config/config.ts'
import { laterFields } from './config/config-record.ts'
import type { FieldNames } from './field-names.ts'

const text = z.string()
const seconds = z.int()
const subscription = '/subscriptions/6f1d3c52-6c0e-4d0f-9a3b-0c1f5f0c9d11'

/** The example of a mount of type `azure` lacks fields that were never sent. */
const configExample = ({ type }: FieldNames, whole: object): object =>
  type === 'cloud'
    ? whole
    : Object.fromEntries(
        Object.entries(whole).filter(([name]) => !laterFields.some((later) => later === name)),
      )

/**
 * The responses of a cloud mount, for the OpenAPI document. docs/contract/cloud.md#configuration,
 * docs/contract/cloud.md#reading-a-role
 */
export const answersOf = (names: FieldNames) =>
  ({
    config: {
      output: configFields
        .omit({ client_secret: true })
        .extend({ root_password_expiration_date: text.optional() }),
      example: configExample(names, {
        client_id: '5f2d9c1e-1d0b-4b7e-8f7a-2a3d1c9e7b10',
        disable_automated_rotation: false,
        environment: '',
        identity_token_audience: '',
        identity_token_ttl: 0,
        root_password_ttl: 15_724_800,
        rotation_period: 0,
        rotation_policy: '',
        rotation_schedule: '',
        rotation_window: 0,
        subscription_id: '6f1d3c52-6c0e-4d0f-9a3b-0c1f5f0c9d11',
        tenant_id: '0d8f4f0a-7a55-4c55-9c58-5a3f1d0f9b21',
      }),
    },
    role: {
      output: z.object({
        application_object_id: text,
        [names.groups]: z.array(z.object({ group_name: text, object_id: text })).nullable(),
        [names.roles]: z.array(z.object({ role_name: text, role_id: text, scope: text })).nullable(),
        explicit_max_ttl: seconds,
        max_ttl: seconds,
        permanently_delete: z.boolean(),
        persist_app: z.boolean(),
        sign_in_audience: text,
        tags: z.array(text).nullable(),
        ttl: seconds,
      }),
      example: {
        application_object_id: '',
        [names.groups]: null,
        [names.roles]: [
          {
            role_name: 'Contributor',
            role_id: `${subscription}/providers/Microsoft.Authorization/roleDefinitions/b24988ac-6180-42a0-ab88-20f7382dd24c`,
            scope: `${subscription}/resourceGroups/web`,
          },
        ],
        explicit_max_ttl: 0,
        max_ttl: 86_400,
        permanently_delete: false,
        persist_app: false,
        sign_in_audience: '',
        tags: null,
        ttl: 3600,
      },
    },
  }) satisfies Record<string, DocumentedAnswer>
