import { z } from 'zod'
import type { Caller } from '../../../core/callers/access.ts'
import type { HistoryStore } from '../../../core/history/history-store.ts'
import {
  type Call,
  checkMayReach,
  type DocumentedAnswer,
  lowerCase,
  nameList,
  type Resource,
  resource,
  warned,
} from '../../../http/resource/resource.ts'
import { boolField, kvField } from '../../../lib/text/fields.ts'
import type { CloudEngine } from '../engine.ts'
import { tokenFields } from '../federation/federated-credentials.ts'
import { accessTokenAnswer } from '../federation/token-resource.ts'
import { requesterOf } from '../records/credential-record.ts'
import { readStaticCredential, staticToken } from './read-static-credential.ts'
import { shownStaticRole, staticRoleFields } from './static-role-input.ts'

const text = z.string()
const seconds = z.int()
const pairs = z.record(z.string(), z.string())
const removal = z.object({
  revoke: boolField.default(false).describe('Remove the passwords of the role upstream now'),
})
const readFields = z.object({
  metadata: kvField.optional().describe('Text by key to return; that of the role takes precedence'),
})

const [objectId, clientId, keyId] = [
  'b1f0a3de-3b0c-44f7-8c1c-6f4b8d7a2f10',
  '5f2d9c1e-1d0b-4b7e-8f7a-2a3d1c9e7b10',
  '1c0f6b7e-2e6e-4b5e-9a33-0c8c7a1f4d52',
]
const metadata = { team: 'billing' }
const lastRotation = '2026-05-05T06:07:08Z'

const roleAnswer = {
  output: z.object({
    allowed_scopes: z.array(text),
    application_object_id: text,
    disable_automated_rotation: z.boolean(),
    last_error: text,
    last_vault_rotation: text,
    metadata: pairs.nullable(),
    next_vault_rotation: text,
    rotation_grace_period: seconds,
    rotation_period: seconds,
    rotation_schedule: text,
    rotation_window: seconds,
    seamless_rotation: z.boolean(),
    ttl: seconds,
  }),
  example: {
    allowed_scopes: [],
    application_object_id: objectId,
    disable_automated_rotation: false,
    last_error: '',
    last_vault_rotation: lastRotation,
    metadata,
    next_vault_rotation: '2026-06-04T06:07:08Z',
    rotation_grace_period: 300,
    rotation_period: 2_592_000,
    rotation_schedule: '',
    rotation_window: 0,
    seamless_rotation: true,
    ttl: 2_592_000,
  },
} satisfies DocumentedAnswer

const credentialAnswer = {
  output: z.object({
    client_id: text,
    client_secret: text,
    secret_id: text,
    expiration: text,
    metadata: pairs,
    ttl: seconds,
    last_vault_rotation: text,
    previous_secret_id: text.optional(),
    previous_expiration: text.optional(),
  }),
  example: {
    client_id: clientId,
    client_secret: 'Xw.8Q~mTq0sB3v5r1dYkLz7cPaEoNfGhJuIiKx2S',
    secret_id: keyId,
    expiration: '2026-06-05T06:12:08Z',
    metadata,
    ttl: 2_592_000,
    last_vault_rotation: lastRotation,
  },
} satisfies DocumentedAnswer

const roleName = ({ name }: { readonly name: string }): string => name.toLowerCase()

const requested = (call: Pick<Call, 'requestId'>, caller: Caller | undefined) => ({
  correlationId: call.requestId,
  requester: requesterOf(caller),
})

/** Static roles and their passwords. docs/cloud-static-roles.md */
export const staticRoleResources = (engine: CloudEngine, store: HistoryStore): Resource[] => [
  nameList('/static-roles', {
    help: 'The static roles of this mount.',
    summary: 'List the static roles',
    names: (mount) => engine.stateOf(mount).staticRoles.names(),
  }),
  resource('/static-roles/:name', {
    help: 'A static role: one password of an existing application, which is rotated.',
    canonical: lowerCase,
    // without the password, which rotations replace
    history: {
      store,
      record: ({ mount, params }) => engine.stateOf(mount).recordKey('static-role', roleName(params)),
      path: ({ params }) => `static-roles/${roleName(params)}`,
      mergesWrites: true,
      form: ({ mount, params }) => engine.stateOf(mount).staticRoles.find(roleName(params)),
    },
    exists: async ({ mount, params }) =>
      (await engine.stateOf(mount).staticRoles.find(roleName(params))) !== undefined,
    read: {
      summary: 'Read a static role',
      ...roleAnswer,
      handle: async ({ mount, params }) => {
        const role = await engine.stateOf(mount).staticRoles.find(roleName(params))
        return role && { data: shownStaticRole(role, engine.clock.now()) }
      },
    },
    write: {
      summary: 'Create or update a static role; a new one gets its first password',
      input: staticRoleFields,
      handle: ({ mount, params, input, call, caller }) =>
        engine.staticRoles.write(mount, roleName(params), input, requested(call, caller)),
    },
    delete: {
      summary: 'Delete a static role; its password stays valid upstream, unless it is revoked',
      statuses: [204, 200],
      input: removal,
      handle: async ({ mount, params, input }) =>
        warned(await engine.staticRoles.delete(mount, roleName(params), input)),
    },
  }),
  resource('/static-roles/:name/import', {
    help: 'An existing password that a static role takes over.',
    canonical: lowerCase,
    write: {
      summary: 'Make a static role of an existing password, and rotate it',
      input: staticRoleFields,
      handle: async (exchange) => {
        const { mount, params, input, call, caller, sent } = exchange
        const isThere = (await engine.stateOf(mount).staticRoles.find(roleName(params))) !== undefined
        checkMayReach(exchange, {
          operation: isThere ? 'update' : 'create',
          path: `static-roles/${params.name}`,
          fields: sent,
          canonical: lowerCase,
        })
        await engine.staticRoles.import(mount, roleName(params), input, requested(call, caller))
      },
    },
  }),
  resource('/static-creds/:name', {
    help: 'The password of a static role. It has no lease.',
    canonical: lowerCase,
    read: {
      summary: 'Get the password of a static role',
      input: readFields,
      ...credentialAnswer,
      handle: ({ mount, params, input, call }) =>
        readStaticCredential(roleName(params), input.metadata ?? {}, engine.work(mount, call.requestId)),
    },
  }),
  resource('/static-creds/:name/token', {
    help: 'An access token for the application of a static role, which ends by itself.',
    passesReadOnly: true,
    issuesCredentials: true,
    canonical: lowerCase,
    write: {
      summary: 'Get an access token by the password of a static role',
      input: tokenFields,
      ...accessTokenAnswer,
      handle: async (exchange) => {
        const { mount, params, input, call } = exchange
        checkMayReach(exchange, {
          operation: 'read',
          path: `static-creds/${params.name}`,
          canonical: lowerCase,
        })
        const work = engine.work(mount, call.requestId)
        return { dataText: await staticToken(roleName(params), input, work) }
      },
    },
  }),
  resource('/rotate-role/:name', {
    help: 'Rotation of the password of a static role.',
    issuesCredentials: true,
    canonical: lowerCase,
    write: {
      summary: 'Rotate the password of a static role; responds once the new one works',
      handle: ({ mount, params, call, caller }) =>
        engine.staticRoles.rotate(mount, roleName(params), requested(call, caller)),
    },
  }),
]
