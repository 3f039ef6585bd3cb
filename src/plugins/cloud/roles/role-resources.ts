import { z } from 'zod'
import type { HistoryStore } from '../../../core/history/history-store.ts'
import {
  type DocumentedAnswer,
  lowerCase,
  nameList,
  type Resource,
  resource,
  warned,
} from '../../../http/resource/resource.ts'
import { boolField } from '../../../lib/text/fields.ts'
import { configIsNil } from '../config/config-record.ts'
import type { CloudEngine } from '../engine.ts'
import type { FieldNames } from '../field-names.ts'
import { restorableRole, roleFields, roleForm, shownRole } from './role-input.ts'
import { writeRole } from './write-role.ts'

const roleRemoval = z.object({
  revoke: boolField.default(false).describe('Revoke the leases of the role first'),
})

/** The roles of a mount. docs/contract/cloud.md#roles */
export const roleResources = (engine: CloudEngine, store: HistoryStore, names: FieldNames): Resource[] => [
  nameList('/roles', {
    help: 'The roles of this mount.',
    summary: 'List the roles',
    names: (mount) => engine.stateOf(mount).roleNames(),
  }),
  resource('/roles/:name', {
    help: 'A role: what a credential may do, and for how long.',
    canonical: lowerCase,
    history: {
      store,
      record: ({ mount, params }) => engine.stateOf(mount).recordKey('role', roleName(params)),
      path: ({ params }) => `roles/${roleName(params)}`,
      mergesWrites: true,
      form: async ({ mount, params }) => {
        const role = await engine.stateOf(mount).findRole(roleName(params))
        return role && roleForm(role, names)
      },
      adapt: async (form, { mount, params }) =>
        restorableRole(form, await engine.stateOf(mount).findRole(roleName(params))),
    },
    exists: async ({ mount, params }) =>
      (await engine.stateOf(mount).findRole(roleName(params))) !== undefined,
    read: {
      summary: 'Read a role',
      ...roleAnswer(names),
      handle: async ({ mount, params }) => {
        const state = engine.stateOf(mount)
        if ((await state.findConfig()) === undefined) throw configIsNil()
        const role = await state.findRole(roleName(params))
        return role && { data: shownRole(role, names) }
      },
    },
    write: {
      summary: 'Create or update a role',
      input: roleFields[names.type],
      handle: ({ mount, params, input, call }) =>
        writeRole(roleName(params), input, engine.work(mount, call.requestId)),
    },
    delete: {
      summary: 'Delete a role and the application it owns; warns of leases that are left',
      statuses: [204, 200],
      input: roleRemoval,
      handle: async ({ mount, params, call, input: { revoke } }) => {
        const how = { revoke, correlationId: call.requestId }
        return warned(await engine.deleteRole(mount, roleName(params), how))
      },
    },
  }),
]

const roleName = ({ name }: { name: string }): string => name.toLowerCase()

const text = z.string()
const seconds = z.int()
const subscription = '/subscriptions/6f1d3c52-6c0e-4d0f-9a3b-0c1f5f0c9d11'

const roleAnswer = (names: FieldNames) =>
  ({
    output: z.object({
      application_object_id: text,
      [names.groups]: z.array(z.object({ group_name: text, object_id: text })).nullable(),
      [names.roles]: z.array(z.object({ role_name: text, role_id: text, scope: text })).nullable(),
      [names.appRoles]: z
        .array(z.object({ app_id: text, resource_id: text, role_name: text, role_id: text }))
        .nullable()
        .optional(),
      explicit_max_ttl: seconds,
      max_ttl: seconds,
      permanently_delete: z.boolean(),
      persist_app: z.boolean(),
      sign_in_audience: text,
      tags: z.array(text).nullable(),
      metadata: z.record(text, text).nullable().optional(),
      ttl: seconds,
      credential_type: text.optional(),
      federated_client_id: text.optional(),
      allowed_scopes: z.array(text).optional(),
      pool: z.int().optional(),
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
  }) satisfies DocumentedAnswer
