import { z } from 'zod'
import { type DocumentedAnswer, type Resource, resource } from '../../../http/resource.ts'
import type { CloudEngine } from '../engine.ts'
import type { FieldNames } from '../field-names.ts'
import { configFields, shownConfig } from './config.ts'
import { laterFields } from './config-record.ts'

/** The configuration of a mount and the rotation of its root secret. docs/contract/cloud.md#configuration */
export const configResources = (engine: CloudEngine, names: FieldNames): Resource[] => [
  resource('/config', {
    help: 'The root credential, and where it signs in.',
    exists: async ({ mount }) => (await engine.stateOf(mount).findConfig()) !== undefined,
    read: {
      summary: 'Read the configuration',
      ...configAnswer(names),
      handle: async ({ mount }) => ({ data: shownConfig(await engine.stateOf(mount).findConfig(), names) }),
    },
    write: {
      summary: 'Change the configuration',
      input: configFields,
      handle: async ({ mount, input }) => {
        await engine.putConfig(mount, input)
        return undefined
      },
    },
    delete: {
      summary: 'Delete the configuration',
      handle: async ({ mount }) => {
        await engine.deleteConfig(mount)
        return undefined
      },
    },
  }),
  resource('/rotate-root', {
    help: 'Rotation of the root secret.',
    write: {
      summary: 'Rotate the root secret; the new secret is used once it works',
      handle: async ({ mount, call }) => {
        await engine.rotateRoot(mount, call.requestId)
        return undefined
      },
    },
  }),
]

/** The example of a mount of type `azure` lacks fields that were never sent. */
const exampleFor = ({ type }: FieldNames, whole: object): object =>
  type === 'cloud'
    ? whole
    : Object.fromEntries(
        Object.entries(whole).filter(([name]) => !laterFields.some((later) => later === name)),
      )

const configAnswer = (names: FieldNames) =>
  ({
    output: configFields
      .omit({ client_secret: true })
      .extend({ root_password_expiration_date: z.string().optional() }),
    example: exampleFor(names, {
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
  }) satisfies DocumentedAnswer
