import { z } from 'zod'

/** A permission at a resource that credentials get. docs/contract/cloud.md#app-roles */
export const appRole = z.object({
  app_id: z.string(),
  /** Object id of its service principal. */
  resource_id: z.string(),
  role_name: z.string(),
  role_id: z.string(),
})

/** An app role that a service principal has; `id` is the id of the assignment upstream. */
export const appRoleAssignment = z.object({ id: z.string(), resource_id: z.string(), role_id: z.string() })

export type AppRole = z.output<typeof appRole>
export type AppRoleAssignment = z.output<typeof appRoleAssignment>

/** How intents name a grant, whose assignment may have no id yet. */
export const grantOf = ({ resource_id, role_id }: Pick<AppRole, 'resource_id' | 'role_id'>): string =>
  `${resource_id}/${role_id}`
