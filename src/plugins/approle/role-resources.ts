import { z } from 'zod'
import { nameList, type Resource, resource } from '../../http/resource/resource.ts'
import { answers } from './answers.ts'
import type { ApproleMethod } from './method.ts'
import { canonicalRolePath, checkRoleName, roleFields, roleName, shownRole } from './role.ts'

/** `role` and `role/<name>`. docs/contract/approle.md#roles */
export const roleResources = (method: ApproleMethod): Resource[] => [
  nameList('/role', {
    help: 'The roles of this mount.',
    summary: 'List the roles',
    example: ['ci', 'deploy'],
    names: (mount) => method.rolesOf(mount).names(),
  }),
  resource('/role/:role_name', {
    help: 'A role: what a login with it needs, and what its token may do.',
    canonical: canonicalRolePath,
    exists: async ({ mount, params }) => (await method.rolesOf(mount).find(roleName(params))) !== undefined,
    read: {
      summary: 'Read a role',
      ...answers.role,
      handle: async ({ mount, params }) => {
        const role = await method.rolesOf(mount).find(roleName(params))
        return role && { data: shownRole(role) }
      },
    },
    write: {
      summary: 'Create or update a role',
      statuses: [204, 200],
      input: roleFields,
      handle: async ({ mount, params, input }) => {
        const name = roleName(params)
        checkRoleName(name)
        const warnings = await method.putRole(mount, name, input)
        return warnings.length === 0 ? undefined : { warnings }
      },
    },
    delete: {
      summary: 'Delete a role; its secret ids end at once',
      input: z.object({}),
      handle: ({ mount, params }) => method.rolesOf(mount).delete(roleName(params)),
    },
  }),
]
