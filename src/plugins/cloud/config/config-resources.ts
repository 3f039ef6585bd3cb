import { z } from 'zod'
import type { HistoryStore } from '../../../core/history/history-store.ts'
import {
  checkMayReach,
  type DocumentedAnswer,
  type Resource,
  resource,
  warned,
} from '../../../http/resource/resource.ts'
import { durationField } from '../../../lib/text/fields.ts'
import type { CloudEngine } from '../engine.ts'
import type { FieldNames } from '../field-names.ts'
import { rotateRoot } from '../root-rotation/rotate-root.ts'
import { makeRootCertificate, rootCertificate, shownCertificate } from '../sign-in/root-certificate.ts'
import { rootIdentity, rootIdentityAnswer } from '../sign-in/root-identity.ts'
import { configFields, configForm, restorableConfig, shownConfig } from './config.ts'
import { laterFields } from './config-record.ts'

/** The configuration of a mount and the rotation of its root secret. docs/contract/cloud.md#configuration */
export const configResources = (engine: CloudEngine, store: HistoryStore, names: FieldNames): Resource[] => [
  resource('/config', {
    help: 'The root credential, and where it signs in.',
    history: {
      store,
      record: ({ mount }) => engine.stateOf(mount).recordKey('config'),
      path: () => 'config',
      mergesWrites: true,
      form: async ({ mount }) => {
        const config = await engine.stateOf(mount).findConfig()
        return config && configForm(config)
      },
      adapt: async (form, { mount }) => restorableConfig(form, await engine.stateOf(mount).findConfig()),
      besides: ['client_secret', 'client_certificate'],
      ofTheWrite: ['client_certificate_password'],
    },
    exists: async ({ mount }) => (await engine.stateOf(mount).findConfig()) !== undefined,
    read: {
      summary: 'Read the configuration',
      ...configAnswer(names),
      handle: async ({ mount }) => ({ data: shownConfig(await engine.stateOf(mount).findConfig(), names) }),
    },
    write: {
      summary: 'Change the configuration; warns if that discards a rotation in progress',
      statuses: [204, 200],
      input: configFields,
      handle: async ({ mount, input }) => warned(await engine.putConfig(mount, input)),
    },
    delete: {
      summary: 'Delete the configuration',
      statuses: [204, 200],
      handle: async ({ mount }) => warned(await engine.deleteConfig(mount)),
    },
  }),
  resource('/config/identity', {
    help: 'How the engine signs in, and what the cloud has to trust.',
    read: {
      summary: 'Read how the engine signs in, with the commands that set it up',
      ...identityAnswer,
      handle: async (exchange) => {
        checkMayReach(exchange, { operation: 'read', path: 'config' })
        return { data: await rootIdentity(engine.work(exchange.mount, exchange.call.requestId)) }
      },
    },
  }),
  resource('/config/certificate', {
    help: 'A certificate that is made here, for an operator to upload.',
    read: {
      summary: 'Read the certificate that is to be uploaded, else the one in use',
      ...certificateAnswer,
      handle: async (exchange) => {
        checkMayReach(exchange, { operation: 'read', path: 'config' })
        return { data: await rootCertificate(engine.stateOf(exchange.mount)) }
      },
    },
    write: {
      summary: 'Make a certificate, whose key never leaves the server',
      input: z.object({ ttl: durationField.optional().describe('Lifetime; 0: root_password_ttl') }),
      ...certificateAnswer,
      handle: async (exchange) => {
        const { mount, call, input } = exchange
        checkMayReach(exchange, { operation: 'update', path: 'config' })
        return { data: await makeRootCertificate(input.ttl ?? 0, engine.work(mount, call.requestId)) }
      },
    },
  }),
  resource('/rotate-root', {
    help: 'Rotation of the root secret.',
    write: {
      summary: 'Rotate the root secret; the new secret is used once it works',
      statuses: [204, 200],
      handle: async ({ mount, call }) => warned(await rotateRoot(engine.work(mount, call.requestId))),
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

const identityAnswer = {
  output: rootIdentityAnswer,
  example: {
    auth_type: 'plugin_wif',
    issuer: 'https://gatehouse.example.com:8200/v1/identity/oidc/plugins',
    subject: 'plugin-identity:root:secret:cloud_1234abcd',
    role_subject: 'plugin-identity:root:secret:cloud_1234abcd:role:<role>',
    audience: 'api://AzureADTokenExchange',
    jwks_uri: 'https://gatehouse.example.com:8200/v1/identity/oidc/plugins/.well-known/keys',
    client_id: '5f2d9c1e-1d0b-4b7e-8f7a-2a3d1c9e7b10',
    commands: ["az ad app federated-credential create --id '5f2d9c1e-…' --parameters '{…}'"],
  },
} satisfies DocumentedAnswer

const certificateAnswer = {
  output: shownCertificate,
  example: {
    certificate: '-----BEGIN CERTIFICATE-----\nMIIC…\n-----END CERTIFICATE-----\n',
    thumbprint: 'a918b7a661dcc68469505f0ffc85df973f3f3080',
    thumbprint_sha256: '2f1b0d6f0a9f0a6ad8f4d9b7a7d1a2d1f0c3b6a5948372615049382716a5b4c3',
    expiration: '2027-05-24T12:50:59.000Z',
    command:
      'az ad app credential reset --id 5f2d9c1e-1d0b-4b7e-8f7a-2a3d1c9e7b10 --append --cert @gatehouse-root.pem',
  },
} satisfies DocumentedAnswer

const configAnswer = (names: FieldNames) =>
  ({
    output: configFields
      .omit({ client_secret: true, client_certificate: true, client_certificate_password: true })
      .extend({
        root_password_expiration_date: z.string().optional(),
        client_certificate_thumbprint: z.string().optional().describe('SHA-256, in hexadecimal'),
        client_certificate_expiration: z.string().optional(),
      }),
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
