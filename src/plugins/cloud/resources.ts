import { z } from 'zod'
import { type Resource, resource } from '../../http/resource.ts'
import { boolField } from '../../lib/fields.ts'
import { answersOf } from './answers.ts'
import { configFields, shownConfig } from './config/config.ts'
import { credentialResources } from './credentials/credential-routes.ts'
import type { CloudEngine } from './engine.ts'
import { type FieldNames, fieldNames } from './field-names.ts'
import { roleFields, shownRole } from './roles/role-input.ts'
import { configIsNil } from './config/config-record.ts'

export type CloudParts = { readonly engine: CloudEngine; readonly type: FieldNames['type'] }

const roleRemoval = z.object({
  revoke: boolField.default(false).describe('Revoke the leases of the role first'),
})
const keyList = z.object({ keys: z.array(z.string()) })

/** The cloud credentials engine, below mounts of one type. docs/contract/cloud.md#paths */
export function cloudResources({ engine, type }: CloudParts): Resource[] {
  const names = fieldNames[type]
  const answers = answersOf(names)

  return [
    resource('/config', {
      help: 'The root credential, and where it signs in.',
      exists: async ({ mount }) => (await engine.stateOf(mount).findConfig()) !== undefined,
      read: {
        summary: 'Read the configuration',
        ...answers.config,
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
      help: 'A new secret for the root credential.',
      write: {
        summary: 'Rotate the root secret; the new one counts as soon as it works',
        handle: async ({ mount, call }) => {
          await engine.rotateRoot(mount, call.requestId)
          return undefined
        },
      },
    }),
    resource('/roles', {
      help: 'The roles of this mount.',
      collection: true,
      list: {
        summary: 'List the roles',
        output: keyList,
        handle: async ({ mount }) => ({ data: { keys: await engine.stateOf(mount).roleNames() } }),
      },
    }),
    resource('/roles/:name', {
      help: 'A role: what a credential may do, and for how long.',
      canonical: (below) => below.toLowerCase(),
      exists: async ({ mount, params }) =>
        (await engine.stateOf(mount).findRole(roleName(params))) !== undefined,
      read: {
        summary: 'Read a role',
        ...answers.role,
        handle: async ({ mount, params }) => {
          const state = engine.stateOf(mount)
          if ((await state.findConfig()) === undefined) throw configIsNil()
          const role = await state.findRole(roleName(params))
          return role && { data: shownRole(role, names) }
        },
      },
      write: {
        summary: 'Create or update a role',
        input: roleFields[type],
        handle: async ({ mount, params, input, call }) => {
          await engine.putRole(mount, roleName(params), input, call.requestId)
          return undefined
        },
      },
      delete: {
        summary: 'Delete a role, and the application it keeps; warns of leases that are left',
        statuses: [204, 200],
        input: roleRemoval,
        handle: async ({ mount, params, call, input: { revoke } }) => {
          const warnings = await engine.deleteRole(mount, roleName(params), {
            revoke,
            correlationId: call.requestId,
          })
          return warnings.length === 0 ? undefined : { warnings }
        },
      },
    }),
    ...credentialResources(engine.credentials),
  ]
}

const roleName = ({ name }: { name: string }): string => name.toLowerCase()
